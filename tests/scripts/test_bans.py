"""The script of bans: a change of an old state is refused, and every change raises the version."""

import pytest

from footfall.accounts.store import bans as module
from footfall.accounts.store.bans import Changed
from footfall.data.store import Store
from footfall.errors import TooManyBans
from footfall.model import Ban

NETWORK = Ban("192.0.2.0/24", 1_800_000_000_000, "a network", 1_700_000_000_000, "admin")
MAIL = Ban("ann@example.com")


async def every(store: Store) -> set[Ban]:
    return {ban async for part in store.bans.every() for ban in part}


async def test_a_ban_is_stored_changed_and_lifted(store: Store) -> None:
    assert (await store.bans.version(), await every(store)) == (0, set())
    await store.bans.change(NETWORK.value, None, NETWORK, 1000)
    await store.bans.change(MAIL.value, None, MAIL, 1000)
    assert await every(store) == {NETWORK, MAIL}
    assert await store.bans.get(NETWORK.value) == NETWORK
    await store.bans.change(MAIL.value, MAIL, None, 1000)
    assert await every(store) == {NETWORK}
    # Each change has its own version, which rises even if the clock steps back.
    assert await store.bans.version() == 1002


async def test_a_change_of_an_old_state_is_refused(store: Store) -> None:
    await store.bans.change(MAIL.value, None, MAIL, 1000)
    for before in (None, Ban(MAIL.value, reason="other")):
        with pytest.raises(Changed):
            await store.bans.change(MAIL.value, before, None, 2000)
    assert await store.bans.version() == 1000


async def test_the_number_of_bans_is_bounded_but_each_can_be_changed(
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
