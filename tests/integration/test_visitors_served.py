"""Visitors, bots and sources, by what browsers send to a service, whichever way requests take."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from tests.support.servers import wait_until
from tests.support.serving import Serving, Skewed, serving, started

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
CHROME = "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/142.0.0.0 Mobile Safari/537.36"


@pytest.fixture(params=["", "--no-fast-path"])
def served(request: pytest.FixtureRequest, own: Path) -> Iterator[Serving]:
    """A service of a test's own, which nobody has visited."""
    with visited(own, request.param) as served:
        yield served


@pytest.fixture(scope="module", params=["", "--no-fast-path"])
def shared(request: pytest.FixtureRequest) -> Iterator[Serving]:
    with TemporaryDirectory() as home, visited(Path(home), request.param) as served:
        yield served


def visited(home: Path, option: str) -> AbstractContextManager[Serving]:
    environ = {"STATISTICS": "visitors", "STATISTICS_PUBLIC": "all", "COMPAT": "busuanzi"}
    options = [option] if option else []
    return serving(home / "s", *options, SITE_URL="https://blog.example", **environ)


def view(
    served: Serving, path: str, agent: str | None, address: str, body: Any = None, **headers: str
) -> int:
    """The page's views, behind a proxy on this machine."""
    sent = {"user-agent": agent or "", "x-forwarded-for": address, **headers}
    asked = {"path": path, **(body or {})}
    answer = httpx.post(f"{served.url}/api/article", json=asked, headers=sent)
    return int(answer.json()["data"][0]["time"])


def told(served: Serving, **params: str) -> Any:
    return httpx.get(f"{served.url}/api/statistics", params=params).json()["data"]


def site_when(served: Serving, visitors: int) -> Any:
    """Visitors of the site are noted behind the view. An answer is kept for its minute, so what is
    read first is what Redis has."""
    wait_until(lambda: noted(served) == visitors, f"{visitors} visitors")
    return told(served)


def noted(served: Serving) -> int:
    code, output = served.output_of("statistics", "--days", "1", "--csv")
    return int(output.split(",")[-1]) if code == 0 else 0


def test_who_comes_again_is_one_visitor_and_bots_are_none(served: Serving) -> None:
    for _ in range(3):
        view(served, "/a", FIREFOX, "198.51.100.7")
    view(served, "/b", FIREFOX, "198.51.100.7")
    # Another browser, another address, and another address of the same home.
    view(served, "/a", CHROME, "198.51.100.7")
    view(served, "/a", FIREFOX, "2001:db8:1:2::3")
    view(served, "/a", FIREFOX, "2001:db8:1:2:ffff::4")
    view(served, "/a", "Mozilla/5.0 (compatible; GPTBot/1.3)", "198.51.100.8")
    view(served, "/a", FIREFOX, "198.51.100.9", {"webdriver": True})
    view(served, "/a", FIREFOX, "198.51.100.9", None, **{"sec-purpose": "prefetch;prerender"})
    assert view(served, "/a", None, "198.51.100.9") == 10
    page, site = told(served, path="/a"), site_when(served, 3)
    assert (page["total"], page["people"], page["visitors"]) == (10, 6, 3)
    assert (site["total"], site["people"], site["visitors"]) == (11, 7, 3)
    classes = {each["class"]: each["views"] for each in page["bots"]}
    assert classes == {"ai-crawler": 1, "webdriver": 1, "prefetch": 1, "no-user-agent": 1}
    assert page["bots"] == site["bots"]
    assert served.output_of("check")[0] == 0


def test_other_counters_clients_are_told_of_visitors(served: Serving) -> None:
    view(served, "/a", FIREFOX, "198.51.100.7")
    view(served, "/b", CHROME, "198.51.100.7")
    view(served, "/a", "Mozilla/5.0 (compatible; GPTBot/1.3)", "198.51.100.8")
    site_when(served, 2)
    headers = {"user-agent": FIREFOX, "x-forwarded-for": "198.51.100.7"}
    view_of_a = {"url": "https://blog.example/a", "page_uv": True}
    told = httpx.post(f"{served.url}/api/v2/log", json=view_of_a, headers=headers).json()
    assert told["data"] == {"site_pv": 4, "site_uv": 2, "page_pv": 3, "page_uv": 1}


def test_a_stranger_can_name_no_address_of_somebody_else(shared: Serving) -> None:
    # The proxy appends whom it has seen: what stands before that is a claim.
    for number in range(5):
        view(shared, "/claims", FIREFOX, f"203.0.113.{number}, 198.51.100.7")
    assert told(shared, path="/claims")["visitors"] == 1


@pytest.mark.parametrize("odd", [None, 7, [], {}, "x" * 5_000, "\u202e"], ids=ascii)
def test_what_is_wrong_with_a_word_by_the_way_costs_no_view(shared: Serving, odd: Any) -> None:
    page, said = f"/odd/{ascii(odd)[:9]}", {"referrer": odd, "webdriver": odd}
    assert view(shared, page, FIREFOX, "198.51.100.7", said) == 1
    assert told(shared, path=page)["visitors"] == 1


def test_reading_tells_nobody_apart(shared: Serving) -> None:
    headers = {"user-agent": FIREFOX, "x-forwarded-for": "198.51.100.7"}
    httpx.get(f"{shared.url}/api/article", params={"path": "/read"}, headers=headers)
    assert told(shared, path="/read")["total"] == 0


def test_hosts_that_led_here_are_sources_and_the_site_is_not(shared: Serving) -> None:
    for referrer in (
        "www.google.com",
        "https://www.Google.com/search?q=secret",
        "blog.example",
        "https://blog.example/a",
        "no host at all\x00",
        "",
    ):
        view(shared, "/led", FIREFOX, "198.51.100.7", {"referrer": referrer})
    assert told(shared)["sources"] == [{"host": "google.com", "views": 2, "at_most": 2}]


def test_a_clock_that_jumps_for_a_moment_dates_nothing(own: Path) -> None:
    """Who: an owner whose machine's clock is set days ahead, and back. What: the days between are
    summed and removed, deleted comments too, and readers comment "in 3 days"."""
    offset = own / "offset"
    offset.write_text("0")
    served = Skewed(own / "s", CLOCK_OFFSET_FILE=str(offset), STATISTICS_PUBLIC="all")
    with started(served):
        assert view(served, "/a", FIREFOX, "192.0.2.1") == 1
        before = told(served, unit="hour")
        draft = {"comment": "Hello", "url": "/a", "nick": "Ann"}
        (own / "next").write_text(str(4 * 86_400))
        (own / "next").replace(offset)
        written = httpx.post(f"{served.url}/api/comment", json=draft).json()["data"]
        assert abs(written["time"] / 1000 - time.time()) < 60
        assert view(served, "/a", FIREFOX, "192.0.2.1") == 2
        says = 'footfall_finding{code="clock"} 1'
        wait_until(lambda: says in httpx.get(f"{served.url}/metrics").text, "a warning")
        # What is done once an hour was done by the clock that is right.
        assert told(served, path="/a", unit="hour")["total"] == 2
        assert told(served, unit="hour")["views"][-1]["at"] >= before["views"][-1]["at"]
        offset.write_text("0")
        assert view(served, "/a", FIREFOX, "192.0.2.1") == 3
