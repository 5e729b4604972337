"""A client that sends endless work waits for it alone."""

import asyncio
import threading
from typing import Any

import httpx
import pytest

from footfall.app import create_delivery
from footfall.config import Settings
from footfall.limits.pools import Pools
from footfall.model import Account
from footfall.notify import comment_letters
from footfall.notify import mail as mail_module
from footfall.notify.letter import Letter
from footfall.process.renderer import PIECE_CHARACTERS
from footfall.render.pictures import ALL_PICTURES
from tests.conftest import ADMIN, BOB, EVE, Site, Sites
from tests.support.receivers import mail_server
from tests.support.rendering import stopped, until_waiting
from tests.web.test_outbox import settle

ON = ("valkey",)


async def send(site: Site, text: str, address: str, by: Account | None = None) -> httpx.Response:
    headers = {"x-forwarded-for": address}
    if by:
        headers["authorization"] = f"Bearer {by.id}"
    draft = {"comment": text, "url": "/p", "nick": "Ann"}
    return await site.http.post("/api/comment", json=draft, headers=headers)


async def start(site: Site, number: int, *words: Any) -> asyncio.Task[httpx.Response]:
    """Send a comment, and wait until it is one of so many that are to be rendered."""
    task = asyncio.create_task(send(site, *words))
    await until_waiting(site.service.process.renderer, number)
    return task


async def test_a_stranger_waits_for_one_text_of_each_other_client(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: somebody with a loop. What: sends many long comments at once, so that everybody else's
    wait until all of them are rendered. Instead: clients take turns, by what their texts cost."""
    with stopped(monkeypatch) as press:
        tasks = [await start(site, n + 1, f"long {n}", "192.0.2.1") for n in range(4)]
        tasks.append(await start(site, 5, "a stranger's", "192.0.2.2"))
        tasks.append(await start(site, 6, "yet another's", "192.0.2.3"))
        press.go()
        assert {each.status_code for each in await asyncio.gather(*tasks)} == {200}
    order = ["long 0", "a stranger's", "yet another's", "long 1", "long 2", "long 3"]
    assert press.texts == order


async def test_a_network_or_a_room_full_of_accounts_is_one_client(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: somebody with a /64 of IPv6 addresses, or several accounts. What: sends each text from
    another address, or by another account, to have many turns. Instead: a /64 takes turns as one,
    and so do all accounts at an address, but administrators."""
    with stopped(monkeypatch) as press:
        senders = [("2001:db8::1", None), ("2001:db8::2", None), ("2001:db8::3", BOB)]
        tasks = [
            await start(site, n + 1, f"{n}", *sender)
            for n, sender in enumerate([*senders, ("2001:db8::4", EVE)])
        ]
        tasks.append(await start(site, 5, "a stranger's", "192.0.2.2"))
        tasks.append(await start(site, 6, "an administrator's", "2001:db8::5", ADMIN))
        press.go()
        await asyncio.gather(*tasks)
    assert press.texts == ["0", "an administrator's", "a stranger's", "1", "2", "3"]


@pytest.mark.parametrize(
    ("by", "address", "window"), [(None, "192.0.2.1", "0"), (BOB, "192.0.2.9", "60")]
)
async def test_more_than_a_share_is_refused_to_its_client_alone(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch, by: Account | None, address: str, window: str
) -> None:
    """Who: somebody with a loop, or with one account at many addresses. What: lets so much wait
    that the service refuses everybody's comments. Instead: after four of the longest texts that
    client is told to wait, and may try again at once; others are served."""
    site = await make_site(IPQPS=window)
    monkeypatch.setattr(site.service.process.pools.rendering, "each", 1_000)
    with stopped(monkeypatch) as press:
        first = await start(site, 1, "x" * 1_000, "192.0.2.1", by)
        refused = await send(site, "more", address, by)
        stranger = await start(site, 2, "a stranger's", "192.0.2.2")
        press.go()
        assert [each.json()["errno"] for each in await asyncio.gather(first, stranger)] == [0, 0]
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.json()["errmsg"].startswith("Too many of your requests")
    assert (await send(site, "more", address, by)).json()["errno"] == 0


async def feed(site: Site, count: int, address: str) -> httpx.Response:
    headers = {"x-forwarded-for": address}
    return await site.http.get(f"/api/comment/rss?count={count}", headers=headers)


async def test_feeds_do_not_keep_readers_from_comments(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: somebody with a few addresses. What: asks for many feeds at once, none of which is
    cached, so that pages of comments have to wait until these are made. Instead: feeds wait for
    feeds alone, in turn, and an address has no more than four of them made at once."""
    await site.post("hello")
    with stopped(monkeypatch) as press:
        comment = await start(site, 1, "long", "192.0.2.1")
        feeds = [
            asyncio.create_task(feed(site, n + 1, f"192.0.2.{n % 3}"))
            for n in range(Pools().pages.at_once + 4)
        ]
        await until_waiting(site.service.process.renderer, 2)
        refused = await feed(site, 40, "192.0.2.0")
        assert await site.texts() == ["hello"]
        press.go()
        assert {each.status_code for each in await asyncio.gather(comment, *feeds)} == {200}
    assert refused.status_code == 429
    assert (await feed(site, 40, "192.0.2.0")).status_code == 200


async def test_a_comment_does_not_wait_for_a_whole_import(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: nobody; an owner imports an old site. What: comments of strangers wait until dozens of
    long ones are rendered. Instead: imports take turns as one client, a few thousand characters at
    a time."""
    long = [f"{n}" + "x" * PIECE_CHARACTERS for n in range(3)]
    with stopped(monkeypatch) as press:
        texts = [(text, "") for text in (*long, "short", "shorter")]
        imported = asyncio.create_task(site.service.process.renderer.make_all(texts, ALL_PICTURES))
        await until_waiting(site.service.process.renderer, 1)
        comment = await start(site, 2, "a stranger's", "192.0.2.1")
        press.go()
        assert len(await imported) == len(texts)
        assert (await comment).status_code == 200
    assert press.texts == [long[0], "a stranger's", *long[1:], "short", "shorter"]


async def test_mails_are_made_where_comments_are_rendered(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: an author. What: has an email made of the longest HTML, while which nothing else is
    answered. Instead: letters are written by the thread that renders, when it is their turn."""
    threads, owner_letter = list[str](), comment_letters.owner_letter

    def noted(*about: Any) -> Letter:
        threads.append(threading.current_thread().name)
        return owner_letter(*about)

    monkeypatch.setattr(mail_module, "owner_letter", noted)
    make_site.store.outbox.is_on = True
    with mail_server() as server:
        environ = {
            "SMTP_HOST": "127.0.0.1",
            "SMTP_PORT": str(server.port),
            "SENDER_EMAIL": "from@blog.example",
            "AUTHOR_EMAIL": "owner@blog.example",
        }
        site = await make_site(**environ)
        await site.post("hello")
        await settle(site, create_delivery(Settings.from_env(environ), site.service))
        server.wait(1)
    assert threads == ["render_0"]
