"""What decides how a site's requests are read."""

from collections.abc import Callable
from dataclasses import dataclass

from ..outside.providers import Providers
from ..site import Site
from ..site_settings import SiteSettings
from ..statistics.reports import Reports


@dataclass(frozen=True, slots=True)
class ParseContext:
    settings: SiteSettings
    # The path by which a page is counted, of the one that a client sent.
    page_of: Callable[[str], str]
    clock: Callable[[], int]
    # The login services, and the address to which they return.
    providers: Providers
    # They know which day it is.
    reports: Reports

    @classmethod
    def of(cls, site: Site) -> "ParseContext":
        return cls(
            site.settings,
            site.counting.page_of,
            site.process.clock,
            site.accounts.providers,
            site.statistics.reports,
        )
