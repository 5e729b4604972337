"""Documents, messages, docstrings and comments use the terms of .vale/styles/Footfall/Terms.yml."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
import yaml

ROOT = Path(__file__).parents[1]
RULES = yaml.safe_load((ROOT / ".vale/styles/Footfall/Terms.yml").read_text())
TERMS = {re.compile(rf"\b(?:{now})\b", re.IGNORECASE): word for now, word in RULES["swap"].items()}
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(
        path
        for name in ("deploy", "docs", "lua", "service", "tests")
        for path in (ROOT / name).rglob("*.md")
    ),
    ROOT / "bench/README.md",
]
SOURCES = sorted(
    path
    for name, endings in {
        "service/footfall": (".py", ".js"),
        "bench": (".py",),
        "tests": (".py",),
        "lua": (".lua",),
        "deploy": (".yaml", ".conf", ".service", ".sh"),
    }.items()
    for path in (ROOT / name).rglob("*")
    if path.suffix in endings
)
# Comments by the ending of a file. In a script's header, names and values are not prose.
COMMENTS = {
    ".js": re.compile(r"/\*.*?\*/|(?<![:\"'`])//[^\n]*", re.DOTALL),
    ".lua": re.compile(r"--[^\n]*"),
}
HASHED = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)
NAMES = re.compile(r"^--\s(?:KEYS|ARGV|\s{4})\s+\S+|\{\w+\}:\w+|[\w-]+(?: \| [\w-]+)+")
MOST_WORDS_OF_A_VALUE = 3
UI = ROOT / "service/footfall/ui"
MESSAGES = (UI / "admin/en.json", UI / "admin/settings.en.json", UI / "errors/de.json")


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a document without its code."""
    text = re.sub(r"(?ms)^```.*?^```$", lambda code: "\n" * code[0].count("\n"), path.read_text())
    for number, line in enumerate(text.splitlines(), 1):
        yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)


def remarks(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a module; and its messages, but not what tests send."""
    source = path.read_text()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            body = getattr(node, "body", [])
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or "" if body else ""
        # A shorter text may be a value, such as a label of a metric.
        if isinstance(node, ast.Constant) and ROOT / "tests" not in path.parents:
            text = str(node.value)
            yield node.lineno, text if len(text.split()) > MOST_WORDS_OF_A_VALUE else ""


def comments(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text()
    for match in COMMENTS.get(path.suffix, HASHED).finditer(text):
        yield text.count("\n", 0, match.start()) + 1, NAMES.sub("", match[0])


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """English texts: the values of the admin UI's, the keys of a translation of errors."""
    texts = orjson.loads(path.read_bytes())
    english = texts.values() if path.name.endswith("en.json") else texts
    yield from enumerate(map(str, english), 1)


def hits(path: Path) -> Iterator[str]:
    read = {".md": prose, ".py": remarks, ".json": messages}.get(path.suffix, comments)
    for number, line in read(path):
        # Code in words is a name.
        words = re.sub(r"`[^`]*`", "", line)
        for term, word in TERMS.items():
            for match in term.finditer(words):
                # A keyword of SQL, or a setting.
                if match[0].isupper():
                    continue
                yield f"{path.relative_to(ROOT)}:{number}: write {word!r} instead of {match[0]!r}"


# Words that no name has, and the names of others that have one: uvicorn's, the API's, a script's.
NO_NAMES = {"begin", "begins", "begun", "began", "dialect", "dialects"}
THEIR_NAMES = {"on_message_begin", "on_part_begin", "began", "begins"}


def named(source: str) -> Iterator[str]:
    """The names in a module that have a word of NO_NAMES."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_name = token.type == tokenize.NAME and token.string not in THEIR_NAMES
        if is_name and not NO_NAMES.isdisjoint(token.string.lower().split("_")):
            yield token.string


def test_names_have_the_terms_of_the_trade() -> None:
    found = {
        str(path.relative_to(ROOT)): [*named(path.read_text())]
        for path in SOURCES
        if path.suffix == ".py" and path != Path(__file__)
    }
    # Of the standard library's HTTP client.
    assert found.pop("tests/integration/test_durability.py") == ["begin"]
    assert [each for each in found.items() if each[1]] == []


def test_a_name_with_another_term_is_found() -> None:
    assert [*named("def begin_it(dialect_of): pass # dialect\nbegan = started")] == [
        "begin_it",
        "dialect_of",
    ]


def test_people_read_the_terms_of_the_trade() -> None:
    assert [hit for path in (*DOCUMENTS, *SOURCES, *MESSAGES) for hit in hits(path)] == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md", "# The log-in of `a log-in`\n"),
        ("a.py", "# The log-in of `a log-in`\n"),
        ("a.js", "/* The log-in of `a log-in` */ 'log-in'\n"),
        ("a.lua", "-- ARGV    log-in  text  of a log-in: one | log-in | none\n"),
        ("a.yaml", "key: log-in # a log-in\n"),
        ("a.py", "raise ValueError('this is not a log-in', 'log-in', 'SQL to BEGIN with it')\n"),
    ],
)
def test_another_term_is_found_and_the_better_one_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
    """A test of the rules: they can be broken."""
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / name
    path.write_text(content)
    assert [*hits(path)] == [f"{name}:1: write 'login or session' instead of 'log-in'"]


@pytest.mark.parametrize("path", sorted(MESSAGES[0].parent.glob("*.html")), ids=lambda it: it.name)
def test_a_page_shows_the_english_words_before_its_script_has_come(path: Path) -> None:
    words = orjson.loads(MESSAGES[0].read_bytes())
    shown = re.findall(r'data-word="([\w.]+)"[^>]*>([^<]+)<', path.read_text())
    assert [(name, text) for name, text in shown if text.strip() and text != words[name]] == []
