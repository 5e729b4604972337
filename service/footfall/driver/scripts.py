"""Lua scripts as functions with named parameters, which a script's header declares.

The header's rows (lua/README.md) have the names and the order of KEYS and ARGV, so callers do not
count positions, and a wrong name is a TypeError before anything is sent.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from hashlib import sha1
from pathlib import Path
from typing import Any

from .client import RedisClient
from .commands import Command, pack, pack_word
from .connection import CommandSender
from .replies import ErrorReply, is_unknown_script

Send = Callable[[Command], Awaitable[Any]]

PACKAGED = Path(__file__).parents[1] / "lua"
CHECKOUT = Path(__file__).parents[3] / "lua"
# The line of a script in whose place its includes stand.
PLACE = "-- INSERT INCLUDES"
INCLUDES = "includes/"

# Numbers of keys that are remembered in their packed form.
MAX_KEPT_NUMBERS = 1_024

_SECTION = re.compile(r"-- (KEYS|ARGV|RETURNS|INCLUDE|FLAGS|COST)\s+(.*)")
REQUIRED = frozenset({"KEYS", "RETURNS", "COST"})
_TYPES = {
    "KEYS": {"string", "hash", "zset", "stream"},
    "ARGV": {"int", "number", "text", "flag", "json"},
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One row of a header. If its name ends in dots, which only the last may, it takes a list; a
    number after them is how many words each entry has."""

    name: str
    type: str
    is_list: bool
    width: int = 1


@dataclass(frozen=True, slots=True)
class Header:
    keys: tuple[Parameter, ...]
    args: tuple[Parameter, ...]
    flags: frozenset[str]
    includes: tuple[str, ...]
    sections: frozenset[str]


@cache
def parse_header(source: str, required: frozenset[str] = REQUIRED) -> Header:
    """The header of a script's source. Raises ValueError for a row or section that is wrong or
    missing."""
    rows: dict[str, list[str]] = {}
    section = None
    for line in source.splitlines()[1:]:
        if not line.startswith("--"):
            break
        if match := _SECTION.fullmatch(line):
            section = match[1]
            rows[section] = [match[2]]
        elif section and line.startswith("--         "):
            rows[section].append(line[2:])
    missing = required - rows.keys()
    if missing:
        raise ValueError(f"the header has no {', '.join(sorted(missing))}")
    flags, includes = (rows.get(kind, [""])[0].split() for kind in ("FLAGS", "INCLUDE"))
    parameters = {kind: tuple(_parameters(kind, rows.get(kind, []))) for kind in ("KEYS", "ARGV")}
    return Header(
        parameters["KEYS"], parameters["ARGV"], frozenset(flags), tuple(includes), frozenset(rows)
    )


def _parameters(kind: str, rows: Iterable[str]) -> Iterator[Parameter]:
    # A row that is indented further continues the row above.
    for row in rows:
        if row.startswith(" " * 10):
            continue
        name, type_, *_ = row.split()
        if type_ not in _TYPES[kind]:
            raise ValueError(f"{kind} {name} has the unknown type {type_!r}")
        name, dots, width = name.partition("...")
        yield Parameter(name, type_, bool(dots), int(width.strip("[]") or 1))


class Script:
    """A script, called with its header's names as keywords."""

    def __init__(self, name: str, source: str, redis: RedisClient) -> None:
        self.name = name
        self.header = parse_header(source)
        self._redis = redis
        self.source = source
        # By which Redis names scripts.
        self.digest = sha1(source.encode(), usedforsecurity=False).hexdigest()
        self._by_digest = _head("EVALSHA", self.digest)
        self._in_full = _head("EVAL", source)
        self._names = {parameter.name for parameter in (*self.header.keys, *self.header.args)}
        # How many stand before the lists, and how many each of a list has.
        self._keys, self._args = _layout(self.header.keys), _layout(self.header.args)

    async def __call__(self, **values: Any) -> Any:
        """The script's reply. Raises StoreUnavailable, ErrorReply; TypeError for a wrong name."""
        return await self.through(partial(self._redis.send, sender=self._sender()), **values)

    async def durably(self, **values: Any) -> Any:
        """The reply of a script whose writes mostly need no promise, when they are durable."""
        return await self.through(partial(self._redis.send, sender=self._redis.changes), **values)

    async def after(self, command: Sequence[object], **values: Any) -> Any:
        """The script's reply; this command is carried out before it."""
        redis, first = self._redis, pack(*command)
        if redis.is_cluster:
            # It may be for another node: only its reply proves that it came first.
            await redis.send(first, redis.prompt)
            return await self(**values)
        return await self.through(
            lambda call: redis.send(call, self._sender(), behind=first), **values
        )

    async def through(self, send: Send, **values: Any) -> Any:
        """The script's reply, by another function that sends a command."""
        if values.keys() != self._names:
            raise TypeError(f"{self.name}: wrong names {sorted(values.keys() ^ self._names)}")
        keys, args = _packed(self.header.keys, values), _packed(self.header.args, values)
        return await self._run(send, partial(self._call, len(keys), len(args), keys + args))

    async def packed(self, number: int, arguments: Sequence[bytes], *, more: int) -> Any:
        """The script's reply, of packed words; see `call`."""
        send = partial(self._redis.send, sender=self._sender())
        return await self._run(send, partial(self.call, number, arguments, more=more))

    async def _run(self, send: Send, call: Callable[..., Command]) -> Any:
        if "no-writes" not in self.header.flags:
            self._redis.require_changes()
        try:
            return await send(call())
        except ErrorReply as error:
            if not is_unknown_script(error):
                raise
        # Redis was restarted or got SCRIPT FLUSH. It has not run the script, so this call is the
        # first.
        return await send(call(in_full=True))

    def _sender(self) -> CommandSender:
        if "no-writes" in self.header.flags:
            return self._redis.sender
        return self._redis.prompt if "no-promise" in self.header.flags else self._redis.changes

    def call(
        self, number: int, arguments: Sequence[bytes], *, more: int = 0, in_full: bool = False
    ) -> Command:
        """A call whose lists have this many entries, and `more` further arguments.

        The arguments are packed, and one may have several. It is an EVALSHA, or `in_full` an EVAL
        with the source.
        """
        keys_before, keys_each = self._keys
        args_before, args_each = self._args
        keys, args = keys_before + keys_each * number, args_before + args_each * number + more
        head = self._in_full if in_full else self._by_digest
        return b"*%d\r\n%b%b%b" % (3 + keys + args, head, _number(keys), b"".join(arguments))

    def _call(
        self, keys: int, args: int, arguments: Sequence[bytes], *, in_full: bool = False
    ) -> Command:
        head = self._in_full if in_full else self._by_digest
        return b"*%d\r\n%b%b%b" % (3 + keys + args, head, _number(keys), b"".join(arguments))


@lru_cache(maxsize=MAX_KEPT_NUMBERS)
def _number(number: int) -> bytes:
    return pack_word(number)


def _head(command: str, script: str) -> bytes:
    return pack_word(command) + pack_word(script)


def _layout(parameters: Sequence[Parameter]) -> tuple[int, int]:
    width = parameters[-1].width if parameters and parameters[-1].is_list else 0
    return len(parameters) - bool(width), width


def _packed(parameters: Iterable[Parameter], values: dict[str, Any]) -> list[bytes]:
    packed = list[bytes]()
    for parameter in parameters:
        value = values[parameter.name]
        if parameter.is_list:
            packed += map(pack_word, value)
        else:
            packed.append(pack_word(int(value) if parameter.type == "flag" else value))
    return packed


@cache
def sources() -> dict[str, str]:
    """Every script's source by name, with its includes.

    A name is a path below lua/, without the ending.
    """
    scripts = {name: text for name, text in files().items() if not name.startswith(INCLUDES)}
    return {name: with_names(text) for name, text in scripts.items()}


@cache
def files() -> dict[str, str]:
    """The sources of all files below lua/, includes too."""
    root = PACKAGED if PACKAGED.is_dir() else CHECKOUT
    sources = {
        path.relative_to(root).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*.lua"))
    }
    if not sources:
        raise FileNotFoundError(f"no Lua scripts in {PACKAGED} or {CHECKOUT}")
    return sources


def with_names(text: str) -> str:
    """A script with the names that its header declares, and with its includes: at its head, or
    where it says."""
    parsed = parse_header(text)
    included = [files()[INCLUDES + name].rstrip() for name in parsed.includes]
    header, code = text.split("\n\n", 1)
    if PLACE in code:
        code = code.replace(PLACE, "\n\n".join(included))
        included = []
    return "\n\n".join([header, "\n".join(_bindings(parsed, code)), *included, code])


def _bindings(header: Header, code: str) -> Iterator[str]:
    """Lines that bind KEYS and ARGV to the header's names; a list's name to all of them. Its own
    start after `KEYS_BEFORE` of them, `KEYS_EACH` each, where the code counts by these."""
    for table, rows in (("KEYS", header.keys), ("ARGV", header.args)):
        if rows:
            values = (_value(table, place, row) for place, row in enumerate(rows, 1))
            yield f"local {', '.join(row.name for row in rows)} = {', '.join(values)}"
            before, each = _layout(rows)
            for name, number in ((f"{table}_BEFORE", before), (f"{table}_EACH", each)):
                if name in code:
                    yield f"local {name} = {number}"


def _value(table: str, place: int, row: Parameter) -> str:
    if row.is_list:
        return table
    value = f"{table}[{place}]"
    return f"tonumber({value})" if row.type == "number" else value


class Scripts:
    """All scripts, bound to one Redis."""

    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis
        self._scripts = {name: Script(name, text, redis) for name, text in sources().items()}
        redis.stats.names |= {
            script.digest.encode(): script.name for script in self._scripts.values()
        }

    def __getitem__(self, name: str) -> Script:
        return self._scripts[name]

    async def load(self) -> None:
        """Load the scripts into every server, so that calls need only their digests.

        One is called with no keys, to find out early if this user may not call scripts.
        """
        loads = [("SCRIPT", "LOAD", script.source) for script in self._scripts.values()]
        await self._redis.every_server(*loads, ("EVALSHA", self["counters/add"].digest, 0))

    @property
    def digests(self) -> list[str]:
        return [script.digest for script in self._scripts.values()]
