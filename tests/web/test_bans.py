"""Bans: who is refused, what they are told, and who may ban whom."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from footfall import patterns
from footfall.accounts.rules import banning, bans
from footfall.accounts.store import bans as store_module
from footfall.accounts.store.codec import ban_body, credentials_body
from footfall.errors import Forbidden, Refused, StoreUnavailable
from footfall.model import Account, Ban, Caller, Credentials, Viewer
from tests.conftest import ADMIN, BOB, EVE, Site, Sites
from tests.support.accounts import save_account

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
TOM = {"display_name": "Tom", "email": "tom@example.com", "password": "tom's own"}
FOR_EVER = {"errno": 1000, "errmsg": "You can no longer write here"}


async def ban(site: Site, value: str, **fields: Any) -> Any:
    return await site.send("POST", "/api/ban", {"value": value, **fields}, by=ADMIN)


async def lift(site: Site, value: str) -> Any:
    answer = await site.send("DELETE", "/api/ban", {"value": value}, by=ADMIN)
    return answer["data"]["lifted"]


async def listed(site: Site) -> list[str]:
    answer = await site.get("/api/ban", by=ADMIN)
    return [each["value"] for each in answer["data"]["data"]]


async def post(site: Site, **fields: Any) -> Any:
    by = fields.pop("by", None)
    draft = {"comment": f"hello {site.clock()}", "url": "/p", "nick": "Ann", **fields}
    return await site.send("POST", "/api/comment", draft, by=by)


# Who is banned.


@pytest.mark.parametrize(
    ("value", "address", "is_refused"),
    [
        ("192.0.2.7", "192.0.2.7", True),
        ("192.0.2.7", "192.0.2.8", False),
        ("192.0.2.7", "::ffff:192.0.2.7", True),
        ("192.0.2.0/24", "192.0.2.200", True),
        ("192.0.2.0/24", "192.0.3.1", False),
        ("2001:db8:1:2::7", "2001:db8:1:2:a:b:c:d", True),
        ("2001:db8:1:2::7", "2001:db8:1:3::7", False),
        ("2001:db8::/32", "2001:db8:ffff::1", True),
        ("2001:db8::7/128", "2001:db8::8", False),
        ("2001:db8::7/128", "2001:db8::7", True),
    ],
)
async def test_an_address_is_banned_with_its_network(
    make_site: Sites, value: str, address: str, *, is_refused: bool
) -> None:
    await ban(await make_site(), value)
    answer = await post(await make_site(address))
    assert answer["errno"] == (1000 if is_refused else 0), answer


async def test_a_mail_is_banned_in_every_spelling_with_and_without_an_account(site: Site) -> None:
    await ban(site, "Ann@Example.com")
    assert await post(site, mail="ANN@example.COM") == FOR_EVER
    assert (await post(site, mail="other@example.com"))["errno"] == 0
    await ban(site, BOB.mail)
    assert await post(site, by=BOB) == FOR_EVER
    assert (await post(site, by=EVE))["errno"] == 0


async def test_a_ban_that_locks_out_a_confirmed_account_must_be_meant(site: Site) -> None:
    await save_account(site.store, BOB)
    confirmed = credentials_body(Credentials(confirmed=BOB.mail))
    key = site.store.keys.account("credentials")
    await site.store.redis.change(("HSET", key, BOB.id, confirmed))
    told = await site.send("POST", "/api/ban", {"value": BOB.mail.upper()}, by=ADMIN)
    assert told["errmsg"] == banning.LOCKS_OUT
    assert (await post(site, by=BOB))["errno"] == 0
    await ban(site, BOB.mail, meant=True)
    assert await post(site, by=BOB) == FOR_EVER


async def test_an_account_is_banned_by_its_id(site: Site) -> None:
    comment = (await post(site, by=BOB))["data"]["objectId"]
    await ban(site, BOB.id)
    edit, like = {"comment": "other"}, {"like": True}
    assert await post(site, by=BOB) == FOR_EVER
    assert await site.send("PUT", f"/api/comment/{comment}", edit, by=BOB) == FOR_EVER
    assert await site.send("PUT", f"/api/comment/{comment}", like, by=BOB) == FOR_EVER
    assert (await site.send("PUT", f"/api/comment/{comment}", like, by=EVE))["errno"] == 0
    assert (await site.page(by=BOB))["count"] == 1, "reading is for everybody"


async def test_administrators_are_exempt(make_site: Sites) -> None:
    site = await make_site("192.0.2.7")
    await ban(site, "192.0.2.7")
    assert await post(site) == FOR_EVER
    assert (await post(site, by=ADMIN))["errno"] == 0
    assert await lift(site, "192.0.2.7")
    assert (await post(site))["errno"] == 0


async def test_a_moderator_bans_guests_and_nobody_who_moderates(site: Site) -> None:
    mod, other = (Account(name, "moderator", name, f"{name}@example.com") for name in ("mo", "di"))
    for account in (mod, other):
        await save_account(site.store, account)

    async def ban_by(by: Account, value: str) -> None:
        await banning.ban(site.service.accounts, value, Caller(Viewer(by)))

    for value in (BOB.id, "192.0.2.1"):
        await ban_by(mod, value)
    for value in (other.id, mod.id, ADMIN.id):
        with pytest.raises(Forbidden):
            await ban_by(mod, value)
    for by in (mod, ADMIN):
        with pytest.raises(Refused, match="a moderator's email"):
            await ban_by(by, other.mail)
    await ban_by(ADMIN, other.id)


async def test_a_banned_person_can_neither_register_nor_log_in(make_site: Sites) -> None:
    site = make_site.without_accounts("192.0.2.7")
    for person in (MARA, TOM):
        assert (await site.send("POST", "/api/user", person))["errno"] == 0
    mara = (await site.send("POST", "/api/token", MARA))["data"]["token"]
    assert (await site.send("POST", "/api/ban", {"value": "192.0.2.0/24"}, by=mara))["errno"] == 0
    other = {**TOM, "email": "other@example.com"}
    assert await site.send("POST", "/api/user", other) == FOR_EVER
    assert await site.send("POST", "/api/token", TOM) == FOR_EVER
    # A wrong password tells nothing about the ban, and administrators may always log in.
    assert await site.send("POST", "/api/token", {**TOM, "password": "x"}) == {"errno": 1000}
    assert (await site.send("POST", "/api/token", MARA))["errno"] == 0
    elsewhere = make_site.without_accounts("198.51.100.1")
    assert (await elsewhere.send("POST", "/api/user", other))["errno"] == 0


async def test_a_ban_and_the_type_of_an_account_are_one(make_site: Sites) -> None:
    site = make_site.without_accounts()
    for person in (MARA, TOM):
        await site.send("POST", "/api/user", person)
    mara = (await site.send("POST", "/api/token", MARA))["data"]["token"]

    async def log_in() -> Any:
        return await site.send("POST", "/api/token", TOM)

    async def bans() -> list[str]:
        return [each["value"] for each in (await site.get("/api/ban", by=mara))["data"]["data"]]

    tom = (await log_in())["data"]
    id = tom["objectId"]
    for method, path, body in (
        ("POST", "/api/ban", {"value": id}),
        ("PUT", f"/api/user/{id}", {"type": "banned"}),
        ("DELETE", f"/api/user/{id}", None),
    ):
        assert (await site.send(method, path, body, by=mara))["errno"] == 0
        assert (await log_in(), await bans()) == ({"errno": 1000}, [id])
        # A token that has ended still tells that its owner is banned.
        assert await post(site, by=tom["token"]) == FOR_EVER
        if method == "PUT":
            assert await site.send("PUT", f"/api/user/{id}", {"type": "guest"}, by=mara)
        else:
            await site.send("DELETE", "/api/ban", {"value": id}, by=mara)
        assert ((await log_in())["errno"], await bans()) == (0, [])


BANS_OF_BOB = [
    ("POST", "/api/ban", {"value": BOB.id}),
    ("PUT", f"/api/user/{BOB.id}", {"type": "banned"}),
    ("DELETE", f"/api/user/{BOB.id}", None),
]
LIFTS_OF_BOB = [
    ("DELETE", "/api/ban", {"value": BOB.id}),
    ("PUT", f"/api/user/{BOB.id}", {"type": "guest"}),
]


async def role_of(site: Site, id: str = BOB.id) -> str:
    stored = await site.store.accounts.by_id(id)
    assert stored is not None
    return stored.account.role


@pytest.fixture(params=["accounts", "bans"])
def step(request: pytest.FixtureRequest) -> str:
    """What one change of a banned account is made of, in this order."""
    step: str = request.param
    return step


@pytest.fixture(params=["asked", "done"])
def is_done(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "done")


@pytest.fixture
def interrupt(
    site: Site, step: str, is_done: bool, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], None]:
    """Lose the next answer of this step, which was carried out or not."""
    store = getattr(site.store, step)
    change = store.change

    async def lost(*args: Any, **named: Any) -> None:
        monkeypatch.setattr(store, "change", change)
        if is_done:
            await change(*args, **named)
        raise StoreUnavailable()

    return lambda: monkeypatch.setattr(store, "change", lost)


@pytest.mark.parametrize(("method", "path", "body"), BANS_OF_BOB)
async def test_a_ban_that_was_interrupted_is_completed_by_a_repetition(
    site: Site, interrupt: Callable[[], None], method: str, path: str, body: Any
) -> None:
    interrupt()
    assert (await site.send(method, path, body, by=ADMIN))["errno"] == 503
    assert (await site.send(method, path, body, by=ADMIN))["errno"] == 0
    assert (await role_of(site), await listed(site)) == ("banned", [BOB.id])


@pytest.mark.parametrize(("method", "path", "body"), LIFTS_OF_BOB)
async def test_whoever_is_half_lifted_out_of_a_ban_has_it_until_a_repetition(
    site: Site,
    interrupt: Callable[[], None],
    step: str,
    is_done: bool,
    method: str,
    path: str,
    body: Any,
) -> None:
    await ban(site, BOB.id)
    interrupt()
    assert (await site.send(method, path, body, by=ADMIN))["errno"] == 503
    if (step, is_done) != ("bans", True):
        assert await post(site, by=BOB) == FOR_EVER
    assert (await site.send(method, path, body, by=ADMIN))["errno"] == 0
    assert (await role_of(site), await listed(site)) == ("guest", [])
    assert (await post(site, by=BOB))["errno"] == 0


async def test_the_end_of_a_ban_that_was_interrupted_comes_with_the_next_look(
    site: Site, interrupt: Callable[[], None]
) -> None:
    await ban(site, BOB.id, until="2023-11-14T23:00:00Z")
    site.clock.now += 3_600_000
    interrupt()
    with pytest.raises(StoreUnavailable):
        await banning.tidy(site.service.accounts)
    await banning.tidy(site.service.accounts)
    assert (await role_of(site), await listed(site)) == ("guest", [])


@pytest.mark.parametrize(("method", "path", "body"), LIFTS_OF_BOB)
async def test_a_ban_that_is_made_anew_while_the_old_one_is_lifted_stays(
    site: Site, monkeypatch: pytest.MonkeyPatch, method: str, path: str, body: Any
) -> None:
    await ban(site, BOB.id)
    accounts, change = site.store.accounts, site.store.accounts.change

    async def overtaken(*args: Any, **named: Any) -> None:
        monkeypatch.setattr(accounts, "change", change)
        await change(*args, **named)
        await ban(site, BOB.id, reason="again")

    monkeypatch.setattr(accounts, "change", overtaken)
    assert (await site.send(method, path, body, by=ADMIN))["errno"] == 0
    assert (await role_of(site), await listed(site)) == ("banned", [BOB.id])


async def test_whoever_becomes_an_administrator_while_a_ban_is_lifted_stays_one(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ban(site, BOB.id)
    accounts, by_id = site.store.accounts, site.store.accounts.by_id

    async def overtaken(id: str) -> Any:
        monkeypatch.setattr(accounts, "by_id", by_id)
        found = await by_id(id)
        await banning.give_role(site.service.accounts, id, "administrator", Caller(Viewer(ADMIN)))
        return found

    monkeypatch.setattr(accounts, "by_id", overtaken)
    await lift(site, BOB.id)
    assert (await role_of(site), await listed(site)) == ("administrator", [])


async def test_whoever_is_banned_while_they_are_promoted_stays_banned(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts, by_id = site.store.accounts, site.store.accounts.by_id

    async def overtaken(id: str) -> Any:
        monkeypatch.setattr(accounts, "by_id", by_id)
        found = await by_id(id)
        await ban(site, id)
        return found

    monkeypatch.setattr(accounts, "by_id", overtaken)
    admin = Caller(Viewer(ADMIN))
    was = await banning.change_role(
        site.service.accounts, BOB.id, "administrator", admin, of=("guest",)
    )
    assert (was and was.role, await role_of(site), await listed(site)) == (
        "banned",
        "banned",
        [BOB.id],
    )


async def test_a_type_that_stays_leaves_the_reason_and_the_end_of_a_ban(site: Site) -> None:
    made = await ban(site, BOB.id, until="2023-11-14T23:00:00Z", reason="flame war")
    for method, path, body in BANS_OF_BOB[1:]:
        assert (await site.send(method, path, body, by=ADMIN))["errno"] == 0
    assert (await site.get("/api/ban", by=ADMIN))["data"]["data"] == [made["data"]]


async def test_the_version_of_the_list_is_nobodys_ban(site: Site) -> None:
    await ban(site, BOB.id)
    assert not await lift(site, "version")
    for role in ("guest", "banned"):
        answer = await site.send("PUT", "/api/user/version", {"type": role}, by=ADMIN)
        assert answer["errno"] == 0
    assert await listed(site) == [BOB.id]


# What they are told, and until when.


async def test_a_ban_says_when_it_ends_and_ends_then(site: Site) -> None:
    answer = await ban(site, "ann@example.com", until="2023-11-14T23:00:00Z", reason="flame war")
    assert answer["data"] == {
        "value": "ann@example.com",
        "kind": "mail",
        "until": "2023-11-14T23:00:00.000Z",
        "reason": "flame war",
        "createdAt": answer["data"]["createdAt"],
        "by": "admin",
        "caught": 0,
        "caughtAt": None,
    }
    refused = await post(site, mail="ann@example.com")
    assert refused["errmsg"] == "You cannot write here until 2023-11-14 23:00 UTC"
    draft = {"comment": "hello", "url": "/p", "mail": "ann@example.com"}
    refused = await site.send("POST", "/api/comment?lang=zh-CN", draft)
    assert refused["errmsg"] == "2023-11-14 23:00 UTC 之前您不能在此发言"
    site.clock.now += 3_600_000
    assert (await post(site, mail="ann@example.com"))["errno"] == 0
    # The ban is in the list until the next look at ends.
    assert await listed(site) == ["ann@example.com"]
    await banning.tidy(site.service.accounts)
    assert await listed(site) == []


async def test_of_several_bans_the_longest_is_told(make_site: Sites) -> None:
    site = await make_site("192.0.2.7")
    await ban(site, "192.0.2.7", until="2023-11-14T23:00:00Z")
    await ban(site, "192.0.2.0/24", until="2023-11-15T23:00:00Z")
    assert "2023-11-15" in (await post(site))["errmsg"]
    await ban(site, "ann@example.com")
    assert await post(site, mail="ann@example.com") == FOR_EVER


async def test_an_account_is_a_guest_again_when_its_ban_has_ended(site: Site) -> None:
    await ban(site, BOB.id, until="2023-11-14T23:00:00Z")
    site.clock.now += 3_600_000
    assert await role_of(site) == "banned"
    # The ban was prolonged before anybody looked at ends, so the old end does not count.
    await ban(site, BOB.id, until="2023-11-16T00:00:00Z")
    await banning.tidy(site.service.accounts)
    assert (await role_of(site), await listed(site)) == ("banned", [BOB.id])
    site.clock.now += 3 * 86_400_000
    await banning.tidy(site.service.accounts)
    assert (await role_of(site), await listed(site)) == ("guest", [])


async def test_a_ban_by_one_worker_holds_for_the_next_comment_at_another(make_site: Sites) -> None:
    one, other = await make_site("192.0.2.7"), await make_site("192.0.2.7")
    assert (await post(other))["errno"] == 0
    await ban(one, "192.0.2.7")
    assert await post(other) == FOR_EVER
    await lift(one, "192.0.2.7")
    assert (await post(other))["errno"] == 0


async def test_a_list_that_is_read_after_the_check_does_not_pass_for_one_that_was_searched(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another request of the same worker, such as a like."""
    one, other = await make_site("192.0.2.7"), await make_site("192.0.2.7")
    assert (await post(other))["errno"] == 0
    await ban(one, "192.0.2.7")
    captcha = other.service.accounts.captcha
    require = captcha.require_for_comment

    async def meanwhile(*proof: Any) -> None:
        await other.service.accounts.bans.refresh()
        await require(*proof)

    monkeypatch.setattr(captcha, "require_for_comment", meanwhile)
    assert await post(other) == FOR_EVER


async def test_a_like_checks_for_bans_in_the_background(make_site: Sites) -> None:
    one, other = await make_site("192.0.2.7"), await make_site("192.0.2.7")
    target = f"/api/comment/{(await post(one))['data']['objectId']}"
    await ban(one, "192.0.2.7")
    await other.send("PUT", target, {"like": True})
    await other.settled()
    assert await other.send("PUT", target, {"like": True}) == FOR_EVER


# Who may ban whom.


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("127.0.0.1", "trusted proxy"),
        ("0.0.0.0/0", "trusted proxy"),
        ("::1", "trusted proxy"),
        ("::/0", "trusted proxy"),
        ("203.0.113.9", "trusted proxy"),
        ("admin@EXAMPLE.com", "moderator's email"),
        ("admin", "the last administrator"),
        ("nobody", "Not bannable"),
        ("version", "Not bannable"),
        ("192.0.2.0/33", "Not bannable"),
    ],
)
async def test_a_ban_that_would_lock_out_too_many_is_refused_with_words(
    make_site: Sites, value: str, words: str
) -> None:
    site = await make_site(TRUSTED_PROXIES="127.0.0.0/8,::1,203.0.113.0/24")
    answer = await ban(site, value)
    assert (answer["errno"], words in answer["errmsg"]) == (1000, True), answer
    assert await listed(site) == []


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"value": ""}, "value"),
        ({"value": 7}, "value"),
        ({"value": "x" * 255}, "value"),
        ({"value": "192.0.2.7", "until": "tomorrow"}, "until"),
        ({"value": "192.0.2.7", "until": "2001-01-01"}, "until"),
        ({"value": "192.0.2.7", "until": "9999-99-99"}, "until"),
        ({"value": "192.0.2.7", "until": 7}, "until"),
        ({"value": "192.0.2.7", "reason": "x" * 201}, "reason"),
    ],
    ids=str,
)
async def test_a_malformed_ban_is_refused_by_field(
    site: Site, fields: dict[str, Any], field: str
) -> None:
    answer = await site.send("POST", "/api/ban", fields, by=ADMIN)
    assert (answer["errno"], list(answer["errmsg"])) == (1001, [field])


@pytest.mark.parametrize(
    ("value", "mail", "is_refused"),
    [
        ("*@spam.example", "eve@spam.example", True),
        ("*@Spam.Example", "EVE@SPAM.example", True),
        ("*@spam.example", "eve@spam.example.org", False),
        ("*@spam.example", "eve@not-spam.example", False),
        ("*@spam.example", "", False),
    ],
)
async def test_a_domain_bans_its_emails(
    site: Site, value: str, mail: str, *, is_refused: bool
) -> None:
    assert (await ban(site, value))["data"]["kind"] == "domain"
    answer = await post(site, mail=mail)
    assert (answer == FOR_EVER) == is_refused, answer


@pytest.mark.parametrize(
    ("value", "written", "is_spam"),
    [
        ("casino.example", {"comment": "[win](https://casino.example/a?b)"}, True),
        ("https://www.casino.example:8443/now", {"comment": "http://CASINO.example"}, True),
        ("*.casino.example", {"comment": "https://a.b.casino.example/"}, True),
        ("casino.example", {"comment": "hello", "link": "https://casino.example"}, True),
        ("casino.example", {"comment": "hello", "link": "casino.example/win"}, True),
        ("casino.example", {"comment": "hello", "link": "//www.casino.example"}, True),
        ("casino.example", {"comment": "[a](https:casino.example)"}, True),
        ("casino.example", {"comment": "[a](https:/casino.example)"}, True),
        ("casino.example", {"comment": "[a](https://CASINO%2Eexample/)"}, True),
        ("casino.example", {"comment": "hello", "link": "/casino.example"}, False),
        ("casino.example", {"comment": "https://not-casino.example"}, False),
        ("casino.example", {"comment": "I hate casino.example"}, False),
        ('"Cheap  pills"', {"comment": "buy CHEAP\npills now"}, True),
        ('"cheap pills"', {"comment": "cheap pillsbury"}, False),
        ('"cialis"', {"comment": "a specialist"}, False),
        ("“加微信”", {"comment": "请加微信号"}, True),
        ('"c++ (1.5)"', {"comment": "C++ (1.5)!"}, True),
        ('"c++ (1.5)"', {"comment": "C++ (1x5)!"}, False),
        (r"/casino\d+/", {"comment": "Casino777"}, True),
        (r"/casino\d+/", {"comment": "casino"}, False),
    ],
    ids=str,
)
async def test_what_is_banned_of_a_text_makes_it_spam(
    site: Site, value: str, written: dict[str, str], *, is_spam: bool
) -> None:
    banned = (await ban(site, value))["data"]["value"]
    assert (await ban(site, banned))["data"]["value"] == banned
    answer = await post(site, **written)
    assert answer["errno"] == 0
    queue = await site.get("/api/comment", by=ADMIN, type="list", status="spam")
    assert [each["objectId"] for each in queue["data"]["data"]] == (
        [answer["data"]["objectId"]] if is_spam else []
    )
    assert await lift(site, banned)
    assert (await post(site, **written, nick="Ben"))["errno"] == 0
    queue = await site.get("/api/comment", by=ADMIN, type="list", status="spam")
    assert len(queue["data"]["data"]) == is_spam


async def test_an_author_cannot_edit_into_a_comment_what_is_banned(make_site: Sites) -> None:
    site = await make_site()
    id = (await post(site, by=BOB))["data"]["objectId"]
    await ban(site, '"cheap pills"')
    await site.send("PUT", f"/api/comment/{id}", {"comment": "cheap pills"}, by=BOB)
    queue = await site.get("/api/comment", by=ADMIN, type="list")
    assert queue["data"]["data"][0]["status"] == "spam"


@pytest.mark.parametrize(
    "value",
    [
        "*@", "*@*", "*@spam", "eve@*", "*eve@spam.example", "*.example@spam.example", "*.*",
        "1.2", "casino.1", "https://", "a/b", '""', '"x"', "//", "/.*/", "/(/", r"/\1/", "/x|/",
        "https://eve@casino.example", "blog.example", "Mr. Smith",
    ],
)  # fmt: skip
async def test_what_can_match_nobody_or_everybody_is_refused(make_site: Sites, value: str) -> None:
    site = await make_site(SITE_URL="https://blog.example")
    answer = await ban(site, value)
    assert answer["errno"] in (1000, 1001), answer
    assert await listed(site) == []


async def test_each_ban_says_what_it_has_caught_and_when_last(site: Site) -> None:
    for value in ("192.0.2.1", "*@spam.example", '"cheap pills"', "casino.example"):
        answer = await ban(site, value)
        assert (answer["data"]["caught"], answer["data"]["caughtAt"]) == (0, None)
    for n in range(3):
        await post(site, mail="eve@spam.example", comment=f"hello {n}")
    await post(site, comment="cheap pills https://casino.example")
    await site.settled()

    async def caught() -> dict[str, tuple[int, bool]]:
        answer = await site.get("/api/ban", by=ADMIN)
        bans = answer["data"]["data"]
        return {each["value"]: (each["caught"], bool(each["caughtAt"])) for each in bans}

    assert await caught() == {
        "192.0.2.1": (0, False),
        "*@spam.example": (3, True),
        '"cheap pills"': (1, True),
        "casino.example": (1, True),
    }
    # A ban that is made again starts at 0, and one that was lifted counts nothing.
    await lift(site, "*@spam.example")
    await site.store.bans.note_caught({"*@spam.example": 5}, 1)
    await ban(site, "*@spam.example")
    assert (await caught())["*@spam.example"] == (0, False)


async def test_a_ban_of_words_that_was_written_by_hand_catches_nothing(site: Site) -> None:
    await site.store.redis.change(
        ("HSET", site.store.keys.site("bans"), "/(/", ban_body(Ban("/(/")), "version", 9)
    )
    assert (await post(site))["errno"] == 0


async def test_patterns_that_are_too_much_together_are_searched_one_by_one(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = ["/casino" + "(a|b|c{0,9}){0,9}" * 9 + f"{n}x/" for n in range(3)]
    for value in values:
        assert (await ban(site, value))["errno"] == 0
    monkeypatch.setattr(patterns, "MAX_PATTERN_BYTES", 1 << 14)
    assert site.service.accounts.bans._list._any_words is None
    assert site.service.accounts.bans.in_text(["casino1x"], "", "") == [values[1]]


async def test_the_number_of_bans_of_words_is_bounded(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bans, "MAX_WORD_BANS", 1)
    assert (await ban(site, '"one"'))["errno"] == 0
    assert "1 ban " in (await ban(site, '"two"'))["errmsg"]
    assert (await ban(site, '"one"', reason="again"))["errno"] == 0


async def test_the_number_of_bans_is_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_BANS", 2)
    for n in range(2):
        assert (await ban(site, f"192.0.2.{n}"))["errno"] == 0
    answer = await ban(site, "192.0.2.9")
    assert (answer["errno"], "2 bans" in answer["errmsg"]) == (1000, True)
    assert (await ban(site, "192.0.2.1", reason="again"))["errno"] == 0
    for method, path, body in BANS_OF_BOB:
        assert "2 bans" in (await site.send(method, path, body, by=ADMIN))["errmsg"]
    assert await role_of(site) == "guest"
    assert sorted(await listed(site)) == ["192.0.2.0", "192.0.2.1"]


async def test_bans_are_listed_by_pages_and_lifted_by_the_listed_values(site: Site) -> None:
    values = ["192.0.2.1", "192.0.2.0/24", "2001:db8:1:2::5", "ann@example.com", BOB.id]
    for value in values:
        await ban(site, value)
    first = (await site.get("/api/ban?pageSize=2", by=ADMIN))["data"]
    assert [each["value"] for each in first["data"]] == [BOB.id, "ann@example.com"]
    assert (first["page"], first["totalPages"]) == (1, 3)
    kinds = (await site.get("/api/ban", by=ADMIN))["data"]["data"]
    assert [kind["kind"] for kind in kinds] == ["account", "mail", "network", "network", "address"]
    for value in await listed(site):
        assert await lift(site, value)
        assert not await lift(site, value)
    answer = await site.send("DELETE", "/api/ban", {}, by=ADMIN)
    assert answer["errmsg"] == {"value": "value can not be blank"}


async def test_the_log_says_who_banned_whom_and_the_state_before(site: Site) -> None:
    await ban(site, "192.0.2.1")
    await ban(site, "192.0.2.1", until="2023-11-14T23:00:00Z")
    await lift(site, "192.0.2.1")
    await banning.give_role(site.service.accounts, BOB.id, "administrator", Caller(Viewer(ADMIN)))
    entries = [tuple(each.fields.values()) for each in await site.store.log.newest(9)]
    until = "banned until 2023-11-14 23:00 UTC"
    assert entries == [
        ("admin", "role", "bob", "guest", "administrator"),
        ("admin", "unban", "192.0.2.1", until, "not banned"),
        ("admin", "ban", "192.0.2.1", "banned", until),
        ("admin", "ban", "192.0.2.1", "not banned", "banned"),
    ]


async def test_of_two_changes_of_a_ban_at_once_both_are_made(site: Site) -> None:
    admin = Caller(Viewer(ADMIN))
    before, _ = await banning.ban(site.service.accounts, "192.0.2.1", admin, reason="one")
    with pytest.raises(store_module.Changed):
        await site.store.bans.change("192.0.2.1", None, replace(before, reason="x"), 0)
    await banning.ban(site.service.accounts, "192.0.2.1", admin, reason="two")
    listed = await site.store.bans.get("192.0.2.1")
    assert listed
    assert listed.reason == "two"


# Authors with approved comments.


async def test_known_authors_do_not_wait_for_approval(make_site: Sites) -> None:
    site = await make_site(COMMENT_AUDIT="true", TRUST_AFTER="2", FORBIDDEN_WORDS="viagra")
    for _ in range(2):
        posted = (await post(site, by=BOB))["data"]
        assert posted["status"] == "waiting"
        await site.send(
            "PUT", f"/api/comment/{posted['objectId']}", {"status": "approved"}, by=ADMIN
        )
    known = (await post(site, by=BOB))["data"]
    assert known["status"] == "approved"
    edit = {"comment": "in other words"}
    edited = await site.send("PUT", f"/api/comment/{known['objectId']}", edit, by=BOB)
    assert edited["data"]["status"] == "approved"
    assert (await post(site, by=BOB, comment="viagra"))["data"]["status"] == "spam"
    assert (await post(site, by=EVE))["data"]["status"] == "waiting"
    # A name and an email prove nothing, since anybody can write them.
    assert (await post(site, nick="Bob", mail=BOB.mail))["data"]["status"] == "waiting"
