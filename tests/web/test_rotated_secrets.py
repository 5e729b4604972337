"""A secret is changed and the service started again: what stops, what waits, and what goes on."""

from dataclasses import replace

from footfall.notify.webhook import signature
from tests.conftest import Site, Sites
from tests.support.mailing import settings_of
from tests.support.receivers import mail_server, receiver

from .test_accounts import MARA, token_of
from .test_outbox import settle, told


async def who(site: Site, token: str) -> object:
    found = (await site.get("/api/token", by=token))["data"]
    return found and found["email"]


async def test_another_jwt_token_ends_all_log_ins_and_everybody_logs_in_again(
    make_site: Sites,
) -> None:
    before, after = (make_site.without_accounts(JWT_TOKEN=key) for key in ("old", "new"))
    await before.send("POST", "/api/user", MARA)
    token = await token_of(before, MARA)
    assert await who(before, token) == MARA["email"]
    assert not await who(after, token)
    assert await who(after, await token_of(after, MARA)) == MARA["email"]


async def test_a_mail_that_the_old_password_could_not_send_is_sent_with_the_new_one(
    make_site: Sites,
) -> None:
    with mail_server() as mails:
        mails.password = "new"
        environ = {
            **settings_of(mails),
            "AUTHOR_EMAIL": "owner@example.com",
            "SMTP_USER": "site",
            "SMTP_PASS": "old",
        }
        site, delivery = await told(make_site, environ)
        await site.post("one")
        await settle(site, delivery)
        assert (mails.came, (await site.store.outbox.depth())[:3]) == ([], (0, 1, 0))

        site, delivery = await told(make_site, environ | {"SMTP_PASS": "new"})
        await site.store.outbox.wake(site.clock() + 3_600_000)
        await settle(site, delivery)
        ((to, _),) = mails.came
        assert to == "owner@example.com"


async def test_a_webhook_that_refused_the_old_signature_gets_the_new_one_when_sent_again(
    make_site: Sites,
) -> None:
    with receiver() as hook:
        hook.answer = lambda path, body: (401, b"another signature, please")
        environ = {"WEBHOOK": hook.url, "WEBHOOK_SECRET": "old"}
        site, delivery = await told(make_site, environ)
        await site.post("one")
        await settle(site, delivery)
        # A refusal is final; `footfall outbox retry` does what comes next.
        (given_up,) = await site.store.outbox.undelivered(10)
        assert await site.store.outbox.again(given_up, replace(given_up.task, attempts=0))

        hook.answer = lambda path, body: (200, b"ok")
        site, delivery = await told(make_site, environ | {"WEBHOOK_SECRET": "new"})
        await settle(site, delivery)
        old, new = (
            (headers["footfall-signature"], signature(secret, headers["footfall-timestamp"], body))
            for secret, (_, headers, body) in zip(("old", "new"), hook.came, strict=True)
        )
        assert old[0] == old[1]
        assert new[0] == new[1]
        assert hook.came[0][1]["footfall-delivery"] == hook.came[1][1]["footfall-delivery"]
