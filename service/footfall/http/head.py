"""The headers of a request, as the parser finds them: those that may change the answer, or all."""

from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from functools import lru_cache

import httptools

from .policy import Policy

# With one of these only an endpoint can answer.
UNUSUAL = frozenset(
    {
        b"transfer-encoding",
        b"content-encoding",
        b"proxy-connection",
        b"upgrade",
        b"expect",
        b"authorization",
    }
)
DECIDING = UNUSUAL | {b"host", b"connection", b"content-type", b"if-none-match", b"x-request-id"}
# If only some sites may call, the page matters, too; if visitors are distinguished, their browsers.
_OF_PAGES = frozenset({b"referer", b"origin"})
_OF_BROWSERS = frozenset({b"user-agent", b"sec-purpose", b"purpose", b"accept-language"})
# What browsers and proxies send with most requests, which is dropped where the parser finds it.
# That is only faster: any other name is compared in lower case.
_BROWSERS = """
    Accept Accept-Encoding Accept-Language Cache-Control Content-Length Cookie DNT Pragma Priority
    Sec-CH-UA Sec-CH-UA-Mobile Sec-CH-UA-Platform Sec-Fetch-Dest Sec-Fetch-Mode Sec-Fetch-Site
    Sec-Fetch-Storage-Access Sec-GPC Save-Data User-Agent Via X-Forwarded-Host X-Forwarded-Port
    X-Forwarded-Proto X-Real-IP CF-Connecting-IP CF-IPCountry CF-Ray CF-Visitor CDN-Loop
    Referer Origin
"""


def _spellings(names: Iterable[str]) -> frozenset[bytes]:
    return frozenset(spelling.encode() for name in names for spelling in (name, name.lower()))


_COMMON = _spellings(_BROWSERS.split())
_NONE: frozenset[bytes] = frozenset()

# Takes a header's name and value.
Collect = Callable[[bytes, bytes], None]
# Names in lower case that are wanted, and spellings that never are.
Want = Callable[[Container[bytes], frozenset[bytes]], None]


class _Every:
    """Contains every name."""

    def __contains__(self, name: object) -> bool:
        return True


_EVERY = _Every()


@lru_cache(4)
def _wanted_and_dropped(
    address_header: bytes, has_domains: bool, tells_visitors: bool
) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """Once for a service, since each connection asks."""
    names = DECIDING | {address_header}
    if has_domains:
        names |= _OF_PAGES
    if tells_visitors:
        names |= _OF_BROWSERS
    return names, frozenset(name for name in _COMMON if name.lower() not in names)


class DecidingHeaders:
    """Collects headers by their names in lower case: `first` has the first line of each name, and
    `repeated` the others.

    `peculiar` has the names of those that are repeated, or with which only an endpoint can answer.
    """

    def __init__(self, policy: Policy) -> None:
        asked = policy.proxies.header, bool(policy.domains), policy.tells_visitors
        self._names, self._dropped = _wanted_and_dropped(*asked)
        self.first: dict[bytes, bytes] = {}
        self.repeated: list[tuple[bytes, bytes]] = []
        self.peculiar: list[bytes] = []
        self.collect, self._want = self._collector()

    def _collector(self) -> tuple[Collect, Want]:
        """A function that takes a header, and one that sets which are wanted, and which never are.

        Closures: a method, called for a dozen headers, takes twice as long.
        """
        first, repeated, peculiar = self.first, self.repeated, self.peculiar
        wanted: Container[bytes] = self._names
        dropped = self._dropped

        def on_header(name: bytes, value: bytes) -> None:
            if name in dropped:
                return
            name = name.lower()
            if name not in wanted:
                return
            if name in first:
                repeated.append((name, value))
                peculiar.append(name)
            else:
                first[name] = value
                if name in UNUSUAL:
                    peculiar.append(name)

        def want(names: Container[bytes], never: frozenset[bytes]) -> None:
            nonlocal wanted, dropped
            wanted, dropped = names, never

        return on_header, want

    def clear(self) -> None:
        """Start the next request."""
        self.first.clear()
        self.repeated.clear()
        self.peculiar.clear()

    def collect_deciding(self) -> None:
        self._want(self._names, self._dropped)

    def collect_all(self, lines: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """From now on; `lines` are all headers of the request up to here."""
        self.clear()
        self._want(_EVERY, _NONE)
        for name, value in lines:
            self.collect(name, value)

    def ignore(self) -> None:
        """What follows are trailers, until the next request."""
        self._want((), _NONE)


class _Lines:
    """Has the headers of each request that the parser finds, without trailers."""

    def __init__(self) -> None:
        self.requests: list[list[tuple[bytes, bytes]]] = []
        self._is_in_head = False

    def on_message_begin(self) -> None:
        self.requests.append([])
        self._is_in_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_in_head:
            self.requests[-1].append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._is_in_head = False


def new_parser(protocol: object) -> httptools.HttpRequestParser:
    """As uvicorn's parser is."""
    parser = httptools.HttpRequestParser(protocol)
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


def all_headers(received: bytes, number: int) -> list[tuple[bytes, bytes]]:
    """The headers of the request with this number, from 0, in bytes that start with a request."""
    lines = _Lines()
    parser = new_parser(lines)
    # The connection's own parser meets the same errors.
    with suppress(httptools.HttpParserError, httptools.HttpParserUpgrade):
        parser.feed_data(received)
    return lines.requests[number] if number < len(lines.requests) else []


def has_path(url: bytes) -> bool:
    with suppress(httptools.HttpParserInvalidURLError):
        return httptools.parse_url(url).path is not None
    return False
