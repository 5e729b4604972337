"""Do accounts stand where they belong: by email, by age, as administrators, among the banned?

An account and its indexes change in one script, its entry in the list of bans in a second one. So
an entry that looks wrong is read again a second later, and is a problem only if it still does.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..accounts.rules.ban_list import kind_of
from ..accounts.rules.mails import canonical, is_canonically
from ..accounts.store import codec
from ..accounts.store.bans import VERSION
from ..comments.store.closings import is_rule
from ..ids import SHORT
from ..model import Account, Ban, Credentials
from .backup import walked_hash
from .check_site import AGAIN_SECONDS, MAX_DOUBTS
from .dataset import DataSet
from .page_walk import WALK_STEP_COMMENTS


class AccountEntry(NamedTuple):
    """A member of an index, which leads to the account with this id."""

    name: str
    member: str
    id: str


# Index -> does this member of it belong to an account with these credentials?
BELONGS: Mapping[str, Callable[[str, Account, Credentials], bool]] = {
    "mails": lambda mail, account, _: is_canonically(account.mail, mail),
    "ids": lambda _, account, __: True,
    "administrators": lambda _, account, __: account.role == "administrator",
    "credentials": lambda _, account, __: True,
    "identities": lambda name, _, credentials: name in _identities(credentials),
    "sessions": lambda _, account, __: True,
    "logins": lambda _, account, __: True,
    "places": lambda _, account, __: True,
    "bans": lambda _, account, __: account.role == "banned",
}
# Optional data of an account: none may exist without one.
OPTIONAL = ("credentials", "sessions", "logins", "places")
# Of each account a key of its own -> the command that counts its members.
OWN_KEYS: Mapping[str, str] = {"sessions": "ZCARD", "logins": "HLEN", "places": "ZCARD"}
HASHES = ("mails", "credentials", "identities")
SETS = ("ids", "administrators")
# Hashes of accounts' ids.
LEADING = ("mails", "identities")


class AccountCheck:
    def __init__(self, data: DataSet, *, repair: bool) -> None:
        self._data = data
        self._repair = repair
        self._doubts = set[AccountEntry]()

    async def problems(self) -> AsyncIterator[str]:
        async for part in self._parts():
            async for text in self._compared(part):
                yield text
            if len(self._doubts) > MAX_DOUBTS:
                async for text in self._settled():
                    yield text
        async for text in self._unreadable_rules():
            yield text
        async for text in self._settled():
            yield text

    async def _parts(self) -> AsyncIterator[Sequence[AccountEntry]]:
        """Every entry that exists, or should, in steps; some twice."""
        redis, keys = self._data.redis, self._data.keys
        async for pairs in walked_hash(redis, keys.accounts):
            secrets = await redis.ask(
                *(("HGET", keys.account("credentials"), id) for id, _ in pairs)
            )
            yield [
                entry
                for (id, body), secret in zip(pairs, secrets, strict=True)
                for entry in _entries(id.decode(), body, secret or b"")
            ]
        for index in HASHES:
            async for pairs in walked_hash(redis, keys.account(index)):
                yield [
                    AccountEntry(index, *map(_text, (name, name if index == "credentials" else id)))
                    for name, id in pairs
                ]
        for index in SETS:
            async for pairs in walked_hash(redis, keys.account(index), "ZSCAN"):
                yield [AccountEntry(index, _text(id), _text(id)) for id, _ in pairs]
        for index in OWN_KEYS:
            async for names in redis.scan(keys.account(f"{index}:*")):
                ids = [_text(name).rpartition(":")[2] for name in names]
                yield [AccountEntry(index, id, id) for id in ids]
        async for pairs in walked_hash(redis, keys.site("bans")):
            values = [_text(value) for value, _ in pairs if value != VERSION.encode()]
            yield [
                AccountEntry("bans", name, name) for name in values if kind_of(name) == "account"
            ]

    async def _compared(self, part: Sequence[AccountEntry]) -> AsyncIterator[str]:
        """Note entries to read again; yield lasting problems."""
        states = await self._states(part)
        for entry, state in zip(part, states, strict=True):
            if state is None and entry.name == "ids":
                yield f"accounts: {entry.id} cannot be read"
            elif state is not None and _is_wrong(entry, *state):
                self._doubts.add(entry)

    async def _states(self, part: Sequence[AccountEntry]) -> list[tuple[bool, bool] | None]:
        """Whether each belongs there, and whether it is; None where that cannot be read."""
        keys, asked = self._data.keys, list[tuple[str, ...]]()
        for entry in part:
            asked.append(("HGET", keys.accounts, entry.id))
            asked.append(("HGET", keys.account("credentials"), entry.id))
            asked.append(self._question(entry))
        replies = await self._data.redis.ask_masters(*asked)
        return [
            _state(entry, *replies[at : at + 3])
            for entry, at in zip(part, range(0, len(replies), 3), strict=True)
        ]

    def _question(self, entry: AccountEntry) -> tuple[str, ...]:
        keys = self._data.keys
        if entry.name in OWN_KEYS:
            key = keys.account(f"{entry.name}:{entry.id[:SHORT]}")
            return (OWN_KEYS[entry.name], key)
        if entry.name in SETS:
            return ("ZSCORE", keys.account(entry.name), entry.id)
        key = keys.site("bans") if entry.name == "bans" else keys.account(entry.name)
        return ("HGET", key, entry.member)

    async def _settled(self) -> AsyncIterator[str]:
        doubts, self._doubts = sorted(self._doubts), set()
        if doubts:
            await asyncio.sleep(AGAIN_SECONDS)
        for first in range(0, len(doubts), WALK_STEP_COMMENTS):
            part = doubts[first : first + WALK_STEP_COMMENTS]
            for entry, state in zip(part, await self._states(part), strict=True):
                if state is not None and _is_wrong(entry, *state):
                    yield await self._problem(entry, is_wanted=state[0])

    async def _problem(self, entry: AccountEntry, *, is_wanted: bool) -> str:
        if self._repair:
            await self._correct(entry, is_wanted=is_wanted)
        repaired = " (repaired)" if self._repair else ""
        index = "bans" if entry.name == "bans" else f"accounts: {entry.name}"
        if is_wanted:
            return f"{index} lacks {entry.member} of account {entry.id}{repaired}"
        return f"{index} holds {entry.member}, which belongs to no such account{repaired}"

    async def _correct(self, entry: AccountEntry, *, is_wanted: bool) -> None:
        keys, change = self._data.keys, self._data.redis.change
        if entry.name == "bans":
            ban = await self._data.bans.get(entry.id)
            after = Ban(entry.id) if is_wanted else None
            await self._data.bans.change(entry.id, ban, after, 0)
        elif entry.name in OWN_KEYS:
            await change(("DEL", keys.account(f"{entry.name}:{entry.id[:SHORT]}")))
        elif entry.name in SETS:
            command = ("ZADD", "0") if is_wanted else ("ZREM",)
            await change((command[0], keys.account(entry.name), *command[1:], entry.id))
        elif is_wanted:
            # Only where nobody is: of two accounts with one email somebody has to decide.
            await change(("HSETNX", keys.account(entry.name), entry.member, entry.id))
        else:
            await change(("HDEL", keys.account(entry.name), entry.member))

    async def _unreadable_rules(self) -> AsyncIterator[str]:
        """Bans, and which pages are closed."""
        for name, is_whole in (("bans", codec.is_ban), ("closed", is_rule)):
            key = self._data.keys.site(name)
            async for pairs in walked_hash(self._data.redis, key):
                for value, body in pairs:
                    is_version = name == "bans" and value == VERSION.encode()
                    if is_version or is_whole(body):
                        continue
                    if self._repair:
                        await self._data.redis.change(("HDEL", key, value))
                    repaired = " (repaired)" if self._repair else ""
                    yield f"{name} {_text(value)} cannot be read, and holds nobody{repaired}"


def _entries(id: str, body: bytes, secret: bytes) -> Iterable[AccountEntry]:
    """What leads to an account, or might."""
    yield AccountEntry("ids", id, id)
    yield AccountEntry("administrators", id, id)
    yield AccountEntry("bans", id, id)
    try:
        yield AccountEntry("mails", canonical(codec.account(id, body).mail), id)
        yield from (
            AccountEntry("identities", name, id) for name in _identities(codec.credentials(secret))
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        # It cannot be read, which is reported where it is compared.
        return


def _identities(credentials: Credentials) -> set[str]:
    return {f"{service} {name}" for service, name in credentials.identities.items()}


def _state(
    entry: AccountEntry, body: bytes | None, secret: bytes | None, actual: bytes | int | None
) -> tuple[bool, bool] | None:
    try:
        account = codec.account(entry.id, body) if body else None
        credentials = codec.credentials(secret or b"")
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    belongs = account is not None and BELONGS[entry.name](entry.member, account, credentials)
    is_there = actual == entry.id.encode() if entry.name in LEADING else bool(actual)
    return belongs, is_there


def _is_wrong(entry: AccountEntry, belongs: bool, is_there: bool) -> bool:
    may_be_missing = belongs and entry.name in OPTIONAL
    return is_there != belongs and not may_be_missing


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")
