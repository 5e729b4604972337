"""Accounts: somebody wants another's, or wants to know who has one."""

import asyncio
from base64 import urlsafe_b64encode
from typing import Any

import jwt
import pytest

from footfall.domain import passwords
from footfall.domain.links import new_link
from footfall.domain.log_ins import FAILED_SECONDS
from footfall.model import Credentials
from tests.conftest import Site, Sites

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


async def test_a_stranger_who_asks_whether_a_mail_has_an_account(site: Site) -> None:
    """Who: somebody with a list of mails. What: tries to log in with each, and compares the answers
    and how long they take. Instead: whatever was wrong, a failed log-in has the same answer at the
    same time after it came."""
    loop = asyncio.get_running_loop()
    for mail in ("owner@example.com", "nobody@example.com", "no mail"):
        began = loop.time()
        assert await log_in(site, OWNER, email=mail, password="a guess") == {"errno": 1000}
        assert loop.time() - began >= FAILED_SECONDS * 0.99
    answer = await site.get("/api/token/2fa", email="owner@example.com")
    assert answer == await site.get("/api/token/2fa", email="nobody@example.com")
    for mail in ("owner@example.com", "nobody@example.com"):
        answer = await site.send("PUT", "/api/user/password", {"email": mail})
        assert answer == {"errno": 1000}


async def test_a_guest_who_names_another_role(site: Site) -> None:
    """Who: a guest. What: sends the fields of an administrator, when registering and later, in
    every spelling that the reference has columns for. Instead: fields that may not be set are not
    read."""
    token = (await log_in(site, GUEST))["data"]["token"]
    more = {"type": "administrator", "label": "Owner", "user_type": "administrator", "role": "x"}
    await site.send("PUT", "/api/user", more, by=token)
    shown = (await site.get("/api/token", by=token))["data"]
    assert (shown["type"], shown["label"]) == ("guest", None)


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
        f"{head}.{body}.{signature}", f"{head}.{body}.", jwt.encode(forged, "", "none"),
        *(jwt.encode(forged, key * 32, "HS256") for key in ("0", "\0", token[:1])),
        *(f"{urlsafe_b64encode(header).decode().rstrip('=')}.{body}.{signature}" for header in ODD),
    ]  # fmt: skip
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
    letter, or with its domain in punycode, to be taken for the owner. Instead: these are one mail,
    and it is taken."""
    await site.send("POST", "/api/user", {**GUEST, "email": "jörg@bücher.example"})
    for mail in (
        "OWNER@EXAMPLE.COM",
        "jo\u0308rg@b\u00fccher.example",
        "jörg@XN--BCHER-KVA.example",
    ):
        answer = await site.send("POST", "/api/user", {**GUEST, "email": mail})
        assert answer["errmsg"] == "USER_EXIST", mail


async def test_a_password_that_is_guessed_first(site: Site) -> None:
    """Who: somebody with a list of the passwords that people use most, and with people's mails.
    What: waits for somebody who chooses one of them, or their own mail, in capitals or not,
    wherever a password can be set. Instead: none of these may be set, and the refusal says why; an
    account that has one already goes on."""
    id = (await log_in(site, GUEST))["data"]["objectId"]
    token = (await log_in(site, GUEST))["data"]["token"]
    proof = {"current_password": GUEST["password"]}
    link = await new_link(site.service, id)
    for weak in ("1234567", "iloveyou", "Password1", "guest@example.com", "GUEST@EXAMPLE.COM"):
        for method, path, body, by in (
            ("POST", "/api/user", GUEST, ""),
            ("PUT", "/api/user", proof, token),
            ("PUT", "/api/user/password", {"token": link}, ""),
        ):
            answer = await site.send(method, path, {**body, "password": weak}, by=by)
            assert answer["errno"] == 1001 and answer["errmsg"].keys() == {"password"}, (path, weak)
    old = await site.service.accounts.by_id(id)
    assert old is not None
    mails = GUEST["email"], GUEST["email"]
    known = Credentials(passwords._hash("abc"))
    await site.service.accounts.change(old, (old.account, known), mails=mails, revokes=False)
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
