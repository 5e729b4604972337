"""The scripts of accounts: each claim is one step, and a change of an old state is refused."""

from dataclasses import replace

import pytest

from footfall.accounts.store.accounts import MAX_SESSIONS, Changed, Link, StoredAccount, UsedLink
from footfall.data.store import Store
from footfall.errors import IdentityTaken, LastAdministrator, LinkExpired, UserExists
from footfall.model import Account, Credentials, Session

MARA = Account("0" * 15 + "1", "administrator", "Mara", "Mara@example.com")
TOM = Account("0" * 15 + "2", "guest", "Tom", "tom@example.com")
SECRET = Credentials("hash")


async def register(store: Store, account: Account, secret: Credentials = SECRET) -> Account:
    first = replace(account, role="administrator")
    made = await store.accounts.register(first, account, account.mail.lower(), secret)
    assert made is not None
    return made


async def found(store: Store, account: Account) -> StoredAccount:
    stored = await store.accounts.by_id(account.id)
    assert stored is not None
    return stored


async def change(store: Store, stored: StoredAccount, after: Account | None) -> None:
    mails = stored.account.mail.lower(), after.mail.lower() if after else ""
    made = (after, SECRET) if after else None
    await store.accounts.change(stored, made, mails=mails, revokes=True)


async def test_the_first_account_is_the_administrator_and_others_have_the_role_they_ask_for(
    store: Store,
) -> None:
    assert (await register(store, MARA)).role == "administrator"
    assert await register(store, TOM) == TOM
    assert await store.accounts.administrators() == [MARA.id]
    assert (await store.accounts.listed(0, 9))[0] == 2
    assert await store.accounts.by_mail("mara@example.com") == await found(store, MARA)
    assert await store.accounts.by_mail("Mara@example.com") is None


async def test_a_mail_has_one_account(store: Store) -> None:
    await register(store, MARA)
    with pytest.raises(UserExists):
        await register(store, replace(TOM, mail=MARA.mail))
    assert await store.accounts.by_id(TOM.id) is None


async def test_an_account_that_may_be_neither_first_nor_another_is_not_registered(
    store: Store,
) -> None:
    assert await store.accounts.register(None, TOM, TOM.mail, SECRET) is None
    await store.accounts.register(MARA, None, MARA.mail, SECRET)
    assert await store.accounts.register(TOM, None, TOM.mail, SECRET) is None
    assert await store.accounts.by_mail(TOM.mail) is None


async def test_a_change_of_an_old_state_is_refused(store: Store) -> None:
    await register(store, MARA)
    old = await found(store, MARA)
    await change(store, old, replace(MARA, nick="M"))
    with pytest.raises(Changed):
        await change(store, old, replace(MARA, nick="Z"))
    with pytest.raises(Changed):
        await store.accounts.log_in(old, SECRET, Session("s", ends_ms=9), now_ms=0)
    assert (await found(store, MARA)).account.nick == "M"


async def test_a_mail_moves_with_its_account_and_is_free_afterwards(store: Store) -> None:
    await register(store, MARA)
    await register(store, TOM)
    with pytest.raises(UserExists):
        await change(store, await found(store, TOM), replace(TOM, mail=MARA.mail))
    await change(store, await found(store, TOM), replace(TOM, mail="t@example.com"))
    assert await store.accounts.by_mail("tom@example.com") is None
    await change(store, await found(store, TOM), None)
    assert await store.accounts.by_mail("t@example.com") is None
    assert (await store.accounts.listed(0, 9))[0] == 1


async def test_the_last_administrator_is_neither_demoted_nor_removed(store: Store) -> None:
    await register(store, MARA)
    for after in (replace(MARA, role="guest"), None):
        with pytest.raises(LastAdministrator):
            await change(store, await found(store, MARA), after)
    await register(store, TOM)
    await change(store, await found(store, TOM), replace(TOM, role="administrator"))
    await change(store, await found(store, MARA), None)
    assert len(await store.accounts.administrators()) == 1


async def test_a_session_lasts_until_it_expires_or_is_ended(store: Store) -> None:
    await register(store, MARA)
    for session, ends_ms in (("a", 1000), ("b", 2000)):
        stored = await found(store, MARA)
        await store.accounts.log_in(stored, SECRET, Session(session, ends_ms=ends_ms), now_ms=10)

    async def goes_on(session: str, now_ms: int) -> bool:
        return await store.accounts.of_session(MARA.id, session, now_ms) is not None

    assert [await goes_on("a", 999), await goes_on("a", 1000), await goes_on("b", 1999)] == [
        True,
        False,
        True,
    ]
    await store.accounts.end_session(MARA.id, "b")
    assert [await goes_on("a", 20), await goes_on("b", 20)] == [True, False]
    await change(store, await found(store, MARA), replace(MARA, nick="M"))
    assert not await goes_on("a", 20)


async def test_the_number_of_sessions_is_bounded_and_the_first_to_end_make_room(
    store: Store,
) -> None:
    await register(store, MARA)
    for n in range(MAX_SESSIONS + 3):
        stored = await found(store, MARA)
        await store.accounts.log_in(stored, SECRET, Session(f"s{n}", ends_ms=60_000 + n), now_ms=0)
    going_on = [
        await store.accounts.of_session(MARA.id, f"s{n}", 0) is not None
        for n in range(MAX_SESSIONS + 3)
    ]
    assert going_on == [False] * 3 + [True] * MAX_SESSIONS
    key = store.keys.account(f"sessions:{MARA.id}")
    assert 0 < await store.redis.client.pttl(key) <= 60_000 + MAX_SESSIONS + 3


async def test_a_link_works_once_and_for_its_purpose(store: Store) -> None:
    await store.accounts.keep_link(("password", "token"), MARA.id, lasts_ms=60_000)
    for other in (("password", "another"), ("reset", "token")):
        assert await store.accounts.take_link(other) == await store.accounts.read_link(other) == ""
    link: Link = ("password", "token")
    assert await store.accounts.read_link(link) == MARA.id
    assert [await store.accounts.take_link(link) for _ in range(2)] == [MARA.id, ""]


async def test_a_link_is_used_up_only_if_its_action_succeeds(store: Store) -> None:
    for account in (MARA, TOM):
        await register(store, account)
    link: Link = ("password", "token")
    used = UsedLink(link, MARA.id)
    await store.accounts.keep_link(link, MARA.id, lasts_ms=60_000)
    old, tom = await found(store, MARA), await found(store, TOM)
    mails = MARA.mail.lower(), MARA.mail.lower()
    renamed = replace(MARA, nick="M"), SECRET
    await store.accounts.change(old, renamed, mails=mails, revokes=False)
    with pytest.raises(Changed):
        await store.accounts.change(old, renamed, mails=mails, revokes=False, used=used)
    with pytest.raises(LinkExpired):
        await store.accounts.log_in(tom, SECRET, Session("s", ends_ms=9), now_ms=0, link=link)
    assert await store.accounts.read_link(link) == MARA.id
    present = await found(store, MARA)
    await store.accounts.log_in(present, SECRET, Session("s", ends_ms=9), now_ms=0, link=link)
    with pytest.raises(LinkExpired):
        await store.accounts.change(present, renamed, mails=mails, revokes=False, used=used)


async def test_a_link_that_makes_an_account_is_used_up_only_if_there_is_one(store: Store) -> None:
    used = UsedLink(("register", "token"), '{"what": "Tom wants"}')
    with pytest.raises(LinkExpired):
        await store.accounts.register(TOM, TOM, TOM.mail, SECRET, used)
    await store.accounts.keep_link(*used, lasts_ms=60_000)
    other = UsedLink(used.link, "something else")
    with pytest.raises(LinkExpired):
        await store.accounts.register(TOM, TOM, TOM.mail, SECRET, other)
    await register(store, MARA)
    with pytest.raises(UserExists):
        await store.accounts.register(TOM, TOM, MARA.mail.lower(), SECRET, used)
    assert await store.accounts.read_link(used.link) == used.what
    assert await store.accounts.register(TOM, TOM, TOM.mail, SECRET, used) == TOM
    assert await store.accounts.read_link(used.link) == ""


async def test_tokens_are_signed_with_one_key(store: Store) -> None:
    assert {await store.accounts.signing_key(fresh) for fresh in "abc"} == {"a"}


async def test_an_identity_at_another_service_belongs_to_one_account(store: Store) -> None:
    by_others = replace(SECRET, identities={"github": "m 1", "qq": "7"})
    await register(store, MARA, by_others)
    with pytest.raises(IdentityTaken):
        await register(store, TOM, replace(SECRET, identities={"github": "m 1"}))
    await register(store, TOM)
    tom, mara = await found(store, TOM), await found(store, MARA)
    mails = TOM.mail, TOM.mail
    both = TOM, replace(SECRET, identities={"weibo": "9", "qq": "7"})
    with pytest.raises(IdentityTaken):
        await store.accounts.change(tom, both, mails=mails, revokes=False)
    assert await store.accounts.by_identity("weibo", "9") is None
    assert await store.accounts.by_identity("github", "m 1") == mara


async def test_an_identity_is_free_when_its_account_gives_it_up(store: Store) -> None:
    await register(store, MARA, replace(SECRET, identities={"github": "1", "qq": "7"}))
    mails = MARA.mail.lower(), MARA.mail.lower()
    left = MARA, replace(SECRET, identities={"qq": "8", "x": "9"})
    await store.accounts.change(await found(store, MARA), left, mails=mails, revokes=False)
    known = [("github", "1"), ("qq", "7"), ("qq", "8"), ("x", "9")]
    owners = [await store.accounts.by_identity(*each) for each in known]
    assert [owner.id if owner else None for owner in owners] == [None, None, MARA.id, MARA.id]
    await register(store, TOM, replace(SECRET, identities={"github": "1"}))
    await change(store, await found(store, TOM), replace(TOM, role="administrator"))
    await change(store, await found(store, MARA), None)
    assert await store.accounts.by_identity("qq", "8") is None


# Where it logged in.

DAY_MS = 86_400_000


async def remember(store: Store, account: Account, place: str, now_ms: int) -> None:
    await store.places.remember(account.id, place, now_ms=now_ms, lasts_ms=30 * DAY_MS, keep=3)


async def test_an_account_remembers_the_last_places_that_it_logged_in_from(store: Store) -> None:
    await register(store, MARA)
    for n in range(5):
        await remember(store, MARA, f"place {n}", now_ms=1000 + n)
    await remember(store, MARA, "place 2", now_ms=2000)
    has = [await store.places.has(MARA.id, f"place {n}", 0) for n in range(5)]
    assert has == [False, False, True, True, True]
    assert not await store.places.has(MARA.id, "place 4", 1004)
    assert not await store.places.has(TOM.id, "place 4", 0)
    key = store.keys.account(f"places:{MARA.id}")
    assert 0 < await store.redis.client.pttl(key) <= 30 * DAY_MS


async def test_a_place_is_forgotten_after_its_time(store: Store) -> None:
    await register(store, MARA)
    await remember(store, MARA, "old", now_ms=1000)
    await remember(store, MARA, "new", now_ms=1000 + 30 * DAY_MS)
    has = [await store.places.has(MARA.id, place, 0) for place in ("old", "new")]
    assert has == [False, True]


async def test_the_places_of_an_account_go_with_it_and_none_come_after(store: Store) -> None:
    await register(store, MARA)
    await register(store, TOM)
    await remember(store, TOM, "place", now_ms=1000)
    stored = await found(store, TOM)
    await change(store, stored, replace(TOM, nick="Thomas"))
    assert await store.places.has(TOM.id, "place", 0)
    await change(store, await found(store, TOM), None)
    await remember(store, TOM, "place", now_ms=2000)
    key = store.keys.account(f"places:{TOM.id}")
    assert await store.redis.client.zcard(key) == 0
