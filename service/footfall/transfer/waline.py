"""Waline's JSON archive, as its admin pages and this service write it, and rows with its names.

Both kinds of storage are read: with ids and dates as numbers and texts, or as MongoDB's and
LeanCloud's objects; the file that the page saves, or the whole answer of `GET /api/db` around it.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from functools import partial

import orjson

from ..model import STATUSES, Standing, Status
from .databases import opened
from .fields import Fields, Record
from .json_rows import rows
from .rows import AccountRow, CommentRow, CounterRow, ImportRow, ImportRows, Kind, Refusal
from .source import Source
from .values import text, whole

TABLES: dict[str, Kind] = {"Users": "accounts", "Comment": "comments", "Counter": "counters"}
_STATUSES: dict[str, Status] = {"": "approved", **{status: status for status in STATUSES}}
# Fields of a counter that are not counts: ids, names, and what databases add.
NO_COUNTS = {
    "objectId",
    "id",
    "_id",
    "url",
    "path",
    # As Fluid calls the page in LeanCloud.
    "target",
    "title",
    "table",
    "xid",
    "createdAt",
    "updatedAt",
    "insertedAt",
    "created",
    "updated",
    "ACL",
    "__type",
    "className",
    "_class",
    "__v",
    "$loki",
    "meta",
    "_openid",
}
# Names of fields, but for counts.
FIELDS = (
    *("objectId", "url", "path", "insertedAt", "createdAt", "updatedAt", "time"),
    *("comment", "nick", "mail", "link", "ua", "ip", "pid", "rid", "user_id"),
    *("status", "isSpam", "like", "sticky", "ACL"),
    *("display_name", "email", "type", "label", "avatar", "password", "2fa"),
)
_SERVICES = ("github", "twitter", "facebook", "google", "weibo", "qq", "oidc", "huawei")
# The whole answer, instead of the file that the page saves.
_ENVELOPE = re.compile(rb'\{\s*"(errno|errmsg)"')


def read(source: Source) -> ImportRows:
    around = "data.data." if _ENVELOPE.match(source.head(256)) else "data."
    for table, kind in TABLES.items():
        make = partial(rows_of, source, kind)
        yield from rows(source, make, f"{around}{table}.item")


def read_database(source: Source) -> ImportRows:
    """SQLite's; an installation may have a prefix for the names of its tables."""
    with opened(source, "Waline") as db:
        tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        for ending, kind in TABLES.items():
            for (table,) in tables:
                if table.endswith(ending):
                    yield from _rows_of_table(db, table, source, kind)


def _rows_of_table(
    db: sqlite3.Connection, table: str, source: Source, kind: Kind
) -> Iterator[ImportRow]:
    # In double quotes a name is a name, whatever it has.
    quoted = table.replace('"', '""')
    rows = db.execute(f'SELECT * FROM "{quoted}"')  # noqa: S608
    columns = [column[0] for column in rows.description]
    for number, row in enumerate(rows, 1):
        record = dict(zip(columns, row, strict=True))
        yield from rows_of(source, kind, f"{table} {number}", record)


def rows_of(source: Source, kind: Kind, where: str, record: Record) -> Iterator[ImportRow]:
    """The rows of a record with Waline's names. `where` stands for it if it has no id."""
    if kind == "comments":
        return iter([comment(source, record)])
    return iter([account(source, record)]) if kind == "accounts" else counters(where, record)


def id_of(record: Record) -> str:
    value = record.get("objectId") or record.get("id") or record.get("_id")
    return text(value.get("$oid") if isinstance(value, Mapping) else value) or ""


def comment(source: Source, record: Record) -> CommentRow:
    fields = Fields(record, source.zone)
    status: Standing = fields.choice("status", _STATUSES, "waiting")
    if status == "approved":
        status = fields.standing("isSpam", "spam")
    return CommentRow(
        source=id_of(record),
        path=fields.text("url", "path"),
        text=fields.text("comment"),
        at=fields.moment("insertedAt", "time", "createdAt"),
        nick=fields.text("nick"),
        mail=fields.text("mail"),
        link=fields.text("link"),
        ua=fields.text("ua"),
        address=fields.text("ip"),
        parents=tuple(filter(None, (fields.text("pid"), fields.text("rid")))),
        status=status,
        # Some storages have true instead of one.
        likes=1 if record.get("like") is True else fields.number("like"),
        is_pinned=fields.truth("sticky"),
        hidden="" if _is_readable(record.get("ACL")) else "was not public there",
        account=fields.text("user_id"),
        notes=fields.notes,
    )


def _is_readable(acl: object) -> bool:
    """Does an ACL of LeanCloud let everybody read? An object without one is public."""
    if isinstance(acl, str) and acl.strip():
        try:
            acl = orjson.loads(acl)
        except ValueError:
            return False
    if acl is None or acl == "":
        return True
    everybody = acl.get("*") if isinstance(acl, dict) else None
    return isinstance(everybody, dict) and everybody.get("read") is True


def counters(where: str, record: Record) -> Iterator[ImportRow]:
    """A row for each count of a page, and an error for each that is not a number."""
    path = text(record.get("url") or record.get("path") or record.get("target"))
    if not path:
        yield Refusal("counters", where, "has no page")
        return
    for name, value in record.items():
        if name in NO_COUNTS or value is None or value == "":
            continue
        number = whole(value)
        if number is None:
            yield Refusal("counters", f"{where}: {name} {path}", "is not a whole number")
        elif number:
            yield CounterRow(path, name, number)


def account(source: Source, record: Record) -> AccountRow:
    fields = Fields(record, source.zone)
    return AccountRow(
        source=id_of(record),
        nick=fields.text("display_name"),
        mail=fields.text("email"),
        at=fields.moment("createdAt"),
        role=fields.text("type"),
        link=fields.text("url"),
        avatar=fields.text("avatar"),
        label=fields.text("label"),
        password=fields.text("password"),
        totp=fields.text("2fa"),
        identities={name: id for name in _SERVICES if (id := fields.text(name))},
        notes=fields.notes,
    )
