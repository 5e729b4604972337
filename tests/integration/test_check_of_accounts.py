"""`footfall check` of accounts is silent about what the service did, and names everything else."""

from collections.abc import Sequence

import pytest

from footfall.model import Credentials
from tests.conftest import ADMIN, BOB, EVE, Site, Sites
from tests.support.accounts import save_account
from tests.support.backups import report

ON = ("valkey", "cluster")


PERSON = {"display_name": "Mara", "email": "Mara@Bücher.example", "password": "an old gate"}


@pytest.fixture
async def site(make_site: Sites) -> Site:
    """A site with everything that accounts have: logins, links, bans, identities, emails in odd
    spellings."""
    site = await make_site()
    await site.send("POST", "/api/user", PERSON)
    await site.send("POST", "/api/token", PERSON)
    stored = await site.store.accounts.by_mail("mara@bücher.example")
    assert stored is not None
    known = Credentials(stored.credentials.password, identities={"github": "7"})
    mails = ("mara@bücher.example",) * 2
    await site.store.accounts.change(stored, (stored.account, known), mails=mails, revokes=False)
    await site.store.accounts.keep_link(("password", "x"), stored.id, lasts_ms=60_000)
    for value in (BOB.id, "192.0.2.7", "2001:db8::/32", "ann@example.com"):
        await site.send("POST", "/api/ban", {"value": value}, by=ADMIN)
    return site


async def problems(site: Site, *, repair: bool = False) -> Sequence[str]:
    return (await report(site.store, repair=repair, has_sums=False))[:-1]


async def test_what_the_service_did_agrees_with_itself(site: Site) -> None:
    assert await problems(site) == []


async def test_every_damage_is_named_and_repaired(site: Site) -> None:
    keys, mara = site.store.keys, await site.store.accounts.by_mail("mara@bücher.example")
    assert mara is not None
    id, none = mara.id, "which belongs to no such account"
    nobody = "0" * 16
    account = keys.account
    damages = [
        (
            ("HDEL", account("mails"), "mara@bücher.example"),
            f"accounts: mails lacks mara@bücher.example of account {id}",
        ),
        (
            ("HSET", account("mails"), "old@example.com", id),
            f"accounts: mails holds old@example.com, {none}",
        ),
        (("ZREM", account("ids"), id), f"accounts: ids lacks {id} of account {id}"),
        (("ZADD", account("ids"), 0, nobody), f"accounts: ids holds {nobody}, {none}"),
        (
            ("ZREM", account("administrators"), ADMIN.id),
            f"accounts: administrators lacks {ADMIN.id} of account {ADMIN.id}",
        ),
        (
            ("ZADD", account("administrators"), 0, EVE.id),
            f"accounts: administrators holds {EVE.id}, {none}",
        ),
        (
            ("HSET", account("credentials"), nobody, "{}"),
            f"accounts: credentials holds {nobody}, {none}",
        ),
        (
            ("HDEL", account("identities"), "github 7"),
            f"accounts: identities lacks github 7 of account {id}",
        ),
        (
            ("HSET", account("identities"), "github 8", id),
            f"accounts: identities holds github 8, {none}",
        ),
        (
            ("ZADD", account(f"sessions:{nobody}"), 9, "x"),
            f"accounts: sessions holds {nobody}, {none}",
        ),
        (
            ("HSET", account(f"logins:{nobody}"), "x", "{}"),
            f"accounts: logins holds {nobody}, {none}",
        ),
        (("ZADD", account(f"places:{nobody}"), 9, "x"), f"accounts: places holds {nobody}, {none}"),
        (("HDEL", keys.site("bans"), BOB.id), f"bans lacks {BOB.id} of account {BOB.id}"),
        (
            ("HSET", keys.site("bans"), EVE.id, '{"until":0,"reason":"","at":0,"by":""}'),
            f"bans holds {EVE.id}, {none}",
        ),
        (
            ("HSET", keys.site("bans"), "192.0.2.8", "{"),
            "bans 192.0.2.8 cannot be read, and holds nobody",
        ),
        (("HSET", keys.site("closed"), "/a", "x"), "closed /a cannot be read, and holds nobody"),
    ]
    for command, expected in damages:
        await site.store.redis.change(command)
        assert await problems(site) == [expected]
        assert await problems(site, repair=True) == [f"{expected} (repaired)"]
        assert await problems(site) == []


async def test_an_account_that_cannot_be_read_is_named_and_left(site: Site) -> None:
    await site.store.redis.change(("HSET", site.store.keys.accounts, EVE.id, "{"))
    found = await problems(site, repair=True)
    assert set(found) == {f"accounts: {EVE.id} cannot be read"}


async def test_of_two_accounts_with_one_mail_both_stay(site: Site) -> None:
    """A person has to decide whose email it is."""
    await site.store.redis.change(("HDEL", site.store.keys.account("mails"), BOB.mail))
    twin = EVE.__class__("twin", "guest", "Twin", BOB.mail)
    await save_account(site.store, twin)
    expected = f"accounts: mails lacks {BOB.mail} of account bob"
    assert await problems(site, repair=True) == [f"{expected} (repaired)"]
    assert await problems(site) == [expected]


async def test_a_damaged_ban_bans_nobody_and_breaks_nothing(site: Site) -> None:
    bans = site.store.keys.site("bans")
    await site.store.redis.change(("HSET", bans, "192.0.2.8", "{", "version", 9**15))
    await site.post("hello", by=EVE)
