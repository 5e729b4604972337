"""What a viewer may see of comments, as the JSON that answers carry.

A comment's body is stored as pieces of JSON, and a page is joined from them: nothing is parsed and
written again, since a busy page has fifty comments and its readers are many.

Clients decide by the presence of a key: `rid` in an answer means "a reply", `like` means "can be
liked". So a fact that is not there is left out, not sent as null. What there was no room for
is told in `more`, of which clients that do not know it take no notice.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import orjson

from ..markup import safe_nick, safe_url
from ..model import BY_ACCOUNT, PARENT, Account, Showing, Shown, Status, Viewer

# Bytes of `reply_user` in one answer, which repeats names: a long one would come back a thousand
# times.
MAX_REPEATED = 1 << 18
# How JSON may hold the signs of a tag: as themselves, or as their numbers.
_SIGNS_OF_A_TAG = (b"<", b">", b"\\u00")
_STICKY = (b',"sticky":false', b',"sticky":true')


@dataclass(frozen=True, slots=True)
class Look:
    """How this site shows its commentators. `avatar` makes a URL of nick, mail and link."""

    avatar: Callable[[str, str, str], str]
    levels: tuple[int, ...] = ()
    shows_agent: bool = True
    shows_region: bool = True

    def level(self, approved: int) -> int:
        """The index of the last threshold that so many comments reach, 0 below the first."""
        return max(bisect_right(self.levels, approved) - 1, 0)


@dataclass(frozen=True, slots=True)
class View:
    """Writes comments for one viewer; `is_dated` adds the date that the older layout has."""

    viewer: Viewer
    look: Look
    is_dated: bool

    def threads(self, showing: Showing) -> bytes:
        """A JSON list of roots, each with its replies in `children`."""
        parts, repeated = [b"["], 0
        # How the next comment begins, by what came before it.
        root, reply = b'{"objectId":"', b""
        # A reply names whom it replies to only if that comment is shown too.
        persons: dict[bytes, bytes] = {}
        is_plain, levels = self._is_plain, self.look.levels
        for shown in showing.comments:
            id, _, body, likes, status, is_pinned, is_reply, is_cut, further = shown
            person, content, agent, region, _ = body
            key = id.encode()
            if not is_plain or region or person.startswith(BY_ACCOUNT):
                person, comma = self._person(shown, showing), b""
                agent = self._rest(shown, showing)
            else:
                comma = b","
            parts += reply if is_reply else root, key, _state(status, likes), person, b",", content
            parts += comma, agent, _STICKY[is_pinned]
            if levels:
                parts.append(self._level(shown, showing))
            if is_cut or further:
                parts.append(_more(shown))
            if not is_reply:
                parts.append(b',"children":[')
                root, reply, persons = b']},{"objectId":"', b'{"objectId":"', {key: person}
                continue
            persons[key] = person
            replied = persons.get(content[PARENT])
            if replied is None or repeated >= MAX_REPEATED:
                parts.append(b"}")
            else:
                parts += b',"reply_user":{', replied, b"}}"
                repeated += len(replied)
            reply = b',{"objectId":"'
        if showing.comments:
            parts.append(b"]}")
        parts.append(b"]")
        return b"".join(parts)

    def elsewhere(self, showing: Showing) -> list[bytes]:
        """Each comment as it is shown away from its article, so with the article's path."""
        return [
            b'{"objectId":"%b%b%b,%b%b,"url":%b%b}'
            % (
                shown.id.encode(),
                _state(shown.status, shown.likes),
                self._signed(shown, showing),
                shown.body.content,
                self._rest(shown, showing),
                orjson.dumps(safe_url(shown.path)),
                _STICKY[shown.is_pinned],
            )
            for shown in showing.comments
        ]

    def posted(self, showing: Showing) -> dict[str, Any]:
        """The answer to whoever has just posted; what was not sent stays away."""
        (comment,) = map(orjson.loads, self.elsewhere(showing))
        del comment["sticky"]
        return {
            name: value for name, value in comment.items() if value is not None or name == "label"
        }

    @property
    def _is_plain(self) -> bool:
        """Is the agent all that follows the content of most comments?"""
        return self.look.shows_agent and not (self.viewer.is_administrator or self.is_dated)

    def _rest(self, shown: Shown, showing: Showing) -> bytes:
        """What follows a comment's content: each field with a comma in front."""
        body, rest = shown.body, b""
        if self.look.shows_agent:
            rest += b",%b" % body.agent
        if body.person.startswith(BY_ACCOUNT):
            rest += b",%b" % _standing(body.account, showing.accounts.get(body.account))
        if self.viewer.is_administrator:
            rest += b",%b" % self._secrets(shown, showing)
        elif body.region and self.look.shows_region:
            rest += b",%b" % body.region
        if self.is_dated:
            rest += b",%b" % _dated(body.content)
        return rest

    def _person(self, shown: Shown, showing: Showing) -> bytes:
        """Nick, link and avatar: an account's as they are now, other people's as typed."""
        if not shown.body.person.startswith(BY_ACCOUNT):
            return shown.body.person
        account = showing.accounts.get(shown.body.account)
        if account is None:
            return b'"nick":null,"link":null,"avatar":""'
        avatar = account.avatar or self.look.avatar(account.nick, account.mail, account.link)
        return _inner({"nick": account.nick, "link": account.link, "avatar": avatar})

    def _signed(self, shown: Shown, showing: Showing) -> bytes:
        """The same, with a nick that is safe in HTML: clients write recent comments as such."""
        person = self._person(shown, showing)
        # Not by an expression: that takes ten times as long.
        if not any(map(person.__contains__, _SIGNS_OF_A_TAG)):
            return person
        fields = orjson.loads(b"{%b}" % person)
        return _inner(fields | {"nick": fields["nick"] and safe_nick(fields["nick"])})

    def _level(self, shown: Shown, showing: Showing) -> bytes:
        return b',"level":%d' % self.look.level(showing.tallies.get(shown.body.tally.decode(), 0))

    def _secrets(self, shown: Shown, showing: Showing) -> bytes:
        """What administrators see besides: mail, address, the full region."""
        secrets = orjson.loads(showing.secrets.get(shown.id, b"{}"))
        account = showing.accounts.get(shown.body.account)
        fields = {
            "mail": account.mail if account else secrets.get("mail"),
            "ip": secrets.get("ip", ""),
        }
        parts = [_inner(fields)]
        if secrets.get("addr"):
            parts.append(_inner({"addr": secrets["addr"]}))
        elif shown.body.region:
            parts.append(shown.body.region)
        return b",".join(parts)


@lru_cache(1024)
def _state(status: Status, likes: int) -> bytes:
    return b'","status":"%b","like":%d,' % (status.encode(), likes)


def _standing(id: str, account: Account | None) -> bytes:
    fields: dict[str, Any] = {"user_id": id}
    if account:
        fields |= {"type": account.role, "label": account.label}
    return _inner(fields)


def _more(shown: Shown) -> bytes:
    """What there was no room for: the text of the comment itself, and so many replies behind."""
    more: dict[str, Any] = {"text": True} if shown.is_cut else {}
    if shown.further:
        more["replies"] = shown.further
    return b',"more":' + orjson.dumps(more)


def _dated(content: bytes) -> bytes:
    """The time as the older clients read it: ISO-8601, in UTC, to the millisecond."""
    time = content.rpartition(b'"time":')[2].partition(b",")[0]
    at = datetime.fromtimestamp(int(time) / 1000, UTC)
    text = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return b'"insertedAt":"%b"' % text.encode()


def _inner(fields: dict[str, Any]) -> bytes:
    return orjson.dumps(fields)[1:-1]
