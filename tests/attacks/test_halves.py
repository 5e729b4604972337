"""Half a character: what JavaScript's strings may have, and no text in UTF-8."""

import base64
import json
from typing import Any

import orjson
import pytest

from footfall.accounts.rules.tokens import key_of, sign
from tests.conftest import ADMIN, BOB, Site, Sites

ON = ("fake",)

HALF = "\ud83d"
# Fields that requests have, and that are stored, compared, shown or looked up.
FIELDS = (
    *("comment", "url", "nick", "mail", "link", "ua", "pid", "rid", "at", "path", "paths", "type"),
    *("action", "status", "sticky", "like", "email", "display_name", "password", "code", "secret"),
    *("avatar", "label", "token", "ticket", "work", "setup_code", "who", "value", "reason", "undo"),
    *("objectIds", "ids", "after", "keyword", "url", "recaptchaV3", "turnstile", "lang", "2fa"),
)
TARGETS = (
    *("article", "comment", "comment/abc", "user", "user/abc", "user/password", "token"),
    *("token/2fa", "author", "ban", "bans", "counter", "db", "oauth", "outbox", "log", "trial"),
)


async def test_a_name_that_was_cut_in_the_middle_of_an_emoji(site: Site) -> None:
    """Who: a reader whose client cuts a name, or a pasted text, between the two halves of an emoji.
    What: sends it, and the parser refuses the whole comment for it. Instead: each half is U+FFFD,
    as bytes that are not UTF-8 are, in every field, and the comment is kept."""
    fields = {"comment": f"tea {HALF}", "nick": f"Ann{HALF}", "link": f"https://a.example/{HALF}"}
    fields |= {"mail": f"a{HALF}@example.com", "url": f"/{HALF}", "ua": HALF, "at": HALF}
    answer = await _sent(site, "POST", "/api/comment", fields)
    assert answer["errno"] == 0
    (shown,) = (await site.page("/\ufffd"))["data"]
    assert (shown["orig"], shown["nick"]) == ("tea \ufffd", "Ann\ufffd")
    assert shown["link"] == "https://a.example/\ufffd"
    assert (await site.get("/api/comment?path=/%ED%A0%BD"))["data"]["count"] == 0
    counted = await _sent(site, "POST", "/article", {"path": f"/{HALF}"})
    assert counted == await site.get("/article", path="/\ufffd") == 1


@pytest.mark.parametrize("target", TARGETS)
async def test_half_a_character_in_any_field(site: Site, target: str) -> None:
    """Who: anybody. What: puts half a character into every field of a request, as its name, in
    lists and objects, as JSON, in a form and in a query, logged in or not. Instead: the answer is
    that to any other wrong value, and never a 500."""
    quoted = "%ED%A0%BD"
    bodies: list[tuple[str, bytes]] = [
        ("application/json", json.dumps(dict.fromkeys(FIELDS, HALF)).encode()),
        ("application/json", json.dumps(dict.fromkeys(FIELDS, [HALF, {HALF: HALF}])).encode()),
        ("text/plain", json.dumps({HALF: HALF}).encode()),
        ("application/x-www-form-urlencoded", f"comment={quoted}&{quoted}={quoted}".encode()),
    ]
    query = "&".join(f"{name}={quoted}" for name in FIELDS)
    for method in ("GET", "POST", "PUT", "DELETE"):
        for by in (None, BOB, ADMIN):
            headers = {"authorization": f"Bearer {by.id}"} if by else {}
            for kind, body in bodies:
                headers["content-type"] = kind
                response = await site.http.request(
                    method, f"/api/{target}", content=body, headers=headers
                )
                assert response.status_code < 500, (method, kind, response.text)
            response = await site.http.request(method, f"/api/{target}?{query}", headers=headers)
            assert response.status_code < 500, (method, response.text)
            response.text.encode()


async def test_half_a_character_within_what_is_encoded(make_site: Sites) -> None:
    """Who: anybody. What: hides half a character in base64, where no parser of bodies sees it: in
    the token of a login, in the work of a browser, in a link that ends emails. Instead: nobody is
    logged in by it, and each is refused as what it is."""
    site = make_site.without_accounts(REGISTRATION_WORK="true")
    hidden = base64.urlsafe_b64encode(json.dumps({"alg": HALF, "sub": HALF}).encode()).decode()
    first = sign({}, key_of("session", "x")).partition(".")[0]
    for token in (f"{hidden}.{hidden}.{hidden}", f"{first}.{hidden}.{hidden}"):
        assert await site.get("/api/token", by=token) == {"errno": 0, "errmsg": "", "data": {}}
        ended = await site.http.post(f"/unsubscribe?token={token}")
        assert ended.status_code == 400
    applicant = {"display_name": "Ann", "email": "ann@example.com", "password": "long enough"}
    for claim in ({HALF: HALF}, {"challenge": {"parameters": {"nonce": HALF}, "signature": HALF}}):
        work = base64.b64encode(json.dumps(claim).encode()).decode()
        refused = await site.send("POST", "/api/user", applicant | {"work": work})
        assert refused["errno"] != 0
        assert refused["errno"] != 500


async def _sent(site: Site, method: str, path: str, fields: dict[str, Any]) -> Any:
    """Sent as JSON.stringify writes it; httpx would refuse to."""
    headers = {"content-type": "application/json"}
    body = json.dumps(fields).encode()
    response = await site.http.request(method, path, content=body, headers=headers)
    return orjson.loads(response.content)
