"""COMMENT_LIMIT: what is refused, and what goes, when comments fill it."""

from typing import Any

import pytest

from footfall.comments.rules.held_sweep import DAY_MS, HOUR_MS, HeldSweep
from footfall.comments.rules.room import CLIENTS, TOKEN_BYTES
from footfall.data.size import Kind, Size
from footfall.errors import CommentsFull
from tests.conftest import ADMIN, Site, Sites

FULL = CommentsFull.text


async def write(site: Site, text: str, address: str, by: Any = None) -> dict[str, Any]:
    headers = {"x-forwarded-for": address}
    if by:
        headers["authorization"] = f"Bearer {by.id}"
    draft = {"comment": text, "url": "/p", "nick": "Ann"}
    answer = await site.http.post("/api/comment", json=draft, headers=headers)
    return dict(answer.json())


async def filled(site: Site, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if comments took so much of COMMENT_LIMIT, by what Redis says."""
    comments = site.service.comments
    size = Size(Kind(0, 0), Kind(1000, comments.room.limit * share / 1000))

    async def weigh() -> Size:
        scale.reading = size
        return size

    scale = site.service.data.scale
    monkeypatch.setattr(scale, "weigh", weigh)
    await comments.room.read()


async def test_a_full_site_takes_no_more_but_of_its_moderators(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await make_site(COMMENT_LIMIT="10000000", IPQPS="0")
    await filled(site, 0.89, monkeypatch)
    assert site.service.warnings == []
    await filled(site, 0.95, monkeypatch)
    assert (await write(site, "still", "192.0.2.1"))["errno"] == 0
    (warning,) = site.service.warnings
    assert "1,000 comments take 95% of COMMENT_LIMIT, and new ones will be refused" in warning
    await filled(site, 1.0, monkeypatch)
    assert (await write(site, "no more", "192.0.2.1"))["errmsg"] == FULL
    assert (await write(site, "sorry", "192.0.2.1", ADMIN))["errno"] == 0
    (warning,) = site.service.warnings
    assert "100% of COMMENT_LIMIT, and new ones are refused" in warning


async def test_what_a_process_stores_counts_before_it_is_read_again(make_site: Sites) -> None:
    site = await make_site(COMMENT_LIMIT="5000", IPQPS="0")
    answers = [await write(site, f"{n}" + "x" * 500, f"192.0.2.{n}") for n in range(6)]
    assert [answer["errno"] for answer in answers] == [0, 0, 0, 1000, 1000, 1000]


async def test_the_longest_comment_fits_into_a_new_share(make_site: Sites) -> None:
    site = await make_site(COMMENT_LIMIT="1000000", IPQPS="0", COMMENT_LENGTH="65536")
    assert (await write(site, "字" * 65_000, "192.0.2.1"))["errno"] == 0
    assert TOKEN_BYTES * CLIENTS < 1_000_000


async def test_held_comments_go_first_when_it_is_almost_full(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"COMMENT_AUDIT": "true", "SPAM_DAYS": "0", "HELD_DAYS": "10", "IPQPS": "0"}
    site = await make_site(COMMENT_LIMIT="10000000", **environ)
    ids = {text: (await site.post(text))["objectId"] for text in ("good", "old", "spam")}
    await site.send("PUT", f"/comment/{ids['good']}", {"status": "approved"}, by=ADMIN)
    await site.send("PUT", f"/comment/{ids['spam']}", {"status": "spam"}, by=ADMIN)
    site.clock.now += 11 * DAY_MS
    await site.post("young")

    async def left() -> set[str]:
        sweep = HeldSweep(site.service.comments)
        for _ in range(26):
            site.clock.now += HOUR_MS
            await sweep.step()
        await site.kept_up()
        queue = await site.get("/comment", by=ADMIN, type="list", pageSize=100)
        return {each["orig"] for each in queue["data"]}

    assert await left() == {"good", "old", "spam", "young"}
    await filled(site, 0.95, monkeypatch)
    assert await left() == {"good", "young"}


async def test_the_default_is_half_of_the_memory_of_all_masters(make_site: Sites) -> None:
    site = await make_site()

    async def facts() -> dict[str, dict[str, str] | None]:
        return servers

    limits = site.service.comments.room
    limits._facts = facts
    master = {"role": "master", "maxmemory": "1000", "total_system_memory": "9000"}
    servers: dict[str, dict[str, str] | None] = {
        "a": master,
        "b": master | {"maxmemory": "0"},
        "c": master | {"role": "slave"},
        "d": None,
    }
    await limits.read()
    assert limits.limit == 5000
    # One does not tell, so nothing is known.
    servers = {"a": master, "b": {"role": "master"}}
    await limits.read()
    assert limits.limit == 0
