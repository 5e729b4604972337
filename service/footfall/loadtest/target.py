"""The server that is measured: which one it is, its dialect, and its counts.

Any server with the Waline API can be measured, under /api or without prefix, as older ones have it.
A Footfall is recognised by its counter script.
"""

import json
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from ..plurals import number_of
from .exchange import Address, Answer, Client, request

# Paths in one read: their URL has less than 4 kB, which every server accepts.
PATHS_A_READ = 50
# How attributes begin in Footfall's counter script and demonstration page.
FOOTFALL_ATTRIBUTE = b"data-footfall-"
HEADERS = (("User-Agent", "footfall-bench"), ("Accept", "*/*"))
_REDIRECTS = (301, 302, 303, 307, 308)
# What the paths of a measurement begin with, which no site has. With a number of four digits behind
# it a counter's name is short enough for Redis's packed hashes.
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
        with Client(address) as client:
            try:
                return cls._find(client, address, path)
            except OSError as error:
                raise CannotMeasure(f"cannot reach {address}: {reason(error)}") from error

    @classmethod
    def _find(cls, client: Client, address: Address, path: str) -> "Target":
        answers = []
        for prefix in ("/api", ""):
            target = cls(address, prefix, "", None)
            answer = client.ask(target.read([path]))
            if answer.is_accepted and counts_in(answer) is not None:
                version, footfall = answer.header("x-waline-version"), _footfall(client, address)
                return cls(address, prefix, version, footfall)
            answers.append(answer)
        raise CannotMeasure(_no_waline(address, answers[0]))

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
        body = json.dumps({"path": path, "type": "time", "action": "inc"}).encode()
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
        found: list[int] = []
        try:
            with Client(self.address) as client:
                for at in range(0, len(paths), PATHS_A_READ):
                    some = paths[at : at + PATHS_A_READ]
                    answer = client.ask(self.read(some))
                    if not answer.is_accepted:
                        raise CannotMeasure(answer.refusal)
                    counts = counts_in(answer)
                    if counts is None or len(counts) != len(some):
                        raise CannotMeasure(
                            f"asked for {number_of(len(some), 'count')}, it answered something else"
                        )
                    found += counts
        except OSError as error:
            raise CannotMeasure(reason(error)) from error
        return found


def counts_in(answer: Answer) -> list[int] | None:
    """The counts in an answer, in any of the dialects' shapes; None if it has none."""
    data = answer.json()
    if isinstance(data, dict) and "data" in data:
        data = data["data"]
    counts = [_count(each) for each in (data if isinstance(data, list) else [data])]
    return None if None in counts else [each for each in counts if each is not None]


def _count(value: Any) -> int | None:
    if isinstance(value, dict) and "time" in value:
        # It is null if the path has reactions and no views.
        value = value["time"] or 0
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _footfall(client: Client, address: Address) -> str | None:
    """Footfall's version, "" if it is not known, None if it is another server.

    A proxy may pass on only /api, so the demonstration page there is tried, too.
    """
    for path in ("/count.js", "/api"):
        answer = client.ask(request("GET", f"{address.base}{path}", address.host, HEADERS))
        if answer.status == 200 and FOOTFALL_ATTRIBUTE in answer.body:
            return answer.header("x-footfall-version")
    return None


def _no_waline(address: Address, answer: Answer) -> str:
    if answer.status in _REDIRECTS:
        # Redirects are not followed: the server that was named should be measured.
        return f"{address} sends everybody on to {answer.header('location')}; give the last address"
    data = answer.json()
    if isinstance(data, dict) and "errno" in data or answer.status in (403, 429, 503):
        return f"{address} refuses to answer: {answer.refusal}"
    return f"there is no Waline server at {address}: /api/article answers {answer.refusal}"


def reason(error: OSError) -> str:
    """What went wrong, in words for the user."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {(error.reason or str(error)).replace('_', ' ').lower()}"
    return error.strerror or str(error) or type(error).__name__
