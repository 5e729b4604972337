"""The pages of a period as a table of an owner's page."""

from collections.abc import Mapping
from typing import NamedTuple

from ..counters import VIEWS
from ..counting.rules import Counting
from ..http.params import MAX_PATH
from ..render.page_address import page_path
from ..statistics.page_list import COLUMNS, ListedPage, PageList
from .day_table import shown
from .overview import readable
from .pages import Asked
from .periods import Span

ROWS = 25
# Such as 40 pages of 25.
MAX_FIRST = 1_000


class PageRow(NamedTuple):
    """A page's numbers as text; `address` is "" where a link to it would be too long."""

    name: str
    title: str
    address: str
    views: str
    visitors: str
    change: str
    comments: str


class Column(NamedTuple):
    """`address` orders the table by this column, which `is_chosen` if it is now."""

    name: str
    address: str
    is_chosen: bool


async def titles_of(asked: Asked, pages: PageList | None) -> Mapping[str, str]:
    """The titles of these pages, as far as they are known. Raises StoreUnavailable."""
    paths = [page.path for page in pages.pages] if pages else []
    return await readable(asked.site.statistics.titles.of(paths)) or {}


async def known_page(counting: Counting, typed: str, site_url: str) -> str | None:
    """The page that somebody means who types, or pastes, this; None if there is none of the kind
    that was viewed. Raises StoreUnavailable, and ErrorReply for damage."""
    path = page_path(typed, site_url)
    # As it stands first: themes choose keys of their own.
    spelled = [typed, counting.page_of(typed), path, counting.page_of(path)]
    spelled += [name.rstrip("/") if name.endswith("/") else f"{name}/" for name in spelled]
    paths = [name for name in dict.fromkeys(spelled) if name and len(name) <= MAX_PATH]
    counts = await counting.counters.read(counting.counters.names(paths, [VIEWS]))
    return next((path for path, count in zip(paths, counts, strict=True) if count), None)


def table_of(
    pages: PageList,
    titles: Mapping[str, str],
    asked: Asked,
    span: Span,
    words: str,
    *,
    most: int = ROWS,
) -> dict[str, object]:
    """The values of the template: the pages with these words in their path or title, some at a
    time."""
    by = chosen_order(asked)
    found = pages.chosen(by, words, titles)
    first = _first(asked.query.get("first", ""))
    fields = span.fields() | ({"path": words} if words else {})

    def link(**more: str) -> str:
        address = asked.link("statistics", **fields, **more)
        return address and f"{address}#pages"

    order = {"by": by} if by != "views" else {}
    return {
        "columns": [Column(name, link(by=name), name == by) for name in _columns(asked, pages)],
        "pages": [
            _row(page, titles.get(page.path, ""), asked, span)
            for page in found[first : first + most]
        ],
        "found": len(found),
        "is_whole": pages.is_whole,
        "newer": link(**order, first=str(max(0, first - most))) if first else "",
        "older": link(**order, first=str(first + most)) if first + most < len(found) else "",
        "csv": asked.link("statistics.csv", table="pages", **span.fields(), **order, words=words),
    }


def chosen_order(asked: Asked) -> str:
    """The column by which pages are ordered."""
    by = asked.query.get("by", "")
    return by if by in COLUMNS else "views"


def _columns(asked: Asked, pages: PageList) -> list[str]:
    left = set[str]()
    if not asked.site.statistics.reports.keeps_visitors:
        left.add("visitors")
    if all(page.before is None for page in pages.pages):
        left.add("change")
    return [name for name in COLUMNS if name not in left]


def _first(text: str) -> int:
    return min(int(text), MAX_FIRST) if text.isascii() and text.isdigit() and len(text) < 5 else 0


def _row(page: ListedPage, title: str, asked: Asked, span: Span) -> PageRow:
    words = asked.words
    address = asked.link("statistics", path=page.path, **span.fields())
    return PageRow(
        shown(page.path),
        shown(title),
        address if len(page.path) <= MAX_PATH else "",
        words.number(page.people),
        words.number(page.visitors),
        words.signed(page.change),
        words.number(page.comments),
    )
