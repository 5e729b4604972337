"""What this tier asks of each call of a script, on servers that would not refuse it."""

import pytest

from footfall.data.store import Store


async def test_a_script_with_keys_in_two_slots_is_found(store: Store) -> None:
    swept = store.scripts["journal/swept"]
    site, page = store.keys.site("totals"), store.keys.page("0" * 16, "version")
    with pytest.raises(AssertionError, match="journal/swept has keys in 2 slots"):
        await swept(totals=site, removals=page, page="0" * 16)
