"""Fetches a site's numbers from Vercount, page by page of its sitemap, into a table.

Vercount allows an address eighty requests per minute, so a site of a thousand pages takes a quarter
of an hour: each page is written when it is known, and an interrupted fetch skips those in the
table.
"""

import csv
import gzip
import html
import io
import re
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ..model import OnShare
from .asking import OK, SLEEP, Asking, Wait
from .download import CannotFetch, fetch, is_address

SERVER = "https://events.vercount.one"
SECONDS_A_PAGE = 60 / 80
HEAD = ["path", "time"]
# What the protocol of sitemaps allows of one, and sitemaps that one may name.
MAX_SITEMAP_BYTES, MAX_SITEMAPS = 50 << 20, 1_000

# An address in a sitemap, which has nothing else that looks like it.
_PLACE = re.compile(r"<loc>(?:\s*<!\[CDATA\[)?([^<\]]*)")


class Site(NamedTuple):
    """A site's numbers in addition to those of its pages: other views, and visitors."""

    views: int
    visitors: int


def pages_of(sitemap: str) -> list[str]:
    """The addresses that a sitemap names, by its own address or its file, and those that it names.

    Raises CannotFetch.
    """
    pages, waiting, seen = list[str](), [sitemap], set[str]()
    while waiting and len(seen) < MAX_SITEMAPS:
        name = waiting.pop(0)
        if name not in seen:
            seen.add(name)
            text = _text(name)
            places = [html.unescape(place).strip() for place in _PLACE.findall(text)]
            # Not a file of this machine's, which another one's sitemap may name.
            places = [place for place in places if is_address(place)]
            if "<sitemapindex" not in text:
                pages += places
            else:
                # Nor one of another host, which may be in this machine's network.
                host = urlsplit(name).hostname
                waiting += [each for each in places if not host or urlsplit(each).hostname == host]
    return list(dict.fromkeys(pages))


def _text(sitemap: str) -> str:
    try:
        if not is_address(sitemap):
            return _read(Path(sitemap))
        with tempfile.TemporaryDirectory(prefix="footfall-sitemap-") as directory:
            file = Path(directory, "sitemap.xml")
            fetch(sitemap, file, max_bytes=MAX_SITEMAP_BYTES, stays=True)
            return _read(file)
    except (OSError, EOFError, zlib.error) as error:
        raise CannotFetch(f"{sitemap} cannot be read: {error}") from None


def _read(file: Path) -> str:
    """As much as a sitemap may have; many are compressed."""
    with file.open("rb") as plain:
        is_compressed = plain.read(2) == b"\x1f\x8b"
    with gzip.open(file) if is_compressed else file.open("rb") as whole:
        return whole.read(MAX_SITEMAP_BYTES).decode(errors="replace")


def fetch_views(
    pages: Iterable[str],
    table: Path,
    on_progress: OnShare,
    *,
    server: str = SERVER,
    wait: Wait = SLEEP,
) -> Site:
    """Write what views each page has had into the table. Raises CannotFetch, OSError."""
    pages = list(pages)
    counts = _known(table)
    missing = [page for page in pages if page not in counts]
    site = Site(0, 0)
    with (
        Asking(server, {"Accept": "application/json"}, wait) as asking,
        table.open("a", newline="", encoding="utf-8") as file,
    ):
        rows = csv.writer(file)
        if not counts:
            rows.writerow(HEAD)
        # The site's numbers come with any page's.
        for number, page in enumerate(missing or pages[:1], len(pages) - len(missing) + 1):
            views, site = _asked(asking, page)
            if page not in counts:
                rows.writerow([page, views])
                file.flush()
            on_progress(min(1.0, number / len(pages)))
            wait(SECONDS_A_PAGE)
    views = sum(_known(table).values())
    return Site(max(site.views - views, 0), site.visitors)


def _asked(asking: Asking, page: str) -> tuple[int, Site]:
    status, body = asking.get("/api/v2/log", {"url": page})
    numbers = body.get("data")
    if status != OK or not isinstance(numbers, dict):
        message = str(body.get("message") or body.get("error") or "")[:200]
        raise CannotFetch(f"{asking.server} answered {status}: {message}")
    values = [numbers.get(name) for name in ("page_pv", "site_pv", "site_uv")]
    whole = [number for number in values if isinstance(number, int) and number >= 0]
    if len(whole) < len(values):
        raise CannotFetch(f"{asking.server} did not answer with numbers of views")
    views, *both = whole
    return views, Site(*both)


def _known(table: Path) -> dict[str, int]:
    """The views of the pages in a table; a partial line is cut.

    Raises CannotFetch for a file of something else.
    """
    if not table.exists():
        return {}
    data = table.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    try:
        rows = list(csv.reader(io.StringIO(whole.decode(), newline="")))
        if rows and rows[0] != HEAD:
            raise ValueError("it has another head")
        counts = {page: int(views) for page, views in rows[1:]}
    except (ValueError, csv.Error):
        raise CannotFetch(f"{table} was not fetched from Vercount: name another file") from None
    if whole != data:
        table.write_bytes(whole)
    return counts
