"""Moving a page with its comments: each arrives once, as it was, whatever goes wrong on the way."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from footfall.comments.rules import bin as bin_rules
from footfall.comments.rules.page_moves import LEFT_MS, carry_on, move
from footfall.comments.store.deletions import SWEEPER
from footfall.comments.store.moves import MoveNote
from footfall.driver.client import RedisClient
from footfall.driver.scripts import Script
from footfall.errors import StoreUnavailable
from footfall.ids import digest
from footfall.model import Caller, Comment, Viewer
from tests.conftest import ADMIN, BOB, Site, Sites
from tests.support import extent
from tests.support.backups import report
from tests.support.losing import catch_up

from .test_admin import asked

_numbers = count()


def new_pages() -> tuple[str, str]:
    number = next(_numbers)
    return f"/from/{number}", f"/to/{number}"


async def shown(site: Site, path: str) -> list[Any]:
    """What administrators see of a page, with the time and the place of each comment, but without
    the page's own name, and that of its digest."""
    answer = await site.get("/api/comment", path=path, pageSize=100, by=ADMIN)
    found = answer["data"]["data"]
    # A version is of the text with its ids, which are the page's.
    text = re.sub("'version': '[0-9a-f]+'", "'version': …", repr(found))
    text = text.replace(digest(path), "<page>").replace(path, "<path>")
    return [answer["data"]["count"], text]


async def write(site: Site, path: str, mark: str = "") -> None:
    """Views, and comments of every kind: replies, with a pin, with likes, held, of accounts."""
    first = await site.post(f"First{mark}", url=path, by=BOB)
    reply = await site.reply(first, f"A reply{mark}", url=path)
    await site.reply(reply, f"A reply to that{mark}", url=path, by=BOB)
    await site.post(f"Second{mark}", url=path, nick="Ben")
    pinned = await site.post(f"Pinned{mark}", url=path, by=ADMIN)
    for _ in range(3):
        await site.send("PUT", f"/api/comment/{reply['objectId']}", {"like": True})
    await site.send("PUT", f"/api/comment/{pinned['objectId']}", {"sticky": 1}, by=ADMIN)
    for text, status in (("Held", "waiting"), ("Bought", "spam")):
        held = await site.post(text + mark, url=path)
        await site.send("PUT", f"/api/comment/{held['objectId']}", {"status": status}, by=ADMIN)
    for _ in range(5):
        await site.count(path)


async def problems(site: Site) -> list[str]:
    await site.service.process.background.finished()
    *found, _ = await report(site.store)
    return found


@pytest.mark.cluster
async def test_a_page_is_shown_at_its_new_path_as_it_was(site: Site) -> None:
    source, target = new_pages()
    await write(site, source)
    before = await shown(site, source)
    of_site = await site.get("/api/comment", type="count")
    assert before[0] == 7
    assert await move(site.service.comments, source, target, ADMIN.id)
    assert await shown(site, target) == before
    assert await shown(site, source) == [0, "[]"]
    assert await site.get("/api/comment", type="count") == of_site
    assert await site.get("/article", path=target) == 5
    assert await problems(site) == []


@pytest.mark.cluster
async def test_what_the_other_page_has_stays_and_comes_between_by_its_time(site: Site) -> None:
    source, target = new_pages()
    for number, path in enumerate((source, target, source)):
        await write(site, path, str(number))
    numbers = [(await shown(site, path))[0] for path in (source, target)]
    assert await move(site.service.comments, source, target, ADMIN.id)
    found = (await site.get("/api/comment", path=target, pageSize=100, by=ADMIN))["data"]
    assert found["count"] == sum(numbers)
    times = [each["time"] for each in found["data"] if not each.get("sticky")]
    assert times == sorted(times, reverse=True)
    assert await site.get("/article", path=target) == 15
    assert await problems(site) == []


@contextmanager
def cut_at(patch: pytest.MonkeyPatch, number: int, *, is_done: bool) -> Iterator[list[str]]:
    """What is asked of Redis for the so many-th time fails, before it is done or after."""
    asked = list[str]()

    def failing(call: Any) -> Any:
        async def one(self: Any, *words: Any, **values: Any) -> Any:
            asked.append(getattr(self, "name", "") or str(words[0]))
            if len(asked) < number:
                return await call(self, *words, **values)
            if is_done and len(asked) == number:
                await call(self, *words, **values)
            raise StoreUnavailable()

        return one

    with patch.context() as patched:
        patched.setattr(Script, "through", failing(Script.through))
        patched.setattr(RedisClient, "change", failing(RedisClient.change))
        yield asked


@pytest.mark.parametrize("is_done", [True, False])
async def test_a_mover_may_end_at_any_step_and_somebody_goes_on(
    site: Site, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    is_over, number = False, 1
    while not is_over:
        number += 1 if extent.ALL else 7
        source, target = new_pages()
        await write(site, source)
        await site.post("First", url=target, by=BOB)
        before = await shown(site, source)
        with cut_at(monkeypatch, number, is_done=is_done) as asked:
            try:
                await move(site.service.comments, source, target, ADMIN.id)
                is_over = True
            except StoreUnavailable:
                pass
        await site.service.process.background.finished()
        site.clock.now += LEFT_MS + 1_000
        await catch_up(site.store.journal, monkeypatch)
        await carry_on(site.service.comments)
        await site.service.process.background.finished()
        what = f"cut at {asked[-1]}, the {number}. step"
        assert await shown(site, source) == [0, "[]"], what
        assert (await shown(site, target))[0] == before[0] + 1, what
        assert await site.get("/article", path=target) == 5, what
        assert await problems(site) == [], what
        assert await site.service.comments.moves.under_way() == [], what
    assert number > 20


@pytest.mark.cluster
async def test_two_movers_at_once_move_everything_once(site: Site) -> None:
    source, target = new_pages()
    await write(site, source)
    before = await shown(site, source)
    await asyncio.gather(*(move(site.service.comments, source, target, ADMIN.id) for _ in range(2)))
    assert await shown(site, target) == before
    assert await site.get("/article", path=target) == 5
    assert await problems(site) == []


async def test_who_writes_meanwhile_is_on_one_of_both_pages(site: Site) -> None:
    source, target = new_pages()
    await write(site, source)
    written, is_over = list[str](), False

    async def go_on_writing() -> None:
        while not is_over:
            for path in (source, target):
                text = f"number {len(written)}"
                await site.post(text, url=path)
                written.append(text)

    writing = asyncio.create_task(go_on_writing())
    for pages in ((source, target), (target, source), (source, target)):
        await move(site.service.comments, *pages, ADMIN.id)
    is_over = True
    await writing
    texts = [text for path in (source, target) for text in await all_texts(site, path)]
    assert sorted(each for each in texts if each.startswith("number")) == sorted(written)
    assert await problems(site) == []


async def all_texts(site: Site, path: str) -> list[str]:
    """The sources of roots, page by page."""
    texts, number = list[str](), 1
    while found := (await site.page(path, page=number, pageSize=100))["data"]:
        texts += (each["orig"] for each in found)
        number += 1
    return texts


async def test_what_is_deleted_stays_with_what_is_below_it_and_can_come_back(site: Site) -> None:
    source, target = new_pages()
    first = await site.post("First", url=source)
    reply = await site.reply(first, "A reply", url=source)
    other = await site.post("Second", url=source)
    await site.send("DELETE", f"/api/comment/{first['objectId']}", by=ADMIN)
    assert await move(site.service.comments, source, target, ADMIN.id)
    assert await all_texts(site, source) == []
    assert await all_texts(site, target) == [other["orig"]]
    restored = await site.service.comments.deletions.restore(
        first["objectId"], site.clock(), SWEEPER
    )
    assert restored is not None
    await site.settled()
    (thread,) = (await site.page(source))["data"]
    assert [each["objectId"] for each in thread["children"]] == [reply["objectId"]]
    assert await problems(site) == []


async def test_a_reply_waits_while_its_thread_may_come_back_on_the_other_page(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for comes_back in (True, False):
        source, target = new_pages()
        first = await site.post("First", url=source)
        await site.reply(first, "A reply", url=source)
        moved = first["objectId"].replace(digest(source), digest(target))
        publish = site.service.comments.store.publish

        async def publish_and_delete(comment: Comment, *args: Any, **values: Any) -> None:
            """A moderator deletes the thread as soon as it is there."""
            await publish(comment, *args, **values)  # noqa: B023
            if not comment.root:
                await site.send("DELETE", f"/api/comment/{comment.id}", by=ADMIN)

        with monkeypatch.context() as patched:
            patched.setattr(site.service.comments.store, "publish", publish_and_delete)
            assert not await move(site.service.comments, source, target, ADMIN.id)
        if comes_back:
            await site.service.comments.deletions.restore(moved, site.clock(), SWEEPER)
        site.clock.now += 2 * LEFT_MS
        await site.kept_up()
        await carry_on(site.service.comments)
        await site.settled()
        assert await site.service.comments.moves.under_way() == []
        threads = (await site.page(target))["data"]
        assert [len(thread["children"]) for thread in threads] == [1] * comes_back
        assert await problems(site) == []


async def test_the_text_leads_to_the_comments_of_the_new_page(site: Site) -> None:
    source, target = new_pages()
    first = await site.post("First", url=source)
    text = f"See [this](#{first['objectId']})"
    await site.reply(first, text, url=source)
    assert await move(site.service.comments, source, target, ADMIN.id)
    (thread,) = (await site.page(target))["data"]
    (reply,) = thread["children"]
    assert (reply["pid"], reply["rid"]) == (thread["objectId"], thread["objectId"])
    assert f"(#{thread['objectId']})" in reply["orig"]
    assert f'#{thread["objectId"]}"' in reply["comment"]


async def test_who_wants_no_mails_of_a_thread_gets_none_at_its_new_place(site: Site) -> None:
    source, target = new_pages()
    first = await site.post("First", url=source)
    await site.store.unsubscribed.add("somebody", first["objectId"])
    assert await move(site.service.comments, source, target, ADMIN.id)
    (thread,) = (await site.page(target))["data"]
    assert await site.store.unsubscribed.has("somebody", thread["objectId"])


async def test_an_owner_sees_what_would_move_and_moves_it(site: Site) -> None:
    source, target = new_pages()
    await write(site, source)
    wanted = {"path": source, "to": target}
    had = {"views": 5, "others": 0, "comments": 7}
    none = dict.fromkeys(had, 0)
    for meant in (False, True):
        answer = await asked(site, "POST", "pages/move", {**wanted, "meant": meant})
        answer = answer["data"]
        assert answer == {"to": target, "had": had, "met": none, "isOver": meant}
    assert await site.get("/article", path=target) == 5
    answer = await asked(site, "POST", "pages/move", {**wanted, "to": source})
    assert "to should be another page" in repr(answer)
    # Nobody would ask for the counters of a page there.
    answer = await asked(site, "POST", "pages/move", {**wanted, "to": "github.com/u/r"})
    assert "to should be a page" in repr(answer)


async def test_a_page_that_moves_is_not_moved_elsewhere(site: Site) -> None:
    source, target = new_pages()
    await site.service.comments.moves.start(MoveNote(source, target, ADMIN.id, site.clock()))
    wanted = {"path": source, "to": "/elsewhere", "meant": True}
    answer = await asked(site, "POST", "pages/move", wanted)
    assert "One of these pages is being moved" in repr(answer)


# What still has the old ids.


async def texts_of(site: Site, path: str) -> list[str]:
    return [root["orig"] for root in (await site.page(path))["data"]]


@pytest.mark.cluster
async def test_an_undo_finds_the_comments_on_the_page_to_which_theirs_was_moved(site: Site) -> None:
    source, target = new_pages()
    kept, gone = [(await site.post(text, url=source))["objectId"] for text in ("kept", "gone")]
    marked = await site.send("PUT", "/api/comment", {"ids": [kept], "status": "spam"}, by=ADMIN)
    deleted = await site.send("DELETE", "/api/comment", {"ids": [gone]}, by=ADMIN)
    assert await move(site.service.comments, source, target, ADMIN.id)
    for answer, id in ((marked, kept), (deleted, gone)):
        undo = {"undo": answer["data"]["undo"]}
        results = (await site.send("PUT", "/api/comment", undo, by=ADMIN))["data"]["results"]
        assert results == {id: "done"}
    assert await problems(site) == []
    assert await texts_of(site, target) == ["gone", "kept"]
    assert await texts_of(site, source) == []


async def test_what_is_restored_from_the_bin_follows_its_page(site: Site) -> None:
    site.store.deletions.kept_ms = 7 * 86_400_000
    source, target = new_pages()
    id = (await site.post("gone", url=source))["objectId"]
    await site.send("DELETE", f"/api/comment/{id}", by=ADMIN)
    assert await move(site.service.comments, source, target, ADMIN.id)
    restored = await bin_rules.restore(site.service.comments, [id], Caller(Viewer(ADMIN)))
    assert restored == {id: "done"}
    assert await problems(site) == []
    assert await texts_of(site, target) == ["gone"]


async def test_replies_likes_and_decisions_by_old_ids_are_followed_for_a_month(
    make_site: Sites,
) -> None:
    site = await make_site(IPQPS="0")
    source, target = new_pages()
    _, last = new_pages()
    root = await site.post("root", url=source, by=BOB)
    for start, end in ((source, target), (target, last)):
        assert await move(site.service.comments, start, end, ADMIN.id)
    # A page that was open all the time still names the old path.
    reply = await site.reply(root, "reply", url=source)
    assert (reply["rid"][:16], reply["rid"][16:]) == (root["objectId"][:16], digest(last))
    id = root["objectId"]
    liked = await site.send("PUT", f"/api/comment/{id}", {"like": True})
    assert liked["data"]["like"] == 1
    edited = await site.send("PUT", f"/api/comment/{id}", {"comment": "other"}, by=BOB)
    assert edited["data"]["orig"] == "other"
    assert await texts_of(site, last) == ["other"]
    await site.send("DELETE", f"/api/comment/{id}", by=BOB)
    assert await texts_of(site, last) == []
    key = site.store.keys.site(f"forward:{digest(source)}")
    (left,) = await site.store.redis.ask(("PTTL", key))
    assert 0 < left <= 30 * 86_400_000
    # Back at its first path, its ids are the old ones again.
    back = await site.post("back", url=last)
    assert await move(site.service.comments, last, source, ADMIN.id)
    await site.reply(back, "to that", url=last)
    assert await site.get("/comment", type="count", url=source) == 2
    assert await problems(site) == []
