"""Inviting people: who may, what the link is good for, and ending the sessions of others."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.conftest import ADMIN, Site, Sites
from tests.support.accounts import save_account
from tests.support.admin_ui import SENT, last
from tests.support.logging_in import HERE
from tests.support.mailing import link_in, mailed, settings_of, text_of
from tests.support.receivers import MailServer, mail_server

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
TOM = {"display_name": "Tom", "email": "tom@example.com", "password": "tom's own"}
PROOF = {"current_password": MARA["password"]}


@pytest.fixture
def mails() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
async def site(make_site: Sites) -> Site:
    site = make_site.without_accounts(REGISTRATION="invited")
    await site.send("POST", "/api/user", MARA)
    return site


async def log_in(site: Site, who: dict[str, str]) -> str:
    answer = await site.send("POST", "/api/token", who)
    return str(answer["data"]["token"]) if answer["errno"] == 0 else ""


async def invite(site: Site, mail: str = TOM["email"], by: str = "", **fields: Any) -> Any:
    token = by or await log_in(site, MARA)
    headers = {**SENT, "cookie": f"footfall={token}"}
    body = {"email": mail, **fields}
    return last(await site.http.post("/ui/api/invitation", json=body, headers=headers))


async def accept(site: Site, link: str) -> Any:
    body = {"token": link.partition("#")[2], "password": TOM["password"]}
    return await site.send("PUT", "/api/user/password", body)


async def test_who_is_invited_sets_a_password_and_has_the_account(site: Site) -> None:
    assert (await site.send("POST", "/api/user", TOM))["errno"] == 1000
    answer = await invite(site)
    assert answer["data"] == {"link": answer["data"]["link"], "type": "guest", "isMailed": False}
    assert await log_in(site, TOM) == ""
    assert (await accept(site, answer["data"]["link"]))["errno"] == 0
    assert await log_in(site, TOM)
    # The link works once, and who has come is invited no more.
    assert (await accept(site, answer["data"]["link"]))["errno"] == 1000
    assert (await invite(site))["errmsg"] == "USER_EXIST"
    (entry,) = await site.store.log.newest(9)
    assert (entry.fields["did"], entry.fields["now"]) == ("invite", "guest")


@pytest.mark.parametrize("role", ["banned", "moderator", "guest"])
async def test_an_invitation_ends_when_who_has_made_it_may_invite_no_longer(
    site: Site, role: Any
) -> None:
    answer = await invite(site, type="administrator", **PROOF)
    link = answer["data"]["link"]
    inviter = await site.store.accounts.by_mail(MARA["email"])
    assert inviter
    # Another administrator stays.
    await save_account(site.store, ADMIN)
    await save_account(site.store, replace(inviter.account, role=role))
    assert (await accept(site, link))["errmsg"] == "TOKEN_EXPIRED"
    assert await log_in(site, TOM) == ""
    await save_account(site.store, inviter.account)
    assert (await accept(site, link))["errno"] == 0


async def test_moderators_are_invited_by_who_proves_who_they_are(site: Site) -> None:
    for role in ("moderator", "administrator"):
        refused = await invite(site, f"{role}@example.com", type=role)
        assert refused["errmsg"] == "Enter your current password as well (current_password)"
        answer = await invite(site, f"{role}@example.com", type=role, **PROOF)
        assert answer["data"]["type"] == role
        # Nobody takes such an invitation over with less proof.
        assert (await invite(site, f"{role}@example.com"))["errmsg"] == "USER_EXIST"


async def test_a_second_invitation_ends_the_first_and_a_week_ends_each(site: Site) -> None:
    first = (await invite(site))["data"]["link"]
    second = (await invite(site))["data"]["link"]
    assert (await accept(site, first))["errno"] == 1000
    assert (await accept(site, second))["errno"] == 0
    assert (await site.store.accounts.listed(0, 9))[0] == 2


async def test_only_administrators_invite(site: Site) -> None:
    await accept(site, (await invite(site, type="moderator", **PROOF))["data"]["link"])
    assert (await invite(site, "a@example.com", await log_in(site, TOM)))["errno"] == 403
    assert (await invite(site, "a@example.com", "nobody"))["errno"] == 401
    for mail in ("", "a", "a b@example.com", f"{'a' * 300}@example.com"):
        assert (await invite(site, mail))["errno"] in (1000, 1001), mail


async def test_an_invitation_is_mailed_where_emails_are_sent(
    make_site: Sites, mails: MailServer
) -> None:
    site = make_site.without_accounts(REGISTRATION="invited", SETUP_CODE="c", **settings_of(mails))
    await site.send("POST", "/api/user", {**MARA, "setup_code": "c"})
    await mailed(site, mails)
    answer = await invite(site)
    assert answer["data"]["isMailed"]
    ((to, mail),) = await mailed(site, mails)
    assert (to, mail["subject"]) == (TOM["email"], "The Blog: an invitation")
    assert "“Mara” invites you to The Blog" in text_of(mail)
    assert link_in(mail).replace("?lng=en", "") == HERE + answer["data"]["link"]


async def test_an_administrator_ends_the_sessions_of_others(site: Site) -> None:
    await accept(site, (await invite(site))["data"]["link"])
    mara, tom = await log_in(site, MARA), await log_in(site, TOM)
    id = (await site.get("/api/token", by=tom))["data"]["objectId"]
    refused = await site.send("PUT", f"/api/user/{id}", {"sessions": ""}, by=tom)
    assert refused["errno"] == 1000
    await site.send("PUT", f"/api/user/{id}", {"sessions": ""}, by=mara)
    assert (await site.get("/api/token", by=tom))["data"] == {}
    # One's own but for the one that asks.
    other = await log_in(site, MARA)
    await site.send("PUT", "/api/user", {"sessions": ""}, by=mara)
    assert (await site.get("/api/token", by=mara))["data"]["display_name"] == "Mara"
    assert (await site.get("/api/token", by=other))["data"] == {}


async def test_the_list_of_accounts_tells_who_has_a_second_factor(site: Site) -> None:
    mara = await log_in(site, MARA)
    listed = (await site.get("/api/user", by=mara, pageSize=9))["data"]["data"]
    assert [each["2fa"] for each in listed] == [None]
