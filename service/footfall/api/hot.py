"""The hot requests: those that a busy site gets most, answered without ASGI (hot_cycle.py).

What to do follows from method, URL and body alone, which most visitors of a page send alike, so
parsed requests are cached by these. Headers differ by visitor and are read for each request.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from sys import getsizeof

from ..domain.counters import lowers_views
from ..domain.site import Site
from ..errors import ServiceError
from ..http.body import parse_json
from ..http.params import MAX_URL, RawRequest, parse_query
from ..http.response import Reply
from ..model import PUBLIC, Caller
from ..telemetry.metrics import Route
from . import comments, counters
from .endpoint import Row, reply_of
from .routes import TABLE

# The size of all cached requests together, and of one, as estimated by HotRequests._keep.
MAX_KEPT_BYTES = 32 * 1024 * 1024
MAX_REQUEST_BYTES = MAX_KEPT_BYTES // 512
# What a cached request takes besides its text: its objects, and its entry in the dictionary.
REQUEST_OVERHEAD_BYTES = 600

_ROUTES = ("article_read", "article_change", "comment_page", "comment_count", "comment_recent")
# (method, path) -> its operations, and True in the layout without prefix.
_ROWS = {
    (row.method.encode(), prefix + row.path.encode()): (
        [each for each in TABLE if (each.method, each.path) == (row.method, row.path)],
        not prefix,
    )
    for row in TABLE
    if row.route in _ROUTES
    for prefix in (b"/api", b"")
}
# A callback that gets Redis's numbers in the order of the request, or what went wrong.
Done = Callable[[list[int] | Exception], None]
# Sends a request's commands to Redis with the next batch, and passes their numbers to the callback.
Send = Callable[[Done], None]
# Makes the reply of these numbers, or a coroutine that will return it.
MakeReply = Callable[[list[int]], Reply | Coroutine[None, None, Reply]]


@dataclass(frozen=True, slots=True)
class HotRequest:
    """A parsed request, without what depends on the visitor.

    A dataclass with slots, since the fields of a named tuple take longer to look up.
    """

    # Its metrics.
    route: Route
    send: Send
    make_reply: MakeReply
    # The counters that it reads, and (name, delta) of those that it changes.
    names: Sequence[str] = ()
    changes: Sequence[tuple[str, int]] = ()


class HotRequests(dict[tuple[bytes, bytes, bytes], HotRequest | None]):
    """(method, URL, body) -> the parsed request; None if an endpoint must answer, also with errors.

    A cache: when it is full all of it is dropped, since to find the oldest costs at every hit.
    """

    def __init__(self, site: Site, *, is_on: bool = True) -> None:
        self._site = site
        self._rows = _ROWS if is_on else {}
        self._bytes = 0

    def may_have(self, method: bytes, url: bytes) -> bool:
        """Could a request with this method and URL be hot, whatever its body is?"""
        return (method, url.partition(b"?")[0]) in self._rows

    def __missing__(self, words: tuple[bytes, bytes, bytes]) -> HotRequest | None:
        try:
            request = self._parsed(*words)
        except ServiceError:
            # The endpoint finds the same error and answers it.
            return None
        if request is not None:
            self._keep(words, request)
        return request

    def _keep(self, words: tuple[bytes, bytes, bytes], request: HotRequest) -> None:
        # The path is stored again in each counter's name and in the parsed request.
        names = [*request.names, *(name for name, _ in request.changes)]
        size = REQUEST_OVERHEAD_BYTES + 4 * sum(map(len, words))
        size += 150 * len(names) + 2 * sum(map(getsizeof, names))
        if size > MAX_REQUEST_BYTES:
            return
        self._bytes += size
        if self._bytes > MAX_KEPT_BYTES:
            self.clear()
            self._bytes = size
        self[words] = request

    def _parsed(self, method: bytes, url: bytes, body: bytes) -> HotRequest | None:
        path, _, query = url.partition(b"?")
        rows, is_bare = self._rows.get((method, path), ((), False))
        # A POST without a body takes its fields from the query, and a GET may have a body: both
        # are rare, and the endpoints handle them.
        if not rows or bool(body) != (method == b"POST") or b"#" in query or len(url) > MAX_URL:
            return None
        values = parse_query(query)
        if "id" in values:
            return None
        type = values.get("type")
        row = next((row for row in rows if row.type == type and type), rows[0])
        request = RawRequest(values, parse_json(body) if body else {}, is_bare=is_bare)
        return _hot_request(self._site, row, request)


def _hot_request(site: Site, row: Row, request: RawRequest) -> HotRequest | None:
    parsed, route = row.parse(request, site), site.process.metrics.routes[row.route]
    if row.route == "article_read":
        return _read(site, route, parsed)
    if row.route == "article_change":
        # A POST with `paths` is a read, which is rare.
        return _change(site, route, parsed) if isinstance(parsed, counters.Change) else None
    if row.route == "comment_page":
        return _page(site, route, parsed) if comments.is_common(site, PUBLIC) else None

    async def run() -> Reply:
        data = await row.run(site, parsed, Caller(PUBLIC, "", ""))
        return reply_of(row, data, parsed, is_bare=request.is_bare)

    # These operations need several round trips, so nothing goes with the batch.
    return HotRequest(route, _send_nothing, lambda numbers: run())


def _send_nothing(done: Done) -> None:
    done([])


def _read(site: Site, route: Route, read: counters.Read) -> HotRequest | None:
    if read.paths is None:
        return None
    names = site.counters.names(read.paths, read.types)
    return HotRequest(route, partial(site.counters.fetch_counts, names), read.reply, names=names)


def _change(site: Site, route: Route, change: counters.Change) -> HotRequest | None:
    if lowers_views(change.changes):
        return None
    changes = site.counters.changes(change.changes)
    add: Send = partial(site.counters.send_changes, changes)
    return HotRequest(route, add, change.reply, changes=changes)


def _page(site: Site, route: Route, page: comments.List) -> HotRequest:
    def send(done: Done) -> None:
        if site.page_cache.has(page):
            site.comments.fetch_version(page.path, done)
        else:
            done([])

    def make_reply(version: list[int]) -> Reply | Coroutine[None, None, Reply]:
        if not version:
            return comments.first_page(site, page)
        kept = comments.kept_page(site, page, *version)
        return kept or comments.common_page(site, page, *version)

    return HotRequest(route, send, make_reply)
