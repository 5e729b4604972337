"""The data in the pictures of the overview, which `tests.browser.pictures` takes: two months of a
small blog, from a log of its web server."""

import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from playwright.sync_api import Page, expect

from tests.support.commands import invoke
from tests.support.past_logs import CHROME, FIREFOX, GPTBOT, PastRequest, lines

DAYS = 62
# Page -> how often it is read for each hundred views.
READ = {
    "/": 30,
    "/notes/tea": 18,
    "/notes/counters": 14,
    "/about": 9,
    "/photos/lisbon": 8,
    "/notes/sourdough": 7,
    "/notes/harmonic-numbers": 6,
    "/photos/winter": 4,
    "/projects": 3,
    "/notes/quiet-web": 1,
}
# What everybody reads for some days, such as what was found by a large site.
TALKED_OF = "/notes/quiet-web"
SOURCES = (
    "",
    "",
    "",
    "https://www.google.com/",
    "https://news.ycombinator.com/item",
    "https://mastodon.social/",
)
SEARCHER = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


def fill(home: Path, environ: Mapping[str, str], http: httpx.Client) -> None:
    log = home / "access.log"
    log.write_text(lines(requests()))
    done = invoke("import", "access-log", str(log), "--counters", directory=home, environ=environ)
    assert done.exit_code == 0, done.output
    chance = random.Random(2)
    for _ in range(260):
        body = {"path": page(chance, is_talked_of=True), "referrer": chance.choice(SOURCES)}
        headers = {"user-agent": FIREFOX, "x-forwarded-for": address(chance)}
        http.post("/api/article", json=body, headers=headers).raise_for_status()


def requests() -> Iterator[PastRequest]:
    chance = random.Random(1)
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for ago in range(DAYS, 0, -1):
        day = today - timedelta(ago)
        # More from month to month, fewer on Saturdays, and very many of late.
        views = 260 + 2 * (DAYS - ago) - 60 * (day.weekday() == 5) + chance.randrange(60)
        views += {3: 420, 2: 610, 1: 300}.get(ago, 0)
        moments = sorted(chance.randrange(86_400) for _ in range(views))
        for second in moments:
            yield request(chance, day + timedelta(seconds=second), is_talked_of=ago <= 3)


def request(chance: random.Random, at: datetime, *, is_talked_of: bool) -> PastRequest:
    agent = chance.choices([FIREFOX, CHROME, GPTBOT, SEARCHER], [40, 45, 9, 6])[0]
    return PastRequest(
        at, page(chance, is_talked_of=is_talked_of), address(chance), agent, chance.choice(SOURCES)
    )


def page(chance: random.Random, *, is_talked_of: bool) -> str:
    if is_talked_of and chance.random() < 0.5:
        return TALKED_OF
    return chance.choices(list(READ), list(READ.values()))[0]


def address(chance: random.Random) -> str:
    return f"198.51.100.{chance.randrange(220)}"


def open_overview(page: Page, server: str, owner: str) -> None:
    page.context.add_cookies([{"name": "footfall", "value": owner, "url": f"{server}/ui/"}])
    page.goto(f"{server}/ui/")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
