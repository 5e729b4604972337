"""The captcha where people register, with scripts that stand for those of its makers."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest
from playwright.sync_api import Route, expect

from tests.support.receivers import Receiver, receiver

from .conftest import NewVisitor, Start
from .visitor import Visitor

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
# What the real scripts offer to a page; a token says with which key it was made.
TURNSTILE = """
window.turnstile = {
  render(place, { sitekey, callback }) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'I am human';
    button.onclick = () => callback(`good ${sitekey}`);
    place.append(button);
    return button;
  },
  remove(button) { button.remove(); },
};
"""
RECAPTCHA = """
window.grecaptcha = {
  ready(then) { then(); },
  async execute(key, { action }) { return `good ${key} ${action}`; },
};
"""
KINDS = [
    ("TURNSTILE", TURNSTILE, "https://challenges.cloudflare.com/turnstile/v0/api.js", "good key"),
    ("RECAPTCHA_V3", RECAPTCHA, "https://www.recaptcha.net/recaptcha/api.js", "good key register"),
]


@pytest.fixture
def verifier() -> Iterator[Receiver]:
    with receiver() as found:
        found.answer = lambda path, body: (200, orjson.dumps({"success": b"good" in body}))
        yield found


def register(visitor: Visitor, mail: str = "mara@example.com") -> None:
    page = visitor.page
    for label, text in (("Name", "Mara"), ("Email", mail), ("Password", "an old garden gate")):
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Create an account").click()


@pytest.mark.rare
@pytest.mark.parametrize(("name", "script", "url", "token"), KINDS)
def test_somebody_registers_by_passing_the_captcha(
    start: Start,
    new_visitor: NewVisitor,
    verifier: Receiver,
    name: str,
    script: str,
    url: str,
    token: str,
) -> None:
    environ: dict[str, Any] = {f"{name}_SECRET": "s", f"{name}_KEY": "key"}
    service = start(**environ, **{f"{name}_URL": verifier.url})
    visitor = new_visitor(**PHONE)
    page = visitor.page

    def answer(route: Route) -> None:
        route.fulfill(content_type="text/javascript", body=script)

    page.route(f"{url}*", answer)
    visitor.open(f"{service.url}/ui/register")
    assert not [stranger for stranger in visitor.strangers if url in stranger]
    register(visitor)
    if name == "TURNSTILE":
        page.get_by_role("button", name="I am human").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    (came,) = verifier.came
    assert parse_qs(came[2].decode())["response"] == [token]
    # Its script was asked for, and nothing else of others.
    assert [stranger.partition("?")[0] for stranger in visitor.strangers] == [url]
    visitor.strangers.clear()


@pytest.mark.rare
def test_a_captcha_that_does_not_load_is_told_and_can_be_tried_again(
    start: Start, visitor: Visitor, verifier: Receiver
) -> None:
    service = start(TURNSTILE_SECRET="s", TURNSTILE_KEY="key", TURNSTILE_URL=verifier.url)
    _, script, url, _ = KINDS[0]
    page = visitor.page
    page.route(f"{url}*", lambda route: route.abort())
    visitor.forgive("ERR_FAILED")
    visitor.open(f"{service.url}/ui/register")
    register(visitor)
    expect(page.get_by_text("The captcha did not load")).to_be_visible()
    page.unroute(f"{url}*")
    page.route(f"{url}*", lambda route: route.fulfill(content_type="text/javascript", body=script))
    page.get_by_role("button", name="Create an account").click()
    page.get_by_role("button", name="I am human").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    visitor.strangers.clear()


@pytest.mark.rare
def test_without_its_key_the_page_says_why_nobody_registers(start: Start, visitor: Visitor) -> None:
    service = start(TURNSTILE_SECRET="s")
    visitor.open(f"{service.url}/ui/register")
    register(visitor)
    expect(visitor.page.get_by_text("the site's captcha has no key")).to_be_visible()
