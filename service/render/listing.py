"""Code in a comment, with a class for each kind of word.

Only languages on the list are highlighted: there are five hundred lexers, each a pile of regular
expressions, and a commentator chooses both the lexer and the text. Scala is not on it: 2,500
characters of backslashes and quotes take its lexer longer than anyone waits.
"""

from functools import cache

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name

LANGUAGES = frozenset(
    {
        *("bash", "c", "cpp", "css", "diff", "docker", "go", "graphql", "html", "http", "ini"),
        *("java", "javascript", "json", "kotlin", "lua", "make", "markdown", "nginx", "nix"),
        *("objective-c", "perl", "php", "powershell", "python", "r", "ruby", "rust", "scss"),
        *("sql", "swift", "toml", "typescript", "xml", "yaml", "zig"),
    }
)
# Other names people write, where Pygments has another or none.
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

_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)


def spans(code: str, language: str) -> str | None:
    """The code as HTML, None if the language is not one we highlight."""
    name = ALIASES.get(language, language)
    if name not in LANGUAGES:
        return None
    return highlight(code, _lexer(name), _FORMATTER)


@cache
def _lexer(name: str) -> Lexer:
    # Blank lines at either end are the author's; the lexer would strip them.
    return get_lexer_by_name(name, stripnl=False)
