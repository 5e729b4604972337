"""Email addresses: somebody wants to be taken for whose address it is, or to use it up."""

import asyncio
from typing import Any

import pytest

from footfall.accounts.rules import account_mails, attempts, log_ins
from footfall.accounts.rules.registration import new_account
from footfall.driver.script_calls import Rate
from footfall.limits.clients import BACKGROUND
from footfall.model import Account, Credentials, Role
from footfall.notify import account_mail
from footfall.notify.account_mail import AccountMail
from footfall.notify.notification import NotDelivered
from tests.conftest import Site, Sites
from tests.support.backups import report
from tests.support.logging_in import HERE, Browser
from tests.support.logging_in import settings as by_others
from tests.support.mailing import link_in, mailed, settings_of, text_of, token_in
from tests.support.providers import Provider
from tests.support.receivers import MailServer

ON = ("fake",)

VICTIM = "victim@example.com"
OWNER = {"display_name": "Owner", "email": "owner@example.com", "password": "the owner's own"}
EVE = {"display_name": "Eve", "email": VICTIM, "password": "known to eve"}
OWNERS, EVES = ({"current_password": each["password"]} for each in (OWNER, EVE))
THEM = {"display_name": "Vic", "email": VICTIM, "password": "the victim's own"}
DONE = {"errno": 0, "errmsg": "", "data": ""}
EXPIRED = {"errno": 1000, "errmsg": "TOKEN_EXPIRED"}
TAKEN = {"errno": 1000, "errmsg": "USER_EXIST"}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the waits between attempts."""
    monkeypatch.setattr(attempts, "ADDRESS_RATE", Rate(1000, 1000))
    monkeypatch.setattr(log_ins, "FAILED_SECONDS", 0)


@pytest.fixture
async def site(make_site: Sites, mails: MailServer, other: Provider) -> Site:
    settings = settings_of(mails) | by_others(other)
    site = make_site.without_accounts(SETUP_CODE="sesame", **settings)
    await site.send("POST", "/api/user", {**OWNER, "setup_code": "sesame"})
    return site


async def log_in(site: Site, person: dict[str, str]) -> Any:
    return await site.send("POST", "/api/token", person)


async def confirm(site: Site, token: str, password: str = "") -> Any:
    return await site.send("PUT", "/api/verification", {"token": token, "password": password})


async def forget(site: Site, mail: str, **headers: str) -> Any:
    response = await site.http.put("/api/user/password", json={"email": mail}, headers=headers)
    return response.json()


async def set_password(site: Site, token: str, password: str = "quite another") -> Any:
    return await site.send("PUT", "/api/user/password", {"token": token, "password": password})


async def eves(site: Site, role: Role = "guest", **known: Any) -> Account:
    """An account of Eve's with the victim's address, from before addresses were confirmed."""
    account = new_account(site.service.process, "Eve", VICTIM, role)
    secret = Credentials(
        await site.service.accounts.passwords.hash(EVE["password"], VICTIM, BACKGROUND), **known
    )
    await site.store.accounts.register(None, account, VICTIM, secret)
    return account


async def test_a_registration_with_somebody_elses_address(site: Site, mails: MailServer) -> None:
    """Who: a stranger. What: registers somebody else's address with a password of their own, so
    that the address's owner confirms it by a click, and the stranger can log in to what becomes
    theirs. Instead: the link asks for the password that was chosen, and an account without it is
    never made; the owner registers as if nothing had been."""
    await site.send("POST", "/api/user", EVE)
    ((_, mail),) = await mailed(site, mails)
    page = await site.http.get(link_in(mail).removeprefix(HERE).partition("#")[0])
    assert page.status_code == 200
    for guess in ("", THEM["password"]):
        assert (await confirm(site, token_in(mail), guess))["errno"] == 1000
    assert await log_in(site, EVE) == {"errno": 1000}
    assert (await site.send("POST", "/api/user", THEM))["data"] == {"verify": True}
    ((_, own),) = await mailed(site, mails)
    assert await confirm(site, token_in(own), THEM["password"]) == DONE
    assert await log_in(site, EVE) == {"errno": 1000}
    assert await confirm(site, token_in(mail), EVE["password"]) == TAKEN


async def test_an_address_that_is_taken_by_nobody(
    site: Site, mails: MailServer, other: Provider
) -> None:
    """Who: a stranger. What: registers somebody's address, and never confirms it, to keep them from
    registering, from logging in by another service, and from being who they are below comments.
    Instead: a registration that is not confirmed takes no address, blocks nothing, and is
    forgotten."""
    await site.send("POST", "/api/user", EVE)
    assert (await site.store.accounts.listed(0, 9))[0] == 1
    other.claims = {"email": VICTIM, "email_verified": True, "name": "Vic"}
    assert (await Browser(site).token("oidc"))["email"] == VICTIM
    await site.settled()


async def test_an_old_account_with_somebody_elses_address(
    site: Site, mails: MailServer, other: Provider
) -> None:
    """Who: somebody who made an account with another's address before it had to be confirmed. What:
    leaves a password, two-factor authentication, a service, a session and links there, to be in it
    when the other person comes. Instead: a login through a provider that vouches for the address
    gets the account without any of it."""
    account = await eves(site, totp="", identities={"github": "eve"})
    eve = (await log_in(site, EVE))["data"]["token"]
    await forget(site, VICTIM)
    ((_, mail),) = await mailed(site, mails)
    await site.send("PUT", "/api/user", {"email": "eve@example.com", **EVES}, by=eve)
    ((_, change),) = await mailed(site, mails)
    other.claims = {"email": VICTIM, "email_verified": True, "name": "Vic"}
    assert (await Browser(site).token("oidc"))["objectId"] == account.id
    assert (await site.get("/api/token", by=eve))["data"] == {}
    assert await log_in(site, EVE) == {"errno": 1000}
    assert await site.store.accounts.by_identity("github", "eve") is None
    assert await set_password(site, token_in(mail)) == EXPIRED
    assert (await confirm(site, token_in(change), EVE["password"]))["errno"] == 1000
    # Now it is theirs for certain, and nobody else is handed it.
    other.claims = {"email": VICTIM, "email_verified": True, "sub": "s2"}
    assert (await Browser(site).log_in("oidc")).json() == TAKEN


async def test_an_account_by_a_service_that_only_names_an_address(
    make_site: Sites, other: Provider
) -> None:
    """Who: somebody who can claim any address at a service that does not ask for proof, where no
    emails are sent. What: takes somebody else's address by it, and stays logged in. Instead:
    the confirmed owner gets the account, and the other is logged out and known by it no more."""
    site = make_site.without_accounts(**by_others(other))
    await site.send("POST", "/api/user", OWNER)
    other.people["github"]["email"] = VICTIM
    eve = await Browser(site).token("github")
    other.claims = {"email": VICTIM, "email_verified": True, "name": "Vic"}
    assert (await Browser(site).token("oidc"))["objectId"] == eve["objectId"]
    assert (await site.get("/api/token", by=eve["token"]))["data"] == {}
    assert (await Browser(site).log_in("github")).json() == TAKEN


@pytest.mark.parametrize("role", ["administrator", "banned"])
async def test_an_account_that_is_more_than_an_address(
    site: Site, other: Provider, role: Role
) -> None:
    """Who: somebody whose address was mistyped by an administrator, or who was banned. What: logs
    in by a provider that vouches for the address, to be the administrator, or to be in again.
    Instead: neither account is handed over."""
    await eves(site, "unverified")
    by = (await log_in(site, OWNER))["data"]["token"]
    stored = await site.store.accounts.by_mail(VICTIM)
    assert stored is not None
    await site.send("PUT", f"/api/user/{stored.id}", {"type": role, **OWNERS}, by=by)
    other.claims = {"email": VICTIM, "email_verified": True, "name": "Vic"}
    assert (await Browser(site).log_in("oidc")).json() == TAKEN
    after = await site.store.accounts.by_mail(VICTIM)
    assert after is not None
    assert after.account.role == role


async def test_an_address_that_another_service_only_names(
    site: Site, mails: MailServer, other: Provider
) -> None:
    """Who: somebody who can claim any address at a service that does not ask for proof. What: logs
    in by it with somebody else's address, to be shown with their picture and to have the account
    that they would have. Instead: such an address is asked for proof by email first, and until then
    the account has one that leads nowhere."""
    other.people["github"]["email"] = VICTIM
    data = await Browser(site).token("github")
    assert data["email"] == f"{data['objectId']}@mail.github"
    ((to, mail),) = await mailed(site, mails)
    assert to == VICTIM
    assert (await confirm(site, token_in(mail)))["errno"] == 1000
    assert await site.store.accounts.by_mail(VICTIM) is None
    other.claims = {"email": VICTIM, "email_verified": True, "name": "Vic"}
    assert (await Browser(site).token("oidc"))["email"] == VICTIM


async def test_a_profile_with_somebody_elses_address(site: Site, mails: MailServer) -> None:
    """Who: a guest. What: sets somebody else's address in the own profile, and waits until its
    owner opens the link out of politeness. Instead: the address is the account's only when somebody
    opens the link and is logged in to that account, or knows its password."""
    eve = {**EVE, "email": "eve@example.com"}
    await site.send("POST", "/api/user", eve)
    ((_, mail),) = await mailed(site, mails)
    await confirm(site, token_in(mail), eve["password"])
    by = (await log_in(site, eve))["data"]["token"]
    await site.send("PUT", "/api/user", {"email": VICTIM, **EVES}, by=by)
    ((_, mail),) = await mailed(site, mails)
    for guess in ("", THEM["password"]):
        assert (await confirm(site, token_in(mail), guess))["errno"] == 1000
    assert await site.store.accounts.by_mail(VICTIM) is None
    assert (await site.get("/api/token", by=by))["data"]["email"] == "eve@example.com"


async def test_a_program_that_opens_every_link(site: Site, mails: MailServer) -> None:
    """Who: a program that scans emails, or shows a preview. What: opens each link in them, with GET
    and HEAD. Instead: that is nothing, since what a link does is behind the sign # and behind a
    button; afterwards the link still works."""
    await site.send("POST", "/api/user", THEM)
    ((_, mail),) = await mailed(site, mails)
    await forget(site, OWNER["email"])
    ((_, lost),) = await mailed(site, mails)
    for each in (mail, lost):
        address = link_in(each).removeprefix(HERE)
        for method in ("GET", "HEAD"):
            for target in (address.partition("#")[0], address.replace("#", "&token=")):
                assert (await site.http.request(method, target)).status_code in (200, 307)
        await site.http.get("/api/verification", params={"token": token_in(each)})
    assert await confirm(site, token_in(mail), THEM["password"]) == DONE
    assert await set_password(site, token_in(lost)) == DONE


async def test_whether_a_mail_has_an_account_by_its_lost_password(
    site: Site, mails: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: somebody with a list of emails. What: says of each that its password is lost, and
    compares the answers and how long they take. Instead: there is one answer, and it is given
    before anybody looks whether there is such an account."""
    is_looked_up = asyncio.Event()
    by_mail = site.store.accounts.by_mail

    async def later(self: Any, mail: str) -> Any:
        await is_looked_up.wait()
        return await by_mail(mail)

    await eves(site, "banned")
    monkeypatch.setattr(type(site.store.accounts), "by_mail", later)
    for mail in (OWNER["email"], VICTIM, "nobody@example.com"):
        assert await forget(site, mail) == DONE
    is_looked_up.set()
    assert [to for to, _ in await mailed(site, mails)] == [OWNER["email"]]


async def test_a_lost_password_of_what_no_mail_can_be_sent_to(
    site: Site, mails: MailServer
) -> None:
    """Who: a stranger. What: names an address that is one, and that emails by SMTP cannot have.
    Instead: nothing comes of it, and no error in the log either, which would be one for each."""
    assert await forget(site, "\u7528\u6237@example.com") == DONE
    # It raises what has failed behind the requests.
    assert await mailed(site, mails) == []


@pytest.mark.parametrize("kind", ["redis"])
async def test_whether_a_mail_has_an_account_by_how_busy_the_service_is(
    site: Site, mails: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: somebody with a list of emails. What: says of each that its password is lost, and sees
    how long everything else takes meanwhile. Instead: the same is done for each, but that the email
    server gets no email for an address without account."""
    stats, asked, made = site.store.redis.stats, list[str](), list[str]()
    monkeypatch.setattr(stats, "answered", lambda _, command: asked.append(stats.name(command)))
    message_of = account_mail.message_of

    def noted(letter: AccountMail, **values: Any) -> Any:
        made.append(letter.kind)
        return message_of(letter, **values)

    monkeypatch.setattr(account_mails, "message_of", noted)
    done = list[tuple[int, int]]()
    for mail in (OWNER["email"], "nobody@example.com"):
        asked.clear()
        made.clear()
        assert await forget(site, mail) == DONE
        await mailed(site, mails)
        done.append((len(asked), len(made)))
    assert done[0] == done[1]
    assert all(done[0]), done
    assert len(await report(site.store)) == 1, "the link of nobody is a problem"


async def test_a_link_to_a_host_that_the_request_names(site: Site, mails: MailServer) -> None:
    """Who: a stranger. What: asks for somebody's new password with a Host, or what proxies send for
    it, that is the stranger's, so that the link in the email brings the token there. Instead: links
    in emails lead to SERVER_URL, whatever a request says."""
    for name in ("host", "x-forwarded-host", "forwarded", "origin"):
        await forget(site, OWNER["email"], **{name: "https://evil.example"})
    came = await mailed(site, mails)
    assert len(came) == 4
    for _, mail in came:
        assert link_in(mail).startswith(f"{HERE}/ui/forgot?")
        assert "evil" not in mail.as_string()


async def test_an_address_in_another_spelling(site: Site, mails: MailServer) -> None:
    """Who: a stranger with a mailbox whose address is compared as equal to somebody's, but is not
    the same to its mail server. What: asks for the other's new password with their own spelling.
    Instead: the link is mailed to the address as the account has it."""
    account = new_account(site.service.process, "Vic", "Vic.Tim@example.com", "guest")
    await site.store.accounts.register(None, account, "vic.tim@example.com", Credentials())
    for spelling in ("vic.tim@example.com", "VIC.TIM@example.com", " Vic.Tim@EXAMPLE.com "):
        assert await forget(site, spelling) == DONE
    assert [to for to, _ in await mailed(site, mails)] == ["Vic.Tim@example.com"] * 3


async def test_a_mailbox_that_is_filled(
    site: Site, make_site: Sites, mails: MailServer, other: Provider
) -> None:
    """Who: a stranger with many addresses. What: has one person mailed again and again, by saying
    that the password is lost and by registrations, in several spellings. Instead: an address gets
    so many emails of each kind in an hour. Who says that a password is lost gets the same answer as
    ever, and whose it is has a link that works among the last emails."""
    await eves(site)
    settings = settings_of(mails) | by_others(other)
    for number in range(9):
        elsewhere = make_site.without_accounts(f"192.0.2.{number}", **settings)
        assert await forget(elsewhere, VICTIM.upper() if number % 2 else VICTIM) == DONE
        await elsewhere.settled()
    came = await mailed(site, mails)
    assert len(came) == account_mails.MAIL_RATE.capacity
    assert await set_password(site, token_in(came[-1][1])) == DONE
    answers = [
        await site.send("POST", "/api/user", {**EVE, "email": mail})
        for mail in ("new@example.com", "NEW@Example.com", " New@example.com") * 3
    ]
    assert len(await mailed(site, mails)) == account_mails.MAIL_RATE.capacity
    assert "Too many emails were sent to this address. Open the link" in answers[-1]["errmsg"]


async def test_registrations_of_others_that_use_up_somebodys_emails(
    site: Site, mails: MailServer
) -> None:
    """Who: somebody who wants to keep another one out. What: registers with the other's address
    until it gets no more emails, so that the other cannot register. Instead: each link that was
    mailed lets the owner of the address choose name and password; the stranger's are worth
    nothing, and serve for no account."""
    victim = {"display_name": "Vic", "email": "vic@example.com", "password": "vic's own words"}
    for n in range(account_mails.MAIL_RATE.capacity):
        stranger = {**victim, "display_name": f"Fool {n}", "password": f"a stranger's {n}"}
        assert (await site.send("POST", "/api/user", stranger))["errno"] == 0
    refused = await site.send("POST", "/api/user", victim)
    assert "Open the link in one of them" in refused["errmsg"]
    tokens = [token_in(mail) for _, mail in await mailed(site, mails)]
    body = {"token": tokens[0], "password": victim["password"]}
    assert (await site.send("PUT", "/api/verification", body))["errmsg"] == "Wrong password"
    weak = {**body, "display_name": "Vic", "password": "short"}
    assert (await site.send("PUT", "/api/verification", weak))["errno"] == 1001
    assert await site.send("PUT", "/api/verification", {**body, "display_name": "Vic"}) == DONE
    known = (await log_in(site, victim))["data"]
    assert (known["display_name"], known["type"]) == ("Vic", "guest")
    late = {"token": tokens[1], "password": "a stranger's 1"}
    assert (await site.send("PUT", "/api/verification", late))["errno"] != 0


async def test_a_service_that_mails_everybody(site: Site, mails: MailServer) -> None:
    """Who: a guest with a list of other people's addresses. What: sets one after the other in the
    own profile, so that each of them gets an email. Instead: from one place only so many emails are
    asked for in an hour, and a change that is refused for that changes nothing."""
    await eves(site)
    by = (await log_in(site, EVE))["data"]["token"]
    most = attempts.MAILING_RATE.capacity
    for number in range(most + 5):
        changes = {"email": f"{number}@example.com", "display_name": f"Eve {number}", **EVES}
        answer = await site.send("PUT", "/api/user", changes, by=by)
    assert "Too many attempts" in answer["errmsg"]
    assert len(await mailed(site, mails)) == most
    assert (await site.get("/api/token", by=by))["data"]["display_name"] == f"Eve {most - 1}"


async def test_a_mail_server_that_hangs(
    site: Site, mails: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: a slow mail server, and a stranger who has emails sent meanwhile. What: keeps requests
    waiting, and the memory full of what is to be sent. Instead: nobody waits for an email, only so
    many are on their way, and then everybody who asks for one is told to come again, whether there
    is such an account or not."""
    is_over = asyncio.Event()

    async def hang(*_: Any) -> str:
        await is_over.wait()
        raise NotDelivered("it never came", is_final=True)

    sender: Any = site.service.accounts.mails
    monkeypatch.setattr(type(sender._sender.smtp), "send", hang)
    monkeypatch.setattr(site.service.process.pools.mails, "capacity", 3)
    answers = [await forget(site, f"{n}@example.com") for n in range(2)]
    answers += [await forget(site, OWNER["email"]) for _ in range(3)]
    await asyncio.wait_for(site.get("/api/article", path="/a"), 30)
    answers += [await forget(site, OWNER["email"]) for _ in range(4)]
    answers += [await forget(site, "nobody@example.com")]
    assert [answer["errno"] for answer in answers[-2:]] == [503, 503]
    is_over.set()
    await site.settled()
    assert await forget(site, "nobody@example.com") == DONE


async def test_words_of_a_stranger_in_a_mail(site: Site, mails: MailServer) -> None:
    """Who: somebody with something to sell. What: registers other people's addresses, under a name
    that is an advertisement with links, HTML and line breaks. Instead: in an email a name is short
    and has nothing that an email program would make a link of."""
    hostile = (
        "You won! https://evil.example/prize www.evil.example <a href=//evil>it</a>"
        "\r\nBcc: all@evil.example {link} {site.__class__}"
    )
    await site.send("POST", "/api/user", {**EVE, "display_name": hostile})
    ((to, mail),) = await mailed(site, mails)
    assert (to, mail["bcc"]) == (VICTIM, None)
    for kind in ("plain", "html"):
        text = text_of(mail, kind)
        rest = text.replace(link_in(mail), "").replace("https://blog.example", "")
        for word in ("http:", "https:", "www.", "evil.", "@evil", "://", "<a href=//", "Bcc:"):
            assert word not in rest, word
        assert "You won https evil example prize www evi" in rest


async def test_a_link_that_is_for_somebody_else(site: Site, mails: MailServer) -> None:
    """Who: a guest with a link of their own. What: puts another's id into it, or uses it for
    something else than it was made for. Instead: a link holds for its account and its purpose."""
    account = await eves(site)
    owner = (await log_in(site, OWNER))["data"]
    await forget(site, VICTIM)
    ((_, lost),) = await mailed(site, mails)
    secret = token_in(lost).removeprefix(f"{account.id}.")
    for token in (
        f"{owner['objectId']}.{secret}",
        secret,
        f".{secret}",
        f"{account.id}.",
        account.id,
        "..",
        f"{account.id}.{secret}x",
        f"{account.id}.{secret[:-1]}",
        f"{account.id}\0.{secret}",
    ):
        assert await set_password(site, token) == EXPIRED, token
    assert await confirm(site, token_in(lost), EVE["password"]) == EXPIRED
    by = (await log_in(site, EVE))["data"]["token"]
    await site.send("PUT", "/api/user", {"email": "eve@example.com", **EVES}, by=by)
    ((_, mail),) = await mailed(site, mails)
    assert await set_password(site, token_in(mail)) == EXPIRED
    await site.send("POST", "/api/user", {**EVE, "email": "new@example.com"})
    ((_, mail),) = await mailed(site, mails)
    assert await set_password(site, token_in(mail)) == EXPIRED
    assert await set_password(site, token_in(lost)) == DONE


async def test_a_mailbox_that_somebody_reads_later(site: Site, mails: MailServer) -> None:
    """Who: somebody who has the phone or the mailbox a day later. What: opens the old links in it.
    Instead: a link was used up, was ended by a newer one or by another password, or is too old."""
    links = []
    for _ in range(3):
        await forget(site, OWNER["email"])
        ((_, mail),) = await mailed(site, mails)
        links.append(token_in(mail))
    assert await set_password(site, links[0]) == await set_password(site, links[1]) == EXPIRED
    answers = await asyncio.gather(
        *(set_password(site, links[2], f"another word {n}") for n in range(5))
    )
    assert sorted(answer["errno"] for answer in answers) == [0, 1000, 1000, 1000, 1000]
    assert await set_password(site, links[2]) == EXPIRED


async def test_a_service_that_somebody_left_in_an_account(site: Site, mails: MailServer) -> None:
    """Who: somebody who made an account with another's address before it had to be confirmed. What:
    adds a login by another service to it, and uses that after the address's owner has set another
    password. Instead: the person who proves by email that an address is theirs, which nobody had
    proved before, gets its account without services."""
    await eves(site, identities={"github": "eve"})
    await forget(site, VICTIM)
    ((_, mail),) = await mailed(site, mails)
    assert await set_password(site, token_in(mail), THEM["password"]) == DONE
    assert await site.store.accounts.by_identity("github", "eve") is None
    assert (await log_in(site, THEM))["errno"] == 0
