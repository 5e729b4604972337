"""Accounts, all with one hash tag: they are few and rarely written, and claims must be atomic.

An account is two pieces of JSON: a public body, and secret credentials. Each change passes them as
they were read, so that of two concurrent changes one must read again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from ...driver.client import RedisClient
from ...driver.keys import Keys
from ...driver.replies import ErrorReply, scored
from ...driver.scripts import Scripts
from ...errors import (
    IdentityTaken,
    LastAdministrator,
    LinkExpired,
    LoggedOut,
    StoreUnavailable,
    UserExists,
)
from ...ids import SHORT
from ...model import Account, Credentials, Session
from . import codec

# Purposes of links. Of `password`, `reset` and `mail` an account has one each; `register` creates
# one.
Purpose = Literal["password", "reset", "mail", "register", "flow", "ticket"]
# A single-use link: its purpose, and its account, or the secret that proves it.
Link = tuple[Purpose, str]
# Accounts read at once: administrators, and those whose changes readers may not see yet.
MAX_READ = 100
# Sessions per account; beyond this, the first to end are dropped.
MAX_SESSIONS = 50


class Changed(Exception):
    """The account has changed since it was read, or is gone: read it again."""


# Replies of scripts that reject a change.
REFUSALS: Mapping[bytes, type[Exception]] = {
    b"EXPIRED": LinkExpired,
    b"CHANGED": Changed,
    b"ENDED": LoggedOut,
    b"TAKEN": UserExists,
    b"KNOWN": IdentityTaken,
    b"LAST": LastAdministrator,
}


class UsedLink(NamedTuple):
    """A link and its value. Only its own action uses it up."""

    link: Link
    what: str


@dataclass(frozen=True, slots=True)
class StoredAccount:
    """An account as it was read."""

    id: str
    body: bytes
    secret: bytes

    @property
    def account(self) -> Account:
        return codec.account(self.id, self.body)

    @property
    def credentials(self) -> Credentials:
        return codec.credentials(self.secret)


# What a change of an account may change.
_CHANGED = ("bodies", "credentials", "mails", "ids", "administrators", "unseen", "identities")


class AccountStore:
    """Emails are compared in the canonical form that callers give them."""

    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._find = scripts["accounts/find"]
        self._register = scripts["accounts/register"]
        self._change = scripts["accounts/change"]
        self._log_in = scripts["accounts/log_in"]
        self._end_sessions = scripts["accounts/end_sessions"]
        self._seen = scripts["accounts/seen"]

    async def by_ids(self, ids: Iterable[str]) -> dict[str, Account]:
        """The existing accounts among these ids."""
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        (bodies,) = await self._redis.ask(("HMGET", self._keys.accounts, *wanted))
        return {
            id: codec.account(id, body) for id, body in zip(wanted, bodies, strict=True) if body
        }

    async def credentials(self, ids: Sequence[str]) -> list[Credentials]:
        """The credentials of these accounts, in order; at least one id is required."""
        (secrets,) = await self._redis.ask(("HMGET", self._keys.account("credentials"), *ids))
        return [codec.credentials(secret or b"") for secret in secrets]

    async def by_id(self, id: str) -> StoredAccount | None:
        body, secret = await self._redis.ask_masters(
            ("HGET", self._keys.accounts, id), ("HGET", self._keys.account("credentials"), id)
        )
        return StoredAccount(id, body, secret or b"") if body else None

    async def by_mail(self, mail: str) -> StoredAccount | None:
        reply = await self._find(**self._keys_of("bodies", "credentials", "mails"), mail=mail)
        return StoredAccount(reply[0].decode(), *reply[1:]) if reply else None

    async def by_identity(self, service: str, id: str) -> StoredAccount | None:
        """The account that another service knows by this id."""
        key = self._keys.account("identities")
        (reply,) = await self._redis.ask_masters(("HGET", key, f"{service} {id}"))
        return await self.by_id(reply.decode()) if reply else None

    async def listed(
        self, first: int, size: int, *, is_newest_first: bool = False
    ) -> tuple[int, list[Account]]:
        """The number of accounts, and some of them by age."""
        ids_key = self._keys.account("ids")
        order = ("REV",) if is_newest_first else ()
        total, ids = await self._redis.ask_masters(
            ("ZCARD", ids_key), ("ZRANGE", ids_key, first, first + size - 1, *order)
        )
        accounts = await self.by_ids(id.decode() for id in ids)
        return total, [accounts[id] for id in sorted(accounts, reverse=is_newest_first)]

    async def administrators(self) -> list[str]:
        """Ids of administrators."""
        key = self._keys.account("administrators")
        (ids,) = await self._redis.ask_masters(("ZRANGE", key, 0, MAX_READ - 1))
        return [id.decode() for id in ids]

    async def lacks_administrator(self) -> bool:
        """Is there none? No if Redis is unreachable, which is reported elsewhere."""
        try:
            return not await self.administrators()
        except (StoreUnavailable, ErrorReply):
            return False

    async def register(
        self,
        first: Account | None,
        other: Account | None,
        mail: str,
        credentials: Credentials,
        used: UsedLink | None = None,
    ) -> Account | None:
        """Create the first of these two if there is no account yet, else the other one; the one
        created.

        Both have one id; None is rejected. Raises LinkExpired, UserExists, IdentityTaken.
        """
        shape = first or other
        assert shape is not None
        names = "bodies", "credentials", "mails", "ids", "administrators", "identities"
        outcome = await self._register(
            **self._keys_of(*names),
            id=shape.id,
            mail=mail,
            first=codec.account_body(first) if first else b"",
            other=codec.account_body(other) if other else b"",
            founds=first is not None and first.role == "administrator",
            administers=other is not None and other.role == "administrator",
            secret=codec.credentials_body(credentials),
            link=self._link(used.link if used else None),
            follows=used.what if used else "",
            known_by=_known_by(credentials.identities),
        )
        _require(outcome)
        match outcome[0]:
            case b"FIRST":
                return shape
            case b"OK":
                return other
        return None

    async def change(
        self,
        stored: StoredAccount,
        after: tuple[Account, Credentials] | None,
        *,
        mails: tuple[str, str],
        revokes: bool,
        session: str = "",
        keeps: bool = False,
        unseen_since: int = 0,
        used: UsedLink | None = None,
    ) -> None:
        """Replace or remove an account; the first of `mails` is its old email, canonical.

        `session` is this account's own session of the request. `revokes` ends its sessions; with
        `keeps`, all but that one. If readers see the change, `unseen_since` is its time, ms, and
        stays stored until `seen`. Raises LinkExpired, Changed, LoggedOut, UserExists,
        IdentityTaken, LastAdministrator.
        """
        outcome = await self._change(
            **self._keys_of(*_CHANGED),
            **self._sessions_of(stored.id),
            places=self._keys.account(f"places:{stored.id[:SHORT]}"),
            link=self._link(used.link if used else None),
            follows=used.what if used else "",
            id=stored.id,
            old_body=stored.body,
            old_secret=stored.secret,
            old_mail=mails[0],
            mail=mails[1],
            body=codec.account_body(after[0]) if after else b"",
            secret=codec.credentials_body(after[1]) if after else b"",
            administers=after is not None and after[0].role == "administrator",
            session=session,
            revokes=revokes,
            keeps=keeps,
            unseen_since=unseen_since,
            **_identities(stored.credentials, after[1] if after else None),
        )
        _require(outcome)

    async def unseen(self, before_ms: int) -> list[tuple[str, int]]:
        """Accounts that changed so long ago and that readers may not see as they are; and when."""
        key = self._keys.account("unseen")
        (reply,) = await self._redis.ask_masters(
            ("ZRANGE", key, "-inf", before_ms, "BYSCORE", "LIMIT", 0, MAX_READ, "WITHSCORES")
        )
        return [(id.decode(), int(since_ms)) for id, since_ms in scored(reply)]

    async def seen(self, id: str, since_ms: int) -> None:
        """Readers see the change that was made then; a later one is not forgotten."""
        await self._seen(unseen=self._keys.account("unseen"), id=id, since=since_ms)

    # Sessions.

    async def log_in(
        self,
        stored: StoredAccount,
        credentials: Credentials,
        session: Session,
        *,
        now_ms: int,
        link: Link | None = None,
    ) -> None:
        """Start a session, with the credentials after the login; a `link` is used up by it.

        Raises LinkExpired, Changed.
        """
        outcome = await self._log_in(
            **self._keys_of("bodies", "credentials"),
            **self._sessions_of(stored.id),
            id=stored.id,
            body=stored.body,
            old_secret=stored.secret,
            secret=codec.credentials_body(credentials),
            session=session.id,
            facts=codec.session_body(session),
            now=now_ms,
            ends=session.ends_ms,
            keep=MAX_SESSIONS,
            link=self._link(link),
            follows=link is not None,
        )
        _require(outcome)

    async def of_session(self, id: str, session: str, now_ms: int) -> Account | None:
        """The account of this session, unless it has ended."""
        body, ends_ms = await self._redis.ask_masters(
            ("HGET", self._keys.accounts, id),
            ("ZSCORE", self._sessions_of(id)["sessions"], session),
        )
        is_going_on = body is not None and ends_ms is not None and float(ends_ms) > now_ms
        return codec.account(id, body) if is_going_on else None

    async def sessions(self, id: str, now_ms: int) -> list[Session]:
        """The sessions of an account, by their end; at most MAX_SESSIONS."""
        keys = self._sessions_of(id)
        (reply,) = await self._redis.ask_masters(
            ("ZRANGE", keys["sessions"], f"({now_ms}", "+inf", "BYSCORE", "WITHSCORES")
        )
        ends = {session.decode(): int(ends_ms) for session, ends_ms in scored(reply)}
        if not ends:
            return []
        (facts,) = await self._redis.ask_masters(("HMGET", keys["logins"], *ends))
        stored = zip(ends.items(), facts, strict=True)
        return [codec.session(session, ends, body or b"") for (session, ends), body in stored]

    async def end_session(self, id: str, session: str) -> None:
        """End it, unless it has ended."""
        await self._end_sessions(**self._sessions_of(id), session=session, others=False)

    async def end_other_sessions(self, id: str, session: str) -> None:
        """End all sessions of an account but this one. Raises LoggedOut if this one is over."""
        _require(await self._end_sessions(**self._sessions_of(id), session=session, others=True))

    async def keep_link(self, link: Link, what: str, *, lasts_ms: int) -> None:
        """Store a link in place of an older one, if any."""
        await self._redis.change(("SET", self._link(link), what, "PX", lasts_ms))

    async def read_link(self, link: Link) -> str:
        """What it holds; "" if it is missing or used."""
        (what,) = await self._redis.ask_masters(("GET", self._link(link)))
        return (what or b"").decode()

    async def take_link(self, link: Link) -> str:
        """What it holds, once; "" if it is missing or used."""
        (what,) = await self._redis.change(("GETDEL", self._link(link)))
        return (what or b"").decode()

    async def signing_key(self, fresh: str) -> str:
        """The key that signs tokens: this one, if none is stored yet."""
        key = self._keys.account("key")
        _, stored = await self._redis.change(("SET", key, fresh, "NX"), ("GET", key))
        return str(stored.decode())

    def _keys_of(self, *names: str) -> dict[str, str]:
        return {name: self._keys.account(name) for name in names}

    def _sessions_of(self, id: str) -> dict[str, str]:
        return {name: self._keys.account(f"{name}:{id[:SHORT]}") for name in ("sessions", "logins")}

    def _link(self, link: Link | None) -> str:
        # Not the token itself: read access to Redis must not be enough to use it.
        digest = sha256(" ".join(link).encode()).hexdigest() if link else ""
        return self._keys.account(f"link:{digest[:32]}")


def _require(outcome: Sequence[bytes]) -> None:
    """Raises the error for a script's reply."""
    if refusal := REFUSALS.get(outcome[0]):
        raise refusal()


def _identities(before: Credentials, after: Credentials | None) -> dict[str, Any]:
    """The identities at other services that an account loses, and those that it gets."""
    known_by = _known_by(after.identities) if after else []
    lost = [identity for identity in _known_by(before.identities) if identity not in known_by]
    return {"lost": len(lost), "known_by": lost + known_by}


def _known_by(identities: Mapping[str, str]) -> list[str]:
    return [f"{service} {id}" for service, id in identities.items()]
