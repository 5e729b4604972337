"""The email about a week: how often the site was viewed, which pages rose, and what waits."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from ..markup import shown_name
from .letter import Letter, Link, Quote
from .mail_words import Words


class PageOfWeek(NamedTuple):
    """A page by its title or path; its views, and how many more than in the week before."""

    name: str
    views: int
    change: int


class Week(NamedTuple):
    """From Monday to Sunday. `views` are by people, `before` those of the week before; `visitors`
    is None if they are not distinguished. `address` is that of the admin UI, "" without
    SERVER_URL."""

    first: date
    last: date
    views: int
    before: int
    visitors: int | None
    pages: Sequence[PageOfWeek]
    rising: Sequence[PageOfWeek]
    comments: int
    waiting: int
    site_name: str
    site_url: str
    address: str


def weekly_letter(words: Words, week: Week) -> Letter:
    say, site = words.say, shown_name(week.site_name) or words.say("yourSite")
    days = f"{week.first.isoformat()} – {week.last.isoformat()}"
    numbers = [say("weekly.views", week.views), say("weekly.before", before=f"{week.before:,}")]
    if week.visitors is not None:
        numbers.append(say("weekly.visitors", week.visitors))
    lines: list[str | Quote] = [say("weekly.opening", site=site, days=days), " ".join(numbers)]
    for name, pages in (("weekly.pages", week.pages), ("weekly.rising", week.rising)):
        if pages:
            lines += [say(name), Quote("\n".join(_row(page) for page in pages))]
    if week.comments:
        lines.append(say("weekly.comments", week.comments))
    if week.waiting:
        lines.append(say("digest.waiting", week.waiting))
    links = [Link(say("owner.review"), f"{week.address}/ui/queue")] if week.waiting else []
    foot: list[str | Link] = [say("weekly.foot", site=site)]
    return Letter(
        words.language,
        say("weekly.subject", week.views, site=site),
        site,
        lines,
        Link(say("weekly.open"), f"{week.address}/ui/statistics") if week.address else None,
        links if week.address else [],
        foot + ([Link(site, week.site_url)] if week.site_url else []),
    )


def _row(page: PageOfWeek) -> str:
    sign = "+" if page.change > 0 else "−" if page.change < 0 else "±"
    return f"{page.name}: {page.views:,} ({sign}{abs(page.change):,})"
