"""Settings -> process -> store: the parts that exist once, and a data set on their Redis.

Only app.py, cli/, server/ and tests import this module.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from . import __version__
from .config import BadSettings, ProcessSettings, Settings
from .data.store import Store
from .driver.client import connect
from .driver.clock import Clock
from .driver.keys import Keys
from .driver.private_server import CannotStart, private_server, url_of
from .driver.probe import Probe
from .driver.safety import Safety
from .driver.scripts import Scripts
from .driver.stats import CommandStats
from .driver.url import parse_redis_url
from .maintenance.dataset import DataSet
from .model import Durability
from .netaddr import Proxies
from .process.process import About, Process, no_region
from .render.region import open_regions
from .site_settings import SiteSettings
from .statistics.audience import Audience
from .statistics.calendar import Calendar, datable
from .statistics.moments import Moments
from .statistics.salts import Salts
from .telemetry.metrics import Metrics


def open_process(
    settings: Settings,
    url: str,
    metrics: Metrics | None = None,
    *,
    clock: Callable[[], int] | None = None,
) -> Process:
    """The process with the Redis at `url`; nothing is sent yet. Raises BadSettings.

    `metrics` need the routes of the application (asgi.create_metrics), if there is one. Without a
    `clock` it has this machine's, as long as that agrees with Redis's.
    """
    durability = durability_of(settings)
    metrics = metrics or Metrics()
    try:
        redis = connect(
            settings.redis_access if url == settings.redis_url else url,
            settings.redis_timeout,
            durability,
            asks_replicas=settings.read_from_replicas,
            stats=CommandStats(metrics, settings.slow_seconds),
        )
    except ValueError as error:
        raise BadSettings(f"REDIS_URL: {error}") from error
    scripts = Scripts(redis)
    # Its keys start like those of the site, which may be all that this user may touch.
    keys = Keys(settings.key_prefix, settings.counter_buckets)
    probe, own = Probe(redis, scripts, keys.probe), Clock()
    data_dir = settings.data_dir.absolute() if url == url_of(settings.data_dir) else None
    safety = Safety(redis, durability, probe, own, data_dir)
    return Process(
        redis,
        scripts,
        safety,
        metrics=metrics,
        proxies=Proxies.of(settings.trusted_proxies, settings.client_address_header),
        region_of=open_regions(settings.ip2region_db) if settings.ip2region_db else no_region,
        clock=clock or own,
        about=About(__version__, settings.shown()),
    )


def open_store(settings: SiteSettings, process: Process) -> Store:
    """The nouns of a site's data set; nothing is sent yet."""
    return Store(
        process.redis,
        process.scripts,
        process.background,
        prefix=settings.key_prefix,
        buckets=settings.counter_buckets,
        counter_limit=settings.counter_limit,
        tells=settings.tells,
        bin_days=settings.bin_days,
        moment=_moments_of(settings, process),
        audience=_audience_of(settings, process),
    )


def _audience_of(settings: SiteSettings, process: Process) -> Audience | None:
    if settings.statistics != "visitors" or not settings.statistics_people:
        return None
    return Audience(lambda address: process.region_of(address).country)


def _moments_of(settings: SiteSettings, process: Process) -> Moments | None:
    if settings.statistics == "off":
        return None
    calendar, clock = Calendar(settings.timezone), datable(process.clock)
    tells = settings.statistics == "visitors"
    salts = Salts(calendar, clock, settings.key_prefix) if tells else None
    return Moments(calendar, clock, settings.statistics_months, salts)


def own_redis(settings: Settings) -> str:
    """REDIS_URL without its credentials, to be shown. Raises BadSettings."""
    try:
        return f"REDIS_URL {parse_redis_url(settings.redis_url).shown}"
    except ValueError as error:
        raise BadSettings(f"REDIS_URL: {error}") from error


@asynccontextmanager
async def redis_of(settings: Settings) -> AsyncIterator[tuple[str, str]]:
    """(URL, description) of the Redis in the settings; a private one runs during the block.

    Raises BadSettings, CannotStart, InUse.
    """
    if settings.redis_url:
        yield settings.redis_url, own_redis(settings)
        return
    durability = durability_of(settings)
    if durability.replicas:
        raise CannotStart(
            f"DURABILITY={durability}: the private server has no replicas; give a REDIS_URL"
        )
    server = private_server(settings.data_dir, settings.redis_server, durability)
    async with server as (url, version):
        yield url, f"private {version} in {settings.data_dir.absolute()}"


def data_set(store: Store) -> DataSet:
    return DataSet(
        store.redis,
        store.keys,
        store.comments,
        store.bans,
        store.journal,
        store.mending,
        store.numbers,
        store.views,
        store.site_views,
        store.views_ever,
        store.deletions.kept_ms,
    )


def durability_of(settings: ProcessSettings) -> Durability:
    """DURABILITY, or its default: `fsync` with the private server, `everysec` with REDIS_URL."""
    return settings.durability or Durability("everysec" if settings.redis_url else "fsync")
