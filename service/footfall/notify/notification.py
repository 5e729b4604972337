"""Notifications of comments, and the interface of a channel."""

from dataclasses import dataclass
from typing import Protocol

from ..model import Comment, Status
from ..render.links import pictures_as_links, with_whole_addresses
from ..render.page_address import page_address

# The channels for readers and for the owner, whose tasks have these names.
READER_MAIL, OWNER_MAIL = "mail-reader", "mail-owner"


class NotDelivered(Exception):
    """The delivery failed; the text is the other side's answer.

    With `is_final` it would always fail, so it is not retried.
    """

    def __init__(self, text: str, *, is_final: bool = False) -> None:
        super().__init__(text)
        self.is_final = is_final


class Gathered(NotDelivered):
    """Nothing was sent: it follows later, together with others."""


class Dropped(NotDelivered):
    """Nothing was sent, and nothing will be: its recipient wants none, or has had enough."""


@dataclass(frozen=True, slots=True)
class Notification:
    """The comment `about` has become `now`; `was` is "" for a new one, and `by` the actor. Its
    `status` may have changed again since.

    `parent` is the comment it replies to, None for a root or if that is gone. Both have nick, email
    and link of their author's account as it is now, if there is one. `key` is the same for each
    attempt to deliver this, and unique to it; `attempts` were made before. `seen` is "" if it was
    never approved before, and "0" if it was and readers were not notified.
    """

    about: Comment
    status: Status
    parent: Comment | None
    was: str
    now: str
    by: str
    site_name: str
    site_url: str
    key: str = ""
    seen: str = ""
    attempts: int = 0
    parent_status: Status = "approved"
    # Of `about` with its status, as decisions name it.
    version: str = ""
    # Of the page; "" for an unknown one.
    page_title: str = ""

    @property
    def post_url(self) -> str:
        """Where readers see the comment; without a site a path."""
        return f"{page_address(self.about.path, self.site_url)}#{self.about.id}"

    @property
    def is_new(self) -> bool:
        """Is it the first news of a comment? Spam filters are queried before any notification."""
        return not self.seen and (self.was == "" or self.by == "judge")

    @property
    def is_for_owner(self) -> bool:
        """Is it for the site's owner? A new comment, or one that is unpublished after its author's
        edit or by reports of readers; never spam."""
        is_news = self.by == "readers" or (self.by != "moderator" and not self.seen)
        return is_news and "spam" not in (self.now, self.status)

    @property
    def is_for_reader(self) -> bool:
        """May the author of the parent be notified? Only of public comments, and once."""
        is_visible = self.now == self.status == "approved"
        return self.parent is not None and is_visible and self.seen != "1"


class Channel(Protocol):
    """`name` is that of its tasks. A name must not be used again with another meaning, as tasks
    stay in Redis."""

    name: str

    def wants(self, notification: Notification) -> bool: ...

    async def send(self, notification: Notification) -> None:
        """Raises NotDelivered."""


def letter_html(comment: Comment, site_url: str) -> str:
    """A comment's HTML for an email: its links lead where they lead on its page, and pictures are
    links, so that nothing loads by itself."""
    page = page_address(comment.path, site_url)
    return pictures_as_links(with_whole_addresses(comment.html, page))
