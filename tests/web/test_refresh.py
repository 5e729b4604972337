"""What readers see of an account that changed: it changes everywhere, in the background."""

import pytest

from footfall.comments.rules import refresh
from footfall.errors import StoreUnavailable
from tests.conftest import Site, Sites

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
MARAS = {"current_password": MARA["password"]}
PATHS = [f"/{n}" for n in range(7)]


@pytest.fixture
async def site(make_site: Sites, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(refresh, "STEP_PAGES", 3)
    monkeypatch.setattr(refresh, "PACE_SECONDS", 0)
    site = make_site.without_accounts()
    await site.send("POST", "/api/user", MARA)
    return site


async def token(site: Site) -> str:
    found: str = (await site.send("POST", "/api/token", MARA))["data"]["token"]
    return found


async def write(site: Site, by: str) -> None:
    for path in PATHS:
        await site.send("POST", "/api/comment", {"comment": "hello", "url": path}, by=by)


async def names(site: Site) -> set[str]:
    return {each["nick"] for path in PATHS for each in (await site.page(path))["data"]}


async def versions(site: Site) -> list[int]:
    return [await site.store.comments.version(path) for path in PATHS]


async def test_a_new_name_is_seen_on_every_page(site: Site) -> None:
    by = await token(site)
    await write(site, by)
    assert await names(site) == {"Mara"}
    await site.send("PUT", "/api/user", {"display_name": "Maria"}, by=by)
    await site.settled()
    assert await names(site) == {"Maria"}
    recent = await site.get("/comment", type="recent")
    assert {each["nick"] for each in recent} == {"Maria"}
    assert await site.store.accounts.unseen(2**53) == []


async def test_an_invisible_change_raises_no_version(site: Site) -> None:
    by = await token(site)
    # The account has its own picture, since the default one depends on the email.
    await site.send("PUT", "/api/user", {"avatar": "https://mara.example/a.png"}, by=by)
    await site.settled()
    await write(site, by)
    before = await versions(site)
    tom = {"display_name": "Tom", "email": "tom@example.com", "password": "tom's own"}
    await site.send("POST", "/api/user", tom)
    await site.send("POST", "/api/token", tom)
    await site.send("GET", "/api/token/2fa", by=by)
    await site.send("PUT", "/api/user", {"email": "m@example.com", "2fa": "", **MARAS}, by=by)
    await site.send("PUT", "/api/user", {"password": "quite another", **MARAS}, by=by)
    await site.settled()
    assert await versions(site) == before


async def test_the_picture_of_a_new_mail_is_seen_on_every_page(site: Site) -> None:
    by = await token(site)
    await write(site, by)

    async def pictures() -> set[str]:
        return {each["avatar"] for path in PATHS for each in (await site.page(path))["data"]}

    before = await pictures()
    await site.send("PUT", "/api/user", {"email": "maria@example.com", **MARAS}, by=by)
    await site.settled()
    after = await pictures()
    assert (len(before), len(after), before & after) == (1, 1, set())


async def test_pages_without_the_account_keep_their_version(site: Site) -> None:
    by = await token(site)
    await write(site, by)
    await site.post("of somebody else", url="/other")
    before = await site.store.comments.version("/other")
    await site.send("PUT", "/api/user", {"url": "https://mara.example"}, by=by)
    await site.settled()
    assert await site.store.comments.version("/other") == before


async def test_the_next_refresh_finishes_what_a_crash_has_left(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    by = await token(site)
    await write(site, by)
    await names(site)

    async def crash(*args: object) -> int:
        raise StoreUnavailable()

    with monkeypatch.context() as crashing:
        crashing.setattr(refresh, "refresh", crash)
        await site.send("PUT", "/api/user", {"display_name": "Maria"}, by=by)
        await site.settled()
    await refresh.resume(site.service.comments)
    assert await names(site) == {"Mara"}, "whoever began it may still be at it"
    site.clock.now += refresh.LEFT_MS + 1000
    await refresh.resume(site.service.comments)
    assert await names(site) == {"Maria"}
    assert await site.store.accounts.unseen(2**53) == []


async def test_an_earlier_refresh_does_not_forget_a_later_change(site: Site) -> None:
    by = await token(site)
    account = (await site.get("/api/token", by=by))["data"]["objectId"]
    # Otherwise the second refresh could be over before the first one is.
    site.service.accounts.followers.clear()
    await site.send("PUT", "/api/user", {"display_name": "Maria"}, by=by)
    ((_, first),) = await site.store.accounts.unseen(2**53)
    await site.send("PUT", "/api/user", {"display_name": "Marina"}, by=by)
    await refresh.refresh(site.service.comments, account, first)
    ((_, second),) = await site.store.accounts.unseen(2**53)
    await refresh.refresh(site.service.comments, account, second)
    assert await site.store.accounts.unseen(2**53) == []
