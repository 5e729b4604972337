"""What bounds each operation that strangers or readers can request, and that it does.

docs/bounds.md is made from this. An operation that is not in `OPEN` fails, unless only moderators
or administrators may request it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from footfall.accounts.rules import attempts
from footfall.comments.rules import room
from footfall.compat import rows_of
from footfall.counting.limits import NEW_BURST_COUNTERS, SAVED_SECONDS, SLOWER
from footfall.driver.script_calls import Rate
from footfall.limits import allowance as allowances
from footfall.limits.buckets import Bucket, of_client
from footfall.limits.clients import pool_client_of
from footfall.limits.pool import Shares
from footfall.limits.pools import Pools
from footfall.model import PROTOCOLS, Account, Caller
from footfall.netaddr import HOMES_IN_A_NETWORK
from footfall.notifications.rules.recipients import SENDER_RATE
from footfall.routes import TABLE
from footfall.table.rows import Row, asking
from footfall.table.who import ADMINISTRATOR, MODERATOR, QUIET_ADMINISTRATOR
from footfall.telemetry.metrics import LIMITS
from tests.conftest import BOB, Site, Sites
from tests.support.admin_ui import SENT
from tests.test_documents import POOLS, is_table

ON = ("fake",)

ADDRESS = "192.0.2.1"
STAFF = (ADMINISTRATOR, QUIET_ADMINISTRATOR, MODERATOR)
MAIL = {
    "SMTP_HOST": "127.0.0.1",
    "SMTP_PORT": "1",
    "SENDER_EMAIL": "from@blog.example",
    "SERVER_URL": "https://comments.example",
}
LOG_INS = {
    "OIDC_ISSUER": "http://127.0.0.1:1",
    "OIDC_CLIENT_ID": "x",
    "SERVER_URL": "https://comments.example",
}
ALL = {"STATISTICS_PUBLIC": "all", "STATISTICS": "visitors"}
DRAFT = {"comment": "hello", "url": "/p", "nick": "Ann"}
GATE = "an old gate"


TIMES = f"{HOMES_IN_A_NETWORK} times that"
RATES = {
    "COUNTER_RATE": (
        "counter changes, likes and searches: CPU, and what Redis writes to its disk",
        f"`COUNTER_RATE` a second, {SAVED_SECONDS} seconds' worth at once",
        TIMES,
        "what Redis can do",
    ),
    "NEW_COUNTER_RATE": (
        "Redis's memory for counters",
        f"`NEW_COUNTER_RATE` a second, {NEW_BURST_COUNTERS} at once, later in a day a {SLOWER}th",
        TIMES,
        "`COUNTER_LIMIT`",
    ),
    "IPQPS": (
        "comments and edits: CPU, notifications, emails to those they reply to",
        "one in `IPQPS` seconds",
        f"{TIMES}; but {SENDER_RATE.capacity} emails to readers at once, then one a minute",
        "`COMMENT_LIMIT`; a reader gets `MAIL_RATE` emails an hour",
    ),
    "COMMENT_LIMIT": (
        "Redis's memory and disk for comments",
        f"a {room.CLIENTS:,}th of it a day",
        TIMES,
        "`COMMENT_LIMIT`",
    ),
    "MAX_CONNECTIONS": (
        "memory of a worker: a connection with a request takes at most its longest body",
        "a third",
        "a third",
        "`MAX_CONNECTIONS`",
    ),
    "attempts": (
        "guesses, registrations, emails that they cause, changes of one's own account",
        "20 to 60 at once, then one in 10 to 300 s",
        TIMES,
        "an account's strangers together 100, then one in 30 s; a mailbox 5, then one in 720 s",
    ),
}


@dataclass(frozen=True)
class Bounded:
    """A request, and the limits that it comes up against. None: its answer is small and takes one
    round trip to Redis, or none, so that it needs no limit but those of connections and of sizes.
    """

    limits: Sequence[str]
    url: str
    body: Any = None
    by: Account | None = None
    environ: Mapping[str, str] | None = None
    headers: Mapping[str, str] | None = None


COUNTING = ("COUNTER_RATE", "NEW_COUNTER_RATE")
PAGE = "https://blog.example/p"
PERIOD = "?start=2026-01-01&end=2026-01-02"
INCREMENT = {"time": {"__op": "Increment", "amount": 1}}
# The object of /p.
LEANCLOUD_COUNTER = "/1.1/classes/Counter/L3A"
LEANCLOUD_FIND = "/1.1/classes/Counter?where=%7B%22url%22:%22/p%22%7D"
OPEN: dict[str, Bounded] = {
    "article_read": Bounded((), "/api/article?path=/p"),
    "article_change": Bounded(COUNTING, "/api/article", {"path": "/p"}),
    "comment_page": Bounded(("pages",), "/api/comment?path=/p"),
    "comment_count": Bounded((), "/api/comment?type=count&url=/p"),
    "comment_recent": Bounded(("pages",), "/api/comment?type=recent"),
    "comment_post": Bounded(("IPQPS", "COMMENT_LIMIT", "rendering"), "/api/comment", DRAFT),
    "comment_edit": Bounded(
        ("COUNTER_RATE", "IPQPS", "COMMENT_LIMIT", "rendering"),
        "/api/comment/{own}",
        {"comment": "other"},
        BOB,
    ),
    "comment_search": Bounded(
        ("COUNTER_RATE", "pages"), "/api/comment?type=search&q=x", environ={"SEARCH": "true"}
    ),
    "comment_report": Bounded(
        ("COUNTER_RATE",), "/api/report", {"id": "{own}"}, environ={"REPORT_AFTER": "3"}
    ),
    "comment_delete": Bounded((), "/api/comment/{own}", by=BOB),
    "comment_queue": Bounded(
        ("COUNTER_RATE",), "/api/comment?type=list&owner=mine&keyword=x", by=BOB
    ),
    "queue_read": Bounded(("COUNTER_RATE",), "/ui/api/queue?owner=mine&keyword=x", by=BOB),
    "feed": Bounded(("feeds",), "/api/comment/rss?path=/p"),
    "live": Bounded(("streams",), "/api/live?path=/p"),
    "token": Bounded((), "/api/token", by=BOB),
    "token_log_in": Bounded(
        ("attempts", "passwords"), "/api/token", {"email": BOB.mail, "password": "x"}
    ),
    "token_log_out": Bounded((), "/api/token", by=BOB),
    "token_second_factor": Bounded(("attempts",), "/api/token/2fa?email=bob@example.com"),
    "token_second_factor_new": Bounded(
        ("attempts",), "/api/token/2fa", {"secret": "A" * 32, "code": "000000"}, BOB
    ),
    "session_list": Bounded((), "/api/token/sessions", by=BOB),
    "session_end": Bounded((), "/api/token/sessions", by=BOB),
    "user_password": Bounded(
        ("attempts", "mails"), "/api/user/password", {"email": BOB.mail}, environ=MAIL
    ),
    "user_verify": Bounded((), "/api/verification?token=x"),
    "user_confirm": Bounded(("attempts",), "/api/verification", {"token": "x", "password": GATE}),
    "user_challenge": Bounded((), "/api/user/challenge"),
    "user_list": Bounded((), "/api/user"),
    "user_register": Bounded(
        ("attempts", "passwords", "mails"),
        "/api/user",
        {"display_name": "New", "email": "new@example.com", "password": GATE},
        environ=MAIL,
    ),
    "user_edit": Bounded(("attempts",), "/api/user", {"display_name": "Other"}, BOB),
    "oauth": Bounded(
        ("attempts", "log_ins"),
        "/api/oauth?type=oidc&redirect=https://comments.example/",
        environ=LOG_INS,
    ),
    "oauth_add": Bounded(
        ("attempts",),
        "/api/oauth",
        {"type": "oidc", "redirect": "https://comments.example/"},
        BOB,
        LOG_INS,
    ),
    "statistics_read": Bounded(("statistics",), "/api/statistics", environ=ALL),
    "statistics_csv": Bounded(("statistics",), "/api/statistics.csv", environ=ALL),
    "statistics_top": Bounded(("statistics",), "/api/statistics/top", environ=ALL),
    "statistics_totals": Bounded(("statistics",), "/api/statistics/totals", environ=ALL),
    # Other counters' protocols.
    "leancloud_find": Bounded((), LEANCLOUD_FIND),
    "leancloud_create": Bounded(COUNTING, "/1.1/classes/Counter", {"url": "/p", "time": 1}),
    "leancloud_increment": Bounded(COUNTING, LEANCLOUD_COUNTER, INCREMENT),
    "leancloud_comments": Bounded((), "/1.1/classes/Comment"),
    "leancloud_comment": Bounded((), "/1.1/classes/Comment", {}),
    "leancloud_batch": Bounded(
        COUNTING,
        "/1.1/batch",
        {"requests": [{"method": "PUT", "path": LEANCLOUD_COUNTER, "body": INCREMENT}]},
    ),
    "open_kounter_read": Bounded((), "/api/counter?target=/p"),
    "open_kounter_count": Bounded(COUNTING, "/api/counter", {"action": "inc", "target": "/p"}),
    "vercount_1_read": Bounded((), f"/api/v1/log?url={PAGE}"),
    "vercount_1_count": Bounded(COUNTING, "/api/v1/log", {"url": PAGE}),
    "vercount_2_read": Bounded((), f"/api/v2/log?url={PAGE}"),
    "vercount_2_count": Bounded(COUNTING, "/api/v2/log", {"url": PAGE}),
    "busuanzi_jsonp": Bounded(COUNTING, "/busuanzi?jsonpCallback=BusuanziCallback_1"),
    "soxft_jsonp": Bounded(COUNTING, "/jsonp?callback=BusuanziCallback_1"),
    "soxft_read": Bounded((), "/api"),
    "soxft_count": Bounded(COUNTING, "/api", headers={"x-bsz-referer": PAGE}),
    "soxft_put": Bounded(COUNTING, "/api", headers={"x-bsz-referer": PAGE}),
    "goatcounter_count": Bounded(COUNTING, "/count?p=/p"),
    "goatcounter_beacon": Bounded(COUNTING, "/count?p=/p"),
    "goatcounter_json": Bounded(("statistics",), f"/counter/p.json{PERIOD}", environ=ALL),
    "goatcounter_svg": Bounded(("statistics",), f"/counter/p.svg{PERIOD}", environ=ALL),
    "goatcounter_html": Bounded(("statistics",), f"/counter/p.html{PERIOD}", environ=ALL),
    "abacus_hit_badge": Bounded(COUNTING, "/hit/site/page/shield"),
    "abacus_get_badge": Bounded((), "/get/site/page/shield"),
    "abacus_hit": Bounded(COUNTING, "/hit/site/page"),
    "abacus_get": Bounded((), "/get/site/page"),
    "abacus_info": Bounded((), "/info/site/page"),
    "badge": Bounded(COUNTING, "/badge/p.svg"),
    "badge_incr": Bounded(COUNTING, "/api/count/incr/badge.svg?url=https://blog.example/p"),
    "badge_keep": Bounded((), "/api/count/keep/badge.svg?url=https://blog.example/p"),
    "badge_ghpvc": Bounded(
        COUNTING, "/ghpvc/?username=ann", headers={"user-agent": "github-camo (1)"}
    ),
    "badge_hits": Bounded(COUNTING, "/hits.example/p.svg"),
}
# Abacus's operations that need its key, or that it has and this service has not, store nothing.
OPEN |= {
    row.route: Bounded((), "")
    for row in rows_of(["abacus"])
    if row.route.startswith("countapi_") or row.route.rpartition("_")[2] in ("get", "post")
    if row.route not in OPEN
}


def is_for_staff(row: Row) -> bool:
    return all(who in STAFF for who in asking(row))


# With a captcha, too: tests/attacks/test_sieges.py.
WITH_CAPTCHA = ("comment_post", "user_register", "token_log_in")


def test_every_operation_is_bounded_or_for_staff_alone() -> None:
    rows = (*TABLE, *rows_of(PROTOCOLS))
    assert {row.route for row in rows if not is_for_staff(row)} == OPEN.keys()
    assert {limit for case in OPEN.values() for limit in case.limits} <= {*LIMITS}


def test_the_document_has_every_operation() -> None:
    """With WRITE_TABLES=1 it is written."""
    by_limits = defaultdict[tuple[str, ...], list[str]](list)
    for route, case in OPEN.items():
        also = ("captchas",) if route in WITH_CAPTCHA else ()
        by_limits[*case.limits, *also].append(f"`{route}`")
    rows = [
        f"| {', '.join(routes)} | {', '.join(f'`{limit}`' for limit in limits) or 'none needed'} |"
        for limits, routes in sorted(by_limits.items(), key=lambda each: -len(each[1]))
    ]
    assert is_table("docs/bounds.md", "| Operations | Limits |", rows)


def test_the_document_has_every_limit() -> None:
    pools = Pools()
    rows = []
    for limit in (each for each in LIMITS if each != "bans"):
        what, *numbers = RATES.get(limit) or (POOLS[limit], *_shares(getattr(pools, limit)))
        rows.append(f"| `{limit}` | {what} | {' | '.join(numbers)} |")
    head = "| Limit | What it bounds | An address | A /48 | All together |"
    assert is_table("docs/bounds.md", head, rows)


def _shares(pool: Shares) -> tuple[str, str, str]:
    return f"{pool.each:,} places", f"{pool.of_network:,}", f"{pool.capacity:,}"


async def shut(site: Site, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this limit refuse whatever ADDRESS and Bob want, and no other one."""
    service, buckets = site.service, site.store.buckets
    if limit in POOLS:
        pool = getattr(service.process.pools, limit)
        pool.enter(pool_client_of(Caller(address=ADDRESS)), pool.each)
    elif limit == "COUNTER_RATE":
        allowance = service.counting.limits.changes
        assert allowance is not None
        allowance.rate = Rate(0.001, 0)
        monkeypatch.setattr(allowances, "ALLOWANCE_TOKENS", 0)
    elif limit == "NEW_COUNTER_RATE":
        service.counting.limits.owes(ADDRESS, 60_000)
    elif limit == "IPQPS":
        rate = service.comments.rules.cooldown
        assert rate is not None
        assert not await buckets.retry_after(of_client(ADDRESS, rate, "comment "))
    elif limit == "COMMENT_LIMIT":
        monkeypatch.setattr(room, "MIN_CLIENT_BYTES", room.TOKEN_BYTES)
        monkeypatch.setattr(room, "CLIENTS", service.comments.room.limit)
        rate = Rate(1 / room.DAY_SECONDS, 1)
        assert not await buckets.retry_after([Bucket(f"written {ADDRESS}", rate)])
    else:
        assert limit == "attempts"
        for name, each in vars(attempts).copy().items():
            if isinstance(each, Rate):
                monkeypatch.setattr(attempts, name, Rate(each.per_second, 0))


CASES = [(route, limit) for route, case in OPEN.items() for limit in case.limits]


@pytest.mark.parametrize(("route", "limit"), CASES)
async def test_each_limit_of_an_operation_refuses_it(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch, route: str, limit: str
) -> None:
    case = OPEN[route]
    row = next(each for each in (*TABLE, *rows_of(PROTOCOLS)) if each.route == route)
    environ = {"COMPAT": ",".join(PROTOCOLS), "COMMENT_LIMIT": "1000000", "IPQPS": "60"}
    site = await make_site(**environ, **(case.environ or {}))
    own = (await site.post("hello", by=BOB))["objectId"]
    await shut(site, limit, monkeypatch)
    headers = {"x-forwarded-for": ADDRESS, **SENT, **(case.headers or {})}
    if case.by:
        headers["authorization"] = f"Bearer {case.by.id}"
        headers["cookie"] = f"footfall={case.by.id}"
    before = refusals(site)
    url = case.url.format(own=own)
    answer = await site.http.request(row.method, url, json=case.body, headers=headers)
    assert refusals(site) == {**before, limit: before[limit] + 1}, answer.text


def refusals(site: Site) -> dict[str, float]:
    return dict(site.service.process.metrics.limits.totals())
