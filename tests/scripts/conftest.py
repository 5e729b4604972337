"""This tier asks each script on Valkey or on Redis, as the test's name decides; with TEST_ALL=1 on
both, and on a Cluster.

A Cluster refuses a script whose keys are in several slots; here that fails on every server.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from footfall.data.store import Store
from footfall.driver.cluster import slot_of_key
from footfall.driver.scripts import Script, Send
from footfall.statistics.calendar import Calendar
from footfall.statistics.keeper import Keeper
from footfall.statistics.moments import Moments
from footfall.statistics.reports import Reports
from footfall.statistics.salts import Salts
from tests.support.viewing import Clock


@pytest.fixture(autouse=True)
def one_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call of a script has the keys of one slot; batches are divided by the driver."""
    through = Script.through

    async def checked(script: Script, send: Send, **values: Any) -> Any:
        slots = {slot_of_key(key) for key in keys_of(script, values)}
        assert len(slots) <= 1, f"{script.name} has keys in {len(slots)} slots"
        return await through(script, send, **values)

    monkeypatch.setattr(Script, "through", checked)


def keys_of(script: Script, values: Mapping[str, Any]) -> Iterator[bytes]:
    for each in script.header.keys:
        given = values.get(each.name, ())
        for key in given if each.is_list else [given]:
            yield key if isinstance(key, bytes) else str(key).encode()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def salts(clock: Clock) -> Salts:
    return Salts(Calendar(ZoneInfo("Europe/Berlin")), clock, "ff")


@pytest.fixture
async def telling(store: Store, clock: Clock, salts: Salts) -> Store:
    """The same data set, where visitors are distinguished."""
    keys = store.keys
    moments = Moments(Calendar(ZoneInfo("Europe/Berlin")), clock, 25, salts)
    telling = Store(store.redis, prefix=keys.prefix, buckets=keys.buckets, moment=moments)
    await telling.open()
    await salts.keep_up(telling.site_views)
    return telling


@pytest.fixture
def statistics(telling: Store, clock: Clock) -> Reports:
    calendar = Calendar(ZoneInfo("Europe/Berlin"))
    return Reports(telling.views, telling.site_views, calendar, clock, 25, kept="visitors")


@pytest.fixture
def keeper(telling: Store, clock: Clock, salts: Salts, statistics: Reports) -> Keeper:
    return Keeper(telling.site_views, statistics, clock, 25, salts)
