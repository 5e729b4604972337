"""What decides how a site's requests are read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ..outside.providers import Providers
from ..site import Site
from ..site_settings import SiteSettings


class Days(Protocol):
    """Which day it is in the site's time zone, such as 20261123."""

    def today(self) -> int: ...
    def days_before(self, day: int, number: int) -> int: ...


@dataclass(frozen=True, slots=True)
class ParseContext:
    settings: SiteSettings
    # The path by which a page is counted, of the one that a client sent.
    page_of: Callable[[str], str]
    clock: Callable[[], int]
    # The login services, and the address to which they return.
    providers: Providers
    days: Days

    @classmethod
    def of(cls, site: Site) -> "ParseContext":
        return cls(
            site.settings,
            site.counting.page_of,
            site.process.clock,
            site.accounts.providers,
            site.statistics.reports,
        )
