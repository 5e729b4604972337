"""A login alone does not change how one logs in; and the list of one's logins."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyotp
import pytest

from footfall.accounts.rules.reauthentication import FRESH_MINUTES
from footfall.model import Caller
from tests.conftest import Site, Sites

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
TOM = {"display_name": "Tom", "email": "tom@example.com", "password": "tom's own"}
MARAS, TOMS = ({"current_password": each["password"]} for each in (MARA, TOM))
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
NEEDS_PASSWORD = "Enter your current password as well (current_password)"
NEEDS_CODE = "Enter a two-factor code as well (current_code)"


@dataclass
class Person:
    """Somebody who is logged in, on a site that has an administrator and a guest."""

    site: Site
    fields: dict[str, str]
    token: str = ""

    async def log_in(self, **more: str) -> "Person":
        answer = await self.site.send("POST", "/api/token", {**self.fields, **more})
        return Person(self.site, self.fields, answer["data"]["token"])

    async def put(self, body: Mapping[str, object], of: str = "") -> Any:
        return await self.site.send("PUT", f"/api/user/{of}".rstrip("/"), body, by=self.token)

    async def who(self) -> Any:
        return (await self.site.get("/api/token", by=self.token))["data"]

    async def sessions(self) -> Any:
        return (await self.site.get("/api/token/sessions", by=self.token))["data"]

    async def add_second_factor(self) -> str:
        secret = (await self.site.get("/api/token/2fa", by=self.token))["data"]["secret"]
        body = {"secret": secret, "code": self.code(secret), **proof_of(self.fields)}
        answer = await self.site.send("POST", "/api/token/2fa", body, by=self.token)
        assert answer["errno"] == 0, answer
        return str(secret)

    def code(self, secret: str, steps: int = 0) -> str:
        return pyotp.TOTP(secret).at(self.site.clock.now // 1000 + 30 * steps)


def proof_of(person: Mapping[str, str]) -> dict[str, str]:
    return {"current_password": person["password"]}


@pytest.fixture
async def site(make_site: Sites) -> Site:
    site = make_site.without_accounts()
    for person in (MARA, TOM):
        assert (await site.send("POST", "/api/user", person))["errno"] == 0
    return site


@pytest.fixture
async def tom(site: Site) -> Person:
    return await Person(site, TOM).log_in()


@pytest.fixture
async def mara(site: Site) -> Person:
    return await Person(site, MARA).log_in()


@pytest.mark.parametrize("change", [{"password": "tom's other"}, {"email": "t@example.com"}])
async def test_a_change_of_a_log_in_needs_the_password(tom: Person, change: dict[str, str]) -> None:
    assert NEEDS_PASSWORD in (await tom.put({**change, "display_name": "T"}))["errmsg"]
    wrong = await tom.put({**change, "current_password": "a guess of mine"})
    assert "Wrong current password" in wrong["errmsg"]
    assert (await tom.who())["display_name"] == "Tom"
    assert (await tom.put({**change, **TOMS}))["errno"] == 0


@pytest.mark.parametrize(
    "change",
    [{"display_name": "T"}, {"url": "https://t.example"}, {"email": TOM["email"]}, {"2fa": ""}],
    ids=str,
)
async def test_what_lets_nobody_in_needs_no_proof(tom: Person, change: dict[str, str]) -> None:
    assert (await tom.put(change))["errno"] == 0


async def test_a_second_factor_needs_the_password_and_its_successor_a_code(tom: Person) -> None:
    offered = (await tom.site.get("/api/token/2fa", by=tom.token))["data"]["secret"]
    body = {"secret": offered, "code": tom.code(offered)}
    refused = await tom.site.send("POST", "/api/token/2fa", body, by=tom.token)
    assert NEEDS_PASSWORD in refused["errmsg"]
    secret = await tom.add_second_factor()
    refused = await tom.site.send("POST", "/api/token/2fa", {**body, **TOMS}, by=tom.token)
    assert NEEDS_CODE in refused["errmsg"]
    body["current_code"] = tom.code(secret, 1)
    assert (await tom.site.send("POST", "/api/token/2fa", body, by=tom.token))["errno"] == 0


async def test_the_password_alone_does_not_remove_a_second_factor(tom: Person) -> None:
    secret = await tom.add_second_factor()
    assert NEEDS_CODE in (await tom.put({"2fa": "", **TOMS}))["errmsg"]
    used = {"2fa": "", "current_code": tom.code(secret)}
    assert (await tom.put(used))["errmsg"] == "TWO_FACTOR_AUTH_ERROR_DETAIL"
    assert (await tom.put({"2fa": "", "current_code": tom.code(secret, 1)}))["errno"] == 0
    assert (await tom.who())["2fa"] is None


async def test_with_a_second_factor_a_code_or_the_password_changes_the_rest(tom: Person) -> None:
    secret = await tom.add_second_factor()
    assert NEEDS_CODE in (await tom.put({"email": "t@example.com"}))["errmsg"]
    changes = {"email": "t@example.com", "current_code": tom.code(secret, 1)}
    assert (await tom.put(changes))["errno"] == 0
    assert (await tom.put({"email": "u@example.com", **TOMS}))["errno"] == 0


async def test_of_two_changes_with_one_code_one_is_made(tom: Person) -> None:
    secret = await tom.add_second_factor()
    code = {"current_code": tom.code(secret, 1)}
    answers = await asyncio.gather(
        *(tom.put({"email": f"{n}@example.com", **code}) for n in range(2))
    )
    assert sorted(answer["errno"] for answer in answers) == [0, 1000]


@pytest.mark.parametrize(
    "change",
    [{"password": "another one"}, {"email": "t@example.com"}, {"type": "administrator"}],
    ids=str,
)
async def test_administrators_prove_themselves_for_others(
    mara: Person, tom: Person, change: dict[str, str]
) -> None:
    id = (await tom.who())["objectId"]
    assert NEEDS_PASSWORD in (await mara.put(change, id))["errmsg"]
    # Tom's password says who Tom is, not who Mara is.
    assert "Wrong current password" in (await mara.put({**change, **TOMS}, id))["errmsg"]
    assert (await mara.put({**change, **MARAS}, id))["errno"] == 0


@pytest.mark.parametrize(
    "change", [{"type": "banned"}, {"label": "VIP"}, {"display_name": "T"}], ids=str
)
async def test_bans_and_labels_need_no_proof(
    mara: Person, tom: Person, change: dict[str, str]
) -> None:
    assert (await mara.put(change, (await tom.who())["objectId"]))["errno"] == 0


async def test_an_administrator_frees_somebody_of_a_second_factor_with_proof(
    mara: Person, tom: Person
) -> None:
    await tom.add_second_factor()
    id = (await tom.who())["objectId"]
    assert NEEDS_PASSWORD in (await mara.put({"2fa": ""}, id))["errmsg"]
    assert (await mara.put({"2fa": "", **MARAS}, id))["errno"] == 0
    assert (await tom.who())["2fa"] is None


async def test_an_account_without_a_password_has_logged_in_a_moment_ago(site: Site) -> None:
    stored = await site.store.accounts.by_mail(TOM["email"])
    assert stored is not None
    known = stored.credentials.__class__(identities={"github": "7"})
    mails = TOM["email"], TOM["email"]
    after = stored.account, known
    await site.store.accounts.change(stored, after, mails=mails, revokes=False)
    stored = await site.store.accounts.by_mail(TOM["email"])
    assert stored is not None
    for by, errno in (("password", 1000), ("github", 0)):
        token = await site.service.accounts.sessions.start(stored, known, by=by, caller=Caller())
        tom = Person(site, TOM, token)
        assert (await tom.sessions())["proof"] == "log-in"
        answer = await tom.put({"email": TOM["email"].upper()})
        assert answer["errno"] == errno
        stored = await site.store.accounts.by_id(stored.id)
        assert stored is not None
    site.clock.now += FRESH_MINUTES * 60_000
    late = await tom.put({"password": "tom's new one"})
    assert "Log in again through the login service" in late["errmsg"]


async def test_attempts_of_one_log_in_leave_the_others_theirs(
    make_site: Sites, site: Site, tom: Person
) -> None:
    thief = await tom.log_in()
    change = {"password": "the thief's own"}
    for n in range(12):
        elsewhere = make_site.without_accounts(f"192.0.2.{n}")
        for _ in range(10):
            body = {**change, "current_password": "a guess"}
            answer = await elsewhere.send("PUT", "/api/user", body, by=thief.token)
    assert "Too many attempts" in answer["errmsg"]
    assert (await tom.put({"password": "tom's other", **TOMS}))["errno"] == 0
    assert await thief.who() == {}


# Logins.


async def test_a_new_password_ends_all_log_ins_but_the_one_that_sets_it(tom: Person) -> None:
    other = await tom.log_in()
    assert (await tom.put({"password": "tom's other", **TOMS}))["errno"] == 0
    assert (await tom.who())["display_name"] == "Tom"
    assert await other.who() == {}


async def test_a_second_factor_ends_all_log_ins_but_the_one_that_sets_it(tom: Person) -> None:
    other = await tom.log_in()
    secret = await tom.add_second_factor()
    assert (await tom.who(), await other.who()) == (await tom.who(), {})
    another = await tom.log_in(code=tom.code(secret, 1))
    # Turning it off lets in nobody who could not be in already.
    recovered = {"2fa": "", "current_code": tom.code(secret, 2)}
    tom.site.clock.now += 60_000
    assert (await tom.put(recovered))["errno"] == 0
    assert (await another.who())["display_name"] == "Tom"


async def test_a_password_that_an_administrator_sets_ends_all_log_ins(
    mara: Person, tom: Person
) -> None:
    id = (await tom.who())["objectId"]
    assert (await mara.put({"password": "tom's other", **MARAS}, id))["errno"] == 0
    assert await tom.who() == {}
    assert (await mara.who())["display_name"] == "Mara"


async def test_log_ins_are_listed_with_where_they_started(tom: Person) -> None:
    headers = {"user-agent": FIREFOX}
    answer = await tom.site.http.post("/api/token", json=TOM, headers=headers)
    firefox = Person(tom.site, TOM, answer.json()["data"]["token"])
    found = await firefox.sessions()
    assert found["proof"] == "password"
    (shown,) = (each for each in found["sessions"] if each["current"])
    assert shown["ends"] - shown["began"] == 30 * 86_400_000
    assert {name: shown[name] for name in ("by", "browser", "os", "network")} == {
        "by": "password",
        "browser": "Firefox140.0",
        "os": "Linux",
        "network": "127.0.0.0/24",
    }
    assert len(found["sessions"]) == 2


async def test_one_log_in_or_all_others_are_ended(tom: Person) -> None:
    others = [await tom.log_in() for _ in range(3)]
    shown = (await others[0].sessions())["sessions"]
    (first,) = (each["id"] for each in shown if each["current"])
    path = "/api/token/sessions"
    assert (await tom.site.send("DELETE", f"{path}/{first}", by=tom.token))["errno"] == 0
    assert [bool(await other.who()) for other in others] == [False, True, True]
    assert (await tom.site.send("DELETE", f"{path}/{first}", by=tom.token))["errno"] == 0
    assert (await tom.site.send("DELETE", path, by=tom.token))["errno"] == 0
    assert [bool(await each.who()) for each in (*others, tom)] == [False, False, False, True]
    assert [session["current"] for session in (await tom.sessions())["sessions"]] == [True]


async def test_nobody_ends_the_log_ins_of_others(mara: Person, tom: Person) -> None:
    (shown,) = (await mara.sessions())["sessions"]
    await tom.site.send("DELETE", f"/api/token/sessions/{shown['id']}", by=tom.token)
    await tom.site.send("DELETE", "/api/token/sessions", by=tom.token)
    assert (await mara.who())["display_name"] == "Mara"


async def test_a_log_in_that_has_ended_meanwhile_changes_nothing(tom: Person) -> None:
    thief = await tom.log_in()
    accounts, found = tom.site.store.accounts, tom.site.store.accounts.change
    stored = await accounts.by_mail(TOM["email"])
    assert stored is not None

    async def overtaken(*args: Any, **more: Any) -> None:
        accounts.change = found  # type: ignore[method-assign]
        await tom.site.send("DELETE", "/api/token/sessions", by=tom.token)
        await found(*args, **more)

    accounts.change = overtaken  # type: ignore[method-assign]
    answer = await thief.put({"email": "thief@example.com", **TOMS})
    assert answer == {"errno": 401, "errmsg": ""}
    assert await accounts.by_mail(TOM["email"]) == stored
