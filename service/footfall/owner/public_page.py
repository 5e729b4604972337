"""/statistics: the numbers that a site's owner shows to everybody, or to those who have a link."""

import asyncio
from collections.abc import Mapping
from functools import partial
from hmac import compare_digest
from typing import NamedTuple

from starlette.types import Receive, Scope, Send

from ..errors import ServiceError, StoreUnavailable
from ..http.client import headers_of
from ..http.policy import Policy
from ..http.response import NO_STORE, Response
from ..model import PUBLIC, Caller, StatisticsPublic
from ..render.page_address import page_address
from ..site import Site
from ..statistics.answers import once_a_minute
from ..statistics.page_list import PageList
from ..statistics.reports import Report
from ..table.sending import failure, send_answer
from .day_table import chart_of, kept_of, period_of, rows_of, shown, sources_of
from .overview import PERIOD_DAYS, RANKED_DAYS, RANKED_PAGES, History, history, readable
from .pages import HTML, POLICY, Asked, asked_of, filled_page, frame_of
from .periods import last_days
from .statistics_page import SHOWN_SOURCES, audience_of

# It is made again each minute, in the language of the browser.
KEPT = ((b"cache-control", b"public, max-age=60"), (b"vary", b"accept-language"))
# Where the admin UI's files are.
UP = "ui/"


class Numbers(NamedTuple):
    """What is public; None for what is not, or is damaged."""

    views: int | None
    comments: int
    today: Report | None
    pages: PageList | None
    history: History | None


class PublicPage:
    """It as an ASGI application."""

    def __init__(self, site: Site, policy: Policy, values: Mapping[str, str]) -> None:
        self._site = site
        self._policy = policy
        self._values = values

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope["headers"])
        asked = asked_of(scope, headers, self._site, self._values)
        client = scope.get("client") or ("", 0)
        caller = Caller(address=self._policy.proxies.address_of(client, headers))
        try:
            answer = await self._answer(asked, caller)
        except StoreUnavailable as error:
            scope["refused"] = type(error).__name__
            answer = _response(503, await _filled(asked, "away.html", {}))
        except ServiceError as error:
            answer = failure(scope, error, "", f"{scope['method']} {scope['path']}")
        await send_answer(send, answer, has_body=scope["method"] != "HEAD")

    async def _answer(self, asked: Asked, caller: Caller) -> Response:
        """Raises TooManyAtOnce, Busy, StoreUnavailable."""
        token = asked.query.get("token", "")
        level = await self._level_of(token)
        if level == "none":
            return _response(404, await _filled(asked, "nowhere.html", {}))
        key = "public page", level, asked.words.language
        body = await once_a_minute(
            self._site.statistics, key, partial(self._page, asked, level), caller
        )
        # A withdrawn link ends at once, also in caches.
        return Response(200, body, KEPT, POLICY, type=HTML) if not token else _response(200, body)

    async def _level_of(self, token: str) -> StatisticsPublic:
        if not token:
            return self._site.accounts.rules.statistics
        link = await self._site.statistics.site_views.shared()
        is_valid = bool(link) and compare_digest(token.encode(errors="replace"), link.encode())
        return "all" if is_valid else "none"

    async def _page(self, asked: Asked, level: StatisticsPublic) -> bytes:
        site = self._site
        statistics, reports = site.statistics, site.statistics.reports
        month = last_days(PERIOD_DAYS, reports.today())
        week = last_days(RANKED_DAYS, reports.today())
        tells_pages = reports.is_on and level in ("top", "all")
        tells_days = reports.is_on and level == "all"
        numbers = Numbers(
            await readable(statistics.views_ever.total()),
            await statistics.comments_total(PUBLIC),
            await readable(reports.today_of_site()) if reports.is_on else None,
            await readable(reports.pages(week.first, week.last, None)) if tells_pages else None,
            await history(site, None, month) if tells_days else None,
        )
        values = await asyncio.to_thread(_values, numbers, asked)
        return await _filled(asked, "public.html", values)


def _response(status: int, body: bytes) -> Response:
    return Response(status, body, (NO_STORE,), POLICY, type=HTML)


async def _filled(asked: Asked, template: str, values: Mapping[str, object]) -> bytes:
    return await filled_page(template, {**frame_of(asked, "", (), up=UP), **values})


def _values(numbers: Numbers, asked: Asked) -> dict[str, object]:
    words, reports, past = asked.words, asked.site.statistics.reports, numbers.history
    report = past.report if past else None
    kept = kept_of(report or numbers.today, reports)
    rows = rows_of(report, past.before, words) if past and report else []
    pages = numbers.pages.chosen("views")[:RANKED_PAGES] if numbers.pages else []
    has_visitors = kept.visitors
    return {
        "views": numbers.views,
        "comments": numbers.comments,
        "today": numbers.today
        and period_of(words.say("today"), numbers.today, None, words, has_visitors=has_visitors),
        "kept": kept,
        "pages": [
            (shown(page.path), page_address(page.path, asked.site_url), page.people)
            for page in pages
        ],
        "ranked_days": RANKED_DAYS,
        "days": PERIOD_DAYS,
        "rows": rows[::-1],
        "chart": chart_of(rows, words, has_visitors=has_visitors) if rows else None,
        "sources": sources_of(past.sources, report, words, SHOWN_SOURCES) if past else [],
        "audience": audience_of(past, words),
    }
