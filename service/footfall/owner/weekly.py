"""What the email about a week tells."""

from datetime import timedelta

from ..markup import visible
from ..notify.weekly_letter import PageOfWeek, Week
from ..site import Site
from ..statistics.calendar import date_of, day_number, period_before
from ..statistics.page_list import ListedPage
from .day_table import shown

PAGES, RISING = 5, 3


async def week_of(site: Site, monday: int, server_url: str) -> Week:
    """The week that starts with this day. Raises StoreUnavailable, and ErrorReply for damage."""
    reports, first = site.statistics.reports, date_of(monday)
    last = first + timedelta(6)
    days = monday, day_number(last)
    before = period_before(*days)
    now, earlier = await reports.report(None, *days), await reports.report(None, *before)
    pages = await reports.pages(*days, before)
    titles = await site.statistics.titles.of(page.path for page in pages.pages)
    waiting, _ = await site.comments.index.held()

    def named(listed: list[ListedPage]) -> list[PageOfWeek]:
        return [
            PageOfWeek(
                visible(titles.get(page.path, "")) or shown(page.path), page.people, page.change
            )
            for page in listed
        ]

    rising = [page for page in pages.chosen("change") if page.change > 0]
    return Week(
        first,
        last,
        now.people,
        earlier.people,
        now.visitors if reports.keeps_visitors else None,
        named(pages.chosen("views")[:PAGES]),
        named(rising[:RISING]),
        sum(page.comments for page in pages.pages),
        waiting,
        site.settings.title,
        site.settings.site_url,
        server_url,
    )
