"""The header of every script is its signature: these tests hold header and script together."""

import re

import pytest

from bench.cases import every_case
from footfall.driver.scripts import INCLUDES, Script, files, parse_header, sources
from tests.support.fakes import fake_redis

SOURCES = sources()
NAMES = sorted(SOURCES)
INCLUDED = {
    name.removeprefix(INCLUDES): text for name, text in files().items() if name.startswith(INCLUDES)
}


def code(name: str) -> str:
    """The script without its header."""
    lines = SOURCES[name].splitlines()
    first = next(i for i, line in enumerate(lines) if not line.startswith("--"))
    return "\n".join(lines[first:])


@pytest.mark.parametrize("name", NAMES)
def test_a_header_is_complete(name: str) -> None:
    header = parse_header(SOURCES[name])
    assert {"KEYS", "ARGV", "RETURNS", "COST"} <= header.sections
    assert header.keys
    first = SOURCES[name].splitlines()[0]
    assert re.fullmatch(r"-- [A-Z].*[.?:,]?", first)
    assert "this script" not in first.lower()


@pytest.mark.parametrize("name", NAMES)
def test_the_first_lines_bind_keys_and_arguments_to_the_headers_names(name: str) -> None:
    header = parse_header(SOURCES[name])
    bound: dict[str, list[str]] = {"KEYS": [], "ARGV": []}
    for line in code(name).splitlines():
        if match := re.fullmatch(r"local ([\w, ]+) = (.*(?:KEYS|ARGV).*)", line):
            for variable, value in zip(match[1].split(", "), match[2].split(", "), strict=True):
                kind = "KEYS" if "KEYS" in value else "ARGV"
                bound[kind].append(variable)
                number = re.search(r"\[(\d+)\]", value)
                assert number is None or int(number[1]) == len(bound[kind])
    assert bound["KEYS"] == [key.name for key in header.keys]
    assert bound["ARGV"] == [arg.name for arg in header.args]


@pytest.mark.parametrize("name", NAMES)
def test_a_script_counts_positions_as_its_header_does(name: str) -> None:
    header, said = parse_header(SOURCES[name]), dict[str, int]()
    for names, numbers in re.findall(r"^local ([A-Z_, ]+) = ([\d, ]+)$", code(name), re.MULTILINE):
        said |= zip(names.split(", "), map(int, numbers.split(", ")), strict=True)
    for kind, rows in (("KEYS", header.keys), ("ARGV", header.args)):
        assert said.get(f"{kind}_BEFORE", len(rows) - 1) == len(rows) - 1
        assert said.get(f"{kind}_EACH", rows[-1].width if rows else 1) == (
            rows[-1].width if rows else 1
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_script_includes_what_it_calls_and_binds_what_that_uses(name: str) -> None:
    header, there = parse_header(SOURCES[name]), list[str]()
    bound = {(each.name, each.type) for each in (*header.keys, *header.args)}
    for include in header.includes:
        used = parse_header(INCLUDED[include], required=frozenset())
        assert {(each.name, each.type) for each in (*used.keys, *used.args)} <= bound
        assert set(used.includes) <= set(there)
        there.append(include)
    for include, text in INCLUDED.items():
        (function,) = re.findall(r"^local function (\w+)", text, re.MULTILINE)
        calls = len(re.findall(rf"\b{function}\(", code(name)))
        assert calls > 1 if include in there else not calls


def test_the_rule_for_a_pages_version_is_in_one_place() -> None:
    assert [name for name, text in files().items() if "'SET', version" in text] == [
        f"{INCLUDES}version"
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_script_touches_only_the_keys_it_was_handed(name: str) -> None:
    keys = {key.name for key in parse_header(SOURCES[name]).keys}
    # One that was passed to a function has the parameter's name; one of several is `index`.
    keys.add("index")
    for parameters in re.findall(r"^local function \w+\(([^)]+)\)", code(name), re.MULTILINE):
        keys |= {*parameters.split(", ")}
    for target in re.findall(r"redis\.call\((?:'\w+'|range), ([^,)]+)", code(name)):
        first = re.split(r"\[| and ", target.strip())[0]
        # The server's own facts are in no key.
        is_no_key = first == "'server'"
        assert first in keys or is_no_key, target


@pytest.mark.parametrize("name", NAMES)
def test_a_script_uses_no_clock_no_random_number_and_no_json(name: str) -> None:
    for word in ("'TIME'", "math.random", "cjson", "cmsgpack", "'KEYS'", "'SCAN'"):
        assert word not in code(name)


# What the commands of site/try are, its caller says.
@pytest.mark.parametrize("name", sorted({*NAMES} - {"site/try"}))
def test_a_reader_does_not_write(name: str) -> None:
    writes = re.findall(
        r"'((?:H|X|Z)(?:SET|SETNX|INCRBY|DEL|ADD|REM)|SET|DEL|INCR(?:BY)?)'", code(name)
    )
    assert bool(writes) != ("no-writes" in parse_header(SOURCES[name]).flags)


async def test_a_wrong_name_is_an_error_before_anything_is_sent() -> None:
    script = Script("journal/swept", SOURCES["journal/swept"], fake_redis())
    with pytest.raises(TypeError, match="journal/swept: wrong names"):
        await script(page="k", name="x")


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        ("-- x\n--\n-- KEYS    a  hash  b\n", "no COST, RETURNS"),
        (
            "-- x\n--\n-- KEYS    a  heap  b\n-- RETURNS x\n-- COST x\n",
            "KEYS a has the unknown type",
        ),
    ],
)
def test_an_unreadable_header_is_named(header: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_header(header)


def test_the_bench_calls_each_script_with_all_its_arguments() -> None:
    cases = every_case(1)
    assert {name.partition(",")[0] for name in cases} == {*NAMES}
    for name, values in cases.items():
        header = parse_header(SOURCES[name.partition(",")[0]])
        arguments = {arg.name for arg in header.args}
        assert arguments <= values(0).keys() <= arguments | {key.name for key in header.keys}, name
