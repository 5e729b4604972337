"""The server that is measured: its kind, its API variant, and its counts.

Any server with the Waline API can be measured, under /api or without prefix, as older ones have it.
A Footfall is recognised by its counter script.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import orjson

from ..plurals import number_of
from .exchange import Address, Connection, Response, reason, request

# Paths in one read: their URL has less than 4 kB, which every server accepts.
PATHS_A_READ = 50
# How attributes start in Footfall's counter script and demonstration page.
FOOTFALL_ATTRIBUTE = b"data-footfall-"
HEADERS = (("User-Agent", "footfall-bench"), ("Accept", "*/*"))
_REDIRECTS = (301, 302, 303, 307, 308)
# The prefix of a measurement's paths, which no site has. Followed by a number of four digits, a
# counter's name is short enough for Redis's packed hashes.
NAMESPACE = "/footfall-bench/%s/"
ID_BYTES = 8


class CannotMeasure(Exception):
    """The server cannot be measured; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server. `prefix` is "/api" or ""; `version` is the API's, as the server reports it.

    `footfall` is Footfall's version, None if it is another server.
    """

    address: Address
    prefix: str
    version: str
    footfall: str | None

    @classmethod
    def find(cls, url: str, path: str) -> "Target":
        """Find out which server this is, by reading a path's count. Raises CannotMeasure."""
        try:
            address = Address.parse(url)
            # Users may give the API's address; the prefix is added below.
            address = replace(address, base=address.base.removesuffix("/api"))
        except ValueError as error:
            raise CannotMeasure(str(error)) from error
        try:
            return asyncio.run(cls._find(address, path))
        except OSError as error:
            raise CannotMeasure(f"cannot reach {address}: {reason(error)}") from error

    @classmethod
    async def _find(cls, address: Address, path: str) -> "Target":
        with contextlib.closing(Connection(address)) as connection:
            responses = []
            for prefix in ("/api", ""):
                target = cls(address, prefix, "", None)
                response = await connection.ask(target.read([path]))
                if response.is_accepted and counts_in(response) is not None:
                    version = response.headers.get("x-waline-version", "")
                    return cls(address, prefix, version, await _footfall(connection, address))
                responses.append(response)
        raise CannotMeasure(_no_waline(address, responses[0]))

    @property
    def name(self) -> str:
        api = f"Waline API {self.version}".rstrip()
        if self.footfall is None:
            return f"a server of the {api}"
        return f"{f'Footfall {self.footfall}'.rstrip()}, {api}"

    # Requests in bytes.

    def read(self, paths: Sequence[str]) -> bytes:
        return self._get(f"/article?path={quote(','.join(paths), safe='/,')}&type=time")

    def view(self, path: str) -> bytes:
        body = orjson.dumps({"path": path, "type": "time", "action": "inc"})
        target = f"{self.address.base}{self.prefix}/article"
        return request("POST", target, self.address.host, HEADERS, body)

    def page(self, path: str) -> bytes:
        """The first page of an article's comments."""
        # The path may have bytes of the command line that are not UTF-8.
        quoted = quote(path, safe="/", errors="surrogateescape")
        return self._get(f"/comment?path={quoted}&page=1&pageSize=10&sortBy=insertedAt_desc")

    def _get(self, target: str) -> bytes:
        return request(
            "GET", f"{self.address.base}{self.prefix}{target}", self.address.host, HEADERS
        )

    def counted(self, paths: Sequence[str]) -> list[int]:
        """The counts of these paths, in order. Raises CannotMeasure."""
        try:
            return asyncio.run(self._counted(paths))
        except OSError as error:
            raise CannotMeasure(reason(error)) from error

    async def _counted(self, paths: Sequence[str]) -> list[int]:
        counts: list[int] = []
        with contextlib.closing(Connection(self.address)) as connection:
            for at in range(0, len(paths), PATHS_A_READ):
                some = paths[at : at + PATHS_A_READ]
                response = await connection.ask(self.read(some))
                if not response.is_accepted:
                    raise CannotMeasure(response.refusal)
                read = counts_in(response)
                if read is None or len(read) != len(some):
                    asked = number_of(len(some), "count")
                    raise CannotMeasure(f"asked for {asked}, it sent something else")
                counts += read
        return counts


def counts_in(response: Response) -> list[int] | None:
    """The counts in a response, in the shape of any API variant; None if it has none."""
    data = response.json()
    if isinstance(data, dict) and "data" in data:
        data = data["data"]
    counts = [_count(item) for item in (data if isinstance(data, list) else [data])]
    return None if None in counts else [n for n in counts if n is not None]


def _count(value: Any) -> int | None:
    if isinstance(value, dict) and "time" in value:
        # It is null if the path has reactions and no views.
        value = value["time"] or 0
    return value if isinstance(value, int) and not isinstance(value, bool) else None


async def _footfall(connection: Connection, address: Address) -> str | None:
    """Footfall's version, "" if it is unknown, None if it is another server.

    A proxy may pass on only /api, so the demonstration page there is tried, too.
    """
    for path in ("/count.js", "/api"):
        message = request("GET", f"{address.base}{path}", address.host, HEADERS)
        response = await connection.ask(message)
        if response.status == 200 and FOOTFALL_ATTRIBUTE in response.body:
            return response.headers.get("x-footfall-version", "")
    return None


def _no_waline(address: Address, response: Response) -> str:
    if response.status in _REDIRECTS:
        # Redirects are not followed: the server that was named should be measured.
        location = response.headers.get("location", "")
        return f"{address} redirects to {location}; give the last address"
    data = response.json()
    if isinstance(data, dict) and "errno" in data or response.status in (403, 429, 503):
        return f"{address} rejects requests: {response.refusal}"
    return f"there is no Waline server at {address}: /api/article answers {response.refusal}"
