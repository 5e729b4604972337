"""A variant is one entry in a table: whatever a service says under its prefix, it says in it."""

from dataclasses import replace
from itertools import product
from typing import Any

import orjson
import pytest

from footfall import routes
from footfall.errors import ServiceError
from footfall.http.envelope import Envelope
from footfall.http.response import JSON_TYPE, Response
from footfall.table.admin_ui import ADMIN_UI
from footfall.table.prefixes import API, UI, Prefix
from footfall.table.schemas import AnswerSchema
from footfall.table.variants import REFUSAL_STATUSES, WALINE, Refusals
from tests.conftest import ADMIN, Site, Sites
from tests.support.admin_ui import SENT, AdminPage, last

# fakeredis cannot be exported as a whole.
ON = ("valkey",)

REFUSED = {
    "type": "object",
    "properties": {"code": {"type": "integer"}, "why": {}},
    "required": ["code", "why"],
    "additionalProperties": False,
}
MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "an old garden gate"}


def said(error: ServiceError, language: str) -> Response:
    return Response(error.status, orjson.dumps({"code": error.errno, "why": error.errmsg}))


REFUSALS = Refusals(said, "Other", dict.fromkeys(REFUSAL_STATUSES, AnswerSchema(REFUSED)))
AROUND = Envelope(b'{"code":0,"result":', b"}")
OTHER = replace(WALINE, envelope=AROUND, content_envelope=AROUND, refusals=REFUSALS)
OTHER_PAGES = replace(ADMIN_UI, envelope=AROUND, content_envelope=AROUND, refusals=REFUSALS)
OTHERS = {API: Prefix("/other", OTHER, OTHER), UI: Prefix("/ui/other", OTHER_PAGES, OTHER_PAGES)}
TABLE = [
    replace(
        row, prefixes=[*row.prefixes, *(OTHERS[other] for other in OTHERS if other in row.prefixes)]
    )
    for row in routes.TABLE
]


@pytest.fixture(autouse=True)
def prefixes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "TABLE", TABLE)


def is_in_variant(said: Any) -> bool:
    return said.keys() in ({"code", "result"}, {"code", "why"})


FOR_ALL = [row for row in TABLE if API in row.prefixes and row.answer.type == JSON_TYPE]
FOR_PAGES = [row for row in TABLE if UI in row.prefixes and row.answer.type == JSON_TYPE]


async def test_every_operation_answers_in_the_variant_of_its_prefix(site: Site) -> None:
    assert FOR_ALL
    for row, by in product(FOR_ALL, ({}, {"authorization": f"Bearer {ADMIN.id}"})):
        query = f"?type={row.type}" if row.type else ""
        answer = await site.http.request(row.method, f"/other{row.path}{query}", headers=by)
        assert is_in_variant(answer.json()), (row.route, answer.text)


async def test_answers_and_refusals_are_said_in_it(site: Site) -> None:
    async def ask(method: str, path: str, body: Any = None, **headers: str) -> Any:
        answer = await site.http.request(method, f"/other/{path}", json=body, headers=headers)
        return answer.json()

    assert await ask("POST", "article", {"path": "/p"}) == {"code": 0, "result": [{"time": 1}]}
    assert await ask("GET", "article?path=/p,/q") == {
        "code": 0,
        "result": [{"time": 1}, {"time": 0}],
    }
    posted = await ask("POST", "comment", {"comment": "hello", "url": "/p"})
    for path in ("comment?path=/p", "comment?type=recent"):
        listed = (await ask("GET", path))["result"]
        shown = listed["data"] if isinstance(listed, dict) else listed
        assert [each["objectId"] for each in shown] == [posted["result"]["objectId"]]
    assert await ask("GET", "comment?type=count&url=/p") == {"code": 0, "result": [1]}
    assert await ask("GET", "comment/?path=") == {
        "code": 1001,
        "why": {"path": "path can not be blank"},
    }
    assert (await ask("GET", "db"))["code"] == 401
    assert (await ask("PATCH", "article"))["code"] == 405


async def test_the_pages_operations_answer_in_theirs(make_site: Sites) -> None:
    site = make_site.without_accounts()
    await site.send("POST", "/api/user", MARA)
    page = AdminPage(site)
    assert FOR_PAGES
    for row in FOR_PAGES:
        # Some of them end the login.
        await page.ask("POST", "token", MARA)
        query = f"?type={row.type}" if row.type else ""
        answer = await page.ask(row.method, f"../other{row.path}{query}", content_type=None)
        assert is_in_variant(answer.json()), (row.route, answer.text)


async def test_an_import_ends_in_its_envelope(make_site: Sites) -> None:
    site = make_site.without_accounts()
    await site.send("POST", "/api/user", MARA)
    page = AdminPage(site)
    await page.ask("POST", "token", MARA)
    sent = {**SENT, "cookie": page.cookie, "content-type": "application/octet-stream"}
    file = orjson.dumps({"objectId": 1, "url": "/p", "comment": "hello", "insertedAt": 1635425415})
    for content, key in ((file, "result"), (b"nothing that anybody exports", "why")):
        answer = await site.http.post("/ui/other/import", content=content, headers=sent)
        assert last(answer).keys() == {"code", key}, answer.text


async def test_only_the_services_admin_ui_get_what_tells_a_browser(make_site: Sites) -> None:
    """Also if another client sends the header that they have."""
    site = make_site.without_accounts()
    await site.send("POST", "/api/user", MARA)
    answer = await site.http.post("/api/token", json=MARA, headers={"x-footfall-page": "1"})
    assert "device" not in answer.json()["data"]
    assert "set-cookie" not in answer.headers
