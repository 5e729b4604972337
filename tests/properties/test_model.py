"""Any sequence of operations, against a model that is small enough to be obviously right.

The model keeps comments in a list and sorts it for every question. Whatever operations hypothesis
makes up, the service's pages, counts and totals must be the model's, and `check` must find that the
keys agree with each other.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, initialize, invariant, multiple, rule

from footfall.errors import Duplicate
from footfall.ids import digest
from footfall.model import Account
from tests.conftest import ADMIN, BOB, EVE, known_viewers
from tests.support.accounts import save_account
from tests.support.backups import report

from .machines import SiteMachine, play

PATHS = ("/a", "/b,c", "/d}{e")
VIEWERS = (None, BOB, EVE, ADMIN)
ORDERS = ("insertedAt_desc", "insertedAt_asc", "like_desc")
AUTHORS = st.sampled_from((None, BOB))
MAILS = ("ann@example.com", "ed@example.com", "joe@example.com")
STRICTNESS = ("approved", "waiting", "spam")


@dataclass
class Entry:
    """A comment as the model knows it."""

    id: str
    path: str
    text: str
    root: str
    account: str
    status: str
    at: int
    parent: str
    likes: int = 0
    is_pinned: bool = False
    is_gone: bool = False
    # Its author has posted this very text.
    is_own: bool = True
    mail: str = ""

    @property
    def author(self) -> str:
        """The account for which it counts; "" for none."""
        return self.account or (digest(self.mail) if self.mail else "")

    def is_seen_by(self, viewer: Account | None) -> bool:
        if self.is_gone:
            return False
        if self.status == "approved" or viewer is ADMIN:
            return True
        return viewer is not None and self.account == viewer.id


@dataclass
class Model:
    entries: list[Entry] = field(default_factory=list)
    counters: Counter[tuple[str, str]] = field(default_factory=Counter)

    def page(self, path: str, order: str, viewer: Account | None) -> list[tuple[str, list[str]]]:
        """Ids of the roots in order, each with its replies."""
        seen = [entry for entry in self.entries if entry.path == path and entry.is_seen_by(viewer)]
        roots = [each for each in seen if not each.root]
        # Ids sort by age, and so decide between equal keys.
        roots.sort(
            key=lambda each: (each.likes if order == "like_desc" else 0, each.id),
            reverse=order != "insertedAt_asc",
        )
        roots.sort(key=lambda each: not each.is_pinned)
        return [
            (root.id, sorted(each.id for each in seen if each.root == root.id)) for root in roots
        ]

    def count(self, path: str | None, viewer: Account | None) -> int:
        # An administrator's counts leave held comments of others out, as in Waline.
        return sum(
            entry.status == "approved" or (viewer is not None and entry.account == viewer.id)
            for entry in self.entries
            if path is None or entry.path == path
        )

    def ranking(self) -> dict[str, tuple[int, str]]:
        """Of each author how many approved comments there are, and the newest one."""
        found = dict[str, tuple[int, str]]()
        for entry in sorted(self.entries, key=lambda each: each.id):
            if entry.status == "approved" and entry.author:
                number, _ = found.get(entry.author, (0, ""))
                found[entry.author] = (number + 1, entry.id)
        return found


class Comments(SiteMachine):
    """Posts, replies, likes, edits, moderation, pins, deletions and counters in any order."""

    comments: Bundle[Entry] = Bundle("comments")

    @initialize(is_audited=st.booleans())
    def open(self, is_audited: bool) -> None:
        self.model = Model()
        self.status = "waiting" if is_audited else "approved"
        environ = {"IPQPS": "0", "COMMENT_AUDIT": str(is_audited), "FORBIDDEN_WORDS": "viagra"}
        self.start(environ, known_viewers)
        for account in (ADMIN, BOB, EVE):
            self.run(save_account(self.site.store, account))

    @rule(
        target=comments,
        path=st.sampled_from(PATHS),
        text=st.sampled_from(("hello", "world", "viagra")),
        nick=st.sampled_from(("Ann", "Ed", None)),
        by=AUTHORS,
    )
    def post(self, path: str, text: str, nick: str | None, by: Account | None) -> Any:
        return self._post(path, text, nick, by, None)

    @rule(target=comments, parent=comments, text=st.sampled_from(("yes", "no")), by=AUTHORS)
    def reply(self, parent: Entry, text: str, by: Account | None) -> Any:
        return self._post(parent.path, text, "Ann", by, parent)

    def _post(
        self, path: str, text: str, nick: str | None, by: Account | None, parent: Entry | None
    ) -> Any:
        mail = f"{nick.lower()}@example.com" if nick and not by else ""
        draft = {"comment": text, "url": path, "nick": nick, "mail": mail}
        if parent:
            draft |= {"pid": parent.id, "rid": parent.root or parent.id}
        answer = self.run(self.site.send("POST", "/api/comment", draft, by=by))
        author = by.id if by else nick or ""
        if same := self._said(path, f"{author}: {text}"):
            self._say_again(answer, same, parent)
            return multiple()
        if parent and parent.is_gone:
            assert answer["errmsg"] == "The comment you are replying to does not exist"
            return multiple()
        data = answer["data"]
        status = "spam" if text == "viagra" else self.status
        assert data["status"] == status
        root = (parent.root or parent.id) if parent else ""
        entry = Entry(
            data["objectId"],
            path,
            f"{author}: {text}",
            root,
            by.id if by else "",
            status,
            data["time"],
            parent.id if parent else "",
            mail=mail,
        )
        self.model.entries.append(entry)
        return entry

    def _say_again(self, answer: Any, same: Entry, parent: Entry | None) -> None:
        """Within a minute the answer is the stored comment, since the first answer may have been
        lost."""
        is_late = self.site.clock.now - same.at >= 60_000
        if is_late or same.parent != (parent.id if parent else ""):
            assert answer == {"errno": 1000, "errmsg": Duplicate.text}
            return
        data = answer["data"]
        assert (data["objectId"], data["status"], data["like"]) == (same.id, same.status, 0)

    @rule()
    def let_a_minute_pass(self) -> None:
        self.site.clock.now += 60_000

    @rule(entry=comments, up=st.booleans(), by=st.sampled_from(VIEWERS))
    def like(self, entry: Entry, up: bool, by: Account | None) -> None:
        body = {"like": up}
        answer = self.run(self.site.send("PUT", f"/comment/{entry.id}", body, by=by))
        if not entry.is_seen_by(by):
            assert answer["data"] == ""
            return
        entry.likes = max(entry.likes + (1 if up else -1), 0)
        assert answer["data"]["like"] == entry.likes

    @rule(entry=comments, status=st.sampled_from(("approved", "waiting", "spam")))
    def moderate(self, entry: Entry, status: str) -> None:
        body = {"status": status}
        answer = self.run(self.site.send("PUT", f"/comment/{entry.id}", body, by=ADMIN))
        if entry.is_gone:
            assert answer["data"] == ""
            return
        entry.status = status
        assert answer["data"]["status"] == status

    @rule(
        entry=comments,
        text=st.sampled_from(("hello", "yes", "edited", "viagra")),
        by=st.sampled_from((ADMIN, BOB, EVE)),
    )
    def edit(self, entry: Entry, text: str, by: Account) -> None:
        answer = self.run(
            self.site.send("PUT", f"/api/comment/{entry.id}", {"comment": text}, by=by)
        )
        if by is not ADMIN and (entry.is_gone or entry.account != by.id):
            assert answer["errno"] == 403
            return
        if entry.is_gone:
            assert answer["data"] == ""
            return
        author, _, before = entry.text.partition(": ")
        words = f"{author}: {text}"
        if before != text and by is not ADMIN:
            if self._said(entry.path, words):
                assert answer["errmsg"] == Duplicate.text
                return
            judged = "spam" if text == "viagra" else self.status
            entry.status = max(entry.status, judged, key=STRICTNESS.index)
        if before != text:
            # A text that an administrator has edited is not its author's own.
            entry.text, entry.is_own = words, by is not ADMIN
        assert (answer["data"]["orig"], answer["data"]["status"]) == (text, entry.status)

    def _said(self, path: str, words: str) -> Entry | None:
        return next(
            (
                entry
                for entry in self.model.entries
                if (entry.path, entry.text) == (path, words) and entry.is_own
            ),
            None,
        )

    @rule(entry=comments, by=st.sampled_from((ADMIN, BOB)))
    def delete(self, entry: Entry, by: Account) -> None:
        answer = self.run(self.site.send("DELETE", f"/comment/{entry.id}", by=by))
        if by is not ADMIN and (entry.is_gone or entry.account != by.id):
            assert answer["errno"] == 403
            return
        assert answer == {"errno": 0, "errmsg": "", "data": ""}
        self._lose(entry)

    def _lose(self, entry: Entry) -> None:
        for each in self.model.entries:
            if entry.id in (each.id, each.parent, each.root):
                each.is_gone = True
        self.model.entries = [each for each in self.model.entries if not each.is_gone]

    @rule(
        entries=st.lists(comments, min_size=1, max_size=4),
        fields=st.sampled_from(({"status": "spam"}, {"status": "approved", "sticky": 1}, {})),
        is_undone=st.booleans(),
    )
    def change_many(self, entries: list[Entry], fields: dict[str, Any], is_undone: bool) -> None:
        """Moderate comments, or delete them if nothing else is to be done."""
        body = {"ids": list({entry.id for entry in entries}), **fields}
        method = "PUT" if fields else "DELETE"
        data = self.run(self.site.send(method, "/api/comment", body, by=ADMIN))["data"]
        there = [entry for entry in entries if not entry.is_gone]
        assert {id for id, result in data["results"].items() if result == "missing"} == {
            entry.id for entry in entries if entry.is_gone
        }
        if is_undone and data["undo"]:
            again = self.run(self.site.send("PUT", "/comment", {"undo": data["undo"]}, by=ADMIN))
            assert set(again["data"]["results"].values()) == {"done"}
        elif fields:
            for each in there:
                each.status = fields["status"]
                each.is_pinned |= "sticky" in fields and not each.root
        else:
            for each in there:
                self._lose(each)

    @rule(entry=comments, is_pinned=st.booleans())
    def pin(self, entry: Entry, is_pinned: bool) -> None:
        body = {"sticky": int(is_pinned)}
        self.run(self.site.send("PUT", f"/comment/{entry.id}", body, by=ADMIN))
        entry.is_pinned = is_pinned and not entry.root

    @rule(entry=comments, mail=st.sampled_from(MAILS))
    def give_to_another_mail(self, entry: Entry, mail: str) -> None:
        body = {"mail": mail}
        self.run(self.site.send("PUT", f"/comment/{entry.id}", body, by=ADMIN))
        if not entry.account and entry.mail != mail:
            entry.mail, entry.is_own = mail, False

    @rule(mail=st.sampled_from(MAILS), method=st.sampled_from(("PUT", "DELETE")))
    def erase(self, mail: str, method: str) -> None:
        """Take an author's name off all their comments, or delete these."""
        theirs = [entry for entry in self.model.entries if entry.mail == mail]
        answer = self.run(self.site.send(method, "/author", {"who": mail}, by=ADMIN))
        assert answer["errno"] == 0
        assert "more" not in answer["data"]
        for their in theirs:
            if method == "DELETE":
                self._lose(their)
            else:
                their.mail, their.is_own = "", False

    @rule(
        changes=st.lists(
            st.tuples(
                st.sampled_from(PATHS),
                st.sampled_from(("reaction0", "reaction1")),
                st.sampled_from(("inc", "desc")),
            ),
            min_size=1,
            max_size=6,
        )
    )
    def count(self, changes: list[tuple[str, str, str]]) -> None:
        body = [{"path": path, "type": type, "action": action} for path, type, action in changes]
        answers = []
        for path, type, action in changes:
            change = 1 if action == "inc" else -1
            self.model.counters[path, type] = max(self.model.counters[path, type] + change, 0)
            answers.append(self.model.counters[path, type])
        assert self.run(self.site.send("POST", "/article", body)) == answers
        numbers, stored = self.site.store.numbers, +self.model.counters
        assert self.run(numbers.total()).number == len(stored)

    @rule(
        path=st.sampled_from(PATHS),
        order=st.sampled_from(ORDERS),
        viewer=st.sampled_from(VIEWERS),
        size=st.integers(1, 4),
        number=st.integers(1, 4),
    )
    def read_a_page(
        self, path: str, order: str, viewer: Account | None, size: int, number: int
    ) -> None:
        page = self.run(self.site.page(path, by=viewer, sortBy=order, pageSize=size, page=number))
        threads = self.model.page(path, order, viewer)
        shown = [
            (root["objectId"], [child["objectId"] for child in root["children"]])
            for root in page["data"]
        ]
        assert shown == threads[(number - 1) * size : number * size]
        assert page["totalPages"] == -(-len(threads) // size)

    @rule(viewer=st.sampled_from(VIEWERS))
    def read_counts(self, viewer: Account | None) -> None:
        query = "&".join(f"url={path}" for path in PATHS)
        counts = self.run(self.site.get(f"/comment?type=count&{query}", by=viewer))
        assert counts == [self.model.count(path, viewer) for path in PATHS]
        total = self.run(self.site.get("/comment", by=viewer, type="count"))
        assert total == self.model.count(None, viewer)

    @rule(viewer=st.sampled_from(VIEWERS), count=st.integers(1, 5))
    def read_recent(self, viewer: Account | None, count: int) -> None:
        recent = self.run(self.site.get("/comment", by=viewer, type="recent", count=count))
        seen = sorted(
            (
                entry.id
                for entry in self.model.entries
                if entry.status == "approved" or (viewer is not None and entry.account == viewer.id)
            ),
            reverse=True,
        )
        assert [each["objectId"] for each in recent] == seen[:count]

    @invariant()
    def the_ranking_is_what_the_comments_say(self) -> None:
        if hasattr(self, "site"):
            done = self.run(self.site.service.comments.index.ranking(50))
            assert {author: (number, id) for author, number, id in done} == self.model.ranking()

    @invariant()
    def the_keys_agree_with_each_other(self) -> None:
        if hasattr(self, "site"):
            assert self.run(report(self.site.store))[:-1] == []


# Not on fakeredis, where a check cannot ask which server it is.
@pytest.mark.parametrize(("server", "examples"), [("valkey", 100), ("redis", 30)])
def test_no_sequence_of_operations_disagrees_with_the_model(server: str, examples: int) -> None:
    play(Comments, server, examples)
