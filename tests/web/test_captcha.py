"""Captchas for comments, and work before registrations."""

import asyncio
import html
import json
import re
from typing import Any
from urllib.parse import parse_qs

import altcha
import httpx
import orjson
import pytest

from footfall.outside.captcha import Verifier
from footfall.telemetry import faults
from tests.conftest import ADMIN, BOB, Site, Sites
from tests.support.receivers import Receiver, receiver

DRAFT = {"comment": "hello", "url": "/p", "nick": "Ann", "mail": "ann@example.com"}
EVA = {"display_name": "Eva", "email": "eva@example.com", "password": "a good one"}


@pytest.fixture(scope="module")
def verifier() -> Any:
    with receiver() as found:
        yield found


@pytest.fixture(autouse=True)
def fresh(verifier: Receiver) -> None:
    verifier.came.clear()
    verifier.answer = lambda path, body: (200, orjson.dumps(verdict(body)))


def verdict(body: bytes) -> Any:
    """The verdict on a token, which its name tells; those of reCAPTCHA have a score."""
    token = parse_qs(body.decode())["response"][0]
    score = {"score": float(token[5:])} if token.startswith("score") else {}
    return {"success": token != "bad", **score}


KINDS = [("TURNSTILE", "turnstile"), ("RECAPTCHA_V3", "recaptchaV3")]


async def asking(make_site: Sites, verifier: Receiver, name: str) -> Site:
    return await make_site(**{f"{name}_SECRET": "secret", f"{name}_URL": verifier.url})


@pytest.mark.parametrize(("name", "field"), KINDS)
async def test_a_comment_needs_a_valid_token(
    make_site: Sites, verifier: Receiver, name: str, field: str
) -> None:
    site = await asking(make_site, verifier, name)
    for token in ({}, {field: ""}, {field: "bad"}, {field: "score0.4"}):
        answer = await site.http.post("/api/comment", json={**DRAFT, **token})
        assert answer.status_code == 403
        assert "Captcha failed" in answer.json()["errmsg"]
    assert await site.texts() == []
    answer = await site.send("POST", "/api/comment", {**DRAFT, field: "score0.9"})
    assert answer["errno"] == 0
    form = parse_qs(verifier.came[-1][2].decode())
    assert form == {"secret": ["secret"], "response": ["score0.9"], "remoteip": ["127.0.0.1"]}


async def test_a_refusal_that_can_be_known_before_spends_no_token(
    make_site: Sites, verifier: Receiver
) -> None:
    secret = {"TURNSTILE_SECRET": "secret", "TURNSTILE_URL": verifier.url}
    site = await make_site(**secret, IPQPS="60", DISALLOW_IP_LIST="192.0.2.7")
    sent = {**DRAFT, "turnstile": "good"}

    async def errno(address: str = "192.0.2.1", **fields: str) -> int:
        headers = {"x-forwarded-for": address}
        answer = await site.http.post("/api/comment", json={**sent, **fields}, headers=headers)
        return int(answer.json()["errno"])

    assert await errno() == 0
    assert len(verifier.came) == 1
    # The same again is a retry, and has been verified.
    assert await errno() == 0
    site.clock.now += 61_000
    assert await errno("192.0.2.2") == 1000  # a duplicate
    assert await errno("192.0.2.2", comment="other", pid="0" * 32) == 1000  # a reply to nothing
    assert await errno("192.0.2.7", comment="third") == 403
    assert await errno("192.0.2.3", comment="fourth") == 0
    assert await errno("192.0.2.3", comment="too fast") == 1000
    assert await errno(comment="\u200b") == 1001
    assert len(verifier.came) == 2


async def test_what_changes_while_a_token_is_verified_counts(
    make_site: Sites, verifier: Receiver
) -> None:
    site = await asking(make_site, verifier, "TURNSTILE")
    root = await site.post("root", by=ADMIN)
    is_asked, go_on = asyncio.Event(), asyncio.Event()
    is_passed = Verifier.is_passed

    async def late(self: Verifier, token: str, address: str) -> bool:
        is_asked.set()
        await go_on.wait()
        return await is_passed(self, token, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Verifier, "is_passed", late)
        reply = {**DRAFT, "comment": "late", "pid": root["objectId"], "turnstile": "good"}
        sending = asyncio.create_task(site.send("POST", "/api/comment", reply))
        await is_asked.wait()
        await site.send("DELETE", f"/api/comment/{root['objectId']}", by=ADMIN)
        go_on.set()
        assert (await sending)["errmsg"] == "The comment you are replying to does not exist"
    assert (await site.page())["count"] == 0


async def test_a_closed_registration_spends_no_token(make_site: Sites, verifier: Receiver) -> None:
    secret = {"TURNSTILE_SECRET": "secret", "TURNSTILE_URL": verifier.url}
    site = make_site.without_accounts(**secret, REGISTRATION="closed")
    applicant = {"display_name": "A", "email": "a@mail.example", "password": "correct horse 1"}
    answer = await site.send("POST", "/api/user", {**applicant, "turnstile": "good"})
    assert answer["errno"]
    assert verifier.came == []


async def test_accounts_need_a_token_too_and_administrators_do_not(
    make_site: Sites, verifier: Receiver
) -> None:
    site = await asking(make_site, verifier, "TURNSTILE")
    assert (await site.send("POST", "/api/comment", DRAFT, by=BOB))["errno"] == 403
    assert (await site.send("POST", "/api/comment", DRAFT, by=ADMIN))["errno"] == 0
    assert verifier.came == []


@pytest.mark.parametrize("answer", [(500, b""), (200, b"true"), (200, b"[]"), (200, b"x" * 10**6)])
async def test_an_answer_without_a_verdict_passes_nobody(
    make_site: Sites, verifier: Receiver, answer: tuple[int, bytes]
) -> None:
    verifier.answer = lambda path, body: answer
    site = await asking(make_site, verifier, "TURNSTILE")
    refused = await site.http.post("/api/comment", json={**DRAFT, "turnstile": "good"})
    assert refused.status_code == 503
    assert "captcha cannot be checked" in refused.json()["errmsg"]
    assert await site.texts() == []


async def test_without_an_answer_of_the_verifier_nothing_is_stored(make_site: Sites) -> None:
    site = await make_site(TURNSTILE_SECRET="secret", TURNSTILE_URL="http://127.0.0.1:1")
    refused = await site.http.post("/api/comment", json={**DRAFT, "turnstile": "good"})
    assert refused.status_code == 503
    assert "captcha cannot be checked" in refused.json()["errmsg"]
    assert await site.texts() == []


async def test_a_wrong_secret_is_a_line_of_the_log_once_a_minute(
    make_site: Sites,
    verifier: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [1000.0]
    monkeypatch.setattr(faults, "monotonic", lambda: now[0])
    site = await asking(make_site, verifier, "TURNSTILE")

    async def lines(codes: Any, status: int = 403) -> list[str]:
        failed = {"success": False, "error-codes": codes}
        verifier.answer = lambda path, body: (200, orjson.dumps(failed))
        caplog.clear()
        for _ in range(3):
            sent = {**DRAFT, "turnstile": "good"}
            assert (await site.http.post("/api/comment", json=sent)).status_code == status
        return [record.getMessage() for record in caplog.records]

    # A visitor's token, and nonsense.
    for codes in (["timeout-or-duplicate"], ["invalid-input-response"], None, 7, [7, None], []):
        assert await lines(codes) == []
    wrong = ["invalid-input-secret"]
    advice = "nobody can pass the captcha; check its secret"
    assert await lines(wrong, 503) == [f"{verifier.url} answers {wrong[0]}: {advice}"]
    assert await lines(wrong, 503) == []
    now[0] += 61
    assert await lines(wrong, 503) == [f"{verifier.url} answers {wrong[0]}: {advice}"]


async def test_without_a_captcha_no_token_is_needed(site: Site) -> None:
    assert (await site.send("POST", "/api/comment", {**DRAFT, "turnstile": "x"}))["errno"] == 0
    assert (await site.get("/api/user/challenge"))["data"] is None


# Work.


def solved(challenge: Any) -> str:
    found = altcha.Challenge.from_dict(challenge)
    solution = altcha.solve_challenge(found)
    assert solution
    return altcha.Payload(found, solution).to_base64()


async def test_a_registration_needs_work_that_counts_once(make_site: Sites) -> None:
    site = make_site.without_accounts(REGISTRATION_WORK="true")
    for work in ("", "nonsense", "e30=", "bnVsbA=="):
        answer = await site.send("POST", "/api/user", {**EVA, "work": work})
        assert answer["errno"] == 403, work
    work = solved((await site.get("/api/user/challenge"))["data"])
    assert (await site.send("POST", "/api/user", {**EVA, "work": work}))["errno"] == 0
    again = await site.send("POST", "/api/user", {**EVA, "email": "x@example.com", "work": work})
    assert again["errno"] == 403


async def test_a_solver_cannot_make_a_challenge_easier(make_site: Sites) -> None:
    site = make_site.without_accounts(REGISTRATION_WORK="true")
    challenge = (await site.get("/api/user/challenge"))["data"]
    challenge["parameters"]["keyPrefix"] = ""
    work = solved(challenge)
    assert (await site.send("POST", "/api/user", {**EVA, "work": work}))["errno"] == 403


async def test_where_a_captcha_is_asked_no_work_is(make_site: Sites, verifier: Receiver) -> None:
    environ = {"TURNSTILE_SECRET": "secret", "TURNSTILE_URL": verifier.url}
    site = make_site.without_accounts(REGISTRATION_WORK="true", **environ)
    assert (await site.get("/api/user/challenge"))["data"] is None
    assert (await site.send("POST", "/api/user", EVA))["errno"] == 403
    assert (await site.send("POST", "/api/user", {**EVA, "turnstile": "good"}))["errno"] == 0


# The page where people register.


def rules(page: httpx.Response) -> dict[str, str]:
    """The page's content security policy: what is loaded -> from where."""
    each = page.headers["content-security-policy"].split("; ")
    return dict(rule.split(" ", 1) for rule in each)


@pytest.mark.parametrize(("name", "field"), KINDS)
async def test_the_page_to_register_on_may_load_the_captcha_and_no_other_page_may(
    make_site: Sites, name: str, field: str
) -> None:
    environ = {f"{name}_SECRET": "secret", f"{name}_KEY": 'k"1', "REGISTRATION_WORK": "true"}
    site = make_site.without_accounts(**environ)
    page = await site.http.get("/ui/register")
    (described,) = re.findall('data-captcha="(.*?)"', page.text)
    captcha = json.loads(html.unescape(described))
    assert (captcha["field"], captcha["key"]) == (field, 'k"1')
    origin = "/".join(captcha["script"].split("/")[:3])
    found = rules(page)
    for rule in ("script-src", "connect-src", "frame-src"):
        assert origin in found[rule].split(), rule
    assert "secret" not in page.text
    for other in ("/ui/forgot", "/ui/profile"):
        assert origin not in str(rules(await site.http.get(other)))


@pytest.mark.parametrize(("name", "field"), KINDS)
async def test_without_the_captchas_key_the_page_loads_nothing(
    make_site: Sites, name: str, field: str
) -> None:
    site = make_site.without_accounts(**{f"{name}_SECRET": "secret"})
    without = make_site.without_accounts()
    page, other = await site.http.get("/ui/register"), await without.http.get("/ui/register")
    assert rules(page) == rules(other)
    assert (field in page.text, field in other.text) == (True, False)
