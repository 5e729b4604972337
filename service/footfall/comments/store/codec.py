"""Comments as bytes, for Redis.

A comment is stored in two parts. `body` is public: lines of JSON without their outer braces, with
the names used in responses, so that pages are joined without parsing. `secrets` are for
administrators only; reads for the public never fetch them.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from ...ids import created_ms, digest
from ...model import Body, Comment, Draft, StoredComment


def body(comment: Comment) -> bytes:
    """The public part. It has no nick, link and avatar of an account: those are looked up live."""
    person: dict[str, Any] = {"user_id": comment.account}
    if not comment.account:
        person = {"nick": comment.nick, "link": comment.link, "avatar": comment.avatar}
    content = {"comment": comment.html, "orig": comment.source, "time": comment.at}
    content |= {"edited": True} if comment.is_edited else {}
    if comment.parent:
        content |= {"pid": comment.parent, "rid": comment.root}
    agent = {"browser": comment.browser, "os": comment.os}
    region = {"addr": comment.region} if comment.region else {}
    return b"\n".join([*map(inner, (person, content, agent, region)), comment.author.encode()])


def comment(stored: StoredComment) -> Comment:
    """The comment that both halves were made of. Raises ValueError or TypeError if they are
    damaged."""
    *pieces, author = stored.body
    public: dict[str, Any] = {}
    for piece in pieces:
        public |= orjson.loads(b"{" + piece + b"}")
    hidden = orjson.loads(_private(stored) or b"{}")
    try:
        return Comment(
            id=stored.id,
            path=stored.path,
            at=public["time"],
            html=public["comment"],
            source=public["orig"],
            nick=public.get("nick"),
            mail=hidden.get("mail"),
            link=public.get("link"),
            ua=hidden.get("ua"),
            browser=public["browser"],
            os=public["os"],
            region=public.get("addr", ""),
            full_region=hidden.get("addr", ""),
            avatar=public.get("avatar", ""),
            address=hidden.get("ip", ""),
            parent=public.get("pid", ""),
            root=public.get("rid", ""),
            account=public.get("user_id", ""),
            author=author.decode(),
            is_edited=bool(public.get("edited")),
        )
    except (AttributeError, KeyError) as error:
        raise ValueError(f"it has no {error}") from error


def left_out(id: str, root: str) -> bytes:
    """A placeholder for the body of a comment that did not fit into the page: "…", and its time.

    `root` is the id of the root above it, "" for a root.
    """
    person: dict[str, Any] = {"nick": None, "link": None, "avatar": ""}
    content: dict[str, Any] = {"comment": "<p>…</p>", "orig": "", "time": created_ms(id)}
    if root:
        content |= {"pid": root, "rid": root}
    agent = {"browser": "", "os": ""}
    return b"\n".join([*map(inner, (person, content, agent, {})), b""])


def inner(fields: Mapping[str, Any]) -> bytes:
    """An object's JSON without its braces: pieces of an object, to be joined by commas."""
    return orjson.dumps(fields)[1:-1]


def parse_body(stored: bytes) -> Body:
    """A stored body in its pieces, which are its lines: JSON contains no raw line breaks."""
    return Body(*stored.split(b"\n"))


def joined(body: Body) -> bytes:
    """The body as it is stored."""
    return b"\n".join(body)


def halves(stored: StoredComment) -> bytes:
    """All that does not change around a comment, as it is stored."""
    return joined(stored.body) + _private(stored)


def _private(stored: StoredComment) -> bytes:
    # Without this half, an edit would take the author's email and address away.
    assert stored.private is not None, "the private half was not read"
    return stored.private


def root_of(body: Body) -> str:
    """The id of the root above a comment, "" for a root."""
    return _content(body, "rid")


def parent_of(body: Body) -> str:
    """The id of the comment that this one replies to, "" for a root."""
    return _content(body, "pid")


def source_of(body: Body) -> str:
    """What the author wrote."""
    return _content(body, "orig")


def _content(body: Body, name: str) -> str:
    value: str = orjson.loads(b"{" + body.content + b"}").get(name, "")
    return value


def secrets(comment: Comment) -> bytes:
    """The private part as a JSON object; `addr` is the full region.

    Administrators see a blank email as it was sent, so it differs from a missing one.
    """
    fields = {
        "mail": comment.mail,
        "ip": comment.address,
        "ua": comment.ua,
        "addr": comment.full_region,
    }
    kept = {name: value for name, value in fields.items() if value}
    return orjson.dumps({"mail": "", **kept} if comment.mail == "" else kept)


def fingerprint(comment: Comment) -> str:
    """Identifies a comment's content on its page: two with the same one are duplicates."""
    return fingerprint_of(comment.account, comment.mail, comment.nick, comment.link, comment.source)


def fingerprint_of_draft(draft: Draft, account: str) -> str:
    return fingerprint_of(account, draft.mail, draft.nick, draft.link, draft.text)


def fingerprint_of(
    account: str, mail: str | None, nick: str | None, link: str | None, text: str
) -> str:
    """A digest of author and words."""
    author = (account,) if account else (mail or "", nick or "", link or "")
    return digest(*author, text)


def mail_of(stored: StoredComment) -> str:
    """The author's email as entered; "" for one with an account, and for damaged data."""
    try:
        mail: str = orjson.loads(_private(stored) or b"{}").get("mail", "")
    except ValueError:
        return ""
    return mail


def address_of(secrets: bytes) -> str:
    """The IP address in a comment's private part, "" if it has none."""
    address: str = orjson.loads(secrets).get("ip", "")
    return address
