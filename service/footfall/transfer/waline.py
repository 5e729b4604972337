"""Waline's JSON archive, as its migration page and this service write it, and rows in its words.

Both kinds of storages are read: with ids and dates as numbers and texts, or as MongoDB's and
LeanCloud's objects; what the page saves, or the whole answer of `GET /api/db` around it.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from ..model import STATUSES, Status
from .json_rows import rows
from .rows import AccountRow, CommentRow, CounterRow, Kind, Refusal, Row, Rows
from .source import Source
from .values import moment, number, path_of, text, truth

TABLES: dict[str, Kind] = {"Users": "accounts", "Comment": "comments", "Counter": "counters"}
_STATUSES: dict[str, Status] = {status: status for status in STATUSES}
# Fields of a counter that are no counts.
_NO_COUNTS = {"objectId", "id", "_id", "url", "path", "title", "table", "xid"}
_SERVICES = ("github", "twitter", "facebook", "google", "weibo", "qq", "oidc", "huawei")
# The whole answer, and not what the page saves of it.
_ENVELOPE = re.compile(rb'\{\s*"(errno|errmsg)"')

Record = Mapping[str, Any]


def read(source: Source) -> Rows:
    around = "data.data." if _ENVELOPE.match(source.head(256)) else "data."
    for table, kind in TABLES.items():
        make = partial(rows_of, source, kind)
        yield from rows(source, make, f"{around}{table}.item")


def rows_of(source: Source, kind: Kind, where: str, record: Record) -> Iterator[Row]:
    """What a record in Waline's words says. `where` stands for it if it has no id."""
    if kind == "comments":
        return iter([comment(source, record)])
    return iter([account(source, record)]) if kind == "accounts" else counters(where, record)


def id_of(record: Record) -> str:
    value = record.get("objectId") or record.get("id") or record.get("_id")
    return text(value.get("$oid") if isinstance(value, Mapping) else value)


def comment(source: Source, record: Record) -> CommentRow:
    inserted = next((record[name] for name in ("insertedAt", "time", "createdAt")
                     if record.get(name) is not None), None)  # fmt: skip
    return CommentRow(
        source=id_of(record),
        path=path_of(record.get("url") or record.get("path")),
        text=text(record.get("comment")),
        at=moment(inserted, source.zone),
        nick=text(record.get("nick")),
        mail=text(record.get("mail")),
        link=text(record.get("link")),
        ua=text(record.get("ua")),
        address=text(record.get("ip")),
        parents=tuple(filter(None, (text(record.get("pid")), text(record.get("rid"))))),
        # The reference server shows a comment with any other status.
        status=_STATUSES.get(text(record.get("status")), "approved"),
        likes=number(record.get("like")),
        is_pinned=truth(record.get("sticky")),
        account=text(record.get("user_id")),
    )


def counters(where: str, record: Record) -> Iterator[Row]:
    path = path_of(record.get("url") or record.get("path"))
    if not path:
        yield Refusal("counters", where, "has no page")
        return
    for name, value in record.items():
        is_count = isinstance(value, int) or (isinstance(value, str) and value.isdigit())
        if is_count and name not in _NO_COUNTS and value:
            yield CounterRow(path, name, number(value))


def account(source: Source, record: Record) -> AccountRow:
    return AccountRow(
        source=id_of(record),
        nick=text(record.get("display_name")),
        mail=text(record.get("email")),
        at=moment(record.get("createdAt"), source.zone),
        role=text(record.get("type")),
        link=text(record.get("url")),
        avatar=text(record.get("avatar")),
        label=text(record.get("label")),
        password=text(record.get("password")),
        totp=text(record.get("2fa")),
        identities={name: text(record[name]) for name in _SERVICES if text(record.get(name))},
    )
