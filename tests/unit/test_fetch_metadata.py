"""What browsers say of what made them send a request."""

import pytest

from footfall.errors import Forbidden
from footfall.http.client import Headers
from footfall.http.fetch_metadata import is_sent_elsewhere, require_navigation, require_no_part

HOST = {"host": "talk.example:8360"}
OWN = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}
TYPED = {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
LINK = {**TYPED, "sec-fetch-site": "cross-site"}


def lines(headers: dict[str, str]) -> Headers:
    return {name.encode(): value.encode() for name, value in (HOST | headers).items()}


@pytest.mark.parametrize(
    ("method", "headers", "expected"),
    [
        # Of no browser.
        ("POST", {}, False),
        # Of this service's own host.
        ("POST", OWN, False),
        ("GET", OWN, False),
        ("GET", {**OWN, "sec-fetch-dest": "image", "sec-fetch-mode": "no-cors"}, True),
        # Of another host, or of its neighbour.
        ("POST", {**OWN, "sec-fetch-site": "cross-site"}, True),
        ("POST", {**OWN, "sec-fetch-site": "same-site"}, True),
        ("GET", LINK, True),
        ("GET", TYPED, True),
        # Of older browsers.
        ("POST", {"origin": "http://talk.example:8360"}, False),
        ("POST", {"origin": "https://talk.example"}, False),
        ("POST", {"origin": "https://evil.example"}, True),
        ("POST", {"origin": "null"}, True),
        ("POST", {"origin": "http://["}, True),
        ("GET", {}, True),
    ],
)
def test_what_another_page_may_have_made_a_browser_send(
    method: str, headers: dict[str, str], expected: bool
) -> None:
    assert is_sent_elsewhere(method, lines(headers)) == expected


PARTS = (
    {**OWN, "sec-fetch-dest": "image"},
    {**LINK, "sec-fetch-dest": "iframe"},
    {**OWN, "sec-fetch-dest": "script"},
    {"accept": "image/avif,image/webp,*/*;q=0.8"},
    {"accept": "video/webm,*/*"},
)


@pytest.mark.parametrize("headers", PARTS, ids=str)
def test_a_part_of_a_page_is_refused(headers: dict[str, str]) -> None:
    for require in (require_no_part, require_navigation):
        with pytest.raises(Forbidden):
            require(lines(headers))


@pytest.mark.parametrize("headers", [{}, TYPED, LINK, {"accept": "text/html,*/*;q=0.8"}], ids=str)
def test_a_browser_that_goes_there_is_let_in(headers: dict[str, str]) -> None:
    require_navigation(lines(headers))


def test_a_script_may_ask_and_goes_nowhere() -> None:
    require_no_part(lines(OWN))
    with pytest.raises(Forbidden):
        require_navigation(lines(OWN))
