"""The JSON of comments, as one viewer may see them.

A comment's body is stored as pieces of JSON, and a page is joined from them: a busy page has fifty
comments and many readers, so nothing is parsed and encoded again.

Clients test for the presence of a key: `rid` means "this is a reply", `like` means "this can be
liked". So a missing value is left out, and not sent as null. `more` describes what was left out of
a response because of its limits; Waline's clients ignore it.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, repeat
from typing import Any

import orjson

from ..markup import look_of, safe_url, shown_name
from ..model import (
    BY_ACCOUNT,
    PARENT,
    Account,
    Body,
    Lookups,
    More,
    Status,
    StoredComment,
    Threads,
    Viewer,
    account_of,
    iso,
)
from .pictures import ALL_PICTURES, Pictures
from .versions import version, version_of

# All `reply_user` of one answer: they repeat names, and a long one could come a thousand times.
MAX_REPEATED_BYTES = 1 << 18
# < and > in JSON, as themselves or escaped.
_SIGNS_OF_A_TAG = (b"<", b">", b"\\u00")
# In a comment's content: quotes in its texts are escaped.
EDITED = b',"edited":true'
_STICKY = (b',"sticky":false', b',"sticky":true')

# Makes a field of JSON of a comment's content, in which is its time.
DateField = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """A site's settings for the display of commentators.

    `avatar` makes a picture's URL of (nick, email, link), and `pictures` decides which accounts may
    show their own; `levels` are numbers of approved comments.
    """

    avatar: Callable[[str, str, str], str]
    pictures: Pictures = ALL_PICTURES
    levels: tuple[int, ...] = ()
    shows_agent: bool = True
    shows_region: bool = True

    def avatar_of(self, account: Account) -> str:
        """The account's own picture if the site shows it, otherwise the default one."""
        own = account.avatar and self.pictures.portrait(account.avatar)
        return own or self.avatar(account.nick, account.mail, account.link)

    def level(self, approved: int) -> int:
        """The index of the last threshold that this many comments reach, 0 below the first."""
        return max(bisect_right(self.levels, approved) - 1, 0)


@dataclass(frozen=True, slots=True)
class View:
    """Writes comments for one viewer; `date` makes a field that comments have in addition to
    `time`."""

    viewer: Viewer
    display: DisplayOptions
    date: DateField | None = None

    def threads(self, threads: Threads, live: Lookups) -> bytes:
        """A JSON list of roots, each with its replies in `children`."""
        comments = zip(
            threads.ids,
            map(_state, threads.statuses, threads.likes),
            self._persons(threads, live),
            threads.contents,
            self._rests(threads, live),
            self._extras(threads, live),
            strict=False,
        )
        parts, start, repeated = list[bytes](), b'[{"objectId":"', 0
        for number, replies in enumerate(threads.replies):
            id, state, person, content, rest, extra = next(comments)
            parts += start, id, state, person, b",", content, rest
            parts += _STICKY[number < threads.pinned], extra, b',"children":['
            # A reply has `reply_user` only if the comment that it replies to is in the answer.
            persons, start = {id: person}, b'{"objectId":"'
            for id, state, person, content, rest, extra in islice(comments, replies):
                parts += start, id, state, person, b",", content, rest, _STICKY[False], extra
                persons[id] = person
                replied = persons.get(content[PARENT])
                if replied is None or repeated >= MAX_REPEATED_BYTES:
                    parts.append(b"}")
                else:
                    parts += b',"reply_user":{', replied, b"}}"
                    repeated += len(replied)
                start = b',{"objectId":"'
            start = b']},{"objectId":"'
        parts.append(b"]}]" if parts else b"[]")
        return b"".join(parts)

    def _persons(self, threads: Threads, live: Lookups) -> Iterable[bytes]:
        if not live.accounts:
            return threads.persons
        return [self._person(person, live) for person in threads.persons]

    def _rests(self, threads: Threads, live: Lookups) -> Iterable[bytes]:
        """For each comment, the fields after its content, each with a comma in front."""
        regions = threads.regions if self.display.shows_region else repeat(b"")
        if self.display.shows_agent and not (
            live.accounts or self.viewer.is_moderator or self.date
        ):
            return [
                b",%b,%b" % (agent, region) if region else b"," + agent
                for agent, region in zip(threads.agents, regions, strict=False)
            ]
        bodies = map(
            Body,
            threads.persons,
            threads.contents,
            threads.agents,
            threads.regions,
            threads.tallies,
        )
        return [
            self._rest(id.decode(), body, live)
            for id, body in zip(threads.ids, bodies, strict=True)
        ]

    def _extras(self, threads: Threads, live: Lookups) -> Iterable[bytes]:
        """For each comment, the fields after `sticky`: the author's level, its version for who may
        decide on it, and `more`."""
        levels: Iterable[bytes] = repeat(b"")
        if self.display.levels:
            levels = [self._level(tally, live) for tally in threads.tallies]
        if self.viewer.is_moderator:
            levels = map(bytes.__add__, levels, _versions(threads))
        if not threads.more:
            return levels
        return [
            level + _more(threads.more.get(id))
            for id, level in zip(threads.ids, levels, strict=False)
        ]

    def elsewhere(self, comments: Iterable[StoredComment], live: Lookups) -> list[bytes]:
        """The JSON of each comment outside its article's page, so with the article's path."""
        return [
            b'{"objectId":"%b%b%b,%b%b,"url":%b%b%b}'
            % (
                comment.id.encode(),
                _state(comment.status, comment.likes),
                self._signed(comment.body.person, live),
                comment.body.content,
                self._rest(comment.id, comment.body, live),
                orjson.dumps(safe_url(comment.path)),
                _STICKY[comment.is_pinned],
                _version(version(comment)) if self.viewer.is_moderator else b"",
            )
            for comment in comments
        ]

    def posted(self, stored: StoredComment, live: Lookups) -> dict[str, Any]:
        """The answer to a new comment; fields that were not sent are left out."""
        (comment,) = map(orjson.loads, self.elsewhere([stored], live))
        del comment["sticky"]
        return {
            name: value for name, value in comment.items() if value is not None or name == "label"
        }

    def _rest(self, id: str, body: Body, live: Lookups) -> bytes:
        """The fields after a comment's content, each with a comma in front."""
        rest = b"," + body.agent if self.display.shows_agent else b""
        account = account_of(body.person)
        if account:
            # A badge beside a text says who stands for it.
            person = None if EDITED in body.content else live.accounts.get(account)
            rest += b",%b" % _standing(account, person)
        if self.viewer.is_moderator:
            rest += b",%b" % _secrets(id, body.region, live.accounts.get(account), live)
            rest += self._look(body.person, live)
        elif body.region and self.display.shows_region:
            rest += b",%b" % body.region
        if self.date:
            rest += b",%b" % self.date(body.content)
        return rest

    def _person(self, person: bytes, live: Lookups) -> bytes:
        """Nick, link and avatar: of an account as they are now, of others as they typed them."""
        if not person.startswith(BY_ACCOUNT):
            return person
        account = live.accounts.get(account_of(person))
        if account is None:
            return b'"nick":null,"link":null,"avatar":""'
        avatar = self.display.avatar_of(account)
        return _inner({"nick": account.nick, "link": account.link, "avatar": avatar})

    def _signed(self, person: bytes, live: Lookups) -> bytes:
        """An author whose nick is safe in HTML: clients do not escape recent comments."""
        person = self._person(person, live)
        # A regular expression would take ten times as long.
        if not any(map(person.__contains__, _SIGNS_OF_A_TAG)):
            return person
        fields = orjson.loads(b"{%b}" % person)
        return _inner(fields | {"nick": fields["nick"] and shown_name(fields["nick"])})

    def _look(self, person: bytes, live: Lookups) -> bytes:
        """Whose name the author's looks like, if that is another person and an administrator."""
        nick = orjson.loads(b"{%b}" % self._person(person, live)).get("nick") or ""
        other = live.administrators.get(look_of(nick))
        if other is None or other.id == account_of(person):
            return b""
        return b',"looks_like":%b' % orjson.dumps(other.nick)

    def _level(self, tally: bytes, live: Lookups) -> bytes:
        return b',"level":%d' % self.display.level(live.tallies.get(tally.decode(), 0))


@lru_cache(1024)
def _state(status: Status, likes: int) -> bytes:
    return b'","status":"%b","like":%d,' % (status.encode(), likes)


def _versions(threads: Threads) -> Iterable[bytes]:
    """For each comment that is whole."""
    columns = threads.persons, threads.contents, threads.agents, threads.regions, threads.tallies
    for id, status, *body in zip(threads.ids, threads.statuses, *columns, strict=True):
        more = threads.more.get(id)
        yield b"" if more and more.text else _version(version_of(status, body))


def _version(version: str) -> bytes:
    return b',"version":"%b"' % version.encode()


def _standing(id: str, account: Account | None) -> bytes:
    fields: dict[str, Any] = {"user_id": id}
    if account:
        fields |= {"type": account.role, "label": account.label}
    return _inner(fields)


def _secrets(id: str, region: bytes, account: Account | None, live: Lookups) -> bytes:
    """The fields that only administrators see: email, address, the full region."""
    secrets = orjson.loads(live.secrets.get(id, b"{}"))
    mail = account.mail if account else secrets.get("mail")
    parts = [_inner({"mail": mail, "ip": secrets.get("ip", "")})]
    if secrets.get("addr"):
        parts.append(_inner({"addr": secrets["addr"]}))
    elif region:
        parts.append(region)
    return b",".join(parts)


def _more(more: More | None) -> bytes:
    """`more`: whether the comment's own text was left out, and how many of its replies."""
    if more is None:
        return b""
    facts: dict[str, Any] = {"text": True} if more.text else {}
    if more.replies:
        facts["replies"] = more.replies
    return b',"more":' + orjson.dumps(facts)


def inserted_at(content: bytes) -> bytes:
    """The field `insertedAt` of older clients: ISO 8601 in UTC, with milliseconds."""
    time = content.rpartition(b'"time":')[2].partition(b",")[0]
    return b'"insertedAt":"%b"' % iso(int(time)).encode()


def _inner(fields: dict[str, Any]) -> bytes:
    return orjson.dumps(fields)[1:-1]
