"""Permission to comment, and the status of a new comment: approved, pending, spam or rejected."""

from dataclasses import dataclass

from ...driver.script_calls import Rate
from ...errors import Forbidden
from ...model import Caller, Status
from ...netaddr import Networks
from ...patterns import Patterns
from ...process.renderer import RenderedText
from ...render.links import count_links


@dataclass(frozen=True, slots=True)
class Rules:
    """The site's rules for new comments, from its settings.

    `cooldown` allows a comment at a time from an address, None any number;
    `comment_length` is in characters. Comments are pending with `is_audited`, with `is_filtered`
    until spam filters have answered, and with more than `max_links` links, if that is not 0; but
    not those of accounts with `trust_after` approved ones, if that is not 0; and again when readers
    at `report_after` addresses have reported them, if that is not 0. Spam is kept for
    `spam_days`, 0 for ever; and where comments are almost full, what is held for `held_days`.
    """

    cooldown: Rate | None = None
    comment_length: int = 16_384
    is_audited: bool = False
    is_filtered: bool = False
    max_links: int = 0
    trust_after: int = 0
    report_after: int = 0
    # May readers search?
    readers_search: bool = False
    spam_days: int = 0
    held_days: int = 0
    forbidden: Patterns | None = None
    disallowed: Networks = Networks()

    @property
    def asks_for_trust(self) -> bool:
        """Does it matter how many approved comments an account has?"""
        may_wait = self.is_audited or self.is_filtered or self.max_links > 0
        return may_wait and self.trust_after > 0

    def holds(self, html: str) -> bool:
        """Is a comment pending, whatever spam filters find?"""
        return self.is_audited or 0 < self.max_links < count_links(html)


def require_allowed(caller: Caller, rules: Rules) -> None:
    """Raises Forbidden if the caller's address is disallowed; moderators are exempt."""
    if not caller.viewer.is_moderator and caller.address in rules.disallowed:
        raise Forbidden()


def verdict(caller: Caller, rules: Rules, made: RenderedText, *, approved: int = 0) -> Status:
    """The status of a new comment by an account with this many approved ones. Its author sees it as
    posted, even spam: Waline does not reveal that either."""
    if caller.viewer.is_moderator:
        return "approved"
    if made.has_forbidden_words or made.banned:
        return "spam"
    is_trusted = rules.asks_for_trust and approved >= rules.trust_after
    must_wait = rules.is_filtered or rules.holds(made.html)
    return "waiting" if must_wait and not is_trusted else "approved"
