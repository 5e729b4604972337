"""Simultaneous requests for one account, on real servers: what works once works once."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterator
from typing import Any

import pyotp
import pytest

from footfall.accounts.rules import attempts
from footfall.accounts.rules.links import new_link
from footfall.driver.script_calls import Rate
from footfall.limits.clients import BACKGROUND
from tests.conftest import EVERYWHERE, Site, Sites
from tests.support.logging_in import Browser, settings
from tests.support.providers import Provider, fresh, provider

ON = EVERYWHERE

TIMES = 20


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings without waits, and with as many attempts as wanted."""
    monkeypatch.setattr(attempts, "ADDRESS_RATE", Rate(1000, 1000))


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    with provider() as made:
        yield made


def applicant(n: int, mail: str) -> dict[str, str]:
    return {"display_name": f"Tom {n}", "email": mail, "password": f"password {n}"}


def proof(n: int) -> dict[str, str]:
    return {"current_password": applicant(n, "")["password"]}


async def at_once(*asked: Awaitable[Any]) -> Counter[int]:
    """errno -> how often it was the answer."""
    return Counter(each["errno"] for each in await asyncio.gather(*asked))


async def owner_of(site: Site) -> Any:
    """The first account, logged in."""
    person = applicant(0, "0@example.com")
    await site.send("POST", "/api/user", person)
    return (await site.send("POST", "/api/token", person))["data"]


async def test_of_twenty_registrations_of_one_mail_at_once_there_is_one_account(
    make_site: Sites,
) -> None:
    site = make_site.without_accounts()
    mails = ["tom@example.com", "TOM@example.com", "Tom@Example.COM", "tom@EXAMPLE.com"]
    answers = await asyncio.gather(
        *(site.send("POST", "/api/user", applicant(n, mails[n % 4])) for n in range(20))
    )
    assert sorted(answer["errno"] for answer in answers) == [0] + [1000] * 19
    (winner,) = (n for n, each in enumerate(answers) if each["errno"] == 0)
    stored = await site.store.accounts.by_mail("tom@example.com")
    assert stored
    assert stored.account.nick == f"Tom {winner}"
    password = applicant(winner, "")["password"]
    verify = site.service.accounts.passwords.verify
    assert (await verify(password, stored.credentials.password, BACKGROUND))[0]


async def test_of_simultaneous_first_registrations_one_is_the_administrators(
    make_site: Sites,
) -> None:
    site = make_site.without_accounts()
    await asyncio.gather(
        *(site.send("POST", "/api/user", applicant(n, f"{n}@example.com")) for n in range(20))
    )
    total, found = await site.store.accounts.listed(0, 50)
    assert (total, sorted(each.role for each in found)) == (20, ["administrator"] + ["guest"] * 19)


async def test_two_administrators_who_demote_each_other_at_once_leave_one(make_site: Sites) -> None:
    site = make_site.without_accounts()
    tokens, ids = [], []
    for n in range(2):
        await site.send("POST", "/api/user", applicant(n, f"{n}@example.com"))
        data = (await site.send("POST", "/api/token", applicant(n, f"{n}@example.com")))["data"]
        tokens.append(data["token"])
        ids.append(data["objectId"])
    promoted = {"type": "administrator", **proof(0)}
    await site.send("PUT", f"/api/user/{ids[1]}", promoted, by=tokens[0])
    again = await site.send("POST", "/api/token", applicant(1, "1@example.com"))
    tokens[1] = again["data"]["token"]
    await asyncio.gather(
        *(
            site.send(
                "PUT", f"/api/user/{ids[n]}", {"type": "guest", **proof(1 - n)}, by=tokens[1 - n]
            )
            for n in range(2)
        )
    )
    assert len(await site.store.accounts.administrators()) == 1


async def test_of_many_accounts_that_get_one_mail_with_a_role_at_once_one_gets_both(
    make_site: Sites,
) -> None:
    site = make_site.without_accounts()
    owner = await owner_of(site)
    for n in range(1, TIMES):
        await site.send("POST", "/api/user", applicant(n, f"{n}@example.com"))
    _, before = await site.store.accounts.listed(1, TIMES)
    roles = "administrator", "banned"
    found = await at_once(
        *(
            site.send(
                "PUT",
                f"/api/user/{each.id}",
                {"email": "one@example.com", "type": roles[n % 2], **proof(0)},
                by=owner["token"],
            )
            for n, each in enumerate(before)
        )
    )
    assert found == {0: 1, 1000: TIMES - 2}
    _, after = await site.store.accounts.listed(1, TIMES)
    (changed,) = set(after) - set(before)
    assert (changed.mail, changed.role in roles) == ("one@example.com", True)
    bans = (await site.get("/api/ban", by=owner["token"]))["data"]["data"]
    assert [ban["value"] for ban in bans] == [changed.id] * (changed.role == "banned")
    assert len(await site.store.log.newest(9)) == 1


async def test_a_link_that_is_followed_many_times_at_once_sets_one_password(
    make_site: Sites,
) -> None:
    site = make_site.without_accounts()
    owner = await owner_of(site)
    token = await new_link(site.service.accounts.store, owner["objectId"])
    answers = await asyncio.gather(
        *(
            site.send("PUT", "/api/user/password", {"token": token, "password": f"password {n}"})
            for n in range(TIMES)
        )
    )
    assert Counter(answer["errno"] for answer in answers) == {0: 1, 1000: TIMES - 1}
    (winner,) = (n for n, each in enumerate(answers) if each["errno"] == 0)
    login = {"email": owner["email"], "password": f"password {winner}"}
    assert (await site.send("POST", "/api/token", login))["errno"] == 0


async def test_a_code_that_is_sent_many_times_at_once_logs_in_once(make_site: Sites) -> None:
    site = make_site.without_accounts()
    owner = await owner_of(site)
    secret, present = pyotp.random_base32(), site.clock.now // 1000
    codes = pyotp.TOTP(secret)
    setting = {"secret": secret, "code": codes.at(present - 30), **proof(0)}
    made = await site.send("POST", "/api/token/2fa", setting, by=owner["token"])
    for code in (codes.at(present), made["data"]["recovery"][3]):
        login = {**applicant(0, owner["email"]), "code": code}
        found = await at_once(*(site.send("POST", "/api/token", login) for _ in range(TIMES)))
        assert found == {0: 1, 1000: TIMES - 1}


async def test_an_account_that_is_banned_while_it_logs_in_is_logged_out(make_site: Sites) -> None:
    site = make_site.without_accounts()
    owner, guest = await owner_of(site), applicant(1, "1@example.com")
    await site.send("POST", "/api/user", guest)
    first = (await site.send("POST", "/api/token", guest))["data"]
    logins = [site.send("POST", "/api/token", guest) for _ in range(TIMES)]
    ban = site.send("DELETE", f"/api/user/{first['objectId']}", by=owner["token"])
    logins.insert(TIMES // 2, ban)
    answers = await asyncio.gather(*logins)
    assert answers.pop(TIMES // 2)["errno"] == 0
    tokens = [answer["data"]["token"] for answer in answers if answer["errno"] == 0]
    for token in (first["token"], *tokens):
        assert (await site.get("/api/token", by=token))["data"] == {}
    assert (await site.send("POST", "/api/token", guest))["errno"] == 1000


async def test_simultaneous_log_ins_of_a_new_person_make_one_account_and_a_ticket_works_once(
    make_site: Sites, running: Provider
) -> None:
    other = fresh(running)
    site = make_site.without_accounts(**settings(other))
    await owner_of(site)
    browsers = []
    for _ in range(TIMES):
        site.http.cookies.clear()
        browser = Browser(site)
        sent = await browser.get("/api/oauth?type=github")
        back = await browser.get(sent.headers["location"])
        cookie = "; ".join(f"{name}={value}" for name, value in site.http.cookies.items())
        browsers.append((browser, back.headers["location"], cookie))
    site.http.cookies.clear()
    ended = await asyncio.gather(
        *(browser.get(address, cookie=cookie) for browser, address, cookie in browsers)
    )
    tickets = {each.headers["location"].partition("#ticket=")[2] for each in ended}
    assert (len(tickets - {""}), (await site.store.accounts.listed(0, 1))[0]) == (TIMES, 2)
    ticket = {"ticket": ended[0].headers["location"].partition("#ticket=")[2]}
    # Only the browser that started has what belongs to the ticket.
    name, _, value = ended[0].headers["set-cookie"].partition(";")[0].partition("=")
    site.http.cookies.clear()
    site.http.cookies.set(name, value)
    found = await at_once(*(site.send("POST", "/api/token", ticket) for _ in range(TIMES)))
    assert found == {0: 1, 1000: TIMES - 1}
