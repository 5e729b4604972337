"""Waline's own admin front-end: all its requests, in its order, and what it reads of the
answers.

It takes any status but success, and any errno, for a failure, and merges a list into the one that
it shows.
"""

from dataclasses import dataclass
from typing import Any

import httpx
import pyotp
import pytest

from tests.conftest import Site, Sites

# fakeredis cannot be exported as a whole.
ON = ("valkey", "cluster")

OWNER = {"display_name": "Owner", "email": "owner@example.com", "password": "the owner's own"}
PROOF = {"current_password": OWNER["password"]}
GUEST = {"display_name": "Guest", "email": "guest@example.com", "password": "the guest's own"}


@dataclass
class FrontEnd:
    """`language` is appended to each address; `token` is sent if there is one."""

    site: Site
    language: str
    token: str = ""

    async def response(self, method: str, path: str, body: Any = None) -> httpx.Response:
        mark = "&" if "?" in path else "?"
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        address = f"/api/{path}{mark}lang={self.language}"
        return await self.site.http.request(method, address, json=body, headers=headers)

    async def __call__(self, method: str, path: str, body: Any = None) -> Any:
        response = await self.response(method, path, body)
        assert response.status_code == 200, response.text
        answer = response.json()
        assert answer["errno"] == 0, answer
        return answer["data"]

    async def listed(
        self, owner: str = "all", status: str = "approved", keyword: str = "", page: int = 1
    ) -> Any:
        asked = f"owner={owner}&status={status}&keyword={keyword}&page={page}"
        return await self("GET", f"comment?type=list&{asked}")


@pytest.fixture
def language() -> str:
    return "zh-CN"


@pytest.fixture
async def ask(make_site: Sites, language: str) -> FrontEnd:
    site = make_site.without_accounts(COMMENT_AUDIT="true")
    return FrontEnd(site, language)


async def logged_in(ask: FrontEnd, person: dict[str, str], code: str = "") -> Any:
    mail = person["email"]
    asked = await ask("GET", f"token/2fa?email={mail}")
    assert asked == {"enable": bool(code)}
    login = {"email": mail, "password": person["password"], "code": code}
    data = await ask("POST", "token", login)
    ask.token = data["token"]
    return data


async def test_every_page_of_it_gets_what_it_reads(ask: FrontEnd) -> None:
    # Registration and login.
    for person in (OWNER, GUEST):
        await ask("POST", "user", {**person, "url": ""})
    again = (await ask.response("POST", "user", {**GUEST, "url": ""})).json()
    assert again == {"errno": 1000, "errmsg": "用户已存在"}
    assert (await ask("GET", "token")) == {}
    refused = (await ask.response("POST", "token", {**OWNER, "password": "a guess"})).json()
    assert refused == {"errno": 1000}
    owner = await logged_in(ask, OWNER)
    user = await ask("GET", "token")
    assert user.items() <= owner.items()
    assert (user["email"], user["type"]) == (OWNER["email"], "administrator")
    await _comments(ask)
    await _accounts(ask, owner["objectId"])
    await _profile(ask)
    # The export.
    exported = (await ask.response("GET", "db")).json()
    assert exported["errno"] == 0, exported
    assert (exported["data"]["type"], {*exported["data"]["tables"]}) == (
        "waline",
        {"Comment", "Counter", "Users"},
    )
    # A login by another service, none of which is configured.
    assert (await ask.response("GET", "oauth?type=github&redirect=/ui/profile")).status_code == 404
    # A new password, without a service for emails.
    assert (await ask.response("PUT", "user/password", {"email": GUEST["email"]})).json() == {
        "errno": 1000
    }


async def _comments(ask: FrontEnd) -> None:
    for n in range(3):
        body = {"comment": f"words {n}", "url": "/p", "nick": "Ann", "mail": "ann@example.com"}
        await ask.site.send("POST", "/api/comment", body)
    waiting = await ask.listed(status="waiting")
    assert waiting.keys() == {"page", "totalPages", "pageSize", "spamCount", "waitingCount", "data"}
    assert (waiting["page"], waiting["waitingCount"], waiting["spamCount"]) == (1, 3, 0)
    newest = waiting["data"][0]
    read = {"objectId", "nick", "mail", "avatar", "link", "comment", "orig", "ip", "url"}
    assert newest.keys() >= {*read, "status", "sticky", "time"}
    ids = [each["objectId"] for each in waiting["data"]]
    # Many changes at once are as many requests.
    for id, status in zip(ids, ("approved", "spam", "approved"), strict=True):
        assert (await ask("PUT", f"comment/{id}", {"status": status}))["status"] == status
    assert [each["orig"] for each in (await ask.listed(status="spam"))["data"]] == ["words 1"]
    assert [e["orig"] for e in (await ask.listed(keyword="words%200"))["data"]] == ["words 0"]
    for sticky in (1, 0):
        changed = await ask("PUT", f"comment/{ids[0]}", {"sticky": sticky})
        assert changed["sticky"] is bool(sticky)
    # It sends only the fields that were changed.
    assert (await ask("PUT", f"comment/{ids[0]}", {"comment": "edited"}))["orig"] == "edited"
    reply = {
        "nick": "Owner",
        "mail": OWNER["email"],
        "ua": "Mozilla/5.0",
        "link": "",
        "url": "/p",
        "comment": "an answer",
        "pid": ids[0],
        "rid": ids[0],
        "at": "Ann",
    }
    answered = await ask("POST", "comment", reply)
    assert (answered["pid"], answered["type"]) == (ids[0], "administrator")
    assert [each["orig"] for each in (await ask.listed(owner="mine"))["data"]] == ["an answer"]
    assert (await ask("DELETE", f"comment/{ids[0]}")) == ""
    left = await ask.listed(page=1)
    assert [each["orig"] for each in left["data"]] == ["words 0"]


async def _accounts(ask: FrontEnd, own: str) -> None:
    listed = await ask("GET", "user?page=1")
    assert (listed["page"], listed["totalPages"]) == (1, 1)
    guest = listed["data"][0]
    assert guest.keys() >= {"objectId", "display_name", "email", "url", "type", "label", "avatar"}
    id = guest["objectId"]
    # It knows nothing of the proof that some changes need: it is told in words.
    refused = (await ask.response("PUT", f"user/{id}", {"type": "administrator"})).json()
    assert "current_password" in refused["errmsg"]
    for change in ({"type": "administrator"}, {"type": "guest"}, {"label": "VIP"}, {"label": ""}):
        await ask("PUT", f"user/{id}", {**change, **PROOF})
        changed = (await ask("GET", "user?page=1"))["data"][0]
        assert change.items() <= changed.items()
    await ask("DELETE", f"user/{id}")
    assert (await ask("GET", f"user?email={GUEST['email']}"))["type"] == "banned"
    assert (await ask.response("DELETE", f"user/{own}")).json() == {"errno": 1000}


async def _profile(ask: FrontEnd) -> None:
    about = {
        "display_name": "The owner",
        "url": "https://owner.example",
        "label": None,
        "email": OWNER["email"],
    }
    await ask("PUT", "user", about)
    await ask("PUT", "user", {"avatar": "https://owner.example/a.png"})
    shown = await ask("GET", "token")
    assert {name: shown[name] for name in about} == about
    assert shown["avatar"] == "https://owner.example/a.png"
    made = await ask("GET", "token/2fa")
    codes, present = pyotp.TOTP(made["secret"]), ask.site.clock.now // 1000
    assert made["secret"] in made["otpauth_url"]
    setting = {"secret": made["secret"], "code": codes.at(present), **PROOF}
    recovery = (await ask("POST", "token/2fa", setting))["recovery"]
    ask.token = ""
    await logged_in(ask, OWNER, codes.at(present + 30))
    await ask("PUT", "user", {"2fa": "", "current_code": recovery[0]})
    await ask("PUT", "user", {"password": "another one", **PROOF})
    # This login goes on, and others have ended.
    assert (await ask("GET", "token"))["display_name"] == "The owner"
    ask.token = ""
    await logged_in(ask, {**OWNER, "password": "another one"})
