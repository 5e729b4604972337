"""A site around a store that a test has, in a process of its own."""

from collections.abc import Awaitable, Callable
from weakref import WeakKeyDictionary

from footfall.app import create_site
from footfall.config import Settings
from footfall.data.store import Store
from footfall.driver.probe import Probe
from footfall.driver.safety import Safety
from footfall.model import MEMORY, Durability, Viewer
from footfall.netaddr import Proxies
from footfall.process.process import About, Process, now_ms
from footfall.site import Site
from footfall.telemetry.metrics import Metrics

_safety = WeakKeyDictionary[Store, Safety]()


def safety_of(store: Store, durability: Durability = MEMORY) -> Safety:
    """What watches over the store's Redis; made with the first call, which says how durable."""
    if store not in _safety:
        probe = Probe(store.redis, store.scripts, store.keys.probe)
        _safety[store] = Safety(store.redis, durability, probe)
    return _safety[store]


def process_of(
    store: Store,
    settings: Settings | None = None,
    *,
    metrics: Metrics | None = None,
    clock: Callable[[], int] = now_ms,
) -> Process:
    return Process(
        store.redis,
        store.scripts,
        safety_of(store),
        store.background,
        metrics=metrics or Metrics(),
        proxies=Proxies.of(settings.trusted_proxies, settings.client_address_header)
        if settings
        else Proxies(),
        clock=clock,
        about=About(settings=settings.shown()) if settings else About(),
    )


def site_of(
    settings: Settings,
    store: Store,
    *,
    metrics: Metrics | None = None,
    clock: Callable[[], int] = now_ms,
    viewer_of: Callable[[str], Awaitable[Viewer]] | None = None,
) -> Site:
    process = process_of(store, settings, metrics=metrics, clock=clock)
    return create_site(settings, process, store, viewer_of=viewer_of)
