"""Operators' expressions are split, translated from JavaScript's syntax, and searched by RE2."""

import re
import threading

import pytest

from footfall import patterns
from footfall.config import BadSettings, Settings
from footfall.patterns import Patterns, split, translate


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("casino, b.d ,词", ["casino", "b.d", "词"]),
        ("a{1,3}b,c", ["a{1,3}b", "c"]),
        ("[,;]x,y", ["[,;]x", "y"]),
        (r"[\],]x,y", [r"[\],]x", "y"]),
        ("(a,b|c),d", ["(a,b|c)", "d"]),
        (r"a\,b,c", [r"a\,b", "c"]),
        (r"\(a,b\),c", [r"\(a", r"b\)", "c"]),
        ("((a,b),c),d", ["((a,b),c)", "d"]),
        # A smiley is not a bracket that somebody forgot to close.
        (":{,:),x", [":{", ":)", "x"]),
        ("赌博，博彩,词", ["赌博", "博彩", "词"]),
        ("[，]x,a{1，2}", ["[，]x", "a{1，2}"]),
        (",, ,", []),
        ("", []),
    ],
)
def test_commas_divide_except_inside_an_expression(text: str, words: list[str]) -> None:
    assert split(text) == words


# What a pattern finds, and what it does not. It finds the first as JavaScript does with the flags i
# and u.
FINDS = [
    (r"b.d", ["a BAD thing", "bòd"], ["bd"]),
    (r"\u4e00", ["一"], ["二"]),
    (r"[\u4e00-\u9fa5]{3}", ["看电视"], ["电视", "abc"]),
    (r"\u{1F600}", ["\N{GRINNING FACE}"], ["\N{WINKING FACE}"]),
    (r"\ud83d\ude00", ["\N{GRINNING FACE}"], ["\N{WINKING FACE}"]),
    (r"\x41\d+", ["a1"], ["a", "a\N{ARABIC-INDIC DIGIT ONE}"]),
    (r"^\w+$", ["Word_1"], ["wörd"]),
    (r"\bcat\b", ["a cat."], ["concatenate"]),
    (r"[\b]", ["a\bb"], ["b"]),
    (r"a\sb", ["a b", "a\N{NO-BREAK SPACE}b", "a\N{IDEOGRAPHIC SPACE}b", "a\vb"], ["ab", "a_b"]),
    (r"a[\s,]b", ["a\N{IDEOGRAPHIC SPACE}b", "a,b"], ["axb"]),
    (r"a\Sb", ["axb"], ["a\N{IDEOGRAPHIC SPACE}b", "a b"]),
    (r"a[\s\S]b", ["a\nb", "axb"], ["ab"]),
    (r"\p{Script=Han}{2}", ["电视"], ["ab"]),
    (r"\p{sc=Cyrillic}|\P{ASCII}x", [], []),
    (r"\p{Lu}\p{L}", ["Ab"], ["12"]),
    (r"(?<word>casino)s?", ["CASINOS"], ["casin"]),
    (r"(?<a>x1)|(?<a>y2)", ["x1", "y2"], ["x2"]),
    (r"\cA", ["\x01"], ["A"]),
    (r"\0", ["\x00"], ["0"]),
    (r"\/v\-\_\@\啊", ["/V-_@啊"], ["v"]),
    (r"[[]x|{y}|z{", ["[x", "{y}", "z{"], ["x"]),
    (r"[[:alpha:]\]]1", ["a1", "]1"], ["11"]),
    (r"straẞe|ΣΑΣ", ["STRAßE", "σας"], ["sas"]),
    (r"\u212a", ["k"], ["c"]),
]


@pytest.mark.parametrize(("pattern", "found", "missed"), FINDS, ids=lambda value: str(value)[:20])
def test_patterns_find_what_they_find_in_the_reference(
    pattern: str, found: list[str], missed: list[str]
) -> None:
    if not found:
        with pytest.raises(ValueError, match="ASCII"):
            Patterns((pattern,))
        return
    both = Patterns(("something else", pattern))
    assert [text for text in found if not both.search(text)] == []
    assert [text for text in missed if both.search(text)] == []


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"a(?=b)", "looks ahead or behind with (?=, which RE2 does not do"),
        (r"a(?!b)", "looks ahead or behind with (?!, which RE2 does not do"),
        (r"(?<=a)b", "looks ahead or behind with (?<=, which RE2 does not do"),
        (r"(?<!a)b", "looks ahead or behind with (?<!, which RE2 does not do"),
        (r"(a)\1", "refers back to what was found, which RE2 does not do"),
        (r"(a)\12", "refers back to what was found, which RE2 does not do"),
        (r"(?<n>a)\k<n>", "refers back to what was found, which RE2 does not do"),
        (r"(?P<n>a)(?P=n)", "(?P=n"),
        (r"\ud83d", r"\ud83d is half a character"),
        ("\ud83d", "half a character"),
        (r"a\y", r"\y is not known"),
        (r"a\Z", r"\Z is not known"),
        (r"\Qa.b\E", r"\Q is not known"),
        ("[]a", "[] means different things to different engines"),
        ("[^]", "[^] means different things to different engines"),
        (r"\p{Letter}", r"\p{Letter}"),
        ("[a-", "missing ]"),
        ("(a", "missing )"),
        ("a)", "unexpected )"),
        ("a++", "bad repetition operator"),
        ("x{2000}", "invalid repetition size"),
        ("a\\", "trailing \\"),
        ("(((a{100}){100}){100}){100}", "invalid repetition size"),
    ],
)
def test_a_pattern_that_cannot_be_searched_stops_the_start_in_words(
    pattern: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)) as error:
        Patterns(("fine", pattern))
    assert f"the pattern {pattern!r} cannot be used" in str(error.value)
    # A comma in the pattern does not matter here.
    for name, value in (("FORBIDDEN_WORDS", f"fine,{pattern}"), ("SECURE_DOMAINS", f"/{pattern}/")):
        with pytest.raises(BadSettings, match=f"^{name}=") as stopped:
            Settings.from_env({name: value})
        assert len(str(stopped.value).splitlines()) == 1


@pytest.mark.parametrize("pattern", ["", "casino|", ".", "a*", r"[\s\S]*", "(|x)", r"\b|\B|^"])
def test_a_pattern_that_matches_every_comment_stops_the_start(pattern: str) -> None:
    environ = {"FORBIDDEN_WORDS": f"fine,{pattern}"}
    if not pattern:
        assert Settings.from_env(environ).forbidden_words == Patterns(("fine",))
        return
    with pytest.raises(BadSettings, match="matches every comment"):
        Settings.from_env(environ)


def test_an_empty_setting_has_no_patterns() -> None:
    for text in ("", " ", ",,"):
        assert Settings.from_env({"FORBIDDEN_WORDS": text}).forbidden_words is None


def test_thousands_of_words_are_one_expression_of_bounded_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Patterns(tuple(f"word{n}[a-z]*x" for n in range(2000)))
    assert found.search("a Word1999abcX")
    assert not found.search("word2000abcx" * 1000)
    monkeypatch.setattr(patterns, "MAX_PATTERN_BYTES", 1024 * 1024)
    Patterns(("[a-z]{100}",))
    with pytest.raises(ValueError, match="all patterns together take more than 1 MB"):
        Patterns(tuple(f"{n}[a-z]{{500}}" for n in range(200)))


def test_other_threads_run_while_a_long_text_is_searched() -> None:
    """If the engine held the interpreter, the render thread would hold up every view."""
    nested = "|".join(f"[ab]*a[ab]{{{n}}}c" for n in range(100, 400, 10))
    found, is_over = Patterns((nested,)), threading.Event()

    def search() -> None:
        found.search("ab" * 2000)
        is_over.set()

    thread = threading.Thread(target=search)
    thread.start()
    turns = 0
    while not is_over.is_set():
        turns += 1
    thread.join()
    assert turns > 50


def test_translating_changes_no_other_spelling() -> None:
    for pattern in ("casino", r"a\.b[c\]d]{1,3}(?:e|f)?\x41\x{4e00}", "[^a-z]+?", "词"):
        assert translate(pattern) == pattern
