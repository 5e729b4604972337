"""The title of a page of the site, as its HTML has it, bounded in time and in bytes."""

import codecs
import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urljoin

import httpx2

from .fetch import OPTIONS, BoundedTransport, asking
from .targets import origin_of

# Of the page, from its start; a title comes early.
MAX_HEAD_BYTES = 64 * 1024
MAX_TITLE_CHARACTERS = 200
# Such as from /a to /a/.
MAX_REDIRECTS = 3
_TITLE = re.compile(r"<title\b[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_HEADERS = {"user-agent": "Footfall (titles of pages)", "accept-encoding": "identity"}


async def title_of(url: str) -> str:
    """ "" for a page without a title, or that is not there. Follows redirects within the site.
    Raises ProviderUnavailable."""
    async with asking(), _client() as client:
        for _ in range(MAX_REDIRECTS + 1):
            async with client.stream("GET", url) as answer:
                if not answer.has_redirect_location:
                    return await _title_in(answer)
                target = urljoin(url, answer.headers["location"])
            if origin_of(target) != origin_of(url):
                return ""
            url = target
    return ""


@asynccontextmanager
async def _client() -> AsyncIterator[httpx2.AsyncClient]:
    options = {**OPTIONS, "headers": _HEADERS}
    async with httpx2.AsyncClient(transport=BoundedTransport(), **options) as client:
        yield client


async def _title_in(answer: httpx2.Response) -> str:
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if answer.status_code != 200 or kind not in ("text/html", "application/xhtml+xml"):
        return ""
    head = bytearray()
    async for chunk in answer.aiter_raw():
        head += chunk
        if len(head) >= MAX_HEAD_BYTES or b"</title" in head.lower():
            break
    match = _TITLE.search(head[:MAX_HEAD_BYTES].decode(_encoding(answer), errors="replace"))
    return " ".join(html.unescape(match[1]).split())[:MAX_TITLE_CHARACTERS] if match else ""


def _encoding(answer: httpx2.Response) -> str:
    name = answer.charset_encoding or ""
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "utf-8"
