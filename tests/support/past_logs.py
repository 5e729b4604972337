"""Logs as web servers write them, of requests that a test makes up."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from footfall.data.store import Store
from footfall.statistics.past_store import PastViews

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/142.0.0.0 Safari/537.36"
)
GPTBOT = "Mozilla/5.0; compatible; GPTBot/1.2; +https://openai.com/gptbot"


class PastRequest(NamedTuple):
    """One at a time with a zone; `target` has its query."""

    at: datetime
    target: str = "/"
    address: str = "192.0.2.1"
    agent: str = FIREFOX
    referer: str = ""
    method: str = "GET"
    status: int = 200


def combined(request: PastRequest) -> str:
    """As nginx and Apache write it."""
    time = request.at.strftime("%d/%b/%Y:%H:%M:%S %z")
    return (
        f'{request.address} - - [{time}] "{request.method} {request.target} HTTP/1.1" '
        f'{request.status} 5120 "{request.referer or "-"}" "{request.agent or "-"}"'
    )


def with_host(request: PastRequest) -> str:
    """As Apache's vhost_combined."""
    return f"example.org:443 {combined(request)}"


def caddy(request: PastRequest) -> str:
    headers = {"User-Agent": [request.agent]} | (
        {"Referer": [request.referer]} if request.referer else {}
    )
    asked = {
        "client_ip": request.address,
        "method": request.method,
        "host": "example.org",
        "uri": request.target,
        "headers": headers,
    }
    line = {"ts": request.at.timestamp(), "request": asked, "status": request.status}
    return json.dumps(line | {"resp_headers": {"Content-Type": ["text/html; charset=utf-8"]}})


def lines(requests: Iterable[PastRequest], form: object = combined) -> str:
    assert callable(form)
    return "".join(f"{form(request)}\n" for request in requests)


def past_views(store: Store, left_ms: int, months: tuple[int, int]) -> PastViews:
    """What adds them, in these two months, the last and this one; each is kept for so long."""
    return PastViews(
        store.redis,
        store.scripts,
        store.keys,
        store.views,
        store.site_views,
        lambda month: left_ms,
        months,
    )
