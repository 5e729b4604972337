"""Requests that take the fast path: the most frequent ones of a busy site, whose rows have `fast`.

The work follows from method, URL and body alone, which most visitors of a page send alike, so
prepared requests are cached by these. Headers differ by visitor and are read for each request.
"""

from dataclasses import dataclass
from typing import Any

from ..errors import ServiceError
from ..http.body import parse_json
from ..http.connection import FirstLines
from ..http.params import MAX_URL, RawRequest, parse_query
from ..http.response import Headers, Reply, Response, failed
from ..telemetry.metrics import Route
from .context import Served
from .endpoint import reply_of, whole
from .fast import FastRequest
from .fast_paths import FastPaths
from .operations import Operations
from .rows import Row
from .variants import Variant

# The size of all cached requests together, and of one, as estimated by FastRequests._keep.
MAX_KEPT_BYTES = 32 * 1024 * 1024
MAX_REQUEST_BYTES = MAX_KEPT_BYTES // 512
# Memory of a cached request in addition to its text and result: its objects, and its entry in the
# dictionary.
REQUEST_OVERHEAD_BYTES = 600


@dataclass(frozen=True, slots=True)
class FastOperation:
    """An operation in an API variant, with what the protocol class needs to answer it."""

    row: Row
    variant: Variant
    # Its metrics.
    route: Route
    # What a Reply of it has: a status, headers, and both as bytes.
    status: int
    headers: Headers
    first_lines: FirstLines

    def finish(self, data: Any) -> Reply | Response:
        """The bytes of an answer that is not a Reply yet."""
        if isinstance(data, Response):
            return data.under(self.headers)
        return reply_of(self.row, self.variant, data)

    def whole(self, reply: Reply) -> Response:
        """The bytes of a Reply with further headers before its body."""
        return whole(self.row, reply).under(self.headers)

    def refuse(self, error: BaseException, language: str) -> Response:
        """The answer with an error."""
        answer = failed(error, language, self.route.name, self.variant.refusals.answer)
        return answer.under(self.headers)


class FastRequests(dict[tuple[bytes, bytes, bytes], FastRequest | None]):
    """(method, URL, body) -> the prepared request; None if an endpoint must answer, as for errors.

    A cache: when it is full all of it is dropped, since to find the oldest costs at every hit.
    """

    def __init__(self, site: Served, operations: Operations, *, is_on: bool = True) -> None:
        self._site = site
        self._paths = FastPaths(operations) if is_on else None
        self._operations: dict[tuple[int, int], FastOperation] = {}
        self._bytes = 0

    def may_have(self, method: bytes, url: bytes) -> bool:
        """Could a request with this method and URL take the fast path, whatever its body is?"""
        return self._paths is not None and method in self._paths.find(url.partition(b"?")[0])[0]

    def __missing__(self, key: tuple[bytes, bytes, bytes]) -> FastRequest | None:
        try:
            return self._prepared(key)
        except ServiceError:
            # The endpoint finds the same error and answers it.
            return None

    def _prepared(self, key: tuple[bytes, bytes, bytes]) -> FastRequest | None:
        method, url, body = key
        path, _, query = url.partition(b"?")
        # A GET with a body is rare, and the endpoints handle it.
        if self._paths is None or (body and method == b"GET") or b"#" in url or len(url) > MAX_URL:
            return None
        methods, variables = self._paths.find(path)
        if method not in methods:
            return None
        rows, variant = methods[method]
        values = parse_query(query)
        # For a POST without any fields the endpoint looks at its headers.
        if "id" in values or not (body or values or method == b"GET"):
            return None
        type = values.get("type")
        row = next((row for row in rows if row.type == type and type), rows[0])
        fields = {}
        if body:
            fields = parse_json(body)
        elif method == b"POST":
            # Without a body it has its query's fields.
            fields = values
        request = RawRequest(values, variant, fields, variables=variables)
        parsed = row.parse(request, self._site.context, self._site.rules)
        fast = row.fast_request(self._site, parsed)
        if fast is None:
            return None
        fast.operation = self._operation(row, variant)
        fast.language = str(values.get("lang", "")).lower()
        self._keep(key, fast)
        return fast

    def _operation(self, row: Row, variant: Variant) -> FastOperation:
        key = id(row), id(variant)
        if key not in self._operations:
            route = self._site.process.metrics.routes[row.route]
            status, headers = row.answer.status, row.headers(variant)
            first_lines = FirstLines(status, row.answer.type, headers)
            self._operations[key] = FastOperation(row, variant, route, status, headers, first_lines)
        return self._operations[key]

    def _keep(self, key: tuple[bytes, bytes, bytes], fast: FastRequest) -> None:
        text_bytes = sum(map(len, key))
        size = REQUEST_OVERHEAD_BYTES + text_bytes + fast.kept_bytes(text_bytes)
        if size > MAX_REQUEST_BYTES:
            return
        self._bytes += size
        if self._bytes > MAX_KEPT_BYTES:
            self.clear()
            self._bytes = size
        self[key] = fast
