"""One site: its nouns, each with what it needs; app.py builds it.

All other state is in Redis, so that several processes behave as one.
"""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from .accounts.noun import Accounts
from .comments.noun import Comments
from .comments.rules.importer import Importer
from .counting.rules import Counting
from .data.backups import Backups
from .data.size import Scale
from .limits.floods import Floods
from .notifications.noun import Notifications
from .process.process import Process
from .site_settings import SiteSettings
from .statistics.noun import Statistics
from .table.context import ParseContext, Served


@dataclass(frozen=True, slots=True)
class Data:
    """All that is stored, as a whole."""

    # Sizes in Redis, and the number of requests waiting for the next batches.
    scale: Scale
    waiting: Callable[[], int]
    backups: Backups
    # Whom all processes of this service refuse.
    floods: Floods
    # Waline's archive; and the importer, loaded on demand.
    export: Callable[[], AsyncGenerator[bytes]]
    importer: Callable[[], Importer[Comments]]


@dataclass(frozen=True, slots=True)
class Site:
    process: Process
    settings: SiteSettings
    counting: Counting
    statistics: Statistics
    comments: Comments
    accounts: Accounts
    notifications: Notifications
    data: Data

    @property
    def warnings(self) -> list[str]:
        """What this worker has noticed that its owner should know."""
        counting = self.counting
        of = (counting.quota, self.comments.room, counting.unknown_proxies)
        return [each.warning for each in of if each.warning]

    @property
    def served(self) -> Served:
        """What requests see of it."""
        context = ParseContext(
            self.settings,
            self.counting.page_of,
            self.process.clock,
            self.accounts.providers,
            self.statistics.reports,
        )
        return Served(
            self.process,
            context,
            self.accounts.rules,
            self.accounts.viewer_of,
            self.counting.clients,
            self.counting.unknown_proxies,
            lambda name: getattr(self, name) if name else self,
        )
