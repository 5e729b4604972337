"""Emails to people who asked for none: how many, under which of their names, and how to end
them."""

import re
from typing import Any

import pytest

from footfall.driver.script_calls import Rate
from footfall.notifications.rules import recipients
from tests.conftest import ADMIN, EVE, Site, Sites
from tests.support.receivers import MailServer
from tests.web.test_outbox import OWNER, addresses, mailing, settle, texts_of, told

ON = ("valkey",)

# One person's, as mail servers read them.
SPELLINGS = (
    "victim@example.com",
    "Victim@EXAMPLE.com",
    "victim+1@example.com",
    "victim+2+3@example.com",
    '"victim"@example.com',
    '"victim+4"@example.com',
    "victim(5)@example.com",
    "victim @example.com",
    "victim@example.com (6)",
    "victim@\uff45xample.com",
)
OTHERS = (
    "v.ictim@gmail.com",
    "victim@googlemail.com",
    "V.I.C.T.I.M+x@gmail.com",
    "victim@gmail.com",
)


async def answered(site: Site, mail: str) -> None:
    """Somebody writes under this email, and is replied to."""
    root = await site.post(f"by {mail}", mail=mail)
    await site.reply(root, f"to {mail}", by=EVE)


@pytest.mark.parametrize("names", [SPELLINGS, OTHERS], ids=["anywhere", "Gmail"])
async def test_a_person_mailed_under_many_spellings(
    make_site: Sites, mails: MailServer, names: tuple[str, ...]
) -> None:
    """Who: somebody who wants to fill another's mailbox. What: comments under `V@…`, `v+1@…`,
    `"v"@…`, `v(2)@…` and so on, and replies to each, so that each spelling gets as many emails as
    MAIL_RATE allows. Instead: the limit belongs to the mailbox, whatever it is called."""
    environ = mailing(mails, MAIL_RATE="2", DISABLE_AUTHOR_NOTIFY="true")
    site, delivery = await told(make_site, environ)
    for name in names:
        await answered(site, name)
    await settle(site, delivery)
    assert len(mails.came) == 2
    assert site.service.process.metrics.deliveries.totals()["dropped"] == len(names) - 2
    assert await site.store.outbox.depth() == (0, 0, 0, 0, 0)


async def test_many_people_mailed_by_one_stranger(
    make_site: Sites, mails: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: an advertiser. What: replies to everybody who has left an email, each time with another
    address of a /48, so that the site's mail server sends the advertisement to all of them, until
    nobody takes its emails any longer. Instead: the replies of a /48 cause so many emails, and no
    more; a moderator's all reach their readers."""
    monkeypatch.setattr(recipients, "SENDER_RATE", Rate(1 / 60, 3))
    site, delivery = await told(make_site, mailing(mails, DISABLE_AUTHOR_NOTIFY="true"))
    for n in range(6):
        root = await site.post(f"question {n}", mail=f"reader{n}@example.com")
        reply = {"comment": f"buy {n}", "url": "/p", "nick": "Eve", "pid": root["objectId"]}
        answer = await site.http.post(
            "/api/comment",
            json={**reply, "rid": root["objectId"]},
            headers={"x-forwarded-for": f"2001:db8:8:{n}::1"},
        )
        assert answer.json()["errno"] == 0
    await settle(site, delivery)
    assert len(mails.came) == 3
    for n in range(6):
        root = await site.post(f"another {n}", mail=f"other{n}@example.com")
        await site.reply(root, f"answer {n}", by=ADMIN)
    await settle(site, delivery)
    assert len(mails.came) == 9


@pytest.mark.parametrize("mail", ["v@[192.0.2.1]", "v@192.0.2.1", "v@3221225985"])
async def test_a_person_mailed_by_the_number_of_a_host(
    make_site: Sites, mails: MailServer, mail: str
) -> None:
    """Who: the same. What: names the mail server by its number, which can be written in any number
    of ways. Instead: that is not an email address."""
    site, delivery = await told(make_site, mailing(mails, DISABLE_AUTHOR_NOTIFY="true"))
    await answered(site, mail)
    await settle(site, delivery)
    (lost,) = await site.store.outbox.undelivered(10)
    assert lost.error == f"{mail!r} is not an email address"


async def test_whoever_has_unsubscribed_is_mailed_under_another_spelling(
    make_site: Sites, mails: MailServer
) -> None:
    """Who: somebody who wants to reach a person that wants no emails. What: comments under another
    spelling of their address, and replies. Instead: who unsubscribes does so with all of them."""
    site, delivery = await told(make_site, mailing(mails, DISABLE_AUTHOR_NOTIFY="true"))
    await answered(site, "Victim+blog@example.com")
    await settle(site, delivery)
    ((_, mail),) = mails.came
    plain = mail.get_body(("plain",))
    assert plain is not None
    (link,) = re.findall(r"No more emails: https://talk\.example(\S+)", plain.get_content())
    assert (await site.http.post(link)).status_code == 200
    for name in SPELLINGS:
        await answered(site, name)
    await settle(site, delivery)
    assert len(mails.came) == 1


async def queued(site: Site) -> list[Any]:
    answer = await site.get("/api/comment", by=ADMIN, type="list", pageSize=50)
    found: list[Any] = answer["data"]["data"]
    return found


async def test_the_owners_mailbox_is_filled(make_site: Sites, mails: MailServer) -> None:
    """Who: anybody with many addresses. What: comments without end, so that the owner gets an email
    of each, and their provider blocks the site's. Instead: the first at once, and then one digest
    for each NOTIFY_EVERY, which names all the others."""
    site, delivery = await told(make_site, mailing(mails, NOTIFY_EVERY="10", COMMENT_AUDIT="true"))
    for number in range(155):
        await site.post(f"flood {number}", mail=f"{number}@example.com")
    for minutes in (0, 9, 10, 11, 30):
        site.clock.now = site.clock.now + minutes * 60_000
        await delivery._resume()
        await settle(site, delivery)
    assert addresses(mails) == [OWNER] * 2
    first, text = texts_of(mails)
    assert "flood 0" in first
    assert (
        "154 new comments since the last email. 155 comments are pending until you approve them."
        in text
    )
    assert "154 comments with nearly the same text." in text
    assert "flood" not in text
