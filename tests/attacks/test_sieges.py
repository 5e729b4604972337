"""Sieges: strangers who keep a pool full that all share. What others request is done meanwhile.

Each is tried from one address, from a /48 of IPv6, and from fifty addresses."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import httpx
import orjson
import pytest

from footfall.accounts.rules import account_mails, attempts, log_ins
from footfall.driver.script_calls import Rate
from footfall.errors import Busy, TooManyAtOnce
from footfall.limits.clients import pool_client_of
from footfall.model import Caller
from tests.conftest import Sites
from tests.support.mailing import settings_of
from tests.support.receivers import MailServer, Receiver, mail_server, receiver

ON = ("valkey",)

OWNER = {"display_name": "Owner", "email": "owner@example.com", "password": "the owner's own"}
TOM = {"display_name": "Tom", "email": "tom@example.com", "password": "tom's own words"}
HOME, CAFE = "198.51.100.7", "198.51.100.8"
FROM = {
    "one address": ["192.0.2.1"],
    "a /48": [f"2001:db8:8:{n:x}::1" for n in range(50)],
    "fifty addresses": [f"192.0.2.{n}" for n in range(50)],
}
# Requests that are on their way at any time.
AT_ONCE = 100

T = TypeVar("T")
Attack = Callable[[str, int], Awaitable[httpx.Response]]


@pytest.fixture(params=FROM)
def attackers(request: pytest.FixtureRequest) -> list[str]:
    return FROM[request.param]


@pytest.fixture(autouse=True)
def without_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attackers have as many tries as they like, so that a siege lasts as long as a test."""
    monkeypatch.setattr(log_ins, "FAILED_SECONDS", 0)
    for name, rate in vars(attempts).copy().items():
        if isinstance(rate, Rate):
            monkeypatch.setattr(attempts, name, Rate(rate.per_second, 1_000_000))
    monkeypatch.setattr(account_mails, "MAIL_RATE", Rate(1, 1_000_000))
    # Letters are put off for less than half a minute.
    monkeypatch.setattr(account_mails, "FIRST_WAIT_SECONDS", 0.5)


async def besieged(
    attackers: list[str], attack: Attack, victim: Callable[[], Awaitable[T]]
) -> tuple[T, Counter[int]]:
    """The victim's answer, and the statuses of the attackers', who never stop meanwhile."""
    is_over, statuses = asyncio.Event(), Counter[int]()
    is_under_way = asyncio.Event()

    async def go_on(n: int) -> None:
        while not is_over.is_set():
            answer = await attack(attackers[n % len(attackers)], n)
            statuses[answer.status_code] += 1
            # What is answered without waiting would leave the event loop to nobody.
            await asyncio.sleep(0)
            if statuses.total() >= AT_ONCE:
                is_under_way.set()

    tasks = [asyncio.create_task(go_on(n)) for n in range(AT_ONCE)]
    try:
        async with asyncio.timeout(60):
            await is_under_way.wait()
            answer = await victim()
    finally:
        is_over.set()
        await asyncio.gather(*tasks)
    assert not {status for status in statuses if status >= 500 and status != 503}
    return answer, statuses


def by(address: str) -> dict[str, str]:
    return {"x-forwarded-for": address}


async def test_wrong_passwords_do_not_keep_people_from_logging_in(
    make_site: Sites, attackers: list[str]
) -> None:
    """Who: somebody with a list of passwords, or who wants to keep the owner away from the spam
    queue. What: sends wrong ones all the time. Instead: each client's passwords are compared in
    turn, whether an account knows its browser or not; people can register."""
    site = make_site.without_accounts()
    await site.http.post("/api/user", json=OWNER, headers=by(HOME))

    async def guess(address: str, n: int) -> httpx.Response:
        wrong = {**OWNER, "password": f"guess {n}"}
        return await site.http.post("/api/token", json=wrong, headers=by(address))

    async def people() -> list[Any]:
        return [
            (await site.http.post(path, json=person, headers=by(address))).json()["errno"]
            for path, person, address in (
                ("/api/token", OWNER, CAFE),
                ("/api/token", OWNER, HOME),
                ("/api/user", TOM, CAFE),
            )
        ]

    answers, _ = await besieged(attackers, guess, people)
    assert answers == [0, 0, 0]


@pytest.fixture
def verifier() -> Iterator[Receiver]:
    with receiver() as found:
        found.answer = lambda path, body: (200, orjson.dumps({"success": b"=good" in body}))
        yield found


async def test_wrong_captchas_do_not_keep_people_from_writing(
    make_site: Sites, attackers: list[str], verifier: Receiver
) -> None:
    """Who: a robot. What: posts comments with invented tokens, each of which has to be asked
    about. Instead: clients ask in turn, and logins by other services do not wait for captchas."""
    site = await make_site(TURNSTILE_SECRET="secret", TURNSTILE_URL=verifier.url)

    async def post(address: str, token: str, text: str) -> httpx.Response:
        draft = {"comment": text, "url": "/p", "nick": "Ann", "turnstile": token}
        return await site.http.post("/api/comment", json=draft, headers=by(address))

    answer, statuses = await besieged(
        attackers,
        lambda address, n: post(address, "bad", f"spam {n}"),
        lambda: post(HOME, "good", "hello"),
    )
    assert answer.json()["errno"] == 0
    assert 200 not in statuses


@pytest.fixture
def mails() -> Iterator[MailServer]:
    with mail_server() as found:
        yield found


async def test_letters_that_a_server_puts_off_do_not_keep_others_back(
    make_site: Sites, attackers: list[str], mails: MailServer
) -> None:
    """Who: somebody who registers with addresses of a server that puts off every letter. What: each
    is retried for half a minute, and meanwhile counts as under way. Instead: it waits outside
    of the line."""
    # Without emails, nobody has to confirm an address.
    await make_site.without_accounts().http.post("/api/user", json=OWNER, headers=by(HOME))
    site = make_site.without_accounts(**settings_of(mails))
    mails.puts_off = "grey.example"

    async def register(address: str, n: int) -> httpx.Response:
        person = {**TOM, "email": f"{n}.{address.replace(':', '-')}@grey.example"}
        return await site.http.post("/api/user", json=person, headers=by(address))

    async def forgets() -> Any:
        headers, asked = by(CAFE), {"email": OWNER["email"]}
        answer = await site.http.put("/api/user/password", json=asked, headers=headers)
        while not any(to == OWNER["email"] for to, _ in mails.came):
            await asyncio.sleep(0.01)
        return answer.json()

    answer, _ = await besieged(attackers, register, forgets)
    assert answer["errno"] == 0
    # No connection is left to the server when it stops.
    mails.puts_off = "none"
    await site.settled()


async def test_questions_about_statistics_are_answered_in_turn_and_each_once_a_minute(
    make_site: Sites, attackers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: somebody who finds that the statistics are public. What: asks for another period each
    time, which takes milliseconds of the event loop. Instead: one is made at a time, the same
    for all who ask alike, and each client has its turn."""
    site = await make_site(STATISTICS_PUBLIC="all", COMPAT="goatcounter")
    made, under_way, most = Counter[object](), 0, 0
    reports = site.service.statistics.reports
    report = reports.report

    async def counted(path: str | None, first: int, last: int) -> Any:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        made[path, first, last] += 1
        try:
            return await report(path, first, last)
        finally:
            under_way -= 1

    monkeypatch.setattr(reports, "report", counted)
    kinds = ("/api/statistics?", "/api/statistics.csv?", "/counter/TOTAL.json?start=week&")

    async def ask(address: str, n: int) -> httpx.Response:
        url = f"{kinds[n % 3]}from=2023-11-{1 + n % 6:02}&to=2023-11-14"
        return await site.http.get(url, headers=by(address))

    async def owner() -> httpx.Response:
        return await site.http.get("/api/statistics?path=/a", headers=by(HOME))

    first = site.clock.now // 60_000
    answer, _ = await besieged(attackers, ask, owner)
    minutes = 1 + site.clock.now // 60_000 - first
    assert answer.status_code == 200
    assert most == 1
    assert max(made.values()) <= 3 * minutes, "of JSON, of CSV, and of GoatCounter"


async def test_searches_do_not_keep_people_from_reading(
    make_site: Sites, attackers: list[str]
) -> None:
    """Who: somebody who finds that comments can be searched, and has written long ones. What: asks
    for other words each time. Instead: searches are made in turn for each client, outside of the
    event loop, and an address has so many."""
    site = await make_site(SEARCH="true", IPQPS="0")
    for n in range(30):
        await site.post(f"word {n} " * 1_000, nick=f"N{n}")

    async def search(address: str, n: int) -> httpx.Response:
        url = f"/api/comment?type=search&q=nothing+{n}"
        return await site.http.get(url, headers=by(address))

    async def read() -> httpx.Response:
        return await site.http.get("/api/comment?path=/p&pageSize=1", headers=by(HOME))

    answer, statuses = await besieged(attackers, search, read)
    assert answer.json()["data"]["count"] == 30
    assert statuses[200]


async def test_readers_of_one_page_are_not_kept_waiting_by_those_of_a_thousand(
    make_site: Sites, attackers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: a crawler, or somebody with a list of all pages. What: asks for pages that nobody has
    cached. Instead: pages are made in turn for each client."""
    site = await make_site()
    monkeypatch.setattr(site.service.process.pools.pages, "each", 16)
    await site.post("hello")

    async def crawl(address: str, n: int) -> httpx.Response:
        numbers[address] += 1
        url = f"/api/comment?path=/{n}/{numbers[address]}&pageSize=50"
        return await site.http.get(url, headers=by(address))

    async def read() -> httpx.Response:
        return await site.http.get("/api/comment?path=/p", headers=by(HOME))

    numbers = Counter[str]()
    answer, _ = await besieged(attackers, crawl, read)
    assert answer.json()["data"]["count"] == 1


async def test_feeds_that_nobody_has_cached_do_not_keep_feed_readers_waiting(
    make_site: Sites, attackers: list[str]
) -> None:
    """Who: a crawler that follows the feed of each page. What: asks for feeds all the time, of
    pages that there are not. Instead: one is made at a time, and each client has its turn."""
    site = await make_site()
    await site.post("hello")

    async def crawl(address: str, n: int) -> httpx.Response:
        numbers[address] += 1
        url = f"/api/comment/rss?path=/{n}/{numbers[address]}&format=json"
        return await site.http.get(url, headers=by(address))

    async def read() -> httpx.Response:
        url = "/api/comment/rss?path=/p&format=json"
        return await site.http.get(url, headers=by(HOME))

    numbers = Counter[str]()
    answer, _ = await besieged(attackers, crawl, read)
    assert len(answer.json()["items"]) == 1


async def test_long_comments_do_not_keep_people_from_writing(
    make_site: Sites, attackers: list[str]
) -> None:
    """Who: somebody with many addresses, where nothing limits comments. What: writes the longest
    ones, each of which takes long to render. Instead: texts are rendered in turn, by length."""
    site = await make_site(IPQPS="0", COMMENT_LIMIT="0")

    async def write(address: str, text: str) -> httpx.Response:
        numbers[address] += 1
        draft = {"comment": f"{text} {numbers[address]}", "url": f"/{address}", "nick": "Eve"}
        return await site.http.post("/api/comment", json=draft, headers=by(address))

    numbers = Counter[str]()
    answer, _ = await besieged(
        attackers, lambda address, n: write(address, "*a* " * 2_000), lambda: write(HOME, "hello")
    )
    assert answer.json()["errno"] == 0


async def test_logins_by_other_services_that_are_started_do_not_keep_others_from_theirs(
    make_site: Sites, attackers: list[str], verifier: Receiver
) -> None:
    """Who: a robot. What: starts logins by another service and finishes none, each of which asks
    that service. Instead: they are asked in turn for each client."""
    server = "https://comments.example"
    environ = {"OIDC_ISSUER": verifier.url, "OIDC_CLIENT_ID": "x", "SERVER_URL": server}
    site = make_site.without_accounts(**environ)

    async def start(address: str, n: int) -> httpx.Response:
        url = f"/api/oauth?type=oidc&redirect={server}/"
        return await site.http.get(url, headers=by(address))

    # What is served there is no login service, which each of them learns by asking.
    answer, _ = await besieged(attackers, start, lambda: start(HOME, 0))
    assert answer.json()["errmsg"].startswith("The login service is not responding")


async def test_streams_of_strangers_leave_one_for_others(
    make_site: Sites, attackers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: somebody who opens streams of live pages and reads none. What: as many as there may be.
    Instead: each client has a share, and who has most gives way."""
    site = await make_site()
    streams = site.service.process.pools.streams
    monkeypatch.setattr(streams, "capacity", 96)
    monkeypatch.setattr(streams, "of_network", 32)
    evicted = list[str]()
    for n in range(200):
        address = attackers[n % len(attackers)]
        with suppress(TooManyAtOnce, Busy):
            client = pool_client_of(Caller(address=address))
            streams.enter(client, evict=partial(evicted.append, address))
    reader = streams.enter(pool_client_of(Caller(address=HOME)), evict=lambda: None)
    streams.leave(reader)
    assert streams.taken <= 96
    assert len(evicted) <= 1


async def test_readers_behind_a_proxy_that_names_nobody_are_not_one_client(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: nobody; an operator whose proxy does not forward addresses. What: all readers have one
    address, so together they would exceed its share. Instead: such an address has no share."""
    site = await make_site()
    monkeypatch.setattr(site.service.process.pools.pages, "each", 2)
    paths = [f"/api/comment?path=/{n}" for n in range(100)]
    answers = await asyncio.gather(*(site.http.get(path) for path in paths))
    assert {answer.status_code for answer in answers} == {200}
    answers = await asyncio.gather(*(site.http.get(f"{path}x", headers=by(CAFE)) for path in paths))
    assert {answer.status_code for answer in answers} == {200, 429}


async def test_statistics_of_pages_with_long_names_fill_no_memory(make_site: Sites) -> None:
    """Who: somebody with a list of the longest paths. What: asks for the statistics of each, which
    are kept for a minute. Instead: what is kept counts with its path, and is bounded."""
    site = await make_site(STATISTICS_PUBLIC="all", COMPAT="goatcounter")
    answers = site.service.statistics.answers
    for kind in (
        "/api/statistics?path=/{}",
        "/api/statistics.csv?path=/{}",
        "/counter/{}.json?start=week",
    ):
        before = answers.bytes
        path = "a" * 1_000
        answer = await site.http.get(kind.format(path), headers=by(CAFE))
        # GoatCounter's are 404 without views.
        assert answer.status_code in (200, 404)
        assert answers.bytes - before > len(path), kind
