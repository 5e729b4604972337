"""Emails about accounts: an address is confirmed before it is an account's, and lost passwords are
found again."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from footfall.accounts.rules import account_mails, attempts
from footfall.accounts.rules.links import new_link
from footfall.accounts.rules.registration import new_account
from footfall.config import BadSettings, Settings
from footfall.driver.script_calls import Rate
from footfall.limits.clients import BACKGROUND
from footfall.model import Account, Credentials
from tests.conftest import Site, Sites
from tests.support.logging_in import HERE, Browser
from tests.support.logging_in import settings as by_others
from tests.support.mailing import link_in, mailed, settings_of, text_of, token_in
from tests.support.providers import Provider
from tests.support.receivers import MailServer
from tests.support.sites import site_of

# What depends on the server is tested in tests/scripts and tests/integration.
ON = ("fake",)

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
TOM = {"display_name": "Tom", "email": "tom@example.com", "password": "tom's own"}
MARAS, TOMS = ({"current_password": each["password"]} for each in (MARA, TOM))
EXPIRED = {"errno": 1000, "errmsg": "TOKEN_EXPIRED"}
ASKED = {"errno": 0, "errmsg": "", "data": {"verify": True}}
DONE = {"errno": 0, "errmsg": "", "data": ""}


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without waits, and with as many attempts as there are."""
    monkeypatch.setattr(account_mails, "FIRST_WAIT_SECONDS", 0)
    monkeypatch.setattr(attempts, "ADDRESS_RATE", Rate(1000, 1000))


@pytest.fixture
async def site(make_site: Sites, mails: MailServer) -> AsyncIterator[Site]:
    """With an administrator, Mara, and nobody else."""
    site = make_site.without_accounts(SETUP_CODE="sesame", **settings_of(mails))
    answer = await site.send("POST", "/api/user", {**MARA, "setup_code": "sesame"})
    assert answer == DONE
    yield site
    await site.settled()


async def log_in(site: Site, person: dict[str, str], **more: str) -> Any:
    return await site.send("POST", "/api/token", {**person, **more})


async def token_of(site: Site, person: dict[str, str], **more: str) -> str:
    answer = await log_in(site, person, **more)
    assert answer["errno"] == 0, answer
    token: str = answer["data"]["token"]
    return token


async def confirm(site: Site, token: str, password: str = "", by: str | None = None) -> Any:
    body = {"token": token, "password": password}
    return await site.send("PUT", "/api/verification", body, by=by)


async def asks(site: Site, mails: MailServer, person: dict[str, str]) -> str:
    """Register; the token that comes by email."""
    assert await site.send("POST", "/api/user", person) == ASKED
    ((to, mail),) = await mailed(site, mails)
    assert to == person["email"]
    return token_in(mail)


async def joins(site: Site, mails: MailServer, person: dict[str, str]) -> str:
    """Register and confirm; a token of a login."""
    assert await confirm(site, await asks(site, mails, person), person["password"]) == DONE
    return await token_of(site, person)


async def forgets(site: Site, mails: MailServer, mail: str) -> str:
    """Ask for a link; the token that comes by email."""
    assert await site.send("PUT", "/api/user/password", {"email": mail}) == DONE
    ((_, came),) = await mailed(site, mails)
    return token_in(came)


async def set_password(site: Site, token: str, password: str) -> Any:
    return await site.send("PUT", "/api/user/password", {"token": token, "password": password})


async def unconfirmed(site: Site, person: dict[str, str], **known: Any) -> Account:
    """An account whose address nobody has confirmed."""
    account = new_account(site.service.process, person["display_name"], person["email"], "guest")
    password = await site.service.accounts.passwords.hash(
        person["password"], account.mail, BACKGROUND
    )
    await site.store.accounts.register(None, account, account.mail, Credentials(password, **known))
    return account


async def credentials(site: Site, mail: str) -> Credentials:
    stored = await site.store.accounts.by_mail(mail)
    assert stored is not None
    return stored.credentials


# Settings.


@pytest.mark.parametrize(
    ("environ", "are_sent", "confirms"),
    [
        ({}, False, False),
        ({"VERIFY_EMAIL": "false"}, False, False),
        ({"SMTP_HOST": "127.0.0.1"}, False, False),
        ({"SMTP_HOST": "127.0.0.1", "SERVER_URL": HERE}, True, True),
        ({"SMTP_HOST": "127.0.0.1", "SERVER_URL": HERE, "VERIFY_EMAIL": "false"}, True, False),
        ({"SMTP_SERVICE": "gmail", "SERVER_URL": HERE, "VERIFY_EMAIL": "true"}, True, True),
    ],
    ids=str,
)
def test_addresses_are_confirmed_where_mails_can_be_sent_and_lead_somewhere(
    make_site: Sites, environ: dict[str, str], are_sent: bool, confirms: bool
) -> None:
    settings = Settings.from_env({"SENDER_EMAIL": "site@example.com", **environ})
    mails = site_of(settings, make_site.store).accounts.mails
    assert (mails.are_sent, mails.confirms) == (are_sent, confirms)


@pytest.mark.parametrize("environ", [{}, {"SMTP_HOST": "127.0.0.1"}, {"SERVER_URL": HERE}], ids=str)
def test_confirming_without_mails_is_refused_at_the_start(
    make_site: Sites, environ: dict[str, str]
) -> None:
    settings = Settings.from_env({"VERIFY_EMAIL": "true", **environ})
    with pytest.raises(BadSettings, match="VERIFY_EMAIL: needs SMTP_HOST"):
        site_of(settings, make_site.store)


# Registering.


async def test_a_registration_is_an_account_once_its_address_is_confirmed(
    site: Site, mails: MailServer
) -> None:
    token = await asks(site, mails, TOM)
    assert await log_in(site, TOM) == {"errno": 1000}
    assert await site.store.accounts.by_mail(TOM["email"]) is None
    assert await confirm(site, token, TOM["password"]) == DONE
    assert (await log_in(site, TOM))["data"]["type"] == "guest"
    assert (await credentials(site, TOM["email"])).confirmed == TOM["email"]
    assert await confirm(site, token, TOM["password"]) == EXPIRED


async def test_the_mail_says_who_asks_and_where_as_text_and_as_html(
    site: Site, mails: MailServer
) -> None:
    await site.send("POST", "/api/user?lang=en", TOM)
    ((_, mail),) = await mailed(site, mails)
    assert (mail["subject"], mail["to"]) == ("The Blog: confirm your address", TOM["email"])
    assert (mail["from"], mail["auto-submitted"]) == (
        "The Blog <site@example.com>",
        "auto-generated",
    )
    for words in ("“Tom”", "The Blog", "do nothing", "https://blog.example"):
        assert words in text_of(mail)
        assert words in text_of(mail, "html")
    link = link_in(mail)
    assert link.startswith(f"{HERE}/ui/confirm?lng=en#")
    assert f'href="{link}"' in text_of(mail, "html")


@pytest.mark.parametrize(
    ("query", "accepted", "words"),
    [
        ("?lang=de", "zh-CN", "Adresse bestätigen"),
        ("?lang=zh-TW", "de", "确认您的邮箱地址"),
        ("", "de-AT,de;q=0.9,en;q=0.8", "Adresse bestätigen"),
        ("", "fr,zh;q=0.5", "确认您的邮箱地址"),
        ("", "", "confirm your address"),
        ("?lang=fr", "", "confirm your address"),
    ],
)
async def test_the_mail_is_in_the_language_of_whoever_asks(
    site: Site, mails: MailServer, query: str, accepted: str, words: str
) -> None:
    headers = {"accept-language": accepted}
    await site.http.post(f"/api/user{query}", json=TOM, headers=headers)
    ((_, mail),) = await mailed(site, mails)
    assert words in mail["subject"]


async def test_a_link_that_is_only_opened_confirms_nothing(site: Site, mails: MailServer) -> None:
    token = await asks(site, mails, TOM)
    for prefix in ("", "/api"):
        answer = await site.http.get(f"{prefix}/verification", params={"token": token})
        assert answer.status_code == 302
        assert answer.headers["location"] == f"{HERE}/ui/confirm#{token}"
        answer = await site.http.get(f"{prefix}/verification", params={"token": "none"})
        assert answer.json() == EXPIRED
    page = await site.http.get("/ui/confirm")
    assert (page.status_code, 'src="static/confirm.js"' in page.text) == (200, True)
    assert await site.store.accounts.by_mail(TOM["email"]) is None
    assert await confirm(site, token, TOM["password"]) == DONE


async def test_of_two_with_one_address_the_first_who_confirms_has_it(
    site: Site, mails: MailServer
) -> None:
    tokens = [await asks(site, mails, {**TOM, "password": f"tom's own {n}"}) for n in range(2)]
    assert await confirm(site, tokens[1], "tom's own 1") == DONE
    assert (await confirm(site, tokens[0], "tom's own 0"))["errmsg"] == "USER_EXIST"
    assert (await log_in(site, TOM, password="tom's own 1"))["errno"] == 0
    answer = await site.send("POST", "/api/user", TOM)
    assert (answer["errmsg"], await mailed(site, mails)) == ("USER_EXIST", [])


async def test_a_registration_that_is_not_confirmed_lapses_after_a_day(
    site: Site, mails: MailServer
) -> None:
    token = await asks(site, mails, TOM)
    keys = [key async for key in site.store.redis.client.scan_iter("*:link:*")]
    (lasts,) = [await site.store.redis.client.pttl(key) for key in keys]
    assert 86_000_000 < lasts <= 86_400_000
    await site.store.redis.client.delete(*keys)
    assert await confirm(site, token, TOM["password"]) == EXPIRED


async def test_the_first_account_is_the_administrators_when_it_is_confirmed(
    make_site: Sites, mails: MailServer
) -> None:
    site = make_site.without_accounts(REGISTRATION="invited", **settings_of(mails))
    tokens = [await asks(site, mails, person) for person in (MARA, TOM)]
    assert await confirm(site, tokens[1], TOM["password"]) == DONE
    assert (await log_in(site, TOM))["data"]["type"] == "administrator"
    closed = await confirm(site, tokens[0], MARA["password"])
    assert "Ask the site owner" in closed["errmsg"]
    again = await site.send("POST", "/api/user", MARA)
    assert ("Ask the site owner" in again["errmsg"], await mailed(site, mails)) == (True, [])


async def test_only_the_first_who_knows_the_setup_code_confirms_nothing(
    make_site: Sites, mails: MailServer
) -> None:
    site = make_site.without_accounts(SETUP_CODE="sesame", **settings_of(mails))
    answer = await site.send("POST", "/api/user", TOM)
    assert ("setup code" in answer["errmsg"], await mailed(site, mails)) == (True, [])
    knowing = {"setup_code": "sesame"}
    assert await site.send("POST", "/api/user", {**MARA, **knowing}) == DONE
    assert await site.send("POST", "/api/user", {**TOM, **knowing}) == ASKED


async def test_whoever_was_banned_meanwhile_cannot_confirm(site: Site, mails: MailServer) -> None:
    token = await asks(site, mails, TOM)
    by = await token_of(site, MARA)
    await site.send("POST", "/api/ban", {"value": TOM["email"]}, by=by)
    assert "can no longer write" in (await confirm(site, token, TOM["password"]))["errmsg"]
    assert await site.store.accounts.by_mail(TOM["email"]) is None


# Another email.


async def test_another_mail_is_the_accounts_once_it_is_confirmed_and_the_old_one_is_told(
    site: Site, mails: MailServer
) -> None:
    by = await joins(site, mails, TOM)
    changes = {"email": "tommy@example.com", "display_name": "Tommy", **TOMS}
    assert await site.send("PUT", "/api/user", changes, by=by) == ASKED
    ((to, mail),) = await mailed(site, mails)
    assert to == "tommy@example.com"
    shown = (await site.get("/api/token", by=by))["data"]
    assert (shown["email"], shown["display_name"]) == (TOM["email"], "Tommy")
    assert await confirm(site, token_in(mail), "a guess") == {
        "errno": 1000,
        "errmsg": "Wrong password",
    }
    assert await confirm(site, token_in(mail), TOM["password"]) == DONE
    assert (await site.get("/api/token", by=by))["data"]["email"] == "tommy@example.com"
    ((to, told),) = await mailed(site, mails)
    assert (to, "has another address" in told["subject"]) == (TOM["email"], True)
    assert "tommy" not in text_of(told)
    assert await confirm(site, token_in(mail), TOM["password"]) == EXPIRED


async def test_whoever_is_logged_in_confirms_another_mail_without_a_password(
    site: Site, mails: MailServer
) -> None:
    by = await joins(site, mails, TOM)
    await site.send("PUT", "/api/user", {"email": "tommy@example.com", **TOMS}, by=by)
    ((_, mail),) = await mailed(site, mails)
    somebody = await token_of(site, MARA)
    assert (await confirm(site, token_in(mail), by=somebody))["errno"] == 1000
    assert await confirm(site, token_in(mail), by=by) == DONE
    assert (await credentials(site, "tommy@example.com")).confirmed == "tommy@example.com"


async def test_another_mail_is_refused_if_it_is_taken_before_or_meanwhile(
    site: Site, mails: MailServer
) -> None:
    by = await joins(site, mails, TOM)
    taken = {"email": MARA["email"], "display_name": "T", **TOMS}
    assert await site.send("PUT", "/api/user", taken, by=by) == {"errno": 1000}
    assert (await site.get("/api/token", by=by))["data"]["display_name"] == "Tom"
    await site.send("PUT", "/api/user", {"email": "una@example.com", **TOMS}, by=by)
    ((_, mail),) = await mailed(site, mails)
    await unconfirmed(site, {**TOM, "email": "una@example.com"})
    assert (await confirm(site, token_in(mail), by=by))["errmsg"] == "USER_EXIST"


@pytest.mark.parametrize("change", [{"email": "u@example.com"}, {"password": "tom's other"}])
async def test_another_mails_link_ends_with_a_newer_one_and_with_another_password(
    site: Site, mails: MailServer, change: dict[str, str]
) -> None:
    by = await joins(site, mails, TOM)
    await site.send("PUT", "/api/user", {"email": "tommy@example.com", **TOMS}, by=by)
    ((_, mail),) = await mailed(site, mails)
    await site.send("PUT", "/api/user", {**change, **TOMS}, by=by)
    password = change.get("password", TOM["password"])
    assert await confirm(site, token_in(mail), password) == EXPIRED
    assert (await credentials(site, TOM["email"])).confirmed == TOM["email"]


async def test_an_administrator_gives_others_a_mail_that_is_not_confirmed(
    site: Site, mails: MailServer
) -> None:
    await joins(site, mails, TOM)
    stored = await site.store.accounts.by_mail(TOM["email"])
    assert stored is not None
    by = await token_of(site, MARA)
    change = {"email": "t@example.com", **MARAS}
    assert await site.send("PUT", f"/api/user/{stored.id}", change, by=by) == DONE
    assert (await credentials(site, "t@example.com")).confirmed != "t@example.com"
    own = (await site.get("/api/token", by=by))["data"]["objectId"]
    change = {"email": "m@example.com", **MARAS}
    assert await site.send("PUT", f"/api/user/{own}", change, by=by) == ASKED


async def test_saving_a_mail_that_was_never_confirmed_confirms_it(
    site: Site, mails: MailServer
) -> None:
    await unconfirmed(site, TOM)
    by = await token_of(site, TOM)
    assert await site.send("PUT", "/api/user", {"email": TOM["email"]}, by=by) == ASKED
    ((_, mail),) = await mailed(site, mails)
    assert await confirm(site, token_in(mail), by=by) == DONE
    assert await mailed(site, mails) == []
    assert (await credentials(site, TOM["email"])).confirmed == TOM["email"]
    # Now it stays as it is.
    assert await site.send("PUT", "/api/user", {"email": TOM["email"]}, by=by) == DONE


# Logging in by others.


@pytest.fixture
async def browser(make_site: Sites, other: Provider, mails: MailServer) -> Browser:
    site = make_site.without_accounts(SETUP_CODE="sesame", **settings_of(mails) | by_others(other))
    await site.send("POST", "/api/user", {**MARA, "setup_code": "sesame"})
    return Browser(site)


async def test_a_mail_that_another_service_only_names_is_confirmed_first(
    browser: Browser, mails: MailServer
) -> None:
    data = await browser.token("github")
    assert data["email"] == f"{data['objectId']}@mail.github"
    ((to, mail),) = await mailed(browser.site, mails)
    assert to == "octa@example.com"
    assert (await confirm(browser.site, token_in(mail), "")) != DONE
    assert await confirm(browser.site, token_in(mail), by=data["token"]) == DONE
    shown = (await browser.site.get("/api/token", by=data["token"]))["data"]
    assert shown["email"] == "octa@example.com"
    # The one before led nowhere, so nobody is told.
    assert await mailed(browser.site, mails) == []


@pytest.mark.parametrize("name", ["github", "oidc"])
async def test_a_mail_that_another_service_vouches_for_is_confirmed_by_that(
    browser: Browser, other: Provider, mails: MailServer, name: str
) -> None:
    other.people["github"]["email_verified"] = True
    other.claims = {"email": "octa@example.com", "email_verified": True, "name": "Octa"}
    token = await asks(browser.site, mails, {**TOM, "email": "octa@example.com"})
    data = await browser.token(name)
    assert (data["email"], await mailed(browser.site, mails)) == ("octa@example.com", [])
    assert (await credentials(browser.site, data["email"])).confirmed == "octa@example.com"
    # Who has not confirmed it in time has no account.
    assert (await confirm(browser.site, token, TOM["password"]))["errmsg"] == "USER_EXIST"


async def test_an_account_is_confirmed_by_a_service_that_is_added_to_it(
    browser: Browser, other: Provider
) -> None:
    site = browser.site
    await unconfirmed(site, TOM)
    by = await token_of(site, TOM)
    other.claims = {"email": "TOM@example.com", "email_verified": True, "name": "T"}
    sent = await site.send("POST", "/oauth", {"type": "oidc", "redirect": "/ui/x", **TOMS}, by=by)
    back = await browser.get(sent["data"]["url"])
    await browser.get(back.headers["location"])
    assert (await credentials(site, TOM["email"])).confirmed == TOM["email"]
    assert (await log_in(site, TOM))["errno"] == 0


# Lost passwords.


async def test_a_lost_password_is_set_again_by_a_mailed_link_which_ends_all_log_ins(
    site: Site, mails: MailServer
) -> None:
    by = await joins(site, mails, TOM)
    token = await forgets(site, mails, "TOM@example.com")
    assert (await log_in(site, TOM))["errno"] == 0
    assert await set_password(site, token, "tom's other") == DONE
    assert (await site.get("/api/token", by=by))["data"] == {}
    assert await log_in(site, TOM) == {"errno": 1000}
    assert (await log_in(site, TOM, password="tom's other"))["errno"] == 0
    assert await set_password(site, token, "tom's third") == EXPIRED


async def test_the_mailed_link_lasts_for_an_hour_and_leads_to_the_page(
    site: Site, mails: MailServer
) -> None:
    await site.send("PUT", "/api/user/password?lang=de", {"email": MARA["email"]})
    ((to, mail),) = await mailed(site, mails)
    assert (to, mail["subject"]) == (MARA["email"], "The Blog: neues Passwort setzen")
    assert link_in(mail).startswith(f"{HERE}/ui/forgot?lng=de#")
    keys = [key async for key in site.store.redis.client.scan_iter("*:link:*")]
    (lasts,) = [await site.store.redis.client.pttl(key) for key in keys]
    assert 3_500_000 < lasts <= 3_600_000


async def test_a_link_ends_with_any_change_of_the_password_and_with_a_newer_link(
    site: Site, mails: MailServer
) -> None:
    by = await joins(site, mails, TOM)
    token = await forgets(site, mails, TOM["email"])
    await site.send("PUT", "/api/user", {"password": "tom's other", **TOMS}, by=by)
    assert await set_password(site, token, "a third one") == EXPIRED
    tokens = [await forgets(site, mails, TOM["email"]) for _ in range(2)]
    assert await set_password(site, tokens[0], "a third one") == EXPIRED
    assert await set_password(site, tokens[1], "a third one") == DONE


async def test_a_link_by_command_and_a_mailed_one_do_not_end_each_other_before_they_are_used(
    site: Site, mails: MailServer
) -> None:
    stored = await site.store.accounts.by_mail(MARA["email"])
    assert stored is not None
    made = await new_link(site.service.accounts.store, stored.id)
    token = await forgets(site, mails, MARA["email"])
    assert await set_password(site, made, "mara's other") == DONE
    assert await set_password(site, token, "mara's third") == EXPIRED
    assert (await credentials(site, MARA["email"])).confirmed == ""


async def test_a_second_factor_stays_when_a_lost_password_is_set_again(
    site: Site, mails: MailServer
) -> None:
    await unconfirmed(site, TOM, totp="JBSWY3DPEHPK3PXP")
    assert await set_password(site, await forgets(site, mails, TOM["email"]), "another one") == DONE
    assert (await credentials(site, TOM["email"])).totp == "JBSWY3DPEHPK3PXP"


@pytest.mark.parametrize("role", ["banned", "unverified"])
async def test_an_account_that_is_banned_gets_no_link_and_one_never_verified_does(
    site: Site, mails: MailServer, role: str
) -> None:
    account = await unconfirmed(site, TOM)
    by = await token_of(site, MARA)
    await site.send("PUT", f"/api/user/{account.id}", {"type": role}, by=by)
    await site.send("PUT", "/api/user/password", {"email": TOM["email"]})
    came = await mailed(site, mails)
    if role == "banned":
        assert came == []
        return
    ((_, mail),) = came
    assert await set_password(site, token_in(mail), "another one") == DONE
    assert (await log_in(site, TOM, password="another one"))["data"]["type"] == "guest"


async def test_a_banned_mail_gets_no_link(site: Site, mails: MailServer) -> None:
    await joins(site, mails, TOM)
    by = await token_of(site, MARA)
    await site.send("POST", "/api/ban", {"value": TOM["email"], "meant": True}, by=by)
    assert await site.send("PUT", "/api/user/password", {"email": TOM["email"]}) == DONE
    assert await mailed(site, mails) == []


async def test_the_log_in_page_leads_to_lost_passwords_where_mails_are_sent(
    site: Site, make_site: Sites
) -> None:
    silent = make_site.without_accounts()
    for path in ("/ui/login", "/ui/forgot"):
        assert 'data-mails="true"' in (await site.http.get(path)).text
        assert 'data-mails=""' in (await silent.http.get(path)).text


# Sending.


async def test_a_mail_that_fails_is_tried_again_and_given_up_at_last(
    site: Site, mails: MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    mails.answer = "451 come again"
    await site.send("PUT", "/api/user/password", {"email": MARA["email"]})
    assert await mailed(site, mails) == []
    said = [record.message for record in caplog.records if "to an account" in record.message]
    assert ["is retried" in each for each in said] == [True, True, True, False]
    assert "failed permanently" in said[-1]
    assert "451 come again" in said[-1]


async def test_a_log_line_about_a_mail_has_no_token(
    site: Site, mails: MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    mails.answer = "550 never"
    await site.send("POST", "/api/user", TOM)
    await site.settled()
    assert TOM["email"] not in caplog.text
    assert "/ui/confirm" not in caplog.text
