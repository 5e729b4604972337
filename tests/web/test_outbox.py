"""The outbox: who is told of what, how often, and what becomes of notifications that fail."""

import asyncio
import re
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl

import orjson
import pytest

from footfall.accounts.rules import tokens
from footfall.app import create_delivery
from footfall.comments.noun import Comments
from footfall.config import BadSettings, Settings
from footfall.ids import digest
from footfall.monitoring import health, metrics
from footfall.notifications.rules import delivery as delivery_module
from footfall.notifications.rules import trial
from footfall.notifications.rules.delivery import Delivery
from footfall.notifications.rules.recipients import Recipients
from footfall.notifications.store import outbox as outbox_module
from footfall.notifications.store.outbox import Outbox
from footfall.notify.notification import NotDelivered, Notification
from footfall.notify.push import Push
from footfall.notify.webhook import signature
from tests.conftest import ADMIN, BOB, EVE, Site, Sites
from tests.support.losing import lost_replies
from tests.support.mailing import run
from tests.support.receivers import MailServer, Receiver, receiver

OWNER = "owner@example.com"


@dataclass
class Recorder:
    """A channel that records what it was told, and fails as often as it should."""

    name: str = "test"
    heard: list[tuple[str, str, str]] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    def wants(self, news: Notification) -> bool:
        return True

    async def send(self, news: Notification) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.heard.append((news.about.source, news.was, news.now))


@pytest.fixture
async def telling(make_site: Sites) -> Site:
    make_site.store.outbox.is_on = True
    return await make_site(SITE_NAME="Demo", SITE_URL="https://blog.example")


async def deliver(site: Site, *channels: Any) -> None:
    """Do everything that is due now."""
    await site.settled()
    delivery = Delivery(*told_by(site), channels, site_url="https://blog.example")
    await run(delivery)


async def test_each_change_of_a_comment_is_told_once(telling: Site) -> None:
    channel = Recorder()
    id = (await telling.post("one"))["objectId"]
    await telling.post("two", url="/other")
    for status in ("spam", "spam", "approved"):
        await telling.send("PUT", f"/comment/{id}", {"status": status}, by=ADMIN)
    await deliver(telling, channel)
    await deliver(telling, channel)
    assert sorted(channel.heard) == [
        ("one", "", "approved"),
        ("one", "approved", "spam"),
        ("one", "spam", "approved"),
        ("two", "", "approved"),
    ]
    assert await telling.store.outbox.depth() == (0, 0, 0, 0, 0)


async def test_nothing_is_written_without_channels(site: Site) -> None:
    await site.post("one")
    await site.settled()
    keys = [key async for keys in site.store.redis.scan(site.store.keys.every_key) for key in keys]
    assert not [key for key in keys if b"outbox" in key or b"accepted" in key]


async def test_events_that_a_crash_has_left_on_a_page_are_found(
    telling: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = Recorder()
    with lost_replies(monkeypatch, "journal/apply", is_done=False):
        await telling.post("one")
        await deliver(telling, channel)
    assert channel.heard == []
    await telling.service.comments.journal.follow_all()
    await deliver(telling, channel)
    assert channel.heard == [("one", "", "approved")]
    assert [page async for page in telling.service.comments.journal.pages()] == []


async def test_an_event_that_is_followed_twice_is_told_once(
    telling: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = Recorder()
    # A crash between the step that follows an entry and the one that cuts it off.
    with lost_replies(monkeypatch, "journal/cut", is_done=False):
        await telling.post("one")
        await telling.settled()
    assert [page async for page in telling.service.comments.journal.pages()] == [digest("/p")]
    await telling.service.comments.journal.follow_all()
    await deliver(telling, channel)
    assert channel.heard == [("one", "", "approved")]


async def test_what_is_no_entry_keeps_no_other_from_being_followed(
    telling: Site, caplog: pytest.LogCaptureFixture
) -> None:
    channel, keys = Recorder(), telling.store.keys
    await telling.post("one")
    await telling.settled()
    journal = keys.page(digest("/p"), "journal")
    await telling.store.redis.client.xadd(journal, {"x": "y" * 9999}, id=f"{telling.clock()}-0")
    telling.clock.now += 1000
    await telling.post("two")
    assert max(map(len, caplog.messages)) < 400
    await deliver(telling, channel)
    assert [source for source, _, _ in channel.heard] == ["one", "two"]
    assert await telling.get("/comment", type="count") == 2
    assert [page async for page in telling.service.comments.journal.pages()] == []


async def test_a_task_that_a_crash_has_left_is_taken_over(
    telling: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = Recorder()
    await telling.post("one")
    await telling.settled()
    # A worker takes it, and is killed.
    await telling.store.outbox.start()
    assert await telling.store.outbox.take(10)
    await deliver(telling, channel)
    assert channel.heard == []
    monkeypatch.setattr(outbox_module, "IDLE_MS", 0)
    delivery = Delivery(*told_by(telling), [channel])
    delivery._start(await telling.store.outbox.take_over(10))
    await run(delivery)
    assert channel.heard == [("one", "", "approved")]


async def test_a_channel_that_fails_is_tried_again_later_and_the_others_are_not(
    telling: Site,
) -> None:
    good, bad = (
        Recorder("good"),
        Recorder("bad", failures=[NotDelivered("not now"), NotDelivered("nor now")]),
    )
    await telling.post("one")
    await deliver(telling, good, bad)
    assert (await telling.store.outbox.depth())[:3] == (0, 1, 0)
    for _ in range(2):
        await telling.store.outbox.wake(telling.clock() + 60_000)
        await deliver(telling, good, bad)
    assert good.heard == bad.heard == [("one", "", "approved")]
    assert (await telling.store.outbox.depth())[:3] == (0, 0, 0)


async def test_waits_grow_and_have_an_end() -> None:
    waits = [delivery_module._wait_ms(n) for n in (1, 2, 3, 6, 30)]
    assert 5_000 <= waits[0] < 7_000
    assert 10_000 <= waits[1] < 12_000
    assert 20_000 <= waits[2] < 22_000
    assert waits[-1] == 3_600_000


@pytest.mark.parametrize(
    "failure", [NotDelivered("550 nobody here", is_final=True), RuntimeError("?")]
)
async def test_a_task_that_always_fails_is_given_up_and_can_be_sent_again(
    telling: Site, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_module, "MAX_ATTEMPTS", 1)
    channel = Recorder(failures=[failure])
    await telling.post("one")
    await deliver(telling, channel)
    outbox = telling.store.outbox
    (given_up,) = await outbox.undelivered(10)
    assert given_up.task.kind == "test"
    assert given_up.error
    assert await outbox.undelivered(10, [given_up.id, "1-1"]) == [given_up]
    assert (await telling.store.outbox.depth())[:3] == (0, 0, 1)

    assert await outbox.again(given_up, replace(given_up.task, attempts=0))
    assert not await outbox.again(given_up, given_up.task)
    await deliver(telling, channel)
    assert channel.heard == [("one", "", "approved")]
    assert await outbox.drop([given_up.id]) == 0


async def test_nobody_is_told_of_a_comment_that_is_deleted_meanwhile(telling: Site) -> None:
    channel = Recorder()
    id = (await telling.post("one"))["objectId"]
    await telling.send("DELETE", f"/comment/{id}", by=ADMIN)
    for _ in range(2):
        await deliver(telling, channel)
        telling.clock.now += 61_000
        await telling.kept_up()
        await telling.store.outbox.wake(telling.clock())
    await deliver(telling, channel)
    assert channel.heard == []
    assert await telling.store.outbox.depth() == (0, 0, 0, 0, 0)


async def test_people_are_told_of_a_comment_that_was_deleted_and_put_back(telling: Site) -> None:
    channel = Recorder()
    id = (await telling.post("one"))["objectId"]
    done = await telling.send("DELETE", "/comment", {"ids": [id]}, by=ADMIN)
    await deliver(telling, channel)
    assert channel.heard == []
    await telling.send("PUT", "/comment", {"undo": done["data"]["undo"]}, by=ADMIN)
    telling.clock.now += 61_000
    await telling.kept_up()
    await telling.store.outbox.wake(telling.clock())
    await deliver(telling, channel)
    assert channel.heard == [("one", "", "approved")]


async def test_an_owner_is_told_of_a_comment_that_was_marked_as_spam_and_put_back(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await told(make_site, mailing(mails))
    id = (await site.post("one"))["objectId"]
    marked = await site.send("PUT", "/comment", {"ids": [id], "status": "spam"}, by=ADMIN)
    await settle(site, delivery)
    assert addresses(mails) == []
    await site.send("PUT", "/comment", {"undo": marked["data"]["undo"]}, by=ADMIN)
    for _ in range(2):
        await site.store.outbox.wake(site.clock() + 61_000)
        await settle(site, delivery)
    assert addresses(mails) == [OWNER]
    assert await site.store.outbox.depth() == (0, 0, 0, 0, 0)


async def test_a_task_for_a_channel_that_is_turned_off_is_dropped(telling: Site) -> None:
    failing = Recorder(failures=[NotDelivered("not now")])
    await telling.post("one")
    await deliver(telling, failing)
    await telling.store.outbox.wake(telling.clock() + 60_000)
    await deliver(telling)
    assert await telling.store.outbox.depth() == (0, 0, 0, 0, 0)


@pytest.mark.rare
async def test_tasks_that_were_started_at_the_end_are_handed_over(
    telling: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_module, "GRACE_SECONDS", 0)
    started = asyncio.Event()

    class Slow(Recorder):
        async def send(self, news: Notification) -> None:
            started.set()
            await asyncio.Event().wait()

    await telling.post("one")
    await telling.settled()
    slow = Delivery(*told_by(telling), [Slow()])
    running = asyncio.create_task(slow.run())
    await started.wait()
    await slow.stop()
    await running
    quick = Recorder()
    await deliver(telling, quick)
    assert quick.heard == [("one", "", "approved")]


@pytest.mark.parametrize("trouble", ["Redis is away", "the worker is stopped"])
async def test_a_message_that_comes_twice_is_named_the_same(
    make_site: Sites,
    hook: Receiver,
    mails: MailServer,
    monkeypatch: pytest.MonkeyPatch,
    trouble: str,
) -> None:
    """Between the sending and its noting."""
    hook.came.clear()
    site, delivery = await told(make_site, mailing(mails, WEBHOOK=hook.url))
    await site.post("one")
    monkeypatch.setattr(outbox_module, "IDLE_MS", 0)
    await site.settled()
    await delivery._outbox.start()
    await delivery.step()
    await asyncio.gather(*delivery._running)
    if trouble == "Redis is away":
        with lost_replies(monkeypatch, "outbox/settle", is_done=False):
            await run(delivery)
    else:
        # It has tasks, and is stopped; when it goes on, another worker has told everybody.
        started = await site.store.outbox.take(10)
    other = Delivery(*told_by(site), list(delivery.channels.values()))
    other._start(await site.store.outbox.take_over(10))
    await run(other)
    if trouble != "Redis is away":
        delivery._start(started)
        await run(delivery)
    assert len({headers["footfall-delivery"] for _, headers, _ in hook.came}) == 1
    assert len({str(mail["Message-ID"]) for _, mail in mails.came}) == 1
    assert (len(hook.came), len(mails.came)) == (2, 2)
    assert await site.store.outbox.depth() == (0, 0, 0, 0, 0)


# Told once, however often a comment is held and approved again.


async def moderate(site: Site, comment: Any, *statuses: str) -> None:
    for status in statuses:
        await site.send("PUT", f"/comment/{comment['objectId']}", {"status": status}, by=ADMIN)


async def undone(site: Site, method: str, changes: dict[str, Any]) -> None:
    """Do something to comments, and undo it."""
    done = await site.send(method, "/comment", changes, by=ADMIN)
    await site.send("PUT", "/comment", {"undo": done["data"]["undo"]}, by=ADMIN)


async def replied(make_site: Sites, mails: MailServer, **more: str) -> tuple[Site, Delivery, Any]:
    """A site, its delivery, and a reply to the administrator, who alone gets emails."""
    environ = mailing(mails, DISABLE_AUTHOR_NOTIFY="true", **more)
    site, delivery = await told(make_site, environ)
    root = await site.post("one", by=ADMIN)
    return site, delivery, await site.reply(root, "two", mail="eve@example.com")


@pytest.mark.parametrize("is_delivered_between", [True, False])
@pytest.mark.parametrize("audit", ["true", "false"])
async def test_a_reader_is_told_once_of_a_reply_that_is_held_and_approved_again(
    make_site: Sites, mails: MailServer, audit: str, *, is_delivered_between: bool
) -> None:
    site, delivery, reply = await replied(make_site, mails, COMMENT_AUDIT=audit)
    for status in ("approved", "waiting", "approved", "spam", "waiting", "approved"):
        await moderate(site, reply, status)
        if is_delivered_between:
            await settle(site, delivery)
    ids = {"ids": [reply["objectId"]]}
    await undone(site, "PUT", {**ids, "status": "spam"})
    await moderate(site, reply, "spam")
    await undone(site, "DELETE", ids)
    await moderate(site, reply, "approved")
    await settle(site, delivery)
    assert addresses(mails) == [ADMIN.mail]


async def test_a_reply_that_was_held_before_anybody_was_told_is_told_of_later(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery, reply = await replied(make_site, mails)
    await moderate(site, reply, "waiting")
    await settle(site, delivery)
    assert addresses(mails) == []
    await moderate(site, reply, "approved", "spam", "approved")
    await settle(site, delivery)
    assert addresses(mails) == [ADMIN.mail]


async def test_a_mail_that_could_not_be_sent_before_is_not_lost_with_a_status(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery, reply = await replied(make_site, mails)
    mails.answer = "450 later"
    await settle(site, delivery)
    await moderate(site, reply, "spam")
    mails.answer, mails.came[:] = "250 taken", []
    await site.store.outbox.wake(site.clock() + 60_000)
    await settle(site, delivery)
    assert addresses(mails) == []
    await moderate(site, reply, "approved")
    await settle(site, delivery)
    assert addresses(mails) == [ADMIN.mail]


async def test_comments_that_were_visible_before_there_was_an_outbox_are_no_news(
    make_site: Sites, mails: MailServer
) -> None:
    make_site.store.outbox.is_on = False
    site = await make_site()
    root = await site.post("one", by=ADMIN)
    reply = await site.reply(root, "two", mail="eve@example.com")
    await moderate(site, reply, "spam")
    site, delivery = await told(make_site, mailing(mails, DISABLE_AUTHOR_NOTIFY="true"))
    await moderate(site, reply, "approved")
    await settle(site, delivery)
    assert addresses(mails) == []


# Channels.


@pytest.fixture(scope="module")
def hook() -> Any:
    with receiver() as found:
        yield found


def mailing(mails: MailServer, **more: str) -> dict[str, str]:
    return {
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": str(mails.port),
        "SENDER_EMAIL": "from@blog.example",
        "AUTHOR_EMAIL": OWNER,
        "SITE_NAME": "Demo",
        "SITE_URL": "https://blog.example",
        "SERVER_URL": "https://talk.example",
        "NOTIFY_EVERY": "0",
        "TITLES": "off",
        **more,
    }


async def told(make_site: Sites, environ: dict[str, str]) -> tuple[Site, Delivery]:
    make_site.store.outbox.is_on = True
    site = await make_site(**environ)
    settings = Settings.from_env(environ)
    assert settings.tells
    return site, create_delivery(settings, site.service)


def told_by(site: Site) -> tuple[Comments, Outbox, Recipients]:
    notifications = site.service.notifications
    return site.service.comments, notifications.outbox, notifications.recipients


async def settle(site: Site, delivery: Delivery) -> None:
    await site.settled()
    await run(delivery)


def addresses(mails: MailServer) -> list[str]:
    return sorted(to for to, _ in mails.came)


async def test_the_owner_and_the_parents_author_get_a_mail(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await told(make_site, mailing(mails))
    root = await site.post("First & <b>bold</b>", nick="Ann")
    await site.reply(root, "An **answer**", nick='Eve & "Co"', mail="eve@example.com")
    await settle(site, delivery)
    assert addresses(mails) == ["ann@example.com", OWNER, OWNER]
    mail = next(mail for to, mail in mails.came if to == "ann@example.com")
    assert mail["From"] == "Demo <from@blog.example>"
    assert mail["Subject"] == 'Demo: Eve & "Co" replied to you'
    body = mail.get_body(("html",))
    assert body is not None
    html = body.get_content()
    assert "<strong>answer</strong>" in html
    assert "<p>Eve &amp; &quot;Co&quot; replied:</p>" in html
    plain = mail.get_body(("plain",))
    assert plain is not None
    assert "An **answer**" in plain.get_content()
    assert f"https://blog.example/p#{root['objectId']}"[:24] in html


async def test_the_owner_is_told_of_held_comments_and_nobody_of_spam(
    make_site: Sites, mails: MailServer
) -> None:
    environ = mailing(mails, COMMENT_AUDIT="true", FORBIDDEN_WORDS="viagra")
    site, delivery = await told(make_site, environ)
    root = await site.post("one", by=ADMIN)
    await site.reply(root | {"nick": "Admin"}, "buy viagra", mail="spam@example.com")
    await settle(site, delivery)
    mails.came.clear()
    reply = await site.reply(root | {"nick": "Admin"}, "two", mail="eve@example.com")
    await settle(site, delivery)
    assert addresses(mails) == [OWNER]
    assert "pending until you approve it" in str(mails.came[0][1])
    await site.send("PUT", f"/comment/{reply['objectId']}", {"status": "approved"}, by=ADMIN)
    await settle(site, delivery)
    assert addresses(mails) == [ADMIN.mail, OWNER]


async def test_nobody_gets_a_mail_of_their_own_words(make_site: Sites, mails: MailServer) -> None:
    site, delivery = await told(make_site, mailing(mails, AUTHOR_EMAIL=BOB.mail))
    root = await site.post("mine", by=BOB)
    await site.reply(root | {"nick": "Bob"}, "mine again", by=BOB)
    other = await site.post("a", mail="Ann@example.com")
    await site.reply(other, "b", mail="ann@EXAMPLE.com")
    await settle(site, delivery)
    assert addresses(mails) == [BOB.mail, BOB.mail]


async def test_an_owner_who_is_replied_to_gets_one_mail(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await told(make_site, mailing(mails, AUTHOR_EMAIL=BOB.mail))
    root = await site.post("mine", by=BOB)
    await site.reply(root | {"nick": "Bob"}, "hello", by=EVE)
    await settle(site, delivery)
    assert addresses(mails) == [BOB.mail]


async def test_an_address_gets_only_so_many_mails_an_hour(
    make_site: Sites, mails: MailServer
) -> None:
    environ = mailing(mails, MAIL_RATE="2", DISABLE_AUTHOR_NOTIFY="true")
    site, delivery = await told(make_site, environ)
    root = await site.post("one", mail="victim@example.com")
    for n in range(5):
        await site.reply(root, f"flood {n}", mail=f"{n}@example.com")
    await settle(site, delivery)
    assert addresses(mails) == ["victim@example.com"] * 2
    assert site.service.process.metrics.deliveries.totals()["dropped"] == 3


async def test_a_mail_counts_once_however_often_it_is_tried(
    make_site: Sites, mails: MailServer
) -> None:
    environ = mailing(mails, MAIL_RATE="1", DISABLE_AUTHOR_NOTIFY="true")
    site, delivery = await told(make_site, environ)
    mails.answer = "450 later"
    await site.reply(await site.post("one", mail="ann@example.com"), "two", by=EVE)
    for _ in range(3):
        await settle(site, delivery)
        await site.store.outbox.wake(site.clock() + 3_600_000)
    mails.answer = "250 taken"
    await settle(site, delivery)
    assert addresses(mails) == ["ann@example.com"]


async def test_domains_of_other_scripts_are_sent_as_they_are_looked_up(
    make_site: Sites, mails: MailServer
) -> None:
    there = {"SENDER_EMAIL": "from@blög.example", "AUTHOR_EMAIL": "owner@faß.example"}
    site, delivery = await told(make_site, mailing(mails, **there))
    await site.reply(await site.post("one", mail="ann@bücher.example"), "two", by=EVE)
    await settle(site, delivery)
    owner, ann = "owner@xn--fa-hia.example", "ann@xn--bcher-kva.example"
    assert addresses(mails) == [ann, owner, owner]
    assert {mail["From"] for _, mail in mails.came} == {"Demo <from@xn--blg-tna.example>"}
    assert {mail["To"] for _, mail in mails.came} == {owner, ann}


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({}, "talk.example"),
        ({"SERVER_URL": ""}, "blog.example"),
        ({"SERVER_URL": "https://tälk.example:8443/x"}, "xn--tlk-qla.example"),
        ({"SERVER_URL": "http://192.0.2.1:8360"}, "[192.0.2.1]"),
        ({"SERVER_URL": "http://[2001:db8::1]"}, "[IPv6:2001:db8::1]"),
        ({"SMTP_HELO": "mail.example"}, "mail.example"),
    ],
)
async def test_it_introduces_itself_by_a_name_of_its_own(
    make_site: Sites, mails: MailServer, more: dict[str, str], name: str
) -> None:
    site, delivery = await told(make_site, mailing(mails, **more))
    mails.helos.clear()
    await site.post("one")
    await settle(site, delivery)
    assert mails.helos == [name]


async def test_emails_about_a_thread_refer_to_it(make_site: Sites, mails: MailServer) -> None:
    site, delivery = await told(make_site, mailing(mails))
    root = await site.post("one")
    await site.reply(root, "two", mail="eve@example.com")
    await settle(site, delivery)
    await site.post("three")
    await settle(site, delivery)
    of_thread = f"<thread.{root['objectId']}@blog.example>"
    of_each = [mail["References"].strip() for _, mail in mails.came]
    assert [each == of_thread for each in of_each] == [True, True, True, False]
    assert len({mail["Message-ID"] for _, mail in mails.came}) == 4


@pytest.mark.parametrize("mail", ["@x", "a@b@c", "a@[", "a b@c", "\u00e9", "j\u00fc@c.example"])
async def test_a_reader_without_a_real_address_is_given_up_at_once(
    make_site: Sites, mails: MailServer, mail: str
) -> None:
    site, delivery = await told(make_site, mailing(mails, DISABLE_AUTHOR_NOTIFY="true"))
    await site.reply(await site.post("one", mail=mail), "two", by=EVE)
    await settle(site, delivery)
    (lost,) = await site.store.outbox.undelivered(10)
    assert lost.error == f"{mail!r} is not an email address"


async def test_a_trial_that_nobody_would_get_says_so(make_site: Sites, mails: MailServer) -> None:
    site, delivery = await told(make_site, mailing(mails, DISABLE_AUTHOR_NOTIFY="true"))
    assert await trial.tell(delivery) == {"nobody": trial.NO_RECIPIENT}


@pytest.mark.parametrize(
    "ways", ["pending=now", "pending=digest,approved=digest", "approved=never"]
)
async def test_a_trial_is_mailed_at_once_and_puts_no_news_off(
    make_site: Sites, mails: MailServer, ways: str
) -> None:
    site, delivery = await told(make_site, mailing(mails, NOTIFY_EVERY="10", NOTIFY=ways))
    for _ in range(2):
        assert await trial.tell(delivery) == {"mail-owner": ""}
    assert addresses(mails) == [OWNER] * 2
    keys = [site.store.keys.site(name) for name in ("gathered", "mailed")]
    assert await site.store.redis.ask(("ZCARD", keys[0]), ("GET", keys[1])) == [0, None]


async def test_one_click_unsubscribes_from_a_thread_and_another_from_all(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await told(make_site, mailing(mails, DISABLE_AUTHOR_NOTIFY="true"))
    first, second = await site.post("one"), await site.post("two")
    await site.reply(first, "x", mail="eve@example.com")
    await settle(site, delivery)
    ((_, mail),) = mails.came
    # Email programs read the bytes themselves; the library would decode what none of them does.
    (raw,) = mails.raw
    assert b"\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n" in raw
    assert re.search(rb"\r\nList-Unsubscribe:\r\n <https://talk\.example/unsub[!-~]{80,}>\r\n", raw)
    assert max(map(len, raw.split(b"\r\n"))) < 998
    link = str(mail["List-Unsubscribe"]).strip(" <>")
    assert link.startswith("https://talk.example/unsubscribe?token=")
    plain = mail.get_body(("plain",))
    assert plain is not None
    of_all = re.findall(r"No more emails: (\S+)", plain.get_content())[0]
    target = link.removeprefix("https://talk.example")

    # Scanners of emails open links.
    assert "button" in (await site.http.get(target)).text
    answer = await site.http.post(target, content=b"List-Unsubscribe=One-Click")
    assert answer.status_code == 200
    assert "You are unsubscribed" in answer.text
    for root in (first, second):
        await site.reply(root, f"y {root['orig']}", mail="eve@example.com")
    await settle(site, delivery)
    assert len(mails.came) == 2
    assert (await site.http.post(of_all.removeprefix("https://talk.example"))).status_code == 200
    await site.reply(second, "z", mail="eva@example.com")
    await settle(site, delivery)
    assert len(mails.came) == 2


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "%ff", "e30.e30.e30"])
async def test_an_invalid_link_unsubscribes_nobody(site: Site, token: str) -> None:
    answer = await site.http.post(f"/unsubscribe?token={token}")
    assert answer.status_code == 400
    assert "incomplete" in answer.text
    assert (await site.http.put("/unsubscribe")).status_code == 405


async def test_the_reference_servers_templates_are_filled_in(
    make_site: Sites, mails: MailServer
) -> None:
    environ = mailing(
        mails,
        DISABLE_AUTHOR_NOTIFY="true",
        MAIL_SUBJECT="{{parent.nick | safe}} hat auf {{site.name | safe}} Antwort",
        MAIL_TEMPLATE="<p>{{self.nick | safe}}: {{self.comment | safe}}</p>{{site.postUrl}}",
    )
    site, delivery = await told(make_site, environ)
    root = await site.post("one", nick="Ann\r\nBcc: x@example.com")
    await site.reply(root, "*two*", nick="Eve & Co", mail="eve@example.com")
    await settle(site, delivery)
    ((_, mail),) = mails.came
    assert "hat auf Demo Antwort" in mail["Subject"]
    assert mail["Bcc"] is None
    body = mail.get_body(("html",))
    assert body is not None
    assert "Eve &amp; Co: <p><em>two</em></p>" in body.get_content()


@pytest.mark.parametrize(
    ("answer", "depth"), [("450 later", (0, 1, 0)), ("550 no such user", (0, 0, 1))]
)
async def test_a_mail_that_is_refused_waits_or_is_given_up(
    make_site: Sites, mails: MailServer, answer: str, depth: tuple[int, ...]
) -> None:
    site, delivery = await told(make_site, mailing(mails))
    mails.answer = answer
    await site.post("one")
    await settle(site, delivery)
    assert (await site.store.outbox.depth())[:3] == depth
    assert site.service.process.metrics.deliveries.total == 1


async def test_a_webhook_gets_the_references_body_signed(make_site: Sites, hook: Receiver) -> None:
    hook.came.clear()
    environ = {"WEBHOOK": f"{hook.url}/hook?x=1", "WEBHOOK_SECRET": "sesame"}
    site, delivery = await told(make_site, environ)
    root = await site.post("*one*")
    await settle(site, delivery)
    await site.reply(root, "two", by=BOB)
    await settle(site, delivery)
    (path, headers, body), (_, _, reply) = hook.came
    assert path == "/hook?x=1"
    assert headers["footfall-signature"] == signature("sesame", headers["footfall-timestamp"], body)
    sent = orjson.loads(body)
    assert sent["type"] == "new_comment"
    comment = sent["data"]["comment"]
    assert (comment["objectId"], comment["rawComment"]) == (root["objectId"], "*one*")
    assert comment["comment"] == "<p><em>one</em></p>\n"
    assert "reply" not in sent["data"]
    data = orjson.loads(reply)["data"]
    assert data["reply"]["objectId"] == data["comment"]["pid"] == root["objectId"]
    assert data["comment"]["nick"] == "Bob"


@pytest.mark.parametrize(
    ("status", "depth"),
    [(500, (0, 1, 0)), (429, (0, 1, 0)), (404, (0, 0, 1)), (302, (0, 0, 1)), (204, (0, 0, 0))],
)
async def test_a_webhooks_answer_decides_whether_it_is_asked_again(
    make_site: Sites, hook: Receiver, status: int, depth: tuple[int, ...]
) -> None:
    hook.came.clear()
    hook.answer = lambda path, body: (status, b"" if status == 204 else b"well" * 100_000)
    site, delivery = await told(make_site, {"WEBHOOK": hook.url})
    await site.post("one")
    await settle(site, delivery)
    assert (await site.store.outbox.depth())[:3] == depth


async def test_a_receiver_that_does_not_answer_is_asked_again(make_site: Sites) -> None:
    site, delivery = await told(make_site, {"WEBHOOK": "http://127.0.0.1:1/"})
    await site.post("one")
    await settle(site, delivery)
    assert (await site.store.outbox.depth())[:3] == (0, 1, 0)


async def test_a_malformed_task_is_dropped_and_the_others_are_done(telling: Site) -> None:
    key = telling.store.keys.site("outbox")
    for damaged in (b"{", b"[]", b'{"kind":"test","colour":"red"}'):
        await telling.store.redis.change(("XADD", key, "*", "task", damaged))
    await telling.store.redis.change(("XADD", key, "*", "other", "word"))
    channel = Recorder()
    await telling.post("one")
    await deliver(telling, channel)
    assert channel.heard == [("one", "", "approved")]
    assert await telling.store.outbox.depth() == (0, 0, 0, 0, 0)


@pytest.mark.rare
async def test_chats_are_told_by_apprise(make_site: Sites, hook: Receiver) -> None:
    hook.came.clear()
    hook.answer = lambda path, body: (200 if path != "/bad" else 500, b"{}")
    port = hook.url.rpartition(":")[2]
    urls = f"json://127.0.0.1:{port}/good,json://127.0.0.1:{port}/bad"
    site, delivery = await told(make_site, {"NOTIFY_URLS": urls, "COMMENT_AUDIT": "true"})
    await site.post("one")
    await settle(site, delivery)
    bodies = {path: orjson.loads(body) for path, _, body in hook.came}
    assert bodies["/good"]["title"] == "Footfall: Ann commented, and waits for approval"
    assert bodies["/good"]["message"].startswith("one")
    assert (await site.store.outbox.depth())[:3] == (0, 1, 0)


async def test_a_chat_that_never_answers_is_let_go(
    telling: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not before it has been asked, however busy the machine is.
    monkeypatch.setattr(trial, "TRIAL_SECONDS", 600)
    came, gone = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        came.set()
        # Until the other side hangs up.
        while await reader.read(1024):
            pass
        gone.set()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        delivery = Delivery(*told_by(telling), [Push(f"json://127.0.0.1:{port}/")])
        task = asyncio.create_task(trial.tell(delivery))
        await came.wait()
        task.cancel()
        await gone.wait()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_qmsg_is_told_and_what_it_refuses_is_tried_again(
    make_site: Sites, hook: Receiver
) -> None:
    hook.came.clear()
    answers = [b'{"success":false,"reason":"slow down"}', b"<html>", b'{"success":true}']
    hook.answer = lambda path, body: (200, answers[len(hook.came) - 1])
    environ = {"QMSG_HOST": hook.url, "QMSG_KEY": "a/b", "QQ_ID": "12345"}
    site, delivery = await told(make_site, environ)
    await site.post("one & two")
    for attempt in (1, 2, 3):
        await settle(site, delivery)
        assert len(hook.came) == attempt
        assert (await site.store.outbox.depth())[:2] == (0, int(attempt < 3))
        await site.store.outbox.wake(site.clock() + 3_600_000)
    path, headers, body = hook.came[-1]
    assert path == "/send/a%2Fb"
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    form = dict(parse_qsl(body.decode()))
    assert form["qq"] == "12345"
    assert form["msg"].startswith("Footfall: Ann commented\n\none & two\n\n")


async def test_the_outbox_is_shown_by_readyz_and_metrics(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (health, metrics):
        monkeypatch.setattr(module, "WAIT_SECONDS", 60)
    make_site.store.outbox.is_on = True
    site = await make_site()
    await site.post("one")
    await deliver(site, Recorder(failures=[NotDelivered("no", is_final=True)]))
    ready = (await site.http.get("/readyz")).json()
    assert ready["outbox"] | {"since_ms": 0} == {
        "waiting": 0,
        "later": 0,
        "undelivered": 1,
        "gathered": 0,
        "since_ms": 0,
        "seconds": 0,
    }
    assert any("footfall outbox list" in each for each in ready["warnings"])
    text = (await site.http.get("/metrics")).text
    assert 'footfall_outbox_tasks{state="undelivered"} 1.0' in text
    assert 'footfall_deliveries_total{outcome="given_up"} 1.0' in text


async def test_a_trial_ends_and_says_so_whatever_a_channel_does(
    telling: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent(Recorder):
        async def send(self, news: Notification) -> None:
            await asyncio.Event().wait()

    class Broken(Recorder):
        async def send(self, news: Notification) -> None:
            raise RuntimeError("of its own making")

    monkeypatch.setattr(trial, "TRIAL_SECONDS", 0.01)
    delivery = Delivery(*told_by(telling), [Silent("silent"), Broken("broken"), Recorder()])
    assert await trial.tell(delivery) == {
        "silent": "no answer within 0.01 seconds",
        "broken": "it failed: see the log",
        "test": "",
    }


DIGESTS = {"NOTIFY_EVERY": "10", "COMMENT_AUDIT": "true"}


async def pass_on(site: Site, delivery: Delivery, minutes: int = 0) -> None:
    """Let time pass, and do what is due then."""
    site.clock.now += minutes * 60_000
    await delivery._resume()
    await settle(site, delivery)


async def wave(make_site: Sites, mails: MailServer) -> tuple[Site, Delivery]:
    """Three comments, of which the owner was told of the first."""
    site, delivery = await told(make_site, mailing(mails, **DIGESTS))
    for n in range(3):
        await site.post(f"words {n}")
    await pass_on(site, delivery)
    return site, delivery


def texts_of(mails: MailServer) -> list[str]:
    bodies = [mail.get_body(("plain",)) for _, mail in mails.came]
    return [body.get_content().replace("\r\n", "\n") for body in bodies if body is not None]


async def test_a_digest_leaves_out_what_was_decided_meanwhile(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await told(make_site, mailing(mails, **DIGESTS))
    ids = [(await site.post(f"words {n}"))["objectId"] for n in range(4)]
    await pass_on(site, delivery)
    assert (await site.store.outbox.depth()).gathered == 3
    await site.send("PUT", f"/comment/{ids[1]}", {"status": "spam"}, by=ADMIN)
    await site.send("DELETE", f"/comment/{ids[2]}", by=ADMIN)
    await pass_on(site, delivery, 11)
    _, digest = texts_of(mails)
    assert digest.startswith("1 new comment since the last email. 2 comments are pending")
    assert "https://talk.example/ui/queue" in digest
    # Where nothing is left, nothing is sent, and the next one comes at once.
    id = (await site.post("more"))["objectId"]
    await pass_on(site, delivery)
    await site.send("PUT", f"/comment/{id}", {"status": "spam"}, by=ADMIN)
    await pass_on(site, delivery, 11)
    await pass_on(site, delivery, 11)
    assert len(mails.came) == 2
    await site.post("at last")
    await pass_on(site, delivery)
    assert "at last" in texts_of(mails)[2]


async def test_a_digest_leads_with_what_stands_alone_and_sums_up_waves(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await told(make_site, mailing(mails, **DIGESTS))
    await site.post("first")
    thanks: Any = {"nick": "Cy", "mail": "cy@example.com"}
    await site.post("Thank you for this.", **thanks)
    for n in range(7):
        spam: Any = {"nick": f"N{n}", "mail": f"n{n}@example.net"}
        await site.post(f"Offer number {n}: https://www.deal.example/{n}", **spam)
    approved = (await site.post("Read this already", **thanks))["objectId"]
    await pass_on(site, delivery)
    await site.send("PUT", f"/comment/{approved}", {"status": "approved"}, by=ADMIN)
    await pass_on(site, delivery, 11)
    _, digest = texts_of(mails)
    assert "8 new comments since" in digest
    assert "Thank you for this." in digest
    assert "7 comments linking to deal.example." in digest
    assert "Offer number" not in digest
    assert "Read this already" not in digest


async def test_a_digest_that_could_not_be_sent_is_sent_later_with_what_came_meanwhile(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await wave(make_site, mails)
    mails.answer = "450 later"
    await pass_on(site, delivery, 11)
    await site.post("words 3")
    await pass_on(site, delivery, 11)
    mails.answer = "250 taken"
    await pass_on(site, delivery, 61)
    assert len(mails.came) == 2
    assert "3 new comments since" in texts_of(mails)[1]


async def test_a_digest_is_started_once_by_many_workers(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await wave(make_site, mails)
    _, other = await told(make_site, mailing(mails, **DIGESTS))
    site.clock.now += 11 * 60_000
    await asyncio.gather(delivery._resume(), other._resume())
    await asyncio.gather(settle(site, delivery), settle(site, other))
    assert len(mails.came) == 2


async def test_a_digest_of_a_channel_that_was_turned_off_is_dropped(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await wave(make_site, mails)
    site.clock.now += 11 * 60_000
    await delivery._resume()
    _, without = await told(make_site, mailing(mails, DISABLE_AUTHOR_NOTIFY="true"))
    await settle(site, without)
    assert len(mails.came) == 1
    assert await site.store.outbox.depth() == (0, 0, 0, 2, 0)


async def test_an_owner_chooses_when_to_hear_of_which_comments(
    make_site: Sites, mails: MailServer
) -> None:
    ways = {**DIGESTS, "NOTIFY": "pending=digest,approved=never"}
    site, delivery = await told(make_site, mailing(mails, **ways))
    await site.post("seen", by=ADMIN)
    await site.post("held")
    await pass_on(site, delivery)
    assert mails.came == []
    await pass_on(site, delivery, 9)
    assert mails.came == []
    await pass_on(site, delivery, 2)
    (digest,) = texts_of(mails)
    assert ("held" in digest, "seen" in digest) == (True, False)


async def test_several_owners_are_told_but_for_the_one_who_wrote(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await told(make_site, mailing(mails, AUTHOR_EMAIL=f"{OWNER}, {BOB.mail}"))
    await site.post("by a stranger")
    await settle(site, delivery)
    assert mails.came[0][1]["To"] == f"{OWNER}, {BOB.mail}"
    mails.came.clear()
    await site.post("by Bob", by=BOB)
    await settle(site, delivery)
    assert addresses(mails) == [OWNER]


@pytest.mark.parametrize("ways", ["pending", "pending=later", "spam=now", "now"])
def test_other_kinds_and_ways_are_refused(ways: str) -> None:
    with pytest.raises(BadSettings, match="NOTIFY="):
        Settings.from_env({"NOTIFY": ways})


def links_of(mail: Any) -> dict[str, str]:
    """The paths of an email's links, by their texts."""
    html = mail.get_body(("html",)).get_content()
    return {
        text: address.removeprefix("https://talk.example")
        for address, text in re.findall(r'<a[^>]* href="([^"]*)">([^<]*)</a>', html)
    }


async def statuses(site: Site) -> dict[str, str]:
    queue = await site.get("/comment", by=ADMIN, type="list")
    return {each["orig"]: each["status"] for each in queue["data"]}


async def test_the_owner_decides_by_links_that_ask_for_one_tap(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await told(make_site, mailing(mails, COMMENT_AUDIT="true"))
    await site.post("good <words>")
    await site.post("bad", nick="Eve")
    await settle(site, delivery)
    good, bad = (links_of(mail) for _, mail in mails.came)
    if "bad" in texts_of(mails)[0]:
        good, bad = bad, good
    assert good["Review in the queue"] == "/ui/queue"
    # Scanners of emails open links.
    for link in (good["Approve"], bad["Mark as spam"]):
        for method in ("GET", "HEAD"):
            assert (await site.http.request(method, link)).status_code == 200
    assert await statuses(site) == {"good <words>": "waiting", "bad": "waiting"}
    asked = await site.http.get(good["Approve"], headers={"accept-language": "de-AT"})
    assert "freigeben?" in asked.text
    assert "Ann: good &lt;words&gt;" in asked.text
    assert "approved" in (await site.http.post(good["Approve"])).text
    assert "spam" in (await site.http.post(bad["Mark as spam"])).text
    assert await statuses(site) == {"good <words>": "approved", "bad": "spam"}
    assert [each.fields["by"] for each in await site.store.log.newest(2)] == ["email", "email"]
    # Once it is done, nothing is asked, and to press again changes nothing.
    assert "<button" in asked.text
    assert 'hidden><p><button type="submit">' in (await site.http.get(good["Approve"])).text
    assert (await site.http.post(good["Approve"])).status_code == 200
    assert len(await site.store.log.newest(9)) == 2


def token_of(page: str) -> str:
    """What the button of a page sends."""
    (found,) = re.findall(r'action="(\?token=[^"]+)"', page)
    return f"/decide{found}"


async def test_a_link_of_an_email_decides_on_the_text_of_the_email(
    make_site: Sites, mails: MailServer
) -> None:
    environ = mailing(mails, COMMENT_AUDIT="true", IPQPS="0", SITE_NAME="Bramble")
    site, delivery = await told(make_site, environ)
    id = (await site.post("harmless", by=BOB))["objectId"]
    await settle(site, delivery)
    approve = links_of(mails.came[0][1])["Approve"]
    await site.send("PUT", f"/api/comment/{id}", {"comment": "buy pills" + "!" * 3000}, by=BOB)
    # A program that presses the link, and a person who reads first.
    pressed = await site.http.post(approve)
    assert await statuses(site) == {"buy pills" + "!" * 3000: "waiting"}
    assert "Its author edited it" in pressed.text
    assert "Bramble: review a comment" in pressed.text
    read = await site.http.get(approve)
    assert "buy pills" + "!" * 3000 in read.text
    # It is edited once more before the button is pressed.
    await site.send("PUT", f"/api/comment/{id}", {"comment": "buy more pills"}, by=BOB)
    pressed = await site.http.post(token_of(read.text))
    assert "Approve this comment?" in pressed.text
    assert await statuses(site) == {"buy more pills": "waiting"}
    done = await site.http.post(token_of(pressed.text))
    assert "The comment is approved." in done.text
    assert await statuses(site) == {"buy more pills": "approved"}
    assert 'href="https://blog.example/p"' in done.text
    assert 'href="https://talk.example/ui/queue"' in done.text
    # What was done is undone from there.
    assert "Undo" in done.text
    undone = await site.http.post(token_of(done.text))
    assert "Approve this comment?" in undone.text
    assert await statuses(site) == {"buy more pills": "waiting"}
    assert (await site.http.post(token_of(done.text))).status_code == 400


async def test_a_link_of_an_email_says_what_has_happened_meanwhile(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await told(make_site, mailing(mails, COMMENT_AUDIT="true"))
    id = (await site.post("words"))["objectId"]
    await settle(site, delivery)
    spam = links_of(mails.came[0][1])["Mark as spam"]
    await site.send("PUT", f"/comment/{id}", {"status": "approved"}, by=ADMIN)
    pressed = await site.http.post(spam)
    assert "Approved by Admin on " in pressed.text
    assert "Mark this comment as spam?" in pressed.text
    assert await statuses(site) == {"words": "approved"}
    # A reader of that overrules it.
    await site.http.post(token_of(pressed.text))
    assert await statuses(site) == {"words": "spam"}


async def test_a_link_of_an_email_is_for_one_comment_and_a_week(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await told(make_site, mailing(mails, COMMENT_AUDIT="true"))
    id = (await site.post("words"))["objectId"]
    await settle(site, delivery)
    approve = links_of(mails.came[0][1])["Approve"]
    unsubscribing = tokens.sign({"id": id, "do": "approved", "until": 9e15}, b"x" * 32)
    for link in (f"{approve}x", "/decide", "/decide?token=x", f"/decide?token={unsubscribing}"):
        assert (await site.http.post(link)).status_code == 400, link
    assert (await site.http.put(approve)).status_code == 405
    await site.send("DELETE", f"/comment/{id}", by=ADMIN)
    assert (await site.http.post(approve)).status_code == 404
    site.clock.now += 8 * 86_400_000
    assert (await site.http.post(approve)).status_code == 400


async def test_the_log_names_an_owner_who_has_an_account(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await told(
        make_site, mailing(mails, COMMENT_AUDIT="true", AUTHOR_EMAIL=ADMIN.mail)
    )
    await site.post("words")
    await settle(site, delivery)
    await site.http.post(links_of(mails.came[0][1])["Mark as spam"])
    (entry,) = await site.store.log.newest(9)
    assert (entry.fields["by"], entry.fields["now"]) == (ADMIN.id, "spam")


async def test_a_service_that_does_not_know_its_address_sends_no_links(
    make_site: Sites, mails: MailServer
) -> None:
    site, delivery = await told(make_site, mailing(mails, COMMENT_AUDIT="true", SERVER_URL=""))
    await site.post("words")
    await settle(site, delivery)
    assert "token=" not in str(mails.came[0][1])
