"""What a page of comments would have had if Waline sorted equal keys as we do.

Waline knows whole seconds only, so where a recorded page starts and ends was chance. The
comments that it would have had are on other pages of the same recording: these are sorted, and
divided again.
"""

from collections.abc import Mapping
from typing import Any

from .recording import Row, Scenario, unwrapped, wrapped_like
from .rules import BLANK, ITS_TIME, TIES, Record

DEFAULT_SIZE = 10


def paged(
    row: Row, body: Any, pool: Mapping[int, Record], scenario: Scenario
) -> tuple[Any, set[str]]:
    """(the answer's body with its page divided again, the rules that made a difference)

    `pool` has the recording's comments of the same article or of the site, by number.
    """
    page = unwrapped(body)
    is_list = row.operation == "GET list"
    own = {number_of(record): record for record in (page["data"] if is_list else page)}
    known = own if _is_whole(row, page) else _known(row, own, pool, scenario)
    assert not is_list or _is_whole(row, page) or len(known) == page["count"]
    cut = _cut(row, page, [known[number] for number in _order(row, known)])
    if cut == page:
        return body, set()
    return wrapped_like(body, cut), {TIES, BLANK} if _is_blank(row) else {TIES}


def in_order(body: Any) -> tuple[Any, set[str]]:
    """The same of a moderation queue that is one page."""
    page = unwrapped(body)
    assert page["totalPages"] == 1
    ordered = page | {"data": sorted(page["data"], key=number_of, reverse=True)}
    return (body, set()) if ordered == page else (wrapped_like(body, ordered), {TIES})


def _is_whole(row: Row, page: Any) -> bool:
    """Does the recorded page have all comments?"""
    if row.operation == "GET list":
        return bool(page["page"] == page["totalPages"] == 1)
    return 0 < len(page) < (_wish(row, "count") or DEFAULT_SIZE)


def _known(
    row: Row, own: Mapping[int, Record], pool: Mapping[int, Record], scenario: Scenario
) -> Mapping[int, Record]:
    """All comments that the viewer of a row could see, as other rows show them if this one does
    not."""
    return {
        number: own.get(number) or _as_seen(record, number, row, scenario)
        for number, record in pool.items()
        if scenario.posted[number].index < row.index
        and (record["status"] == "approved" or number in own)
    }


def _cut(row: Row, page: Any, ordered: list[Record]) -> Any:
    if row.operation == "GET recent":
        return ordered[: _wish(row, "count") or DEFAULT_SIZE]
    number, size = _wish(row, "page") or 1, _wish(row, "pageSize") or DEFAULT_SIZE
    return {
        "page": number,
        "totalPages": -(-len(ordered) // size),
        "pageSize": size,
        "count": page["count"],
        "data": ordered[(number - 1) * size : number * size],
    }


def _is_blank(row: Row) -> bool:
    """Does a parameter have a value that means its default: blank, zero or less?"""
    return row.asked("sortBy", "-") == "" or any(
        name in row.query and not _wish(row, name) for name in ("page", "pageSize", "count")
    )


def _wish(row: Row, name: str) -> int:
    """What a row asks for; 0 for nothing, or less."""
    value = row.asked(name)
    return max(int(value), 0) if value else 0


def number_of(record: Record) -> int:
    """8 for "comment 8"."""
    return int(record["objectId"].removeprefix("comment "))


def _order(row: Row, known: Mapping[int, Record]) -> list[int]:
    # Comments were posted one after the other, so a higher number is a younger comment.
    order = row.asked("sortBy") or "insertedAt_desc"
    if order == "insertedAt_asc":
        return sorted(known)
    if order == "like_desc":
        return sorted(known, key=lambda number: (-known[number]["like"], -number))
    return sorted(known, reverse=True)


def _as_seen(record: Record, number: int, row: Row, scenario: Scenario) -> Record:
    """A record from another row, as the viewer of this one sees it, in its variant."""
    hidden = {"insertedAt", "mail", "ip"}
    seen = {name: value for name, value in record.items() if name not in hidden}
    if row.is_bare:
        seen["insertedAt"] = ITS_TIME
    if row.token == "token-1":
        posted = scenario.posted[number]
        seen |= {"mail": posted.fields["mail"], "ip": "127.0.0.1"}
    return seen
