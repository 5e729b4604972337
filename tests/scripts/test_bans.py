"""The script of bans: what is changed was as it was read, and every change has another version."""

import pytest

from footfall.errors import TooManyBans
from footfall.model import Ban
from footfall.store import Store
from footfall.store import bans as module
from footfall.store.bans import Changed

NETWORK = Ban("192.0.2.0/24", 1_800_000_000_000, "a network", 1_700_000_000_000, "admin")
MAIL = Ban("ann@example.com")


async def every(store: Store) -> set[Ban]:
    return {ban async for part in store.bans.every() for ban in part}


async def test_a_ban_is_kept_as_it_is_changed_and_lifted(store: Store) -> None:
    assert (await store.bans.version(), await every(store)) == (0, set())
    await store.bans.change(NETWORK.value, None, NETWORK, 1000)
    await store.bans.change(MAIL.value, None, MAIL, 1000)
    assert await every(store) == {NETWORK, MAIL}
    assert await store.bans.get(NETWORK.value) == NETWORK
    await store.bans.change(MAIL.value, MAIL, None, 1000)
    assert await every(store) == {NETWORK}
    # A version of its own for each change, and no older one when the clock steps back.
    assert await store.bans.version() == 1002


async def test_whoever_read_it_before_another_change_is_told(store: Store) -> None:
    await store.bans.change(MAIL.value, None, MAIL, 1000)
    for before in (None, Ban(MAIL.value, reason="other")):
        with pytest.raises(Changed):
            await store.bans.change(MAIL.value, before, None, 2000)
    assert await store.bans.version() == 1000


async def test_there_is_a_most_of_bans_but_each_can_be_changed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BANS", 1)
    await store.bans.change(MAIL.value, None, MAIL, 1000)
    with pytest.raises(TooManyBans):
        await store.bans.change(NETWORK.value, None, NETWORK, 1000)
    await store.bans.change(MAIL.value, MAIL, Ban(MAIL.value, 7), 1000)
    assert await every(store) == {Ban(MAIL.value, 7)}


async def test_a_change_by_somebody_is_logged_in_the_same_step(store: Store) -> None:
    await store.bans.change(MAIL.value, None, MAIL, 0, ("by", "a", "did", "ban"))
    await store.bans.change(MAIL.value, MAIL, None, 0)
    await store.log.add(by="a", did="role")
    assert [each.fields for each in await store.log.newest(9)] == [
        {"by": "a", "did": "role"},
        {"by": "a", "did": "ban"},
    ]
