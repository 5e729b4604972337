"""How often a page, or the whole site, was viewed: by day, or by hour."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial

from ..domain.calendar import MAX_DAYS, date_of, day_number, days_between
from ..domain.site import Site
from ..errors import BadRequest
from ..http.params import MAX_PATH, RawRequest
from ..model import Caller
from .fields import Choice, Fields, Found, Text

# What is told if a request does not say from when on.
DAYS = 14
# Characters of a day such as 2026-11-23.
DAY_LENGTH = 10
UNITS = ("day", "hour")


@dataclass(frozen=True, slots=True)
class Series:
    """The views of a page, or with `path` None of the site, from one day such as 20261123 to
    another."""

    path: str | None
    unit: str
    first: int
    last: int

    @classmethod
    def of(cls, found: Found, request: RawRequest, site: Site) -> "Series":
        last = _day(found["to"]) or site.statistics.today()
        first = _day(found["from"]) or site.statistics.days_before(last, DAYS - 1)
        if first > last:
            raise BadRequest({"from": "from need a day that is not behind to"})
        try:
            days_between(first, last)
        except ValueError:
            raise BadRequest(
                {"from": f"from should be at most {MAX_DAYS} days before to"}
            ) from None
        return cls(found["path"], found["unit"], first, last)


def _day(text: str) -> int:
    """0 for none."""
    return day_number(date.fromisoformat(text)) if text else 0


def _judge_day(name: str, text: str, site: Site) -> str:
    try:
        day = date.fromisoformat(text)
        # Other formats are read as well, such as 2026-W48-1.
        is_day = day.isoformat() == text and 1973 < day.year < 9999
    except ValueError:
        is_day = False
    return "" if is_day else f"{name} need a day such as 2026-11-23"


def _day_field(name: str, doc: str) -> Text:
    return Text(name, doc, DAY_LENGTH, check=partial(_judge_day, name))


SERIES = Fields(
    Series.of,
    (
        Text("path", "The page; without it, the whole site", MAX_PATH, None),
        Choice("unit", "Views of each", "day", UNITS, is_word=True),
        _day_field("from", "The first day, such as 2026-11-23; else two weeks before the last"),
        _day_field("to", "The last day; else today"),
    ),
    source="query",
)


async def series(site: Site, parsed: Series, caller: Caller) -> object:
    """The views of each day, or of the hours that are known, in which there were some."""
    statistics, first, last = site.statistics, parsed.first, parsed.last
    if parsed.unit == "hour":
        found = await statistics.hours(parsed.path, first, last)
        views = {_hour(at): number for at, number in sorted(found.items()) if number}
    else:
        days = await statistics.days(parsed.path, first, last)
        views = {date_of(at).isoformat(): number for at, number in days.items()}
    return _told(parsed, views)


def _told(parsed: Series, views: Mapping[str, int]) -> object:
    return {
        "path": parsed.path,
        "unit": parsed.unit,
        "from": date_of(parsed.first).isoformat(),
        "to": date_of(parsed.last).isoformat(),
        "total": sum(views.values()),
        "views": [{"at": at, "views": number} for at, number in views.items()],
    }


def _hour(at: int) -> str:
    """Such as 2026-11-23T16, in the site's time zone."""
    day, hour = divmod(at, 100)
    return f"{date_of(day).isoformat()}T{hour:02}"
