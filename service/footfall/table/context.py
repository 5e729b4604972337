"""What the table needs of a site, whatever nouns the site has."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ..model import Caller, Viewer
from ..outside.providers import Providers
from ..permissions import AccountRules
from ..process.process import Process
from ..site_settings import SiteSettings


class Days(Protocol):
    """Which day it is in the site's time zone, such as 20261123."""

    def today(self) -> int: ...
    def days_before(self, day: int, number: int) -> int: ...


@dataclass(frozen=True, slots=True)
class ParseContext:
    """What decides how a site's requests are read."""

    settings: SiteSettings
    # The path by which a page is counted, of the one that a client sent.
    page_of: Callable[[str], str]
    clock: Callable[[], int]
    # The login services, and the address to which they return.
    providers: Providers
    days: Days


class Clients(Protocol):
    """Makes out who changes counters, for `FastRequest.send`: by (peer's address, X-Forwarded-For
    if it is a proxy's, user agent, purpose)."""

    @property
    def are_limited(self) -> bool: ...

    # Are they distinguished by headers of their browsers?
    @property
    def tells_visitors(self) -> bool: ...

    def __getitem__(self, asked: tuple[str, bytes, bytes, bytes], /) -> Any:
        """Raises KeyError for a client that is not known."""

    def meet(self, asked: tuple[str, bytes, bytes, bytes], language: bytes) -> Any:
        """Make one; `language` is the header Accept-Language."""

    def of_peer(self, address: str) -> Any:
        """The client of a connection, if headers say nothing else."""

    def of_caller(self, caller: Caller) -> Any: ...


class UnknownProxies(Protocol):
    """Notes whom neighbours name, to detect proxies that are not trusted."""

    def asked(self, peer: str, forwarded: bytes, agent: bytes) -> None: ...
    def refused(self, peer: str, forwarded: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Served:
    """A site, as requests see it."""

    process: Process
    context: ParseContext
    rules: AccountRules
    viewer_of: Callable[[str], Awaitable[Viewer]]
    clients: Clients
    unknown_proxies: UnknownProxies
    # The noun of this name; the whole site for "".
    noun: Callable[[str], Any]
