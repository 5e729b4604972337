"""The header of every script is its signature: these tests hold header and script together."""

import re

import pytest

from bench.cases import every_case
from footfall.driver.scripts import INCLUDES, Script, files, parse_header, sources, with_names
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
def test_a_script_uses_every_name_of_its_header_and_no_positions(name: str) -> None:
    header, (_, body) = parse_header(SOURCES[name]), files()[name].split("\n\n", 1)
    assert not re.search(r"\b(KEYS|ARGV)\b", body)
    used = body + "".join(INCLUDED[each] for each in header.includes)
    for row in (*header.keys, *header.args):
        assert re.search(rf"\b{row.name}\b", used), row.name


def test_names_are_bound_as_the_header_has_them() -> None:
    source = """-- Does something.
--
-- KEYS    one         hash    a
--         others...[2] zset   b
-- ARGV    size        number  c
--         now         int     d
--         rest...     text    e
-- RETURNS x
-- COST    O(1)

return others[KEYS_BEFORE + KEYS_EACH] + size + #rest - ARGV_BEFORE
"""
    assert with_names(source).splitlines()[10:14] == [
        "local one, others = KEYS[1], KEYS",
        "local KEYS_BEFORE = 1",
        "local KEYS_EACH = 2",
        "local size, now, rest = tonumber(ARGV[1]), ARGV[2], ARGV",
    ]


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
