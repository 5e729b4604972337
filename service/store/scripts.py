"""Lua scripts as functions: a script's header is its signature, and a call names everything.

The header's rows (lua/README.md) say the names and the order of KEYS and ARGV, so no caller counts
positions and a wrong name is a TypeError before anything reaches Redis.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from typing import Any

from .connect import Connected, is_unknown_script
from .wire import Command

PACKAGED = Path(__file__).parents[1] / "lua"
CHECKOUT = Path(__file__).parents[2] / "lua"

_SECTION = re.compile(r"-- (KEYS|ARGV|RETURNS|FLAGS|COST)\s+(.*)")
_TYPES = {
    "KEYS": {"string", "hash", "zset", "stream"},
    "ARGV": {"int", "text", "flag", "json"},
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One row of a header. The last of KEYS or ARGV may end in dots: it takes a list."""

    name: str
    type: str
    is_list: bool


@dataclass(frozen=True, slots=True)
class Header:
    keys: tuple[Parameter, ...]
    args: tuple[Parameter, ...]
    flags: frozenset[str]
    sections: frozenset[str]


def parse_header(source: str) -> Header:
    """Raises ValueError naming the row that cannot be read."""
    rows: dict[str, list[str]] = {}
    section = None
    for line in source.splitlines()[1:]:
        if not line.startswith("--"):
            break
        if found := _SECTION.fullmatch(line):
            section = found[1]
            rows[section] = [found[2]]
        elif section and line.startswith("--         "):
            rows[section].append(line[2:])
    missing = {"KEYS", "RETURNS", "COST"} - rows.keys()
    if missing:
        raise ValueError(f"the header has no {', '.join(sorted(missing))}")
    flags = frozenset(rows.get("FLAGS", [""])[0].split())
    parameters = {kind: tuple(_parameters(kind, rows.get(kind, []))) for kind in ("KEYS", "ARGV")}
    return Header(parameters["KEYS"], parameters["ARGV"], flags, frozenset(rows))


def _parameters(kind: str, rows: Iterable[str]) -> Iterator[Parameter]:
    # A row starts a column or so in; what is indented further goes on with the row above.
    for row in rows:
        if row.startswith(" " * 10):
            continue
        name, type_, *_ = row.split()
        if type_ not in _TYPES[kind]:
            raise ValueError(f"{kind} {name} has the unknown type {type_!r}")
        yield Parameter(name.removesuffix("..."), type_, name.endswith("..."))


class Script:
    """Calls one script by its header's names; ints, flags, text and bytes are encoded alike."""

    def __init__(self, name: str, source: str, redis: Connected) -> None:
        self.name = name
        self.header = parse_header(source)
        self._redis = redis
        self._source = source
        self._sha = sha1(source.encode()).hexdigest()
        self._names = {each.name for each in (*self.header.keys, *self.header.args)}

    async def __call__(self, **values: Any) -> Any:
        """The script's reply. Raises StoreUnavailable; TypeError for a wrong name."""
        if values.keys() != self._names:
            raise TypeError(f"{self.name}: wrong names {sorted(values.keys() ^ self._names)}")
        keys = list(_flat(self.header.keys, values))
        args = list(_flat(self.header.args, values))
        try:
            (reply,) = await self._redis.ask(self.by_sha(keys, args))
        except Exception as error:
            if not is_unknown_script(error):
                raise
            # Redis was restarted or told to forget: it has not run it, so this is no second time.
            (reply,) = await self._redis.ask(self.in_full(keys, args))
        return reply

    def by_sha(self, keys: list[Any], args: list[Any]) -> Command:
        """The call by position, as Redis knows the script once it was sent in full."""
        return ("EVALSHA", self._sha, len(keys), *keys, *args)

    def in_full(self, keys: list[Any], args: list[Any]) -> Command:
        return ("EVAL", self._source, len(keys), *keys, *args)


def _flat(parameters: Iterable[Parameter], values: dict[str, Any]) -> Iterator[Any]:
    for each in parameters:
        value = values[each.name]
        if each.is_list:
            yield from value
        else:
            yield int(value) if each.type == "flag" else value


def sources() -> dict[str, str]:
    """Every script's source by name: its path below lua/, without the ending."""
    root = PACKAGED if PACKAGED.is_dir() else CHECKOUT
    found = {
        path.relative_to(root).with_suffix("").as_posix(): path.read_text()
        for path in sorted(root.rglob("*.lua"))
    }
    if not found:
        raise FileNotFoundError(f"no Lua scripts in {PACKAGED} or {CHECKOUT}")
    return found


class Scripts:
    """All scripts, bound to one Redis."""

    def __init__(self, redis: Connected) -> None:
        self._scripts = {name: Script(name, text, redis) for name, text in sources().items()}

    def __getitem__(self, name: str) -> Script:
        return self._scripts[name]
