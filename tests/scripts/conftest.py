"""This tier asks each script on Valkey and on Redis, and with TEST_ALL=1 on fakeredis and on a
Cluster, too.

A Cluster refuses a script whose keys are in several slots; here that fails on every server.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from footfall.driver.cluster import slot_of_key
from footfall.driver.scripts import Script, Send
from tests.conftest import REAL
from tests.support import extent

HERE = Path(__file__).parent


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    extent.deselect(config, items, HERE, _is_for_another_server)


def _is_for_another_server(item: pytest.Function) -> bool:
    kind = extent.kind_of(item)
    is_on_cluster = kind == "cluster" and item.get_closest_marker("cluster") is not None
    return kind not in ("", *REAL) and not is_on_cluster


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
