"""What a connection needs of the fast path (table/fast_requests.py, table/fast_cycle.py)."""

from typing import Any, Protocol

from .client import Headers


class Requests(Protocol):
    """A mapping: (method, URL, body) -> what answers that request on the fast path, or None."""

    def __getitem__(self, key: tuple[bytes, bytes, bytes]) -> Any: ...

    def may_have(self, method: bytes, url: bytes) -> bool:
        """Could a request with this method and URL take the fast path, whatever its body is?"""
        ...


class Cycle(Protocol):
    """A request on the fast path, with the attributes that uvicorn expects of its cycles."""

    def __init__(self, connection: Any) -> None: ...

    def take(self, request: Any, headers: Headers) -> None: ...

    def start(self) -> None: ...
