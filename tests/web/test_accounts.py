"""Accounts as clients use them: register, log in and out, change, ban, two-factor
authentication."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import jwt
import pyotp
import pytest

from footfall.accounts.rules.links import new_link
from footfall.accounts.rules.registration import new_account
from footfall.model import Credentials
from tests.conftest import Site, Sites

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
TOM = {"display_name": "Tom", "email": "tom@example.com", "password": "tom's own"}
# What says that a request comes from them, and not from somebody who has their token.
MARAS, TOMS = ({"current_password": each["password"]} for each in (MARA, TOM))


@pytest.fixture
def empty(make_site: Sites) -> Site:
    return make_site.without_accounts()


@dataclass
class People:
    """A site with an administrator, Mara, and a guest, Tom; and their tokens."""

    site: Site
    mara: str
    tom: str

    async def who(self, token: str) -> Any:
        return (await self.site.get("/api/token", by=token))["data"]


async def log_in(site: Site, person: dict[str, str], **more: str) -> Any:
    return await site.send("POST", "/api/token", {**person, **more})


async def token_of(site: Site, person: dict[str, str], **more: str) -> str:
    answer = await log_in(site, person, **more)
    assert answer["errno"] == 0, answer
    token: str = answer["data"]["token"]
    return token


@pytest.fixture
async def people(empty: Site) -> People:
    for person in (MARA, TOM):
        assert (await empty.send("POST", "/api/user", person))["errno"] == 0
    return People(empty, await token_of(empty, MARA), await token_of(empty, TOM))


async def test_the_first_account_is_an_administrators(people: People) -> None:
    assert (await people.who(people.mara))["type"] == "administrator"
    assert (await people.who(people.tom))["type"] == "guest"


@pytest.mark.parametrize("prefix", ["", "/api"])
async def test_a_log_in_says_whose_account_it_is_and_no_secret(people: People, prefix: str) -> None:
    answer = await people.site.send("POST", f"{prefix}/token", TOM)
    data = answer["data"]
    assert {name: data[name] for name in ("email", "display_name", "url", "type", "label")} == {
        "email": "tom@example.com",
        "display_name": "Tom",
        "url": "",
        "type": "guest",
        "label": None,
    }
    assert (data["password"], data["2fa"]) == (None, None)
    shown = await people.site.get(f"{prefix}/token", by=data["token"])
    del data["token"], data["password"]
    assert shown == {"errno": 0, "errmsg": "", "data": data}


@pytest.mark.parametrize(
    "wrong",
    [
        {"password": "not tom's"},
        {"email": "nobody@example.com"},
        {"email": "no mail"},
        {"email": ""},
        {"password": ""},
    ],
    ids=str,
)
async def test_a_log_in_that_fails_does_not_say_why(people: People, wrong: dict[str, str]) -> None:
    assert await log_in(people.site, TOM, **wrong) == {"errno": 1000}


async def test_mails_are_compared_by_a_canonical_form(people: People) -> None:
    assert (await log_in(people.site, TOM, email="TOM@Example.COM"))["errno"] == 0
    again = await people.site.send("POST", "/api/user", {**TOM, "email": "Tom@EXAMPLE.com"})
    assert again == {"errno": 1000, "errmsg": "USER_EXIST"}


async def test_a_taken_mail_is_refused_in_the_readers_language(people: People) -> None:
    answer = await people.site.send("POST", "/api/user?lang=zh-CN", TOM)
    assert answer == {"errno": 1000, "errmsg": "用户已存在"}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"email": ""}, "email"),
        ({"email": "no mail"}, "email"),
        ({"email": ["a@example.com"]}, "email"),
        ({"email": "a" * 300 + "@example.com"}, "email"),
        ({"password": ""}, "password"),
        ({"password": "seven c"}, "password"),
        ({"password": "x" * 257}, "password"),
        ({"display_name": ""}, "display_name"),
        ({"display_name": "x" * 129}, "display_name"),
        ({"url": "x" * 2049}, "url"),
        ({"url": "javascript:alert(1)"}, "url"),
        ({"url": "java script:foo"}, "url"),
    ],
    ids=str,
)
async def test_a_refused_registration_names_the_wrong_field(
    empty: Site, fields: dict[str, Any], field: str
) -> None:
    answer = await empty.send("POST", "/api/user", {**TOM, **fields})
    assert answer["errno"] == 1001
    assert list(answer["errmsg"]) == [field]
    assert len(await empty.store.accounts.administrators()) == 0


async def test_only_the_named_fields_can_be_set(people: People) -> None:
    evil = {
        "display_name": "Eve",
        "email": "eve@example.com",
        "password": "eve's own",
        "type": "administrator",
        "label": "Owner",
        "avatar": "https://e.example/a.png",
        "objectId": "0" * 16,
        "2fa": "AAAA",
        "github": "eve",
        "createdAt": "2001-01-01",
    }
    await people.site.send("POST", "/api/user", evil)
    shown = (await log_in(people.site, evil))["data"]
    assert (shown["type"], shown["label"], shown["2fa"]) == ("guest", None, None)
    assert shown["objectId"] != "0" * 16
    assert shown["avatar"] != "https://e.example/a.png"
    edit = {"type": "administrator", "label": "Owner", "objectId": "0" * 16, "2fa": "AAAA"}
    await people.site.send("PUT", "/api/user", edit, by=shown["token"])
    after = await people.who(shown["token"])
    assert after == {name: shown[name] for name in after}


async def test_a_profile_is_changed_by_its_owner(people: People) -> None:
    changes = {
        "display_name": "Tommy",
        "url": "https://tom.example",
        "email": "tommy@example.com",
        "avatar": "https://tom.example/a.png",
    }
    answer = await people.site.send("PUT", "/api/user", {**changes, **TOMS}, by=people.tom)
    assert answer == {"errno": 0, "errmsg": "", "data": ""}
    after = await people.who(people.tom)
    assert {name: after[name] for name in changes} == changes
    assert (await log_in(people.site, TOM)) == {"errno": 1000}
    assert (await log_in(people.site, TOM, email="tommy@example.com"))["errno"] == 0
    # The old email is free again.
    assert (await people.site.send("POST", "/api/user", TOM))["errno"] == 0


async def test_a_blank_name_or_address_leaves_the_old_one(people: People) -> None:
    blank = {"display_name": "", "url": "", "avatar": "", "email": "", "password": ""}
    before = await people.who(people.tom)
    assert (await people.site.send("PUT", "/api/user", blank, by=people.tom))["errno"] == 0
    assert await people.who(people.tom) == before


async def test_null_takes_a_link_or_a_picture_away(people: People) -> None:
    ours = (await people.who(people.tom))["avatar"]
    links = {"url": "https://t.example", "avatar": "https://t.example/a.png"}
    await people.site.send("PUT", "/api/user", links, by=people.tom)
    changed = await people.who(people.tom)
    assert (changed["url"], changed["avatar"] == ours) == (links["url"], False)
    nothing = {"url": None, "avatar": None}
    assert (await people.site.send("PUT", "/api/user", nothing, by=people.tom))["errno"] == 0
    changed = await people.who(people.tom)
    assert (changed["url"], changed["avatar"]) == ("", ours)


async def test_a_token_cannot_be_forged(people: People) -> None:
    claims = jwt.decode(people.tom, options={"verify_signature": False})
    for key in ("0" * 32, "secret" * 6):
        for altered in (claims, {**claims, "sub": "x"}):
            forged = jwt.encode(altered, key, "HS256")
            assert await people.who(forged) == {}
    assert await people.who(jwt.encode(claims, "", "none")) == {}


async def test_a_token_expires(people: People) -> None:
    people.site.clock.now += 31 * 86_400_000
    assert await people.who(people.tom) == {}


async def logging_out(people: People) -> None:
    assert (await people.site.send("DELETE", "/api/token", by=people.tom))["errno"] == 0


async def changing_the_password(people: People) -> None:
    people.tom, by = await token_of(people.site, TOM), people.tom
    change = {"password": "tom's other", **TOMS}
    assert (await people.site.send("PUT", "/api/user", change, by=by))["errno"] == 0


async def a_ban(people: People) -> None:
    tom = (await people.who(people.tom))["objectId"]
    assert (await people.site.send("DELETE", f"/api/user/{tom}", by=people.mara))["errno"] == 0


@pytest.mark.parametrize("how", [logging_out, changing_the_password, a_ban])
async def test_a_token_is_ended_by(
    people: People, how: Callable[[People], Awaitable[None]]
) -> None:
    await how(people)
    assert await people.who(people.tom) == {}


async def test_logging_out_ends_one_session(people: People) -> None:
    other = await token_of(people.site, TOM)
    await logging_out(people)
    assert (await people.who(other))["display_name"] == "Tom"
    assert (await people.site.send("DELETE", "/api/token"))["errno"] == 0


async def test_after_a_change_only_the_new_password_works(people: People) -> None:
    await changing_the_password(people)
    assert await log_in(people.site, TOM) == {"errno": 1000}
    assert (await log_in(people.site, TOM, password="tom's other"))["errno"] == 0


async def test_an_administrator_changes_others(people: People) -> None:
    tom = (await people.who(people.tom))["objectId"]
    change = {"label": "VIP", "type": "administrator", "display_name": "Thomas", **MARAS}
    assert (await people.site.send("PUT", f"/api/user/{tom}", change, by=people.mara)) == {
        "errno": 0,
        "errmsg": "",
        "data": "",
    }
    # Another role ends the session.
    shown = (await log_in(people.site, TOM))["data"]
    assert (shown["label"], shown["type"], shown["display_name"]) == (
        "VIP",
        "administrator",
        "Thomas",
    )


async def everything(people: People) -> Any:
    """All that a change of Mara's or Tom's account may touch."""
    store = people.site.store
    return (
        [await store.accounts.by_mail(person["email"]) for person in (MARA, TOM)],
        [await people.who(token) for token in (people.mara, people.tom)],
        (await people.site.get("/api/ban", by=people.mara))["data"],
        await store.log.newest(9),
    )


ALL_AT_ONCE = {
    "display_name": "T",
    "label": "VIP",
    "url": "https://t.example",
    "password": "another one",
    "2fa": "",
}


@pytest.mark.parametrize("before", ["guest", "banned"])
@pytest.mark.parametrize("role", ["administrator", "guest", "unverified", "banned"])
async def test_a_change_with_a_taken_mail_changes_nothing(
    people: People, before: str, role: str
) -> None:
    await with_second_factor(people)
    path = f"/api/user/{(await people.who(people.tom))['objectId']}"
    await people.site.send("PUT", path, {"type": before}, by=people.mara)
    as_it_was = await everything(people)
    for changes in ({"type": role}, {"type": role, **ALL_AT_ONCE}):
        taken = {**changes, "email": MARA["email"], **MARAS}
        assert await people.site.send("PUT", path, taken, by=people.mara) == {"errno": 1000}
        assert await everything(people) == as_it_was


async def test_a_role_and_all_else_change_at_once(people: People) -> None:
    await with_second_factor(people)
    path = f"/api/user/{(await people.who(people.tom))['objectId']}"
    changes = {"type": "administrator", "email": "t@example.com", **ALL_AT_ONCE, **MARAS}
    assert (await people.site.send("PUT", path, changes, by=people.mara))["errno"] == 0
    login = {"email": "t@example.com", "password": "another one"}
    shown = (await log_in(people.site, login))["data"]
    changed = {name: shown[name] for name in ("type", "display_name", "label", "url", "2fa")}
    assert changed == {
        "type": "administrator",
        "display_name": "T",
        "label": "VIP",
        "url": "https://t.example",
        "2fa": None,
    }


@pytest.mark.parametrize("role", ["guest", "unverified", "banned"])
async def test_the_last_administrator_who_would_be_none_changes_nothing(
    people: People, role: str
) -> None:
    path = f"/api/user/{(await people.who(people.mara))['objectId']}"
    as_it_was = await everything(people)
    changes = {"type": role, "email": "m@example.com", **ALL_AT_ONCE, **MARAS}
    answer = await people.site.send("PUT", path, changes, by=people.mara)
    assert (answer["errno"], "administrator" in answer["errmsg"]) == (1000, True)
    assert await everything(people) == as_it_was


async def test_a_role_stays_while_no_more_passwords_can_be_hashed(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/api/user/{(await people.who(people.tom))['objectId']}"
    as_it_was = await everything(people)
    monkeypatch.setattr(people.site.service.process.pools.passwords, "capacity", 0)
    changes = {"type": "banned", "password": "another one", **MARAS}
    assert (await people.site.send("PUT", path, changes, by=people.mara))["errno"] == 503
    assert await everything(people) == as_it_was


async def test_an_administrator_lists_accounts_without_secrets(people: People) -> None:
    listed = (await people.site.get("/api/user", by=people.mara, pageSize=1))["data"]
    assert (listed["page"], listed["totalPages"], listed["pageSize"]) == (1, 2, 1)
    second = (await people.site.get("/api/user", by=people.mara, pageSize=1, page=2))["data"]
    names = [each["display_name"] for each in (*listed["data"], *second["data"])]
    assert names == ["Tom", "Mara"], "the newest first"
    assert "password" not in listed["data"][0]
    assert {each["2fa"] for each in (*listed["data"], *second["data"])} == {None}
    found = await people.site.get("/api/user", by=people.mara, email="TOM@example.com")
    assert found["data"]["display_name"] == "Tom"
    assert (await people.site.get("/api/user", by=people.mara, email="zz"))["data"] == ""


# The ranking of authors.


async def test_readers_see_who_writes_most(people: People) -> None:
    site = people.site
    ann = {"url": "/p", "nick": "Ann", "mail": "ann@example.com", "link": "https://ann.example"}
    for number, (fields, by) in enumerate([(ann, None)] * 3 + [({"url": "/q"}, people.tom)] * 2):
        await site.send("POST", "/api/comment", {"comment": f"say {number}", **fields}, by=by)
    await site.send("PUT", "/api/user", {"display_name": "Tommy"}, by=people.tom)
    for by in (None, people.tom):
        ranked = (await site.get("/user", by=by))["data"]
        assert [(each["count"], each["nick"], each["link"]) for each in ranked] == [
            (3, "Ann", "https://ann.example"),
            (2, "Tommy", ""),
        ]
        assert all(each.keys() == {"count", "nick", "link", "avatar"} for each in ranked)
    assert [each["nick"] for each in (await site.get("/api/user", pageSize=1))["data"]] == ["Ann"]
    for size in ("51", "abc"):
        assert (await site.get("/api/user", pageSize=size))["errno"] == 1001


async def test_a_ranking_leaves_out_authors_of_held_comments(people: People) -> None:
    site = people.site
    spam = {"comment": "spam", "url": "/p", "nick": "<b>Buy</b>", "mail": "buy@example.com"}
    id = (await site.send("POST", "/api/comment", spam))["data"]["objectId"]
    await site.send("PUT", f"/api/comment/{id}", {"status": "spam"}, by=people.mara)
    assert (await site.get("/api/user"))["data"] == []


# Who may register.


async def test_closed_registration_is_closed_to_the_first_person_too(make_site: Sites) -> None:
    site = make_site.without_accounts(REGISTRATION="closed")
    answer = await site.send("POST", "/api/user", MARA)
    assert (answer["errno"], "Ask the site owner" in answer["errmsg"]) == (1000, True)


async def test_invited_registration_is_open_to_the_first_person_only(make_site: Sites) -> None:
    site = make_site.without_accounts(REGISTRATION="invited")
    assert (await site.send("POST", "/api/user", MARA))["errno"] == 0
    answer = await site.send("POST", "/api/user", TOM)
    assert (answer["errno"], "Ask the site owner" in answer["errmsg"]) == (1000, True)


async def test_the_first_administrator_has_to_know_the_setup_code(make_site: Sites) -> None:
    site = make_site.without_accounts(SETUP_CODE="sesame")
    for code in ({}, {"setup_code": ""}, {"setup_code": "Sesame"}):
        answer = await site.send("POST", "/api/user", {**TOM, **code})
        assert (answer["errno"], "setup code" in answer["errmsg"]) == (1000, True)
    assert (await site.send("POST", "/api/user", {**MARA, "setup_code": "sesame"}))["errno"] == 0
    assert (await site.send("POST", "/api/user", TOM))["errno"] == 0
    assert (await log_in(site, TOM))["data"]["type"] == "guest"


async def test_login_force_asks_for_an_account(make_site: Sites) -> None:
    site = make_site.without_accounts(LOGIN="force")
    comment = {"comment": "hello", "url": "/p", "nick": "Ann"}
    for each in (comment, {}, {"comment": "", "url": 1}):
        assert (await site.send("POST", "/api/comment", each))["errno"] == 401
    await site.send("POST", "/api/user", MARA)
    token = await token_of(site, MARA)
    assert (await site.send("POST", "/api/comment", comment, by=token))["errno"] == 0
    assert (await site.send("POST", "/api/comment", {}, by=token))["errno"] == 1001


# Two-factor authentication.


async def with_second_factor(people: People) -> tuple[str, list[str]]:
    """Tom's secret and recovery codes."""
    offered = (await people.site.get("/api/token/2fa", by=people.tom))["data"]
    secret = offered["secret"]
    assert secret in offered["otpauth_url"]
    code = code_at(people.site, secret)
    body = {"secret": secret, "code": code, **TOMS}
    answer = await people.site.send("POST", "/api/token/2fa", body, by=people.tom)
    assert answer["errno"] == 0, answer
    return secret, answer["data"]["recovery"]


def code_at(site: Site, secret: str, steps: int = 0) -> str:
    return pyotp.TOTP(secret).at(site.clock.now // 1000 + 30 * steps)


async def test_with_a_second_factor_a_code_is_needed_and_works_once(people: People) -> None:
    secret, _ = await with_second_factor(people)
    assert await log_in(people.site, TOM) == {"errno": 1000}
    # That code was used to set two-factor authentication up.
    assert await log_in(people.site, TOM, code=code_at(people.site, secret)) == {"errno": 1000}
    code = code_at(people.site, secret, 1)
    assert (await log_in(people.site, TOM, code=code))["data"]["2fa"] == "on"
    assert await log_in(people.site, TOM, code=code) == {"errno": 1000}
    assert await log_in(people.site, TOM, code="000000") == {"errno": 1000}


async def test_each_recovery_code_works_once(people: People) -> None:
    _, recovery = await with_second_factor(people)
    assert len(set(recovery)) == 10
    for code in recovery[:2]:
        assert (await log_in(people.site, TOM, code=code.upper()))["errno"] == 0
        assert await log_in(people.site, TOM, code=code) == {"errno": 1000}


async def test_the_secret_in_use_is_in_no_answer(people: People) -> None:
    secret, _ = await with_second_factor(people)
    texts = [
        str(await people.site.get(target, by=by))
        for target in (
            "/api/token",
            "/api/token/2fa",
            "/api/user",
            "/api/user?email=tom@example.com",
        )
        for by in (people.mara, people.tom)
    ]
    assert not any(secret in text for text in texts)


async def test_a_client_is_told_whether_a_log_in_needs_a_code(people: People) -> None:
    async def needs(mail: str) -> bool:
        answer = await people.site.get("/api/token/2fa", email=mail)
        return bool(answer["data"]["enable"])

    assert [await needs(mail) for mail in ("tom@example.com", "zz@example.com")] == [False] * 2
    await with_second_factor(people)
    assert [await needs(mail) for mail in ("tom@example.com", "zz@example.com")] == [True, False]


async def test_a_second_factor_is_turned_off_by_its_owner(people: People) -> None:
    secret, _ = await with_second_factor(people)
    off = {"2fa": "", "current_code": code_at(people.site, secret, 1)}
    assert (await people.site.send("PUT", "/api/user", off, by=people.tom))["errno"] == 0
    assert (await log_in(people.site, TOM))["errno"] == 0


@pytest.mark.parametrize(
    ("body", "errno", "words"),
    [
        ({"code": "1", "secret": "JBSWY3DPEHPK3PXP"}, 1001, "code should be length"),
        ({"code": "000000", "secret": "short"}, 1000, "TWO_FACTOR_AUTH_ERROR_DETAIL"),
        ({"code": "000000", "secret": "0189" * 8}, 1000, "TWO_FACTOR_AUTH_ERROR_DETAIL"),
        ({"code": "000000"}, 1001, "secret can not be blank"),
        ({"code": "000000", "secret": "JBSWY3DPEHPK3PXP"}, 1000, "TWO_FACTOR_AUTH_ERROR_DETAIL"),
        ({"code": "²²²²²²", "secret": "JBSWY3DPEHPK3PXP"}, 1000, "TWO_FACTOR_AUTH_ERROR_DETAIL"),
    ],
    ids=str,
)
async def test_a_second_factor_needs_a_code_of_its_secret(
    people: People, body: dict[str, str], errno: int, words: str
) -> None:
    answer = await people.site.send("POST", "/api/token/2fa", body, by=people.tom)
    assert (answer["errno"], words in str(answer["errmsg"])) == (errno, True)


# Imported passwords.


# Hashes of "päss" thirty times, which is longer than bcrypt reads.
IMPORTED = {
    "bcrypt": "$2y$04$zfO/qPOsnVLX2IwIdOiCVOYwzyuIz820x5rlPB3O.N1pivo0MNJFC",
    "phpass": "$P$5gTNloJ5/AbIsKDPDJzTTXtwPOCvte1",
}


@pytest.mark.parametrize("scheme", IMPORTED)
async def test_an_imported_password_works_and_is_renewed(people: People, scheme: str) -> None:
    password = "päss" * 30
    known = IMPORTED[scheme]
    stored = await people.site.store.accounts.by_mail(TOM["email"])
    assert stored is not None
    mails = (TOM["email"], TOM["email"])
    after = stored.account, Credentials(known)
    await people.site.store.accounts.change(stored, after, mails=mails, revokes=False)
    assert await log_in(people.site, TOM) == {"errno": 1000}
    assert (await log_in(people.site, TOM, password=password))["errno"] == 0
    renewed = await people.site.store.accounts.by_mail(TOM["email"])
    assert renewed is not None
    assert renewed.credentials.password.startswith("$argon2id$")
    assert (await log_in(people.site, TOM, password=password))["errno"] == 0


# Links and limits.


async def test_a_link_sets_a_password_once(people: People) -> None:
    tom = (await people.who(people.tom))["objectId"]
    token = await new_link(people.site.service.accounts.store, tom)
    change = {"token": token, "password": "set by link"}
    assert (await people.site.send("PUT", "/api/user/password", change))["errno"] == 0
    assert await people.who(people.tom) == {}
    assert (await log_in(people.site, TOM, password="set by link"))["errno"] == 0
    again = await people.site.send("PUT", "/api/user/password", change)
    assert again == {"errno": 1000, "errmsg": "TOKEN_EXPIRED"}


async def test_an_account_that_was_never_verified_is_deleted_instead_of_banned(
    people: People,
) -> None:
    store = people.site.store.accounts
    account = new_account(people.site.service.process, "U", "una@example.com", "unverified")
    await store.register(None, account, account.mail, Credentials())
    await people.site.send("DELETE", f"/api/user/{account.id}", by=people.mara)
    assert await store.by_mail(account.mail) is None


async def test_without_mail_nobody_is_sent_a_link(people: People) -> None:
    answer = await people.site.send("PUT", "/api/user/password", {"email": TOM["email"]})
    assert answer == {"errno": 1000}
    assert (await people.site.send("PUT", "/api/user/password", {}))["errno"] == 1001


async def test_attempts_on_one_account_are_limited_wherever_they_come_from(
    people: People, make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = 0
    for number in range(12):
        other = make_site.without_accounts(f"192.0.2.{number}")
        for _ in range(10):
            answer = await log_in(other, TOM, email="TOM@example.com", password="wrong one")
            refused += "errmsg" in answer
    assert refused >= 15


async def test_moderators_see_whose_name_looks_like_an_administrators(people: People) -> None:
    site, mara = people.site, MARA["display_name"]
    names = [mara, f"{mara.upper()} ", "M\u0430r\u0430", "Maria", "Ma\u200bra"]
    for nick in names:
        await site.post(f"by {nick}", nick=nick)
    await site.send("POST", "/api/comment", {"comment": "mine", "url": "/p"}, by=people.mara)
    await site.send("PUT", "/api/user", {"display_name": "M\u00e1ra"}, by=people.tom)
    await site.send("POST", "/api/comment", {"comment": "Tom's", "url": "/p"}, by=people.tom)

    queue = await site.get("/api/comment", by=people.mara, type="list")
    page = await site.get("/api/comment", by=people.mara, path="/p")
    alike = {"Tom's", *(f"by {nick}" for nick in names)} - {"by Maria"}
    for comments in (queue["data"]["data"], page["data"]["data"]):
        found = {each["orig"] for each in comments if each.get("looks_like") == mara}
        assert found == alike
    for token in (None, people.tom):
        page = await site.get("/api/comment", by=token, path="/p")
        assert not any("looks_like" in each for each in page["data"]["data"])
