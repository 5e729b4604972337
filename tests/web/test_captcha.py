"""Captchas for comments, and work before registrations."""

from typing import Any
from urllib.parse import parse_qs

import altcha
import orjson
import pytest

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
        assert "no robot" in answer.json()["errmsg"]
    assert await site.texts() == []
    answer = await site.send("POST", "/api/comment", {**DRAFT, field: "score0.9"})
    assert answer["errno"] == 0
    form = parse_qs(verifier.came[-1][2].decode())
    assert form == {"secret": ["secret"], "response": ["score0.9"], "remoteip": ["127.0.0.1"]}


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
    assert refused.status_code in (403, 503)
    assert await site.texts() == []


async def test_without_an_answer_of_the_verifier_nothing_is_stored(make_site: Sites) -> None:
    site = await make_site(TURNSTILE_SECRET="secret", TURNSTILE_URL="http://127.0.0.1:1")
    refused = await site.http.post("/api/comment", json={**DRAFT, "turnstile": "good"})
    assert refused.status_code == 503 and refused.json()["errmsg"]
    assert await site.texts() == []


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


async def test_with_a_captcha_a_token_or_work_is_enough_to_register(
    make_site: Sites, verifier: Receiver
) -> None:
    environ = {"TURNSTILE_SECRET": "secret", "TURNSTILE_URL": verifier.url}
    site = make_site.without_accounts(**environ)
    assert (await site.send("POST", "/api/user", EVA))["errno"] == 403
    assert (await site.send("POST", "/api/user", {**EVA, "turnstile": "good"}))["errno"] == 0
    work = solved((await site.get("/api/user/challenge"))["data"])
    other = {**EVA, "email": "other@example.com", "work": work}
    assert (await site.send("POST", "/api/user", other))["errno"] == 0
