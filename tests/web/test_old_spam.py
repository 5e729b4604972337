"""Spam goes by itself, and nothing else does."""

import pytest

from footfall.comments.rules import held_sweep
from footfall.comments.rules.held_sweep import HeldSweep
from tests.conftest import ADMIN, Site, Sites

HOUR_MS, DAY_MS = 3_600_000, 86_400_000


async def statuses(site: Site) -> dict[str, str]:
    await site.kept_up()
    queue = await site.get("/comment", by=ADMIN, type="list", pageSize=100)
    return {each["orig"]: each["status"] for each in queue["data"]}


async def mark(site: Site, id: str, status: str) -> None:
    await site.send("PUT", f"/comment/{id}", {"status": status}, by=ADMIN)
    await site.kept_up()


async def sweep(site: Site, hours: int) -> None:
    """As a service does that runs for so long."""
    sweeping = HeldSweep(site.service.comments)
    for _ in range(hours):
        site.clock.now += HOUR_MS
        await sweeping.step()


@pytest.mark.cluster
async def test_spam_goes_some_days_after_it_was_written(site: Site) -> None:
    await site.post("good")
    for text in ("spam", "spam too"):
        await mark(site, (await site.post(text))["objectId"], "spam")
    number = len(await site.store.log.newest(99))
    site.clock.now += 29 * DAY_MS
    await sweep(site, 23)
    assert await statuses(site) == {"spam": "spam", "spam too": "spam", "good": "approved"}
    await sweep(site, 27)
    assert await statuses(site) == {"good": "approved"}
    # One entry for all of them.
    swept, *older = await site.store.log.newest(99)
    assert (swept.fields["did"], swept.fields["id"], len(older)) == ("sweep", "2", number)


async def test_an_old_comment_that_is_marked_as_spam_now_stays_for_a_day(site: Site) -> None:
    ids = [(await site.post(text))["objectId"] for text in ("mistake", "spam")]
    site.clock.now += 400 * DAY_MS
    for id in ids:
        await mark(site, id, "spam")
    await sweep(site, 23)
    await mark(site, ids[0], "approved")
    await sweep(site, 3)
    assert await statuses(site) == {"mistake": "approved"}


async def test_what_is_marked_again_stays_for_another_day(site: Site) -> None:
    id = (await site.post("spam"))["objectId"]
    site.clock.now += 400 * DAY_MS
    for status in ("spam", "approved", "spam"):
        await mark(site, id, status)
        await sweep(site, 13)
    await sweep(site, 10)
    assert await statuses(site) == {"spam": "spam"}
    await sweep(site, 3)
    assert await statuses(site) == {}


async def test_spam_is_kept_for_ever_with_0(make_site: Sites) -> None:
    site = await make_site(SPAM_DAYS="0")
    await mark(site, (await site.post("spam"))["objectId"], "spam")
    site.clock.now += 4000 * DAY_MS
    await sweep(site, 30)
    assert await statuses(site) == {"spam": "spam"}


async def test_what_is_more_than_one_step_goes_too(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_sweep, "STEP_COMMENTS", 2)
    for n in range(7):
        await mark(site, (await site.post(f"spam {n}"))["objectId"], "spam")
    site.clock.now += 31 * DAY_MS
    await sweep(site, 30)
    assert await statuses(site) == {}
    assert await site.store.redis.ask(("ZCARD", site.store.keys.site("spamseen"))) == [0]
