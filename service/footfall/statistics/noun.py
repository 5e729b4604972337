"""The statistics of a site, and what their answers need."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from ..limits.answer_cache import AnswerCache
from ..limits.pool import Pool
from ..model import Viewer
from .keeper import Keeper
from .live_views import LiveViews
from .reports import Reports
from .site_store import SiteViews
from .titles import Titles
from .totals import KnownTotals
from .views_ever import ViewsEver

# Of answers that are cached for a minute.
MAX_STATISTICS_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Statistics:
    reports: Reports
    site_views: SiteViews
    keeper: Keeper
    views_ever: ViewsEver
    totals: KnownTotals
    titles: Titles
    live: LiveViews
    # The turns in which answers are made, each once a minute.
    pool: Pool
    # The number of comments that a viewer may see.
    comments_total: Callable[[Viewer], Awaitable[int]]
    answers: AnswerCache = field(default_factory=partial(AnswerCache, MAX_STATISTICS_BYTES))
