"""Sessions: signed tokens that end and can be revoked.

A token names an account and one of its sessions. A token that this service did not sign is rejected
without a round trip; for any other, Redis is queried whether the session continues, so that a
logout, a ban or another password ends it immediately. Requests without a token cost nothing.
"""

import asyncio
import secrets
from collections.abc import Callable

from ...errors import LoggedOut
from ...model import MAY_LOG_IN, PUBLIC, Account, Caller, Credentials, Session, Viewer
from ...netaddr import masked
from ...render.agent import describe
from ..store.accounts import AccountStore, Link, StoredAccount
from . import tokens

# Longer ones are not looked at: ours have about 200 characters.
MAX_TOKEN_CHARACTERS = 1024
# How a session was started without another service: this word.
PASSWORD = "password"  # noqa: S105
NO_CALLER = Caller()


class Sessions:
    """`key` signs tokens; "" for the one stored in the data set."""

    def __init__(
        self, accounts: AccountStore, clock: Callable[[], int], *, lasts_ms: int, key: str = ""
    ) -> None:
        self._accounts = accounts
        self._clock = clock
        self._lasts_ms = lasts_ms
        self._key = tokens.key_of("session", key) if key else b""

    async def start(
        self,
        stored: StoredAccount,
        credentials: Credentials,
        link: Link | None = None,
        *,
        by: str = PASSWORD,
        caller: Caller = NO_CALLER,
    ) -> str:
        """A token for an account, with its credentials after the login, and without the used link.
        `by`: how the caller was authenticated: PASSWORD, or another service.

        Raises LinkExpired, Changed.
        """
        now_ms = self._clock()
        session = await _new_session(now_ms, now_ms + self._lasts_ms, by, caller)
        key = await self._signing_key()
        await self._accounts.log_in(stored, credentials, session, now_ms=now_ms, link=link)
        claims = {"sub": stored.id, "sid": session.id, "exp": session.ends_ms // 1000}
        return tokens.sign(claims, key)

    async def viewer(self, token: str) -> Viewer:
        """The viewer with this token; the public for an invalid or ended one.

        Raises StoreUnavailable.
        """
        # Three parts: this rejects most texts that are not our tokens.
        if len(token) > MAX_TOKEN_CHARACTERS or token.count(".") != 2:
            return PUBLIC
        claims = tokens.claims_of(token, await self._signing_key())
        if claims is None:
            return PUBLIC
        id, session = str(claims["sub"]), str(claims["sid"])
        account = await self._accounts.of_session(id, session, self._clock())
        if account is None or account.role not in MAY_LOG_IN:
            return Viewer(former=id)
        return Viewer(account, session)

    async def end(self, viewer: Viewer) -> None:
        if viewer.account:
            await self._accounts.end_session(viewer.account.id, viewer.session)

    async def of(self, account: Account) -> list[Session]:
        """The sessions of an account, by their end."""
        return await self._accounts.sessions(account.id, self._clock())

    async def end_one(self, account: Account, session: str) -> None:
        """End a session of this account, wherever it is used."""
        await self._accounts.end_session(account.id, session)

    async def end_others(self, viewer: Viewer) -> None:
        """End all sessions of an account except the caller's. Raises LoggedOut."""
        if viewer.account is None:
            raise LoggedOut()
        await self._accounts.end_other_sessions(viewer.account.id, viewer.session)

    async def _signing_key(self) -> bytes:
        if not self._key:
            secret = await self._accounts.signing_key(secrets.token_hex(32))
            self._key = tokens.key_of("session", secret)
        return self._key


async def _new_session(started_ms: int, ends_ms: int, by: str, caller: Caller) -> Session:
    # The first one loads what knows browsers, for a tenth of a second.
    browser, system = await asyncio.to_thread(describe, caller.agent)
    network = masked(caller.address)
    return Session(secrets.token_hex(8), started_ms, ends_ms, by, browser, system, network)
