"""Decisions by email: links with which the owner approves a comment or marks it as spam.

A link is signed, for one comment as it was in the email, and a week. It grants the owner's decision
on this comment, and its undo, and nothing else: no session, no other comment.
"""

import secrets
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast

from ...accounts.rules import tokens
from ...accounts.rules.mails import canonical
from ...comments.noun import Comments
from ...comments.rules import actions, decisions
from ...comments.rules.decisions import Decided
from ...comments.rules.orders import Order
from ...comments.rules.search import with_authors
from ...errors import Refused
from ...ids import is_id
from ...model import Account, Caller, Comment, Status, Viewer
from ...notify.comment_letters import OwnerLinks
from ...render.page_address import page_address
from ...render.versions import version
from ...site_settings import SiteSettings

Deed = Literal["approved", "spam"]
DEEDS: tuple[Deed, ...] = ("approved", "spam")
WEEK_MS = 7 * 86_400_000


class Decision(NamedTuple):
    """What a link makes of a comment, and the comment as it is now, None if it is gone.

    It `is_done` if the comment has this status; it `has_changed` since the page or the email was
    made. `last` is who has changed it last. `token` decides on what it is now, `undo` takes this
    link's decision back; "" for none.
    """

    deed: Deed
    comment: Comment | None
    status: Status = "waiting"
    has_changed: bool = False
    last: Decided | None = None
    token: str = ""
    undo: str = ""
    page_url: str = ""
    queue_url: str = ""

    @property
    def is_done(self) -> bool:
        return self.status == self.deed


class Decisions:
    """All coroutines raise StoreUnavailable."""

    def __init__(self, comments: Comments, settings: SiteSettings) -> None:
        self._comments = comments
        # Where browsers reach this service, "" if it does not know, and the site.
        self._address = settings.server_url
        self._site_url = settings.site_url
        # Who gets the links.
        self._owner = settings.owner_email

    async def links(self, id: str, seen: str) -> OwnerLinks | None:
        """For a comment of this version; None if this service does not know its address."""
        if not self._address:
            return None
        until = self._comments.process.clock() + WEEK_MS
        approve, spam = [await self._sign(id=id, do=deed, until=until, seen=seen) for deed in DEEDS]
        page = f"{self._address}/decide?token="
        return OwnerLinks(self._queue_url, page + approve, page + spam)

    async def look(self, token: str) -> Decision | None:
        """The effect of a link; None for an invalid or expired one."""
        claims = await self._claims(token)
        return await self._look(claims) if claims and "do" in claims else None

    async def decide(self, token: str) -> Decision | None:
        """Do it, as the owner; what came of it, as for `look`. A comment that is not what the link
        was made for stays as it is. A link for an undo takes a decision back."""
        claims = await self._claims(token)
        if claims is None:
            return None
        caller = Caller(Viewer(await self._account()), door="mail")
        if "undo" in claims:
            try:
                await actions.undo(self._comments, str(claims["undo"]), caller)
            except Refused:
                return None
            return await self._look(claims)
        before = await self._look(claims)
        if before.is_done or before.has_changed or before.comment is None:
            return before
        seen = {before.comment.id: str(claims.get("seen", ""))}
        action = await actions.carry_out(self._comments, Order(before.deed), seen, caller)
        after = await self._look(claims)
        if not (action.can_undo and after.is_done):
            return after
        undo = await self._sign(**{**claims, "undo": action.name})
        return after._replace(has_changed=False, undo=undo)

    async def _look(self, claims: Mapping[str, Any]) -> Decision:
        id, deed = str(claims["id"]), cast(Deed, claims["do"])
        stored = await self._comments.store.by_ids([id]) if is_id(id) else []
        if not stored and (moved := await self._comments.forwards.follow(id)):
            id = moved[1]
            stored = await self._comments.store.by_ids([id])
        comment = (await with_authors(self._comments, stored)).get(id)
        if comment is None:
            return Decision(deed, None, queue_url=self._queue_url)
        now, seen = version(stored[0]), claims.get("seen")
        return Decision(
            deed,
            comment,
            stored[0].status,
            seen not in (None, now),
            (await decisions.of(self._comments, [id])).get(id),
            await self._sign(**{**claims, "seen": now}),
            page_url=page_address(comment.path, self._site_url) if self._site_url else "",
            queue_url=self._queue_url,
        )

    @property
    def _queue_url(self) -> str:
        return f"{self._address}/ui/queue"

    async def _claims(self, token: str) -> Mapping[str, Any] | None:
        claims = tokens.claims_of(token, await self._key())
        if claims is None or int(claims["until"]) < self._comments.process.clock():
            return None
        return claims

    async def _sign(self, **claims: object) -> str:
        return tokens.sign(claims, await self._key())

    async def _account(self) -> Account:
        """The owner's, for the log; one by the name `email` if they have none."""
        stored = await self._comments.accounts.store.by_mail(canonical(self._owner))
        if stored and stored.account.role == "administrator":
            return stored.account
        return Account("email", "administrator", "", self._owner)

    async def _key(self) -> bytes:
        secret = await self._comments.accounts.store.signing_key(secrets.token_hex(32))
        return tokens.key_of("decide", secret)
