"""Highlights code in a comment: a <span> with a class for each token.

Only the languages of this list are highlighted. Pygments has five hundred lexers, all made of
regular expressions, and a commentator chooses both lexer and text. Scala is left out, because its
lexer takes far too long for 2,500 characters of backslashes and quotes.

Some of these expressions read ahead to the end of the line, or of the white space, in each place,
and so take the square of its length, or worse: INI's took 5 s for one line of 2,500 blanks and
colons, in which Python does nothing else. Real code has no such lines, so code with them stays
plain.
"""

import re
from functools import cache
from itertools import groupby
from typing import Any

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


# Highlighted code has no longer lines or white space.
MAX_LINE_CHARACTERS = 300
MAX_BLANK_CHARACTERS = 100
_LONG_BLANKS = re.compile(rf"\s{{{MAX_BLANK_CHARACTERS + 1}}}")

# The lexer for Java looks for a method's name after any number of words, on any number of lines;
# ours after eight.
_ANY_WORDS, _SOME_WORDS = r"\s+)+?)", r"\s+){1,8}?)"


def spans(code: str, language: str) -> str | None:
    """The code as HTML, None if the language is not highlighted, or not such code."""
    name = ALIASES.get(language, language)
    if name not in LANGUAGES or not _is_usual(code):
        return None
    tokens = groupby(_lexer(name).get_tokens(code), key=lambda word: _class(word[0]))
    return "".join(_span(css, "".join(text for _, text in run)) for css, run in tokens)


def _is_usual(code: str) -> bool:
    # For the lexers nothing else ends a line, unlike for splitlines.
    longest = max(map(len, code.split("\n")))
    return longest <= MAX_LINE_CHARACTERS and not _LONG_BLANKS.search(code)


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
    lexer = get_lexer_by_name(name, stripnl=False)
    return _bounded_java(type(lexer)) if name == "java" else lexer


def _bounded_java(java: Any) -> Lexer:
    tokens = {state: [_bounded(rule) for rule in rules] for state, rules in java.tokens.items()}
    lexer: Lexer = type("BoundedJava", (java,), {"tokens": tokens})(stripnl=False)
    return lexer


def _bounded(rule: Any) -> Any:
    if not isinstance(rule, tuple) or not isinstance(rule[0], str):
        return rule
    return (rule[0].replace(_ANY_WORDS, _SOME_WORDS), *rule[1:])
