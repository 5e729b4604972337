"""Accounts: somebody wants another's, or wants to know who has one."""

import asyncio
import json
from base64 import urlsafe_b64encode
from typing import Any

import jwt
import pyotp
import pytest

from footfall.accounts.rules import log_ins, passwords
from footfall.accounts.rules.links import new_link
from footfall.model import Credentials
from tests.conftest import Site, Sites
from tests.support.admin_ui import SENT

OWNER = {"display_name": "Owner", "email": "owner@example.com", "password": "the owner's own"}
GUEST = {"display_name": "Guest", "email": "guest@example.com", "password": "the guest's own"}
# Headers of tokens, on some of which libraries for tokens break.
ODD = (b'{"alg":"HS256","crit":1}', b'{"alg":[]}', b"[]", b"null", b"\xff", b"")


@pytest.fixture
async def site(make_site: Sites) -> Site:
    site = make_site.without_accounts()
    for person in (OWNER, GUEST):
        await site.send("POST", "/api/user", person)
    return site


async def log_in(site: Site, person: dict[str, str], **more: str) -> Any:
    return await site.send("POST", "/api/token", {**person, **more})


@pytest.mark.rare
async def test_a_stranger_who_asks_whether_a_mail_has_an_account(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: somebody with a list of emails. What: tries to log in with each, and compares the
    answers and how long they take. Instead: whatever was wrong, a failed login has the same answer
    at the same time after it came."""
    monkeypatch.setattr(log_ins, "FAILED_SECONDS", 0.5)
    loop = asyncio.get_running_loop()
    for mail in ("owner@example.com", "nobody@example.com", "no mail"):
        started = loop.time()
        assert await log_in(site, OWNER, email=mail, password="a guess") == {"errno": 1000}
        assert loop.time() - started >= 0.5 * 0.99
    answer = await site.get("/api/token/2fa", email="owner@example.com")
    assert answer == await site.get("/api/token/2fa", email="nobody@example.com")
    for mail in ("owner@example.com", "nobody@example.com"):
        answer = await site.send("PUT", "/api/user/password", {"email": mail})
        assert answer == {"errno": 1000}


async def test_a_token_with_another_name_in_it(site: Site) -> None:
    """Who: a guest. What: puts the owner's id into their token, and signs it with keys that others
    have used, with none, and with its public parts, also under a header that no library expects.
    Instead: a token with another header or signature counts as none."""
    owner = (await log_in(site, OWNER))["data"]
    token = (await log_in(site, GUEST))["data"]["token"]
    claims = jwt.decode(token, options={"verify_signature": False})
    forged = {**claims, "sub": owner["objectId"]}
    head, _, signature = token.split(".")
    body = jwt.encode(forged, "0" * 32).split(".")[1]
    tried = [
        f"{head}.{body}.{signature}",
        f"{head}.{body}.",
        jwt.encode(forged, "", "none"),
        *(jwt.encode(forged, key * 32, "HS256") for key in ("0", "\0", token[:1])),
        *(f"{urlsafe_b64encode(header).decode().rstrip('=')}.{body}.{signature}" for header in ODD),
    ]
    assert tried[3].startswith(f"{head}."), "only its signature tells it from ours"
    for each in tried:
        assert (await site.get("/api/token", by=each))["data"] == {}


async def test_a_token_that_was_copied(site: Site) -> None:
    """Who: somebody who found a token in a log. What: uses it after its owner has logged out, or
    has another password. Instead: from that moment on it counts as none, in every worker."""
    token = (await log_in(site, OWNER))["data"]["token"]
    other = (await log_in(site, OWNER))["data"]["token"]
    await site.send("DELETE", "/api/token", by=token)
    assert (await site.get("/api/token", by=token))["data"] == {}
    third = (await log_in(site, OWNER))["data"]["token"]
    change = {"password": "quite another", "current_password": OWNER["password"]}
    await site.send("PUT", "/api/user", change, by=third)
    assert (await site.get("/api/token", by=other))["data"] == {}


async def test_a_mail_that_is_written_otherwise(site: Site) -> None:
    """Who: a stranger. What: registers the owner's mail in capitals, in full width, with a composed
    letter, or with its domain in punycode, to be taken for the owner. Instead: these are one email,
    and it is taken."""
    await site.send("POST", "/api/user", {**GUEST, "email": "jörg@bücher.example"})
    for mail in (
        "OWNER@EXAMPLE.COM",
        "jo\u0308rg@b\u00fccher.example",
        "jörg@XN--BCHER-KVA.example",
    ):
        answer = await site.send("POST", "/api/user", {**GUEST, "email": mail})
        assert answer["errmsg"] == "USER_EXIST", mail


async def test_a_token_that_was_copied_and_the_account_that_goes_with_it(
    make_site: Sites, site: Site
) -> None:
    """Who: somebody who has copied a token. What: sets a password, an email and two-factor
    authentication of their own with it, to have the account for good. Instead: each of these asks
    for the password as well, in words; guesses of it are counted, and the owner, whose guesses
    these are not, ends the copied login with a new password."""
    token = (await log_in(site, GUEST))["data"]["token"]
    copied = (await log_in(site, GUEST))["data"]["token"]
    secret = (await site.get("/api/token/2fa", by=copied))["data"]["secret"]
    code = pyotp.TOTP(secret).at(site.clock.now // 1000)
    tried = [
        ("PUT", "/api/user", {"password": "the thief's own"}),
        ("PUT", "/api/user", {"email": "thief@example.com"}),
        ("POST", "/api/token/2fa", {"secret": secret, "code": code}),
    ]
    for method, path, body in tried:
        answer = await site.send(method, path, body, by=copied)
        assert "Enter your current password as well (current_password)" in answer["errmsg"]
        wrong = await site.send(method, path, {**body, "current_password": "a guess"}, by=copied)
        assert "Wrong current password" in wrong["errmsg"]
    guess = {**tried[0][2], "current_password": "a guess"}
    answers = [await site.send("PUT", "/api/user", guess, by=copied) for _ in range(20)]
    assert "Too many attempts" in answers[-1]["errmsg"]
    home = make_site.without_accounts("192.0.2.9")
    change = {"password": "quite another", "current_password": GUEST["password"]}
    assert (await home.send("PUT", "/api/user", change, by=token))["errno"] == 0
    assert (await site.get("/api/token", by=copied))["data"] == {}
    assert (await site.get("/api/token", by=token))["data"]["email"] == GUEST["email"]


async def test_an_administrators_token_that_was_copied(site: Site) -> None:
    """Who: somebody who has copied an administrator's token. What: gives other accounts passwords,
    emails and roles, and takes their two-factor authentication off, to go on as one of them when
    the token has ended. Instead: that asks for the administrator's own password; bans, which take
    nothing over, do not."""
    token = (await log_in(site, OWNER))["data"]["token"]
    guest = (await log_in(site, GUEST))["data"]
    path = f"/api/user/{guest['objectId']}"
    for change in (
        {"password": "the thief's"},
        {"email": "t@example.com"},
        {"type": "administrator"},
    ):
        for proof in ({}, {"current_password": GUEST["password"]}):
            answer = await site.send("PUT", path, {**change, **proof}, by=token)
            assert (answer["errno"], "current password" in answer["errmsg"]) == (1000, True)
    assert (await site.get("/api/token", by=guest["token"]))["data"]["type"] == "guest"
    assert (await site.send("PUT", path, {"type": "banned"}, by=token))["errno"] == 0


async def test_a_second_factor_that_somebody_with_the_password_takes_off(site: Site) -> None:
    """Who: somebody who has a copied token, and has guessed the password. What: takes off the
    two-factor authentication, or puts their own in its place. Instead: that asks for a code, which
    works once, and no password stands for it."""
    token = (await log_in(site, GUEST))["data"]["token"]
    secret = (await site.get("/api/token/2fa", by=token))["data"]["secret"]
    codes, step = pyotp.TOTP(secret), site.clock.now // 1000
    proof = {"current_password": GUEST["password"]}
    setting = {"secret": secret, "code": codes.at(step), **proof}
    assert (await site.send("POST", "/api/token/2fa", setting, by=token))["errno"] == 0
    other = pyotp.random_base32()
    theirs = {"secret": other, "code": pyotp.TOTP(other).at(step), **proof}
    for method, path, body in (
        ("PUT", "/api/user", {"2fa": "", **proof}),
        ("POST", "/api/token/2fa", theirs),
    ):
        answer = await site.send(method, path, body, by=token)
        assert "Enter a two-factor code as well (current_code)" in answer["errmsg"]
        used = {**body, "current_code": codes.at(step)}
        assert (await site.send(method, path, used, by=token))["errno"] == 1000
    assert (await site.get("/api/token", by=token))["data"]["2fa"] == "on"


async def test_log_ins_that_their_owner_does_not_know_of(site: Site) -> None:
    """Who: somebody who has logged in with a stolen password and stays. What: hopes that nobody
    sees it, and that a new password or two-factor authentication changes nothing for them. Instead:
    the owner's list shows each login, with browser, network and time; the owner ends one or all
    others, and setting a password or two-factor authentication does so by itself. Nobody ends
    anybody else's."""
    owner = (await log_in(site, OWNER))["data"]["token"]
    stolen = (await log_in(site, OWNER))["data"]["token"]
    guest = (await log_in(site, GUEST))["data"]["token"]
    found = (await site.get("/api/token/sessions", by=owner))["data"]["sessions"]
    assert [(each["by"], each["network"]) for each in found] == [("password", "127.0.0.0/24")] * 2
    (theirs,) = (each["id"] for each in found if not each["current"])
    await site.send("DELETE", f"/api/token/sessions/{theirs}", by=guest)
    assert (await site.get("/api/token", by=stolen))["data"]["email"] == OWNER["email"]
    await site.send("DELETE", f"/api/token/sessions/{theirs}", by=owner)
    assert (await site.get("/api/token", by=stolen))["data"] == {}
    stolen = (await log_in(site, OWNER))["data"]["token"]
    secret = pyotp.random_base32()
    code = pyotp.TOTP(secret).at(site.clock.now // 1000)
    setting = {"secret": secret, "code": code, "current_password": OWNER["password"]}
    assert (await site.send("POST", "/api/token/2fa", setting, by=owner))["errno"] == 0
    assert (await site.get("/api/token", by=stolen))["data"] == {}
    assert (await site.get("/api/token", by=owner))["data"]["email"] == OWNER["email"]


async def test_a_password_that_is_guessed_first(site: Site) -> None:
    """Who: somebody with a list of the passwords that people use most, and with people's emails.
    What: waits for somebody who chooses one of them, or their own email, in capitals or not,
    wherever a password can be set. Instead: none of these may be set, and the refusal says why; an
    account that has one already goes on."""
    id = (await log_in(site, GUEST))["data"]["objectId"]
    token = (await log_in(site, GUEST))["data"]["token"]
    proof = {"current_password": GUEST["password"]}
    link = await new_link(site.service.accounts.store, id)
    for weak in ("1234567", "iloveyou", "Password1", "guest@example.com", "GUEST@EXAMPLE.COM"):
        for method, path, body, by in (
            ("POST", "/api/user", GUEST, ""),
            ("PUT", "/api/user", proof, token),
            ("PUT", "/api/user/password", {"token": link}, ""),
        ):
            answer = await site.send(method, path, {**body, "password": weak}, by=by)
            assert answer["errno"] == 1001, (path, weak)
            assert answer["errmsg"].keys() == {"password"}, (path, weak)
    old = await site.service.accounts.store.by_id(id)
    assert old is not None
    mails = GUEST["email"], GUEST["email"]
    known = Credentials(passwords._hash("abc"))
    await site.service.accounts.store.change(old, (old.account, known), mails=mails, revokes=False)
    assert (await log_in(site, GUEST, password="abc"))["errno"] == 0


async def test_passwords_that_are_very_long(site: Site) -> None:
    """Who: a stranger. What: has a megabyte hashed, again and again. Instead: a password has at
    most 256 characters, only so many are compared at once, and an address has a limit of attempts.
    """
    answer = await log_in(site, OWNER, password="x" * 300_000)
    assert answer["errmsg"].keys() == {"password"}
    answers = await asyncio.gather(*(log_in(site, OWNER, password="x" * 256) for _ in range(60)))
    assert {each["errno"] for each in answers} <= {1000, 503}
    assert "Too many attempts" in str(answers)


async def test_an_administrator_that_is_imported_with_a_copied_token(site: Site) -> None:
    """Who: somebody who has copied an administrator's token. What: imports an administrator whose
    password they know, in a file. Instead: over HTTP every account is imported as a
    guest's, and a role is given only with the password of the administrator who gives it."""
    row = {
        "objectId": "7",
        "display_name": "Eve",
        "email": "eve@evil.example",
        "type": "administrator",
        "createdAt": "2021-10-28T12:50:15Z",
    }
    copied = (await log_in(site, OWNER))["data"]["token"]
    file = {"type": "waline", "version": 1, "tables": ["Users"], "data": {"Users": [row]}}
    headers = {**SENT, "cookie": f"footfall={copied}", "content-type": "application/octet-stream"}
    sent = await site.http.post(
        "/ui/api/import?dry=false", content=json.dumps(file).encode(), headers=headers
    )
    assert sent.status_code == 200
    assert (
        "was an administrator's: it is a guest's until an administrator gives it that role"
        in sent.text
    )
    stored = await site.store.accounts.by_mail("eve@evil.example")
    assert stored
    assert stored.account.role == "guest"
