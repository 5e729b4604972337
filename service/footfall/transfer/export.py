"""Reads stored data as Waline's records, one at a time, while services run.

A comment that changes meanwhile may come twice. Secrets of logins are left out unless requested;
data without a field in Waline, such as regions, is always left out.
"""

from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any

import orjson

from ..accounts.store import codec as account_codec
from ..accounts.store.accounts import AccountStore
from ..comments.store import codec
from ..comments.store.status import status_in
from ..driver.walks import walked
from ..ids import created_ms, digest, is_short
from ..maintenance.archive import Line, count_of
from ..maintenance.backup import pages, walked_hash
from ..maintenance.dataset import DataSet
from ..model import Account, Comment, StoredComment, iso

TABLES = ("Comment", "Counter", "Users")

Record = dict[str, Any]
# Called with a sentence for each damaged entry that is left out.
Complain = Callable[[str], None]


class Export:
    def __init__(
        self,
        data: DataSet,
        accounts: AccountStore,
        complain: Complain,
        *,
        has_secrets: bool = False,
    ) -> None:
        self._data = data
        self._accounts = accounts
        self._complain = complain
        self._has_secrets = has_secrets

    def records(self, table: str) -> AsyncIterator[Record]:
        """The records of Comment, Counter or Users. Raises StoreUnavailable."""
        if table == "Comment":
            return self.comments()
        return self.counters() if table == "Counter" else self.users()

    async def rows(self, table: str) -> AsyncIterator[bytes]:
        """The rows as JSON."""
        async for record in self.records(table):
            yield orjson.dumps(record)

    async def comments(self) -> AsyncIterator[Record]:
        async for page, line in pages(self._data, self._complain):
            rows = list(self._of_line(page, line))
            ids = {comment.account for comment, *_ in rows} - {""}
            authors = await self._accounts.by_ids(ids)
            for comment, likes, status, is_pinned in rows:
                yield _comment(comment, authors.get(comment.account)) | {
                    "like": likes,
                    "status": status,
                    "sticky": is_pinned,
                }

    def _of_line(self, page: str, line: Line) -> list[tuple[Comment, int, str, bool]]:
        rows = list[tuple[Comment, int, str, bool]]()
        for short, body, private, likes, status, is_pinned in line["comments"]:
            try:
                parsed = codec.parse_body(body.encode())
                stored = StoredComment(short + page, line["path"], parsed, private=private.encode())
                comment = codec.comment(stored)
            except (TypeError, ValueError) as error:
                self._complain(f"page {line['path']}: comment {short}: {error}")
            else:
                rows.append((comment, likes, status_in(status), is_pinned))
        return rows

    async def counters(self) -> AsyncIterator[Record]:
        """The counters of a path are one record, unless their names are long."""
        async for key, counts in walked(self._data.redis, self._data.keys.every_counts()):
            paths: defaultdict[str, dict[str, int]] = defaultdict(dict)
            for name, count in counts.items():
                try:
                    type, _, path = name.decode().partition(" ")
                    paths[path][type] = count_of(count)
                except ValueError as error:
                    self._complain(f"counters {key}: {name!r}: {error}")
            for path, numbers in paths.items():
                yield {"objectId": digest(path), "url": path, **numbers}

    async def users(self) -> AsyncIterator[Record]:
        async for pairs in walked_hash(self._data.redis, self._data.keys.accounts):
            for id, body in pairs:
                account = account_codec.account(id.decode(), body)
                yield _user(account) | (await self._secrets(account.id))

    async def _secrets(self, id: str) -> Record:
        stored = await self._accounts.by_id(id) if self._has_secrets else None
        if stored is None:
            return {}
        credentials = stored.credentials
        secrets = {"password": credentials.password, "2fa": credentials.totp}
        return {name: value for name, value in secrets.items() if value} | dict(
            credentials.identities
        )


def _comment(comment: Comment, author: Account | None) -> Record:
    at = iso(comment.at)
    fields = {
        "objectId": comment.id,
        "user_id": comment.account,
        "comment": comment.source,
        "insertedAt": at,
        "ip": comment.address,
        "link": author.link if author else comment.link,
        "mail": author.mail if author else comment.mail,
        "nick": author.nick if author else comment.nick,
        "pid": comment.parent,
        "rid": comment.root,
        "ua": comment.ua,
        "url": comment.path,
        "createdAt": at,
        "updatedAt": at,
    }
    return {name: value for name, value in fields.items() if value}


def _user(account: Account) -> Record:
    fields: Mapping[str, Any] = {
        "objectId": account.id,
        "display_name": account.nick,
        "email": account.mail,
        "type": account.role,
        "label": account.label,
        "url": account.link,
        "avatar": account.avatar,
        "createdAt": iso(created_ms(account.id)) if is_short(account.id) else None,
    }
    return {name: value for name, value in fields.items() if value}


async def archive(
    rows: Callable[[str], AsyncIterator[bytes]], tables: tuple[str, ...], now_ms: int
) -> AsyncGenerator[bytes]:
    """Waline's archive, in pieces; `rows` gives the records of a table as JSON."""
    head = {"type": "waline", "version": 1, "time": now_ms, "tables": tables}
    yield orjson.dumps(head)[:-1] + b',"data":{'
    for number, table in enumerate(tables):
        yield b'%b"%b":[' % (b"," if number else b"", table.encode())
        between = b"\n"
        async for row in rows(table):
            yield between + row
            between = b",\n"
        yield b"\n]"
    yield b"}}"
