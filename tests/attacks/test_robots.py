"""Robots: somebody lets a program do what people are asked to do themselves."""

from collections.abc import Iterator

import altcha
import pytest

from tests.conftest import Sites
from tests.support.receivers import Receiver, receiver

ON = ("fake",)

EVA = {"display_name": "Eva", "email": "eva@example.com", "password": "a good one"}


@pytest.fixture
def verifier() -> Iterator[Receiver]:
    with receiver() as found:
        found.answer = lambda path, body: (200, b'{"success": false}')
        yield found


async def work(makes_one: Sites) -> str:
    """A piece of work that the data set's key has signed, of a site that asks for no captcha."""
    site = makes_one.without_accounts(REGISTRATION_WORK="true")
    challenge = (await site.get("/api/user/challenge"))["data"]
    found = altcha.Challenge.from_dict(challenge)
    solution = altcha.solve_challenge(found)
    assert solution
    return altcha.Payload(found, solution).to_base64()


async def test_work_in_place_of_a_captcha(make_site: Sites, verifier: Receiver) -> None:
    """Who: a robot, for which a second of work is cheap. What: registers with work where the owner
    has set a captcha, with no token or a wrong one. Instead: a captcha that is set is required,
    whatever else was sent."""
    done = await work(make_site)
    for name, field in (("TURNSTILE", "turnstile"), ("RECAPTCHA_V3", "recaptchaV3")):
        for wanted in ("true", "false"):
            environ = {f"{name}_SECRET": "secret", f"{name}_URL": verifier.url}
            site = make_site.without_accounts(REGISTRATION_WORK=wanted, **environ)
            for token in ({}, {field: ""}, {field: "wrong"}):
                answer = await site.send("POST", "/api/user", {**EVA, **token, "work": done})
                assert answer["errno"] == 403, (name, wanted, token)
