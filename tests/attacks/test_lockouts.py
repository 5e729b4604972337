"""Lock-outs: somebody uses up what others may do, so that they cannot log in or register."""

import asyncio
from typing import Any

import httpx
import pyotp
import pytest

from footfall.accounts.rules import attempts, log_ins
from footfall.driver.script_calls import Rate
from footfall.http.csrf import CSRF_HEADER
from tests.conftest import Site, Sites

ON = ("valkey", "cluster")

OWNER = {"display_name": "Owner", "email": "owner@example.com", "password": "the owner's own"}
TOM = {"display_name": "Tom", "email": "tom@example.com", "password": "tom's own words"}
HOME, SCHOOL, CAFE = "198.51.100.7", "198.51.100.8", "198.51.100.9"
ADMIN_PAGE = {CSRF_HEADER.decode(): "1", "sec-fetch-site": "same-origin", "sec-fetch-dest": "empty"}
# What a browser says of a picture in a comment, of one on any page, and of a form on any page.
PICTURE = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
FAR_PICTURE = {**PICTURE, "sec-fetch-site": "cross-site"}
OLD_PICTURE = {"accept": "image/avif,image/webp,*/*;q=0.8"}
FORM = {
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
    "origin": "https://evil.example",
}
TOO_MANY = "Too many attempts"


@pytest.fixture(autouse=True)
def failing_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let logins fail at once, and buckets fill so slowly that no test waits for a token."""
    monkeypatch.setattr(log_ins, "FAILED_SECONDS", 0)
    for name, rate in vars(attempts).copy().items():
        if isinstance(rate, Rate):
            monkeypatch.setattr(attempts, name, Rate(1 / 86_400, rate.capacity))


@pytest.fixture
async def site(make_site: Sites) -> Site:
    """As it is seen from the owner's home, from where they have logged in before."""
    site = make_site.without_accounts(HOME)
    await site.send("POST", "/api/user", OWNER)
    assert (await log_in(site, OWNER))["errno"] == 0
    return site


async def log_in(site: Site, person: dict[str, str], **more: str) -> Any:
    return await site.send("POST", "/api/token", {**person, **more})


async def fail(site: Site, times: int, **headers: str) -> list[Any]:
    """The answers to so many wrong passwords of the owner's."""
    wrong = {**OWNER, "password": "a guess"}
    path = "/ui/api/token" if CSRF_HEADER.decode() in headers else "/api/token"
    return [(await site.http.post(path, json=wrong, headers=headers)).json() for _ in range(times)]


async def on_our_page(site: Site, person: dict[str, str]) -> httpx.Response:
    body = {**person, "remember": True}
    return await site.http.post("/ui/api/token", json=body, headers=ADMIN_PAGE)


def device_of(answer: httpx.Response) -> dict[str, str]:
    """The cookie that tells the browser, and no other."""
    found = {name: value for name, value in answer.cookies.items() if "device" in name}
    assert len(found) == 1
    return found


def is_refused(answer: Any) -> bool:
    return TOO_MANY in str(answer.get("errmsg"))


async def from_many_addresses(make_site: Sites, times: int = 12) -> int:
    """How many of ten wrong passwords from each of so many addresses were refused."""
    found = 0
    for n in range(times):
        found += sum(map(is_refused, await fail(make_site.without_accounts(f"192.0.2.{n}"), 10)))
    return found


async def test_wrong_passwords_from_many_addresses(site: Site, make_site: Sites) -> None:
    """Who: somebody with a dozen addresses. What: sends wrong passwords for the owner's account, so
    that the owner finds it locked. Instead: that locks strangers out. An address from which the
    account logged in lately has attempts of its own."""
    assert await from_many_addresses(make_site) >= 15
    assert (await log_in(make_site.without_accounts("192.0.2.99"), OWNER)).get("errmsg")
    for _ in range(4):
        assert (await log_in(site, OWNER))["errno"] == 0


async def test_wrong_passwords_while_the_owner_travels(site: Site, make_site: Sites) -> None:
    """Who: the same, and somebody at the same café as the owner, behind one address. What: uses up
    what strangers, and what this address, may try. Instead: a browser from which the account
    logged in lately has attempts of its own, wherever it is."""
    first = await on_our_page(site, OWNER)
    assert first.json()["errno"] == 0
    assert "device" not in first.json()["data"]
    cafe = make_site.without_accounts(CAFE)
    await from_many_addresses(make_site)
    assert is_refused((await fail(cafe, 25, **ADMIN_PAGE))[-1])
    assert is_refused((await on_our_page(cafe, OWNER)).json())
    # The session is over; what tells the browser stays.
    cafe.http.cookies.update(device_of(first))
    question = await cafe.http.get(
        "/ui/api/token/2fa", params={"email": OWNER["email"]}, headers=ADMIN_PAGE
    )
    assert question.json()["errno"] == 0
    assert (await on_our_page(cafe, OWNER)).json()["errno"] == 0


async def test_guesses_from_a_browser_that_is_known(site: Site, make_site: Sites) -> None:
    """Who: somebody at the owner's computer, or with a copy of that cookie, or with one of their
    own account. What: tries passwords without a limit for an address or an account. Instead: such
    a browser may fail as often as an address, wherever it is, and only at its own account."""
    device = device_of(await on_our_page(site, OWNER))
    refused = 0
    for n in range(5):
        there = make_site.without_accounts(f"192.0.2.{n}")
        there.http.cookies.update(device)
        refused += sum(map(is_refused, await fail(there, 10, **ADMIN_PAGE)))
    assert refused == 30
    there = make_site.without_accounts(CAFE)
    await there.send("POST", "/api/user", TOM)
    there.http.cookies.update(device)
    wrong = {**TOM, "password": "a guess"}
    answers = [(await on_our_page(there, wrong)).json() for _ in range(25)]
    assert sum(map(is_refused, answers)) == 5


@pytest.mark.parametrize("headers", [PICTURE, FAR_PICTURE, OLD_PICTURE], ids=str)
async def test_a_picture_that_takes_its_readers_attempts(
    site: Site, headers: dict[str, str]
) -> None:
    """Who: the author of a comment, or of any page. What: shows a picture whose address asks for a
    two-factor authentication, follows a link of an email, or starts a login, a hundred times.
    Instead: such requests take nothing of what a reader may do, and start nothing."""
    for _ in range(30):
        for path in ("token/2fa?email=x@example.com", "verification?token=x", "oauth?type=github"):
            for prefix in ("/api", ""):
                answer = await site.http.get(f"{prefix}/{path}", headers=headers)
                assert answer.status_code != 302
                assert "set-cookie" not in answer.headers
    for person in (OWNER, {**OWNER, "code": "000000"}):
        assert (await log_in(site, person))["errno"] == 0
    question = await site.http.get(
        "/ui/api/token/2fa?email=owner@example.com", headers={CSRF_HEADER.decode(): "1"}
    )
    assert question.json() == {"errno": 0, "errmsg": "", "data": {"enable": False}}


async def test_a_form_that_logs_its_readers_in_wrongly(site: Site) -> None:
    """Who: the author of any page. What: has the browsers of its readers send wrong passwords, or
    registrations, by forms and scripts. Instead: what a page of another site sends counts apart
    from what the reader does here, and there it is limited, too."""
    form, script = dict(FORM), {**FORM, "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}
    old = {"origin": "https://evil.example"}
    refused = 0
    for headers in (form, script, old):
        for _ in range(10):
            sent = await site.http.post(
                "/api/token", data={"email": OWNER["email"], "password": "a guess"}, headers=headers
            )
            refused += is_refused(sent.json())
    assert refused == 10
    assert not any(map(is_refused, await fail(site, 15, **ADMIN_PAGE)))
    assert (await log_in(site, OWNER))["errno"] == 0
    for _ in range(70):
        await site.http.post("/api/user", data={"email": "x"}, headers=form)
    assert (await site.send("POST", "/api/user", TOM))["errno"] == 0


async def test_a_page_that_the_owner_reads(site: Site) -> None:
    """Who: the author of a page that the owner reads at home. What: has the owner's own browser
    send wrong passwords of the owner's account. Instead: these are a stranger's attempts."""
    await fail(site, 20, **FORM)
    for _ in range(15):
        assert not is_refused((await fail(site, 1, **ADMIN_PAGE))[0])


async def test_a_class_that_registers_behind_one_address(make_site: Sites) -> None:
    """Who: nobody in particular: thirty pupils behind one address register, log in, and some of
    them mistype. What: use up what one address may try. Instead: registrations have a limit of
    their own, a login that succeeds costs nothing, and asking for two-factor authentication is not
    a try."""
    school = make_site.without_accounts(SCHOOL)
    for n in range(30):
        pupil = {"display_name": f"P{n}", "email": f"p{n}@example.com", "password": f"words of {n}"}
        assert (await school.send("POST", "/api/user", pupil))["errno"] == 0, n
        await school.get("/api/token/2fa", email=pupil["email"])
        if n < 15:
            assert await log_in(school, pupil, password="mistyped") == {"errno": 1000}
        assert (await log_in(school, pupil))["errno"] == 0, n


async def test_a_robot_that_registers(make_site: Sites) -> None:
    """Who: a robot behind one address. What: registers as fast as it can. Instead: an address
    registers some dozen accounts, and then a few in an hour."""
    site = make_site.without_accounts(SCHOOL)
    answers = [
        await site.send("POST", "/api/user", {**TOM, "email": f"p{n}@example.com"})
        for n in range(80)
    ]
    assert [answer["errno"] for answer in answers] == [0] * 60 + [1000] * 20


async def test_guesses_at_the_setup_code(make_site: Sites) -> None:
    """Who: a stranger who finds a site without an administrator. What: tries setup codes. Instead:
    as few as passwords, though an address may register more often."""
    site = make_site.without_accounts(SCHOOL, SETUP_CODE="sesame")
    answers = [
        await site.send("POST", "/api/user", {**TOM, "setup_code": f"guess {n}"}) for n in range(25)
    ]
    assert [is_refused(answer) for answer in answers] == [False] * 20 + [True] * 5
    other = make_site.without_accounts(HOME, SETUP_CODE="sesame")
    assert (await other.send("POST", "/api/user", {**OWNER, "setup_code": "sesame"}))["errno"] == 0


async def test_many_log_ins_at_once(site: Site, make_site: Sites) -> None:
    """Who: somebody who knows one password and wants others. What: sends forty guesses at once, or
    right ones among wrong ones, so that what is given back pays for more. Instead: tokens are taken
    before anything is compared, and only a login that succeeds gets its own one back."""
    there = make_site.without_accounts(CAFE)
    await there.send("POST", "/api/user", TOM)
    wrong = {**OWNER, "password": "a guess"}
    answers = await asyncio.gather(
        *(log_in(there, each) for _ in range(20) for each in (wrong, TOM))
    )
    assert sum(answer == {"errno": 1000} for answer in answers) <= 20
    assert any(map(is_refused, answers))
    more = [await log_in(there, wrong) for _ in range(25)]
    assert sum(each == {"errno": 1000} for each in (*answers, *more)) <= 21


async def test_somebody_who_logs_in_for_ever(site: Site) -> None:
    """Who: somebody with an account. What: logs in to it again and again, which costs nothing, and
    keeps the threads busy that compare passwords. Instead: so many are free; then they cost."""
    answers = [await log_in(site, OWNER) for _ in range(100)]
    assert is_refused(answers[-1])
    assert not any(map(is_refused, answers[:50]))


async def test_somebody_who_keeps_the_comparing_threads_busy(
    site: Site, make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who: somebody with a program. What: has so many passwords compared at once that the threads
    are busy, since whatever is refused costs nothing. Instead: it costs as much as a wrong one."""
    eves = make_site.without_accounts(CAFE)
    with monkeypatch.context() as busy:
        busy.setattr(eves.service.process.pools.passwords, "capacity", 0)
        answers = [await log_in(eves, OWNER) for _ in range(30)]
    assert {answer["errno"] for answer in answers[:20]} == {503}
    assert is_refused(answers[-1])
    assert (await log_in(site, OWNER))["errno"] == 0


async def second_factor(site: Site) -> str:
    """The secret that the owner's codes are now made of."""
    token = (await log_in(site, OWNER))["data"]["token"]
    secret = (await site.get("/api/token/2fa", by=token))["data"]["secret"]
    code = pyotp.TOTP(secret).at(site.clock.now // 1000)
    setting = {"secret": secret, "code": code, "current_password": OWNER["password"]}
    assert (await site.send("POST", "/api/token/2fa", setting, by=token))["errno"] == 0
    return str(secret)


async def test_a_password_without_its_code(site: Site, make_site: Sites) -> None:
    """Who: somebody who looks for the passwords of accounts with two-factor authentication. What:
    sends them without a code, which costs less, and looks at what is left of the attempts. Instead:
    without the code no password is compared, so that the right one is answered and counted like
    others. A request for a code costs no attempt."""
    secret = await second_factor(site)
    there = make_site.without_accounts(CAFE)
    for password in ("a guess", OWNER["password"]):
        answers = [await log_in(there, OWNER, password=password) for _ in range(25)]
        assert answers == [{"errno": 1000}] * 25
    answers = [await log_in(there, OWNER) for _ in range(20)]
    assert is_refused(answers[-1])
    code = pyotp.TOTP(secret).at(site.clock.now // 1000 + 30)
    assert (await log_in(there, OWNER, code=code))["errno"] == 0


@pytest.mark.rare
async def test_networks_of_ipv6(site: Site, make_site: Sites) -> None:
    """Who: somebody with a /48 of IPv6, which has 65,536 networks of a home. What: tries passwords
    of many accounts, a few from each. Instead: a /48 has a limit, too, some tens of times that of
    one address; its neighbour has its own."""

    async def failed(address: str, n: int) -> int:
        there = make_site.without_accounts(address)
        answers = [await log_in(there, TOM, email=f"x{n}-{m}@example.com") for m in range(20)]
        return sum(map(is_refused, answers))

    refused = [await failed(f"2001:db8:5:{n:x}::1", n) for n in range(36)]
    assert sum(refused) == 4 * 20
    assert await failed("2001:db8:6::1", 99) == 0


async def test_comments_from_networks_of_ipv6(make_site: Sites) -> None:
    """Who: the same. What: posts a comment from each network, so that IPQPS never applies. Instead:
    a /48 may post some tens at once, and then as many in each of these times."""
    stored = 0
    for n in range(40):
        site = make_site.without_accounts(f"2001:db8:7:{n:x}::1", IPQPS="3600")
        draft = {"comment": f"comment {n}", "url": "/p", "nick": f"N{n}"}
        answer = await site.send("POST", "/api/comment", draft)
        stored += answer["errno"] == 0
    assert stored == 32


@pytest.mark.rare
async def test_views_from_networks_of_ipv6(make_site: Sites) -> None:
    """Who: the same. What: counts views from each network, as many as one address may at once.
    Instead: all of a /48 together have a limit, too; its neighbour has its own."""

    async def counted(network: str, n: int) -> int:
        site = make_site.without_accounts(f"{network}:{n:x}::1", COUNTER_RATE="0.01")
        changes = [{"path": "/a"}] * 190
        return (await site.http.post("/api/article", json=changes)).status_code

    found = [await counted("2001:db8:8", n) for n in range(40)]
    assert found[:30] + found[-1:] == [200] * 30 + [429]
    assert await counted("2001:db8:9", 0) == 200


@pytest.mark.rare
async def test_new_counters_from_networks_of_ipv6(make_site: Sites) -> None:
    """Who: the same. What: starts counters, which take memory for good, from each network. Instead:
    a /48 owes tokens for them as an address does, and starts no more until they are paid."""
    found = []
    for n in range(40):
        rates = {"COUNTER_RATE": "1000", "NEW_COUNTER_RATE": "0.01"}
        site = make_site.without_accounts(f"2001:db8:8:{n:x}::1", **rates)
        await site.http.post("/api/article", json=[{"path": f"/{n}/{m}"} for m in range(190)])
        # Tokens for new counters are taken behind the answer.
        for m in range(5):
            answer = await site.http.post("/api/article", json={"path": f"/{n}/more/{m}"})
        found.append(answer.status_code)
    assert found[:30] + found[-1:] == [200] * 30 + [429]


async def test_new_counters_in_one_request_of_each_network(make_site: Sites) -> None:
    """Who: the same. What: fills COUNTER_LIMIT for good by one request from each of 65,536
    addresses, none of which has ever owed anything. Instead: their /48 owes, and who comes with
    another address of it learns so; others start counters as before."""
    site = await make_site(COUNTER_RATE="1000", NEW_COUNTER_RATE="0.01")

    async def started(address: str, n: int) -> int:
        changes = [{"path": f"/{n}/{m}"} for m in range(200)]
        forwarded = {"x-forwarded-for": address}
        answer = await site.http.post("/api/article", json=changes, headers=forwarded)
        await site.store.background.finished()
        return answer.status_code

    found = [await started(f"2001:db8:8:{n:x}::1", n) for n in range(40)]
    assert (found[0], found[-1]) == (200, 429)
    # As many as thirty-two homes may at once, and what was on its way.
    assert 30 <= found.count(200) <= 34
    known = await site.http.post(
        "/api/article", json={"path": "/0/0"}, headers={"x-forwarded-for": "2001:db8:8:ffff::1"}
    )
    assert known.json()["data"] == [{"time": 2}]
    assert await started("2001:db8:9::1", 100) == 200


async def test_a_picture_of_a_log_in_by_another_service(make_site: Sites) -> None:
    """Who: the author of a comment on the service's own host. What: shows a picture whose address
    starts a login by another service, so that the one that its reader has started ends nowhere.
    Instead: only a browser that goes there starts one."""
    site = make_site.without_accounts(
        SERVER_URL="https://site.test", OAUTH_URL="https://auth.example"
    )
    for headers in (PICTURE, FAR_PICTURE, OLD_PICTURE):
        answer = await site.http.get("/api/oauth?type=github", headers=headers)
        assert (answer.status_code, answer.headers.get("set-cookie")) == (403, None)
