"""A name has one counter, whichever protocol counts it and whichever reads it."""

import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

import pytest

from footfall.compat.leancloud_fields import id_of
from footfall.counters import DEMO_PAGE
from footfall.model import NO_VIEWS, PROTOCOLS
from footfall.owner.counter_search import of_path
from tests.conftest import Site, Sites

# A protocol is a codec, and asks the store for what others ask.
ON = ("fake",)

PAGES = (
    "/",
    "/a",
    "/a/b/",
    "/\u4f60\u597d/",
    "/github.com/u/r",
    "about.html",
    "2020/01/02/hello/",
    "posts/4a17b156.html",
    "https://blog.example/a",
    "blog.example/a/",
)
OTHERS = (
    "site-pv",
    "site-uv",
    DEMO_PAGE,
    "ghpvc/ann",
    "github.com/u/r",
    "GitHub.com/u",
    "gitlab.com/a/b/c",
    "mine/visits",
    "site.example/likes",
)
_IN_TWO = re.compile(r"[A-Za-z0-9_.-]{3,64}/[A-Za-z0-9_.-]{3,64}")
Protocol = tuple[Callable[[Site, str], Awaitable[Any]], Callable[[Site, str], Awaitable[int]]]


async def badge(site: Site, url: str) -> int:
    answer = await site.http.get(url)
    title = re.search(r"<title>.*?(\d+)</title>", answer.text)
    assert title, answer.text
    return int(title[1])


def waline(name: str, type: str) -> Protocol:
    return (
        lambda site, name: site.count(name, type=type),
        lambda site, name: site.get("/article", path=name, type=type),
    )


async def find(site: Site, name: str) -> int:
    where = f'{{"url":"{name}"}}'
    (found,) = (await site.get("/1.1/classes/Counter", where=where))["results"]
    return int(found["time"])


async def kounter(site: Site, name: str) -> int:
    return int((await site.get("/api/counter", target=name))["data"]["time"])


async def goat(site: Site, name: str) -> int:
    shown = await site.http.get(f"/counter/{quote(name.strip('/') or '/', safe='')}.json")
    return int(shown.json()["count"])


async def abacus(site: Site, name: str) -> int:
    return int((await site.get(f"/get/{name}"))["value"])


INCREMENT = {"time": {"__op": "Increment", "amount": 1}}


def protocols(name: str) -> dict[str, Protocol]:
    """Those that can name it."""
    encoded = quote(name, safe="/")
    found: dict[str, Protocol] = {
        "waline": waline(name, "time"),
        "waline's other type": waline(name, NO_VIEWS),
        "leancloud": (
            lambda site, name: site.send("PUT", f"/1.1/classes/Counter/{id_of(name)}", INCREMENT),
            find,
        ),
        "open-kounter": (
            lambda site, name: site.send("POST", "/api/counter", {"action": "inc", "target": name}),
            kounter,
        ),
        "seeyoufarm": (
            lambda site, name: site.http.get("/api/count/incr/badge.svg", params={"url": name}),
            lambda site, name: badge(site, f"/api/count/keep/badge.svg?url={quote(name)}"),
        ),
        "goatcounter": (lambda site, name: site.http.get("/count", params={"p": name}), goat),
    }
    if name.startswith("/") and len(name) > 1:
        found["badges"] = (
            lambda site, name: badge(site, f"/badge{encoded}.svg"),
            lambda site, name: badge(site, f"/badge{encoded}.svg?count=false"),
        )
    if _IN_TWO.fullmatch(name):
        found["abacus"] = (lambda site, name: site.get(f"/hit/{name}"), abacus)
    return found


@pytest.mark.parametrize("name", PAGES + OTHERS)
async def test_what_one_protocol_counts_every_other_reads(make_site: Sites, name: str) -> None:
    site = await make_site(COMPAT=",".join(PROTOCOLS))
    known = protocols(name)
    for number, (by, (count, _)) in enumerate(known.items(), 1):
        await count(site, name)
        told = {other: await read(site, name) for other, (_, read) in known.items()}
        assert told == dict.fromkeys(known, number), by

    counting = site.service.counting
    # The site was read only where a page was.
    assert await of_path(counting.counters, counting.types, name) == {
        **dict.fromkeys({*counting.types} - {"time", NO_VIEWS}, 0),
        "time" if name in PAGES else NO_VIEWS: len(known),
    }


@pytest.mark.parametrize("type", ["time", NO_VIEWS])
async def test_no_reader_lowers_what_was_viewed(make_site: Sites, type: str) -> None:
    site = await make_site(COMPAT="badges")
    for name in ("/a", "github.com/u/r"):
        await site.count(name)
        answer = await site.count(name, type=type, action="desc")
        assert answer["errno"]
        assert await site.get("/article", path=name) == 1
