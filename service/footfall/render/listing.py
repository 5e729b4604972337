"""Highlights code in a comment: a <span> with a class for each token.

Only the languages of this list are highlighted. Pygments has five hundred lexers, all made of
regular expressions, and a commentator chooses both lexer and text. Scala is left out, because its
lexer takes far too long for 2,500 characters of backslashes and quotes.
"""

from functools import cache
from itertools import groupby

from markdown_it.common.utils import escapeHtml
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import (
    Comment,
    Error,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Token,
    _TokenType,
)

LANGUAGES = frozenset(
    {
        *("bash", "c", "cpp", "css", "diff", "docker", "go", "graphql", "html", "http", "ini"),
        *("java", "javascript", "json", "kotlin", "lua", "make", "markdown", "nginx", "nix"),
        *("objective-c", "perl", "php", "powershell", "python", "r", "ruby", "rust", "scss"),
        *("sql", "swift", "toml", "typescript", "xml", "yaml", "zig"),
    }
)
# Other names of these languages, which Pygments does not know or uses for another lexer.
ALIASES = {
    "c++": "cpp",
    "console": "bash",
    "dockerfile": "docker",
    "golang": "go",
    "js": "javascript",
    "jsx": "javascript",
    "kt": "kotlin",
    "makefile": "make",
    "md": "markdown",
    "objc": "objective-c",
    "ps1": "powershell",
    "py": "python",
    "python3": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "bash",
    "shell": "bash",
    "ts": "typescript",
    "tsx": "typescript",
    "vue": "html",
    "yml": "yaml",
    "zsh": "bash",
}

# Pygments' token types -> Prism's classes, which the stylesheets of all Waline clients colour
# together with "token". A type that is missing here has the class of its parent.
CLASSES = {
    Token: "",
    Comment: "comment",
    Comment.Preproc: "atrule",
    Error: "",
    Generic.Deleted: "deleted",
    Generic.Emph: "italic",
    Generic.Heading: "important",
    Generic.Inserted: "inserted",
    Generic.Strong: "bold",
    Generic.Subheading: "important",
    Keyword: "keyword",
    Keyword.Constant: "boolean",
    Name.Attribute: "attr-name",
    Name.Builtin: "builtin",
    Name.Class: "class-name",
    Name.Constant: "constant",
    Name.Decorator: "function",
    Name.Entity: "entity",
    Name.Exception: "class-name",
    Name.Function: "function",
    Name.Property: "property",
    Name.Tag: "tag",
    Name.Variable: "variable",
    Number: "number",
    Operator: "operator",
    Operator.Word: "keyword",
    Punctuation: "punctuation",
    String: "string",
    String.Regex: "regex",
}


def spans(code: str, language: str) -> str | None:
    """The code as HTML, None if the language is not highlighted."""
    name = ALIASES.get(language, language)
    if name not in LANGUAGES:
        return None
    words = groupby(_lexer(name).get_tokens(code), key=lambda word: _class(word[0]))
    return "".join(_span(css, "".join(text for _, text in run)) for css, run in words)


@cache
def _class(kind: _TokenType) -> str:
    while kind not in CLASSES:
        kind = kind.parent or Token
    return CLASSES[kind]


def _span(css: str, text: str) -> str:
    written = escapeHtml(text)
    return f'<span class="token {css}">{written}</span>' if css else written


@cache
def _lexer(name: str) -> Lexer:
    # By default the lexer would strip blank lines at both ends.
    return get_lexer_by_name(name, stripnl=False)
