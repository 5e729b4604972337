"""Reports of comments by readers: enough of them put one back to pending, once."""

import asyncio
from typing import Any

import httpx
import pytest

from footfall.app import create_delivery
from footfall.comments.store import reports
from footfall.config import Settings
from tests.conftest import ADMIN, BOB, Site, Sites
from tests.support.admin_ui import SENT, last
from tests.support.losing import catch_up, lost_replies
from tests.support.mailing import run, settings_of, text_of
from tests.support.receivers import MailServer

AFTER_THREE = {"REPORT_AFTER": "3", "TRUSTED_PROXIES": "127.0.0.1"}


async def report(site: Site, posted: Any, address: str = "192.0.2.1") -> httpx.Response:
    headers = {"x-forwarded-for": address}
    id = posted["objectId"]
    return await site.http.post("/api/report", json={"id": id}, headers=headers)


async def reported(site: Site, posted: Any, *addresses: int) -> None:
    for n in addresses:
        answer = await report(site, posted, f"192.0.2.{n}")
        assert answer.json() == {"errno": 0, "errmsg": "", "data": {"isReported": True}}


async def in_queue(site: Site, posted: Any) -> tuple[str, int]:
    """A comment's status, and how many have reported it."""
    headers = {**SENT, "cookie": f"footfall={ADMIN.id}"}
    url = f"/ui/api/queue?ids={posted['objectId']}"
    part = last(await site.http.get(url, headers=headers))["data"]
    return part["data"][0]["status"], part["reports"].get(posted["objectId"], 0)


async def log(site: Site) -> list[tuple[str, str, str]]:
    headers = {**SENT, "cookie": f"footfall={ADMIN.id}"}
    entries = last(await site.http.get("/ui/api/log", headers=headers))["data"]
    return [(each["door"], each["was"], each["now"]) for each in entries]


async def decide(site: Site, posted: Any, status: str) -> None:
    await site.send("PUT", f"/comment/{posted['objectId']}", {"status": status}, by=ADMIN)


@pytest.mark.cluster
async def test_enough_readers_put_a_comment_back_to_pending(make_site: Sites) -> None:
    site = await make_site(**AFTER_THREE)
    posted = await site.post("words")
    await reported(site, posted, 1, 2, 2, 1)
    assert await in_queue(site, posted) == ("approved", 2)
    await reported(site, posted, 3)
    await site.settled()
    assert await in_queue(site, posted) == ("waiting", 3)
    assert await log(site) == [("readers", "approved", "waiting")]
    assert (await site.get("/api/comment", path="/p"))["data"]["count"] == 0


async def test_what_a_moderator_approves_stays_however_many_report_it(make_site: Sites) -> None:
    """Who: some who want a comment to go, and ask others. Instead: people decide, once."""
    site = await make_site(**AFTER_THREE)
    posted = await site.post("words")
    await reported(site, posted, 1, 2, 3)
    await decide(site, posted, "approved")
    await reported(site, posted, *range(1, 50))
    assert (await in_queue(site, posted))[0] == "approved"


async def test_comments_of_moderators_stay(make_site: Sites) -> None:
    site = await make_site(**AFTER_THREE)
    posted, by_bob = await site.post("words", by=ADMIN), await site.post("other words", by=BOB)
    await reported(site, posted, 1, 2, 3, 4)
    await reported(site, by_bob, 1, 2, 3)
    assert await in_queue(site, posted) == ("approved", 4)
    assert (await in_queue(site, by_bob))[0] == "waiting"


async def test_what_the_public_does_not_see_cannot_be_reported(make_site: Sites) -> None:
    site = await make_site(COMMENT_AUDIT="true", **AFTER_THREE)
    posted = await site.post("words")
    missing = {"objectId": "0" * 32}
    for each in (posted, missing, {"objectId": "nonsense"}):
        answer = (await report(site, each)).json()
        assert answer["data"] == {"isReported": False}
    assert await in_queue(site, posted) == ("waiting", 0)
    bodies: tuple[Any, ...] = ({}, {"id": ""}, {"id": 7}, {"id": "x" * 5_000}, [], None)
    for body in bodies:
        answer = await site.http.post("/api/report", json=body)
        assert answer.json()["errno"] in (400, 1001), body


async def test_a_site_takes_none_unless_it_wants_to(make_site: Sites) -> None:
    site = await make_site()
    posted = await site.post("words")
    assert (await report(site, posted)).status_code == 404
    assert 'class="plain report"' not in (await site.http.get("/")).text
    site = await make_site(DEMO="true", **AFTER_THREE)
    assert 'class="plain report"' in (await site.http.get("/")).text


async def test_reports_move_with_their_page(make_site: Sites) -> None:
    site = await make_site(**AFTER_THREE)
    posted = await site.post("words")
    await reported(site, posted, 1, 2)
    headers = {**SENT, "cookie": f"footfall={ADMIN.id}"}
    url, body = "/ui/api/pages/move", {"path": "/p", "to": "/q", "meant": True}
    moved = last(await site.http.post(url, json=body, headers=headers))
    assert moved["errno"] == 0, moved
    # By the old name, as a reader's page has it.
    await reported(site, posted, 2)
    (there,) = (await site.get("/api/comment", path="/q"))["data"]["data"]
    assert await in_queue(site, there) == ("approved", 2)
    await reported(site, there, 3)
    assert (await in_queue(site, there))[0] == "waiting"


async def test_fifty_who_report_at_the_same_moment_hold_it_once(make_site: Sites) -> None:
    site = await make_site(**AFTER_THREE)
    posted = await site.post("words")
    answers = await asyncio.gather(*(report(site, posted, f"192.0.2.{n}") for n in range(50)))
    assert {answer.status_code for answer in answers} == {200}
    await site.settled()
    assert (await in_queue(site, posted))[0] == "waiting"
    assert await log(site) == [("readers", "approved", "waiting")]


async def test_one_home_is_one_reader_and_a_stranger_fills_no_room(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "MAX_REPORTS", 5)
    site = await make_site(REPORT_AFTER="1000", TRUSTED_PROXIES="127.0.0.1")
    posted = await site.post("words")
    for n in range(3):
        await report(site, posted, f"2001:db8::{n}")
    assert (await in_queue(site, posted))[1] == 1
    await reported(site, posted, *range(20))
    key = site.store.keys.reports(posted["objectId"])
    (number,) = await site.store.redis.ask(("HLEN", key))
    assert number == 5


async def test_who_reports_very_often_waits(make_site: Sites) -> None:
    site = await make_site(COUNTER_RATE="10", **AFTER_THREE)
    posted = await site.post("words")
    statuses = [(await report(site, posted)).status_code for _ in range(60)]
    assert 429 in statuses


@pytest.mark.parametrize("is_done", [True, False])
async def test_a_hold_whose_reply_was_lost_is_done_once_or_again(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch, *, is_done: bool
) -> None:
    site = await make_site(**AFTER_THREE)
    posted = await site.post("words")
    await reported(site, posted, 1, 2)
    with lost_replies(monkeypatch, "comments/moderate", is_done=is_done):
        assert (await report(site, posted, "192.0.2.3")).status_code == 503
    answer = await report(site, posted, "192.0.2.3")
    assert answer.json()["data"] == {"isReported": not is_done}
    await catch_up(site.store.journal, monkeypatch)
    await site.settled()
    assert await in_queue(site, posted) == ("waiting", 3)
    assert await log(site) == [("readers", "approved", "waiting")]


async def test_the_owner_gets_an_email_and_an_author_who_goes_takes_them_along(
    make_site: Sites, mails: MailServer
) -> None:
    make_site.store.outbox.is_on = True
    environ = {
        **settings_of(mails),
        "AUTHOR_EMAIL": "owner@example.com",
        "NOTIFY_EVERY": "0",
        **AFTER_THREE,
    }
    environ["TITLES"] = "off"
    site = await make_site(**environ)
    delivery = create_delivery(Settings.from_env(environ), site.service)
    posted = await site.post("words", nick="Eve", mail="eve@example.com")
    await site.settled()
    await run(delivery)
    mails.came.clear()
    await reported(site, posted, 1, 2, 3)
    await site.settled()
    await run(delivery)
    ((to, mail),) = mails.came
    assert to == "owner@example.com"
    assert mail["Subject"] == "The Blog: readers report a comment by Eve"
    assert "Readers have reported a comment by Eve on /p." in text_of(mail)
    key = site.store.keys.reports(posted["objectId"])
    await site.send("DELETE", "/author", {"who": "eve@example.com"}, by=ADMIN)
    assert await site.store.redis.ask(("HLEN", key)) == [0]
