"""What a viewer may see of a comment, as the dict that answers carry.

Clients decide by the presence of a key: `rid` in an answer means "a reply", `like` means "can be
liked". So a fact that is not there is left out, not sent as null.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..model import Shown, Viewer


@dataclass(frozen=True, slots=True)
class Look:
    """How this site shows its commentators. `avatar` makes a URL of nick, mail and link."""

    avatar: Callable[[str, str, str], str]
    levels: tuple[int, ...] = ()
    shows_agent: bool = True
    shows_region: bool = True

    def level(self, approved: int) -> int | None:
        """The index of the last threshold that so many comments reach, 0 below the first."""
        if not self.levels:
            return None
        return max(bisect_right(self.levels, approved) - 1, 0)


def record(shown: Shown, viewer: Viewer, look: Look) -> dict[str, Any]:
    """One comment as every answer shows it, without its replies."""
    comment, author = shown.comment, shown.author
    fields: dict[str, Any] = {
        "objectId": comment.id,
        "comment": comment.html,
        "orig": comment.source,
        "time": comment.at,
        "status": shown.status,
        "like": shown.likes,
        **_author(shown, look),
    }
    if look.shows_agent:
        fields |= {"browser": comment.browser, "os": comment.os}
    if comment.account:
        fields["user_id"] = comment.account
    if author:
        fields |= {"type": author.role, "label": author.label}
    if comment.parent:
        fields |= {"pid": comment.parent, "rid": comment.root}
    if viewer.is_administrator:
        fields |= {"mail": author.mail if author else comment.mail, "ip": comment.address}
        if comment.full_region or comment.region:
            fields["addr"] = comment.full_region or comment.region
    elif comment.region and look.shows_region:
        fields["addr"] = comment.region
    return fields


def posted(shown: Shown, viewer: Viewer, look: Look) -> dict[str, Any]:
    """The answer to whoever has just posted; what was not sent stays away."""
    fields = record(shown, viewer, look) | {"url": shown.comment.path}
    return {name: value for name, value in fields.items() if value is not None or name == "label"}


def thread(root: Shown, viewer: Viewer, look: Look) -> dict[str, Any]:
    """A root in a list, with its replies."""
    fields = _listed(root, viewer, look)
    fields["sticky"] = root.is_pinned
    # A reply names whom it replies to only if that comment is shown too.
    users = {each.comment.id: _author(each, look) for each in (root, *root.replies)}
    fields["children"] = []
    for reply in root.replies:
        child = _listed(reply, viewer, look)
        if reply.comment.parent in users:
            child["reply_user"] = users[reply.comment.parent]
        fields["children"].append(child)
    return fields


def elsewhere(shown: Shown, viewer: Viewer, look: Look) -> dict[str, Any]:
    """A comment shown away from its article, so with the article's path."""
    return record(shown, viewer, look) | {
        "url": shown.comment.path,
        "sticky": shown.is_pinned,
    }


def _listed(shown: Shown, viewer: Viewer, look: Look) -> dict[str, Any]:
    fields = record(shown, viewer, look)
    if shown.level is not None:
        fields["level"] = shown.level
    return fields


def _author(shown: Shown, look: Look) -> dict[str, Any]:
    """Nick, link and avatar: an account's as they are now, anybody else's as they were typed."""
    comment, author = shown.comment, shown.author
    if author is None:
        return {"nick": comment.nick, "link": comment.link, "avatar": comment.avatar}
    avatar = author.avatar or look.avatar(author.nick, author.mail, author.link)
    return {"nick": author.nick, "link": author.link, "avatar": avatar}
