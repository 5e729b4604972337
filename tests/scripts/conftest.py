"""This tier asks each script on Valkey or on Redis, as the test's name decides; with TEST_ALL=1 on
both, and on a Cluster.

A Cluster refuses a script whose keys are in several slots; here that fails on every server.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from footfall.driver.cluster import slot_of_key
from footfall.driver.scripts import Script, Send


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
