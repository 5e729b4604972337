"""What another system did not show to everybody is not public here either: it waits, or is refused,
and the report says why. A test for each way in which a system marks it; docs/import has the tables.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conftest import ADMIN, Site
from tests.support.importing import database, imported

ON = ("valkey",)

DATE = "2021-10-28T12:00:00Z"


class Fate(NamedTuple):
    """What becomes of a comment, and the reason that the report gives."""

    status: str
    why: str = ""


PUBLIC, SPAM = Fate("approved"), Fate("spam")
DELETED = Fate("refused", "was deleted there")


def waits(why: str) -> Fate:
    return Fate("waiting", f"{why}: it waits")


UNKNOWN = Fate("waiting", "has a status that is not known: it is taken as waiting")
FOR_SOME = waits("was not public there")
NO_DISCUSSION = Fate("refused", "belongs to a discussion that was deleted there")
NOT_KNOWN = "belongs to a post of unknown status"


# Neither yes nor no.
DOUBTS: tuple[Any, ...] = (2, [], {"$numberInt": "1"}, "perhaps", {})


def doubted(name: str) -> Fate:
    return waits(f"has a {name} that is neither yes nor no")


def lines(*records: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def waline(**fields: Any) -> str:
    row = {"objectId": "1", "url": "/p/", "comment": "Said.", "insertedAt": DATE, **fields}
    return json.dumps({"type": "waline", "version": 1, "data": {"Comment": [row]}})


def table(status: str) -> str:
    return f"objectId,url,comment,insertedAt,status\n1,/p/,Said.,{DATE},{status}\n"


def valine(**fields: Any) -> str:
    row = {"objectId": "1", "url": "/p/", "comment": "<p>Said.</p>", "insertedAt": DATE}
    return "#filetype:JSON-streaming\n" + lines({**row, "mailMd5": "", **fields})


def twikoo(**fields: Any) -> str:
    row = {
        "_id": "1",
        "url": "/p/",
        "uid": "u",
        "comment": "<p>Said.</p>",
        "created": 1635422400000,
    }
    return json.dumps([{**row, **fields}])


def artalk(**fields: str) -> str:
    row = {"id": "1", "page_key": "/p/", "content": "Said.", "created_at": DATE, "rid": "0"}
    return json.dumps([{**row, **fields}])


def commento(**fields: Any) -> str:
    row = {"commentHex": "1", "url": "/p/", "markdown": "Said.", "creationDate": DATE}
    return json.dumps({"version": 1, "comments": [{**row, **fields}], "commenters": []})


def comentario(**fields: Any) -> str:
    row = {"id": "1", "pageId": "p", "markdown": "Said.", "createdTime": DATE, **fields}
    pages = [{"id": "p", "domainId": "d", "path": "/p/"}]
    return json.dumps({"version": 3, "pages": pages, "comments": [row], "commenters": []})


def remark42(user: dict[str, Any], blocked: str = "", **fields: Any) -> str:
    users = [{"id": blocked, "blocked": {"status": True}}] if blocked else []
    row = {"id": "1", "orig": "Said.", "user": user, "locator": {"url": "/p/"}, "time": DATE}
    return lines({"version": 1, "users": users, "posts": []}, {**row, **fields})


def disqus(thread: str = "", post: str = "") -> str:
    return f"""<disqus xmlns="http://disqus.com" xmlns:dsq="http://disqus.com/disqus-internals">
<thread dsq:id="1"><link>https://tin.example/p/</link>{thread}</thread>
<post dsq:id="1"><message>Said.</message><createdAt>{DATE}</createdAt>{post}<thread dsq:id="1"/>
</post>
</disqus>"""


def wordpress(item: str = "", approved: str = "1", after: str = "") -> str:
    return f"""<rss xmlns:wp="http://wordpress.org/export/1.2/"><channel>
<item><link>https://tin.example/p/</link><wp:post_id>7</wp:post_id>{item}<wp:comment>
<wp:comment_id>1</wp:comment_id><wp:comment_content>Said.</wp:comment_content>
<wp:comment_date_gmt>2021-10-28 12:00:00</wp:comment_date_gmt>
<wp:comment_approved>{approved}</wp:comment_approved></wp:comment></item>{after}</channel></rss>"""


def post(status: str, password: str = "") -> str:
    return f"<wp:status>{status}</wp:status><wp:post_password>{password}</wp:post_password>"


ATTACHED = "<wp:status>inherit</wp:status><wp:post_parent>8</wp:post_parent>"


def parent(status: str) -> str:
    return f"<item><wp:post_id>8</wp:post_id>{post(status)}</item>"


EVERYBODY, SOMEBODY = {"*": {"read": True}}, {"u1": {"read": True}}
CELLS = [
    (waline(), PUBLIC),
    (waline(status="Waiting"), Fate("waiting")),
    (waline(status="spam"), SPAM),
    *[(waline(status=each), UNKNOWN) for each in ("pending", "hidden", "rejected", "deleted")],
    (waline(ACL=EVERYBODY), PUBLIC),
    (waline(ACL=SOMEBODY), FOR_SOME),
    (table(""), PUBLIC),
    (table(" Approved "), PUBLIC),
    (table("rejected"), UNKNOWN),
    (valine(), PUBLIC),
    (valine(isSpam=True), SPAM),
    (valine(ACL=EVERYBODY), PUBLIC),
    *[(valine(ACL=acl), FOR_SOME) for acl in (SOMEBODY, {}, {"*": {"write": True}}, "?")],
    (valine(ACL=json.dumps(EVERYBODY)), PUBLIC),
    (twikoo(), PUBLIC),
    (twikoo(isSpam=True), SPAM),
    *[(twikoo(isSpam=each), doubted("isSpam")) for each in DOUBTS],
    *[(valine(isSpam=each), doubted("isSpam")) for each in DOUBTS],
    (artalk(), PUBLIC),
    (artalk(is_pending="perhaps"), doubted("is_pending")),
    (artalk(is_pending="true"), Fate("waiting")),
    # Only administrators may write there, and everybody may read.
    (artalk(page_admin_only="true", is_collapsed="true"), PUBLIC),
    (commento(state="approved"), PUBLIC),
    (commento(state="unapproved"), Fate("waiting")),
    (commento(state="flagged"), SPAM),
    (commento(state="?"), Fate("waiting", UNKNOWN.why.replace("status", "state"))),
    (commento(state="approved", deleted=True), DELETED),
    (commento(state="approved", deleted="perhaps"), doubted("deleted")),
    (commento(state="flagged", deleted="perhaps"), Fate("spam", doubted("deleted").why)),
    (comentario(isPending=False, isApproved=True), PUBLIC),
    (comentario(), PUBLIC),
    (comentario(isPending=True, isApproved=False), Fate("waiting")),
    (comentario(isPending=False, isApproved=False), SPAM),
    (comentario(isPending=True, isDeleted=True), DELETED),
    *[(comentario(isApproved=each), doubted("isApproved")) for each in DOUBTS],
    *[(comentario(isPending=each), doubted("isPending")) for each in DOUBTS],
    (remark42({"id": "u"}), PUBLIC),
    (remark42({"id": "u"}, delete="perhaps"), doubted("delete")),
    (remark42({"id": "u"}, blocked="u"), waits("was written by a blocked user")),
    (remark42({"id": "u", "block": True}), waits("was written by a blocked user")),
    (remark42({"id": "u"}, delete=True), DELETED),
    (disqus(), PUBLIC),
    (disqus("<isClosed>true</isClosed>"), PUBLIC),
    (disqus("<isDeleted>true</isDeleted>"), NO_DISCUSSION),
    (disqus("<isDeleted>perhaps</isDeleted>"), NO_DISCUSSION),
    (disqus(post="<isDeleted>true</isDeleted>"), DELETED),
    (disqus(post="<isSpam>true</isSpam>"), SPAM),
    (disqus(post="<isSpam>perhaps</isSpam>"), doubted("isSpam")),
    (disqus(post="<isDeleted>perhaps</isDeleted>"), doubted("isDeleted")),
    (disqus(post="<isApproved>true</isApproved><isFlagged>true</isFlagged>"), PUBLIC),
    (disqus(post="<isApproved>false</isApproved>"), Fate("waiting")),
    (disqus(post="<isApproved>false</isApproved><isSpam>true</isSpam>"), SPAM),
    (wordpress(), PUBLIC),
    (wordpress(approved="0"), Fate("waiting")),
    (wordpress(approved="spam"), SPAM),
    (wordpress(approved="post-trashed"), DELETED),
    (wordpress(post("private")), waits("belongs to a private post")),
    (wordpress(post("draft")), waits("belongs to a draft")),
    (wordpress(post("auto-draft")), waits("belongs to a draft")),
    (wordpress(post("pending")), waits("belongs to a post pending review")),
    (wordpress(post("future")), waits("belongs to a scheduled post")),
    (wordpress(post("trash")), Fate("refused", "belongs to a post in the trash")),
    (wordpress(post("members-only")), waits(NOT_KNOWN)),
    (wordpress(post("publish", "teapot")), waits("belongs to a password-protected post")),
    (wordpress(post("private"), approved="spam"), SPAM),
    (wordpress("<wp:status>inherit</wp:status><wp:post_parent>0</wp:post_parent>"), PUBLIC),
    (wordpress(ATTACHED), waits("belongs to an attachment of a missing post")),
    (wordpress(ATTACHED, after=parent("publish")), PUBLIC),
    (wordpress(ATTACHED, after=parent("private")), waits("belongs to a private post")),
]


@pytest.mark.parametrize(("text", "fate"), CELLS, ids=[f"{n}" for n in range(len(CELLS))])
async def test_a_comment_is_as_public_as_it_was(
    site: Site, text: str, fate: Fate, tmp_path: Path
) -> None:
    file = tmp_path / "export"
    file.write_text(text)
    await seen_as(site, file, fate)


@pytest.mark.parametrize(
    ("mode", "fate"),
    [
        (1, PUBLIC),
        (2, Fate("waiting")),
        (4, DELETED),
        (9, Fate("waiting", "has a mode that is not known: it is taken as waiting")),
    ],
)
async def test_so_it_is_of_isso(site: Site, mode: int, fate: Fate, tmp_path: Path) -> None:
    file = database(tmp_path)
    with closing(sqlite3.connect(file)) as db:
        db.execute("DELETE FROM comments WHERE id > 1")
        db.execute("UPDATE comments SET mode = ?, parent = NULL", (mode,))
        db.commit()
    await seen_as(site, file, fate)


async def seen_as(site: Site, file: Path, fate: Fate) -> None:
    """What becomes of the one comment of a file is told by a trial and by the import, and seen by
    the public and by an administrator."""
    trial = await imported(site, file, is_dry=True)
    report = await imported(site, file)
    assert trial.reasons == report.reasons
    reasons = [why for _, outcome, why in report.reasons if outcome != "renamed"]
    assert reasons == ([fate.why] if fate.why else [])
    assert report.numbers["comments", "stored"] == (fate.status != "refused")
    all = await site.get("/api/comment", type="list", status="", by=ADMIN)
    statuses = [each["status"] for each in all["data"]["data"]]
    assert statuses == ([] if fate.status == "refused" else [fate.status])
    path = "/hello/" if file.suffix == ".db" else "/p/"
    is_public = fate.status == "approved"
    assert (await site.page(path))["count"] == is_public
    assert len(await site.get("/comment", type="recent", count=10)) == is_public
