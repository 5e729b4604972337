"""Decisions by email: links with which the owner approves a comment or marks it as spam.

A link is signed, for one comment and a week. The email grants the owner's decision on this comment,
and nothing else: no session, no other comment.
"""

import secrets
from typing import Literal, NamedTuple, cast

from ...accounts.rules import tokens
from ...accounts.rules.mails import canonical
from ...comments.rules import actions
from ...comments.rules.orders import Order
from ...comments.rules.search import with_authors
from ...comments.store.ids import is_id
from ...model import Account, Caller, Comment, Viewer
from ...notify.comment_letters import OwnerLinks
from ...site import Comments

Deed = Literal["approved", "spam"]
DEEDS: tuple[Deed, ...] = ("approved", "spam")
WEEK_MS = 7 * 86_400_000


class Decided(NamedTuple):
    """What a link makes of a comment, and the comment as it is now, None if it is gone."""

    status: Deed
    comment: Comment | None
    is_done: bool


class Decisions:
    """`address` is where browsers reach this service, "" if it does not know; `owner` is the email
    that gets the links. All coroutines raise StoreUnavailable."""

    def __init__(self, comments: Comments, address: str, owner: str) -> None:
        self._comments = comments
        self._address = address
        self._owner = owner

    async def links(self, id: str) -> OwnerLinks | None:
        """None if this service does not know its address."""
        if not self._address:
            return None
        until, key = self._comments.process.clock() + WEEK_MS, await self._key()
        approve, spam = (
            f"{self._address}/decide?token="
            + tokens.sign({"id": id, "do": deed, "until": until}, key)
            for deed in DEEDS
        )
        return OwnerLinks(f"{self._address}/ui/queue", approve, spam)

    async def look(self, token: str) -> Decided | None:
        """The effect of a link; None for an invalid or expired one."""
        claims = tokens.claims_of(token, await self._key())
        if claims is None or int(claims["until"]) < self._comments.process.clock():
            return None
        id, deed = str(claims["id"]), cast(Deed, claims["do"])
        stored = await self._comments.store.by_ids([id]) if is_id(id) else []
        comment = (await with_authors(self._comments, stored)).get(id)
        return Decided(deed, comment, bool(stored) and stored[0].status == deed)

    async def decide(self, token: str) -> Decided | None:
        """Do it, as the owner; what came of it, as for `look`."""
        decided = await self.look(token)
        if decided is None or decided.is_done or decided.comment is None:
            return decided
        caller = Caller(Viewer(await self._account()), door="mail")
        seen = {decided.comment.id: ""}
        await actions.carry_out(self._comments, Order(decided.status), seen, caller)
        return await self.look(token)

    async def _account(self) -> Account:
        """The owner's, for the log; one by the name `email` if they have none."""
        stored = await self._comments.accounts.store.by_mail(canonical(self._owner))
        if stored and stored.account.role == "administrator":
            return stored.account
        return Account("email", "administrator", "", self._owner)

    async def _key(self) -> bytes:
        secret = await self._comments.accounts.store.signing_key(secrets.token_hex(32))
        return tokens.key_of("decide", secret)
