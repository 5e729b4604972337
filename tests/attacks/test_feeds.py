"""Feeds, which anybody may read: they show nothing that a page does not."""

import pytest

from tests.conftest import ADMIN, Sites


@pytest.mark.parametrize("prefix", ["", "/api"])
async def test_a_feed_read_by_a_page_that_may_not_call(make_site: Sites, prefix: str) -> None:
    """Who: a page of another site, where SECURE_DOMAINS names the owner's. What: reads feeds in its
    visitors' browsers, as pages of the owner's site read comments. Instead: it may, as any program
    that reads feeds, none of which says where it comes from; but it sees no held comment, no email
    and no address, no matter who is logged in, and everything else is refused."""
    site = await make_site("203.0.113.7", SECURE_DOMAINS="blog.example")
    own, other = ({"referer": f"https://{host}/"} for host in ("blog.example", "evil.example"))
    for text in ("shown", "held"):
        draft = {"comment": text, "url": "/p", "nick": "Ann", "mail": "ann@example.com"}
        posted = (await site.http.post("/api/comment", json=draft, headers=own)).json()["data"]
    by = {"authorization": f"Bearer {ADMIN.id}"}
    address = f"/api/comment/{posted['objectId']}"
    await site.http.put(address, json={"status": "waiting"}, headers=own | by)
    await site.settled()
    for headers in ({}, other, other | by, {"origin": "https://evil.example"}):
        for format in ("rss", "atom", "json"):
            answer = await site.http.get(f"{prefix}/comment/rss?format={format}", headers=headers)
            assert answer.status_code == 200
            assert "shown" in answer.text
            for secret in ("held", "ann@example.com", "203.0.113.7"):
                assert secret not in answer.text
    assert (await site.http.get(f"{prefix}/comment?path=/p", headers=other)).status_code == 403
