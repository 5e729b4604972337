"""GoatCounter, Abacus and badges beside each other: one counter a page, and one description."""

import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from footfall.compat import ROWS
from footfall.compat.leancloud_fields import id_of
from footfall.model import NO_VIEWS, PROTOCOLS
from footfall.process.process import now_ms
from tests.conftest import Site, Sites

# A protocol is a codec, and asks the store for what others ask.
ON = ("fake",)

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


@dataclass(frozen=True)
class Spoken:
    """How a protocol counts a view of a page, and refuses one: status, and some of its words.

    `others` are for pages of other sites, `often` for who counts too much, and `full` for a page
    that is one too many.
    """

    name: str
    method: str
    url: str
    body: Any = None
    others: tuple[int, str] = (403, "Forbidden")
    often: tuple[int, str] = (429, "Too Many Requests")
    full: tuple[int, str] = (403, "Counter limit reached")

    async def count(
        self, site: Site, page: str, method: str = "", **headers: str
    ) -> httpx.Response:
        body = json.loads(json.dumps(self.body).replace("PAGE", page))
        sent = {"referer": f"https://blog.example/{page}", **headers}
        url = self.url.replace("PAGE", page).replace("ID", id_of(f"/{page}"))
        return await site.http.request(method or self.method, url, json=body, headers=sent)


_INCREMENT = {"time": {"__op": "Increment", "amount": 1}}
_ADDRESS = {"url": "https://blog.example/PAGE"}
SPOKEN = (
    Spoken("goatcounter", "GET", "/count?p=/PAGE"),
    Spoken("abacus", "GET", "/hit/site/PAGE"),
    Spoken("badges", "GET", "/badge/PAGE.svg"),
    Spoken(
        "open-kounter",
        "POST",
        "/api/counter",
        {"action": "inc", "target": "/PAGE"},
        others=(200, "Forbidden"),
        full=(200, "not counted"),
    ),
    Spoken("leancloud", "PUT", "/1.1/classes/Counter/ID", _INCREMENT, full=(403, "not counted")),
    Spoken("busuanzi", "POST", "/api/v2/log", _ADDRESS),
)
every = pytest.mark.parametrize("spoken", SPOKEN, ids=lambda spoken: spoken.name)


async def counters(site: Site) -> int:
    return (await site.store.numbers.total()).number


def said(answer: httpx.Response) -> str:
    return f"{answer.text} {answer.headers}"


@every
async def test_each_is_there_alone_and_only_if_it_is_named(
    make_site: Sites, spoken: Spoken
) -> None:
    for named in ("", spoken.name):
        site = await make_site(COMPAT=named)
        found = [each.name for each in SPOKEN if (await each.count(site, "one")).status_code != 404]
        assert found == ([named] if named else [])


@every
async def test_only_its_own_method_counts(make_site: Sites, spoken: Spoken) -> None:
    site = await make_site(COMPAT=spoken.name)
    for method in ("HEAD", "OPTIONS", "DELETE", "PATCH"):
        answer = await spoken.count(site, "one", method)
        assert answer.status_code in (200, 204, 400, 405), method
        assert answer.headers["access-control-allow-origin"] == "*"
    assert await counters(site) == 0


@every
async def test_nothing_keeps_an_answer_of_what_counts(make_site: Sites, spoken: Spoken) -> None:
    site = await make_site(COMPAT=spoken.name)
    for number in (1, 2):
        answer = await spoken.count(site, "one", **{"if-none-match": "*"})
        assert (answer.status_code, "etag" in answer.headers) == (200, False), number
        # Nobody keeps what another method than GET has got.
        if spoken.method == "GET":
            assert answer.headers.get_list("cache-control") == ["no-store"]


@every
async def test_pages_of_other_sites_are_refused(make_site: Sites, spoken: Spoken) -> None:
    site = await make_site("203.0.113.9", COMPAT=spoken.name, SECURE_DOMAINS="blog.example")
    evil = {"referer": "https://evil.example/", "origin": "https://evil.example"}
    answer = await spoken.count(site, "one", **evil)
    assert (answer.status_code, spoken.others[1] in said(answer)) == (spoken.others[0], True)
    assert await counters(site) == 0
    assert (await spoken.count(site, "one")).is_success
    assert await counters(site) == 1


@every
async def test_who_counts_too_much_is_told_so(make_site: Sites, spoken: Spoken) -> None:
    site = await make_site("203.0.113.9", COMPAT=spoken.name, COUNTER_RATE="0.01")
    answers = [await spoken.count(site, "one") for _ in range(300)]
    assert (answers[-1].status_code, spoken.often[1] in said(answers[-1])) == (429, True)
    assert int(answers[-1].headers["retry-after"]) > 0


@every
async def test_at_the_limit_of_counters_no_new_one_starts(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch, spoken: Spoken
) -> None:
    site = await make_site(COMPAT=spoken.name)
    monkeypatch.setattr(site.service.counting.quota, "_limit", 1)
    assert (await spoken.count(site, "one")).is_success
    await site.service.counting.quota.read()
    answer = await spoken.count(site, "two")
    assert (answer.status_code, spoken.full[1] in said(answer)) == (spoken.full[0], True)
    assert await counters(site) == 1
    assert (await spoken.count(site, "one")).is_success


@every
async def test_each_view_is_in_its_metrics(make_site: Sites, spoken: Spoken) -> None:
    site = await make_site(COMPAT=spoken.name)
    for _ in range(3):
        await spoken.count(site, "one")
    rows = {row.route for row in ROWS[spoken.name]}
    routes = site.service.process.metrics.routes
    assert sum(dict(routes[route].by_status()).get("200", 0) for route in rows) == 3


async def test_all_are_described(site: Site) -> None:
    described = await site.get("/openapi.json")
    operations = [method for methods in described["paths"].values() for method in methods.values()]
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
