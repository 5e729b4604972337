"""The hot requests: what a busy site's visitors ask, answered without ASGI (hot_cycle.py).

What a request asks follows from its method, URL and body, and most visitors of a page ask in the
same words, so it is remembered. Who asks is in the headers, which are looked at each time.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from sys import getsizeof

from ..domain.counters import lowers_views, trials_of
from ..domain.service import Service
from ..errors import ServiceError
from ..http.body import parse_json
from ..http.params import MAX_URL, RawRequest, parse_query
from ..http.response import Reply
from ..model import PUBLIC, Caller
from ..telemetry.metrics import Route
from . import comments, counters
from .endpoint import Row, said_of
from .routes import TABLE

# Of requests that are remembered, and of one of them, as far as they can be told.
MAX_KEPT_BYTES = 32 * 1024 * 1024
MAX_REQUEST_BYTES = MAX_KEPT_BYTES // 512
# What a request takes beside its words: objects, and its place in the dictionary.
REQUEST_OVERHEAD_BYTES = 600

_ROUTES = ("article_read", "article_change", "comment_page", "comment_count", "comment_recent")
# (method, path) -> its operations, and whether in the layout without prefix.
_ROWS = {
    (row.method.encode(), prefix + row.path.encode()): (
        [each for each in TABLE if (each.method, each.path) == (row.method, row.path)],
        not prefix,
    )
    for row in TABLE
    if row.route in _ROUTES
    for prefix in (b"/api", b"")
}


# Hears the numbers that were asked for, in order, or what went wrong.
Done = Callable[[list[int] | Exception], None]
# Asks Redis for numbers, and says to whom they go.
Ask = Callable[[Done], None]
# The answer that they make, or what will find it.
Say = Callable[[list[int]], Reply | Coroutine[None, None, Reply]]


@dataclass(frozen=True, slots=True)
class HotRequest:
    """What is asked, whoever asks it. No named tuple, whose fields take longer to look up."""

    # Where it is counted, among the metrics.
    route: Route
    ask: Ask
    say: Say
    # Of counters: those it reads, and (name, delta) of those it changes.
    names: Sequence[str] = ()
    changes: Sequence[tuple[str, int]] = ()


class HotRequests(dict[tuple[bytes, bytes, bytes], HotRequest | None]):
    """(method, URL, body) -> what is asked; None for what the endpoints answer, errors too.

    What was understood is kept until it is too much: then all of it is forgotten.
    """

    def __init__(self, service: Service, *, is_on: bool = True) -> None:
        self._service = service
        self._rows = _ROWS if is_on else {}
        self._bytes = 0

    def may_have(self, method: bytes, url: bytes) -> bool:
        """Could it be one, whatever its body is?"""
        return (method, url.partition(b"?")[0]) in self._rows

    def __missing__(self, words: tuple[bytes, bytes, bytes]) -> HotRequest | None:
        try:
            request = self._parsed(*words)
        except ServiceError:
            # The endpoint will find the same, and has the words for it.
            return None
        if request is not None:
            self._keep(words, request)
        return request

    def _keep(self, words: tuple[bytes, bytes, bytes], request: HotRequest) -> None:
        # The path stands once more in each name of a counter, and in what was parsed.
        names = [*request.names, *(name for name, _ in request.changes)]
        size = REQUEST_OVERHEAD_BYTES + 4 * sum(map(len, words))
        size += sum(150 + 2 * getsizeof(name) for name in names)
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
        # A POST without a body asks what its query says, and a body of a GET may mean something:
        # the endpoints know.
        if not rows or bool(body) != (method == b"POST") or b"#" in query or len(url) > MAX_URL:
            return None
        values = parse_query(query)
        if "id" in values:
            return None
        type = values.get("type")
        row = next((row for row in rows if row.type == type and type), rows[0])
        asked = RawRequest(values, parse_json(body) if body else {}, is_bare=is_bare)
        return _hot_request(self._service, row, asked)


def _hot_request(service: Service, row: Row, asked: RawRequest) -> HotRequest | None:
    parsed, route = row.parse(asked, service), service.metrics.routes[row.route]
    if row.route == "article_read":
        return _read(service, route, parsed)
    if row.route == "article_change":
        # A POST may ask to read, too.
        return _change(service, route, parsed) if isinstance(parsed, counters.Change) else None
    if row.route == "comment_page":
        return _page(service, route, parsed) if comments.is_common(service, PUBLIC) else None

    async def run() -> Reply:
        data = await row.run(service, parsed, Caller(PUBLIC, "", ""))
        return said_of(row, data, parsed, is_bare=asked.is_bare)

    # It takes several questions, which its endpoint's function asks.
    return HotRequest(route, _ask_nothing, lambda numbers: run())


def _ask_nothing(done: Done) -> None:
    done([])


def _read(service: Service, route: Route, read: counters.Read) -> HotRequest | None:
    if read.paths is None:
        return None
    names = service.counters.names(read.paths, read.types)
    return HotRequest(route, partial(service.counters.ask_counts, names), read.said, names=names)


def _change(service: Service, route: Route, change: counters.Change) -> HotRequest | None:
    if lowers_views(change.changes):
        return None
    changes = service.counters.changes(change.changes)
    add: Ask = partial(service.counters.ask_changes, changes)
    trials = tuple(trials_of(name for name, _ in changes))

    def add_when_admitted(done: Done) -> None:
        service.trials.when_admitted(trials, partial(add, done), done)

    return HotRequest(route, add_when_admitted if trials else add, change.said, changes=changes)


def _page(service: Service, route: Route, page: comments.List) -> HotRequest:
    def ask(done: Done) -> None:
        if service.page_cache.has(page):
            service.comments.ask_versions(page.path, done)
        else:
            done([])

    def say(versions: list[int]) -> Reply | Coroutine[None, None, Reply]:
        if not versions:
            return comments.first_page(service, page)
        kept = comments.kept_page(service, page, *versions)
        return kept or comments.common_page(service, page, *versions)

    return HotRequest(route, ask, say)
