"""GoatCounter, Abacus and badges beside each other: one counter a page, and one description."""

import asyncio
import random
from collections import Counter
from typing import Any
from urllib.parse import quote

import pytest

from footfall.api.compat import ROWS
from footfall.domain.process import now_ms
from footfall.model import NO_VIEWS, PROTOCOLS
from tests.conftest import Site, Sites
from tests.support.codecs import kind as kind

NAMES = ("goatcounter", "abacus", "badges")
OWN = [row for name in NAMES for row in ROWS[name]]


@pytest.fixture
async def site(make_site: Sites) -> Site:
    return await make_site(COMPAT=",".join(NAMES))


async def test_a_page_is_one_counter_in_every_protocol_and_spelling(site: Site) -> None:
    page = "/2020/你好/"
    encoded = quote(page)
    asked = (
        ("GET", f"/count?p={encoded}"),
        ("POST", f"/count?p={quote(encoded)}"),
        ("GET", f"/badge{encoded}.svg"),
        ("GET", f"/badge/{quote(encoded.lstrip('/'))}.svg"),
        ("GET", f"/api/count/incr/badge.svg?url={encoded}"),
        ("POST", f"/article?path={encoded}"),
    )
    times = 10
    await asyncio.gather(*(site.http.request(*each) for each in asked * times))
    assert await site.get("/article", path=page) == len(asked) * times
    assert await site.get("/article", path=encoded) == len(asked) * times
    assert (await site.store.numbers.total()).number == 1


async def test_first_hits_at_once_are_each_told_another_number(site: Site) -> None:
    hits = await asyncio.gather(*(site.get("/hit/site.example/visits") for _ in range(50)))
    assert sorted(hit["value"] for hit in hits) == [*range(1, 51)]


@pytest.mark.parametrize("name", NAMES)
async def test_each_is_there_alone(make_site: Sites, name: str) -> None:
    site = await make_site(COMPAT=name)
    urls = {"goatcounter": "/count?p=/a", "abacus": "/hit/site/key", "badges": "/badge/a.svg"}
    found = {each: (await site.http.get(url)).status_code for each, url in urls.items()}
    assert found == {each: 200 if each == name else 404 for each in urls}


async def test_all_are_described(site: Site) -> None:
    described = await site.get("/openapi.json")
    operations = [each for methods in described["paths"].values() for each in methods.values()]
    named = Counter(each["operationId"] for each in operations)
    assert max(named.values()) == 1
    for row in OWN:
        (prefix,) = row.prefixes
        operation = described["paths"][prefix.path + row.template][row.method.lower()]
        good = operation["responses"][str(row.answer.status)]["content"]
        assert row.answer.media in good
        there = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
        assert there == {*row.variables}


# What strangers write into addresses.
PIECES = (
    *(
        "",
        "/",
        "//",
        ".",
        "..",
        "a",
        "%2F",
        "%00",
        "%FF",
        "%E4%BD%A0",
        "%25",
        "%",
        "%zz",
        "你",
        "é",
    ),
    *(
        "TOTAL",
        ":HOST:",
        ":PATHNAME:",
        "shield",
        "<b>",
        "%22",
        "%0d%0a",
        "+",
        ";",
        "😀",
        "%F0%9F%98",
    ),
    *("1" * 30, "-1", "true", "null", "[]", "{}", "1e9", "٣", "week", "2026-02-30", "x" * 70),
)


@pytest.mark.parametrize("seed", range(4))
async def test_nothing_that_a_stranger_sends_is_an_error_of_ours(site: Site, seed: int) -> None:
    """Each answer is compared with the description by the client."""
    chance = random.Random(seed)

    def some(most: int) -> str:
        return "".join(chance.choices(PIECES, k=chance.randint(0, most)))

    for row in OWN:
        (prefix,) = row.prefixes
        names = [
            field.name for shape in row.fields.shapes for field in getattr(shape, "fields", ())
        ]
        for _ in range(8):
            path = prefix.path + row.template
            for name in row.variables:
                # Only a page may have slashes: with them, other names are another path.
                text = some(3) if name == "page" else some(3).replace("/", "").replace("%2F", "")
                path = path.replace(f"{{{name}}}", text or "a")
            queried = chance.choices([*names, "type", "id", "lang", "callback", "x"], k=4)
            query = "&".join(f"{name}={some(2)}" for name in queried)
            headers: dict[str, Any] = {
                "referer": quote(f"https://{some(2)}/{some(3)}", safe="/:%[]"),
                "user-agent": chance.choice(["", "github-camo", "x" * 3000]),
            }
            answer = await site.http.request(
                chance.choice([row.method, "HEAD"]), f"{path}?{query}", headers=headers
            )
            assert answer.status_code < 500, (path, query, answer.text)
            assert answer.headers["access-control-allow-origin"] == "*"


async def test_what_is_no_page_is_no_view_of_the_site(make_site: Sites) -> None:
    site = await make_site(COMPAT=",".join(PROTOCOLS), STATISTICS_PUBLIC="all")
    site.clock.now = now_ms()
    targets = [{"target": name} for name in ("site-pv", "site-uv", "/a")]
    await site.send("POST", "/api/counter", {"action": "batch_inc", "requests": targets})
    await site.get("/hit/namespace/key")
    await site.http.get("/github.com/user/repository.svg")
    assert (await site.get("/api/statistics"))["data"]["total"] == 1
    assert await site.get("/article", path="site-pv", type=NO_VIEWS) == 1
    assert (await site.get("/api/counter", target="site-pv"))["data"]["time"] == 1
