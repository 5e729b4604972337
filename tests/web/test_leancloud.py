"""LeanCloud's counters: what themes and Valine ask for, and what nobody may."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from footfall.compat.leancloud_fields import (
    MAX_BATCH,
    MAX_OBJECT_ID,
    MAX_QUERY_NAMES,
    MAX_SIGN_AGE_MS,
    id_of,
    page_of_object,
)
from footfall.errors import StoreUnavailable
from footfall.http.params import MAX_PATH
from tests.conftest import Site, Sites

# A protocol is a codec, and asks the store for what others ask.
ON = ("fake",)

COUNTER = "/1.1/classes/Counter"
INCREMENT = {"time": {"__op": "Increment", "amount": 1}}
# One page, as it is spelt by a browser and by its reader.
ENCODED, READABLE = "/2020/%E4%BD%A0%E5%A5%BD/", "/2020/你好/"


@pytest.fixture
async def site(make_site: Sites) -> Site:
    return await make_site(COMPAT="leancloud")


async def find(site: Site, where: object, **params: str) -> Any:
    return await site.get(COUNTER, where=json.dumps(where), **params)


async def row(site: Site, name: str, field: str = "url") -> Any:
    (found,) = (await find(site, {field: name}))["results"]
    return found


async def view(site: Site, name: str) -> Any:
    return await site.send("PUT", f"{COUNTER}/{id_of(name)}", INCREMENT)


def put(name: str, body: object = INCREMENT) -> dict[str, Any]:
    return {"method": "PUT", "path": f"{COUNTER}/{id_of(name)}", "body": body}


async def batch(site: Site, *requests: object) -> Any:
    return await site.send("POST", "/1.1/batch", {"requests": requests})


async def views(site: Site, path: str) -> Any:
    return await site.get("/article", path=path)


async def refused(site: Site, method: str, path: str, **sent: Any) -> tuple[int, int, str]:
    """The status, LeanCloud's code, and the words."""
    answer = await site.http.request(method, path, **sent)
    assert answer.headers["access-control-allow-origin"] == "*"
    told = answer.json()
    assert told.keys() == {"code", "error"}
    return answer.status_code, told["code"], told["error"]


# What clients do.


async def test_a_page_that_nobody_has_viewed_has_an_object(site: Site) -> None:
    found = await row(site, "/a/")
    assert found == {
        "objectId": id_of("/a/"),
        "url": "/a/",
        "title": "",
        "time": 0,
        "createdAt": "1970-01-01T00:00:00.000Z",
        "updatedAt": "1970-01-01T00:00:00.000Z",
    }


async def test_an_increment_counts_a_view_of_the_counter_that_waline_has(site: Site) -> None:
    await site.count("/a")
    saved = await view(site, "/a")
    assert saved.keys() == {"objectId", "updatedAt"}
    assert (await row(site, "/a"))["time"] == await views(site, "/a") == 2


async def test_a_client_that_creates_an_object_counts_a_view_or_none(site: Site) -> None:
    for field, time, expected in (("url", 1, 1), ("target", 0, 1), ("url", None, 1)):
        sent = {field: "/a", "title": "A", "ACL": {"*": {"read": True}}, "xid": "/a"}
        answer = await site.http.post(
            COUNTER, json=sent if time is None else {**sent, "time": time}
        )
        assert answer.status_code == 201
        assert answer.json().keys() == {"objectId", "createdAt"}
        assert answer.json()["objectId"] == id_of("/a")
        assert await views(site, "/a") == expected


async def test_a_name_is_told_as_it_was_asked_and_by_the_field_that_asked(site: Site) -> None:
    for name in (ENCODED, READABLE, "site-pv", "/a b", '/"', "/%zz", "/%25", "/\0"):
        for field in ("url", "target"):
            assert (await row(site, name, field))[field] == name


async def test_half_a_character_becomes_the_sign_for_what_is_none(site: Site) -> None:
    (found,) = (await site.get(COUNTER, where='{"url":"/\\ud83d"}'))["results"]
    assert found["url"] == "/\N{REPLACEMENT CHARACTER}"


async def test_a_path_is_decoded_once(site: Site) -> None:
    await view(site, "/100%2525")
    assert [await views(site, path) for path in ("/100%2525", "/100%25", "/100%")] == [1, 0, 0]


async def test_a_list_has_the_pages_that_were_viewed_each_once(site: Site) -> None:
    await view(site, "/a/")
    found = await find(site, {"target": {"$in": ["/b/", "/a/", "/a/"]}})
    assert [(each["target"], each["time"]) for each in found["results"]] == [("/a/", 1)]
    assert await find(site, {"url": {"$in": []}}) == {"results": []}


@pytest.mark.parametrize(
    ("params", "expected", "number"),
    [
        ({}, 1, None),
        ({"limit": "0", "count": "1"}, 0, 1),
        ({"limit": "1", "count": "1"}, 1, 1),
        ({"limit": "1000", "count": "0"}, 1, None),
        ({"limit": "", "order": "-createdAt", "keys": "x", "include": "y"}, 1, None),
    ],
)
async def test_how_many_are_told_is_asked_for(
    site: Site, params: dict[str, str], expected: int, number: int | None
) -> None:
    found = await find(site, {"url": "/a"}, **params)
    assert (len(found["results"]), found.get("count")) == (expected, number)


async def test_a_slash_too_many_in_front_is_one(site: Site) -> None:
    answer = await site.http.get(f"http://site.test/{COUNTER}?where=%7B%22url%22:%22/a%22%7D")
    assert [each["url"] for each in answer.json()["results"]] == ["/a"]
    await site.http.put(f"http://site.test/{COUNTER}/{id_of('/a')}", json=INCREMENT)
    assert await views(site, "/a") == 1


async def test_an_unchanged_count_is_told_unchanged(site: Site) -> None:
    url = f'{COUNTER}?where={{"url":"/a"}}'
    first = await site.http.get(url)
    known = {"if-none-match": first.headers["etag"]}
    assert (await site.http.get(url, headers=known)).status_code == 304
    await view(site, "/a")
    assert (await site.http.get(url, headers=known)).status_code == 200


async def test_json_may_come_as_text(site: Site) -> None:
    """As browsers send it without a preflight."""
    body = json.dumps({"requests": [put("/a")]})
    answer = await site.http.post(
        "/1.1/batch", content=body, headers={"content-type": "text/plain"}
    )
    assert answer.is_success
    assert await views(site, "/a") == 1


# Batches.


async def test_each_request_of_a_batch_has_its_outcome(site: Site) -> None:
    created = {"method": "POST", "path": COUNTER, "body": {"target": "/b", "time": 1}}
    wrong: Sequence[tuple[object, str]] = (
        (put("/a", {"time": 5}), "time need"),
        (put("/a", {**INCREMENT, "url": "/b"}), "url can not"),
        ({"method": "DELETE", "path": f"{COUNTER}/{id_of('/a')}", "body": {}}, "method need"),
        ({"method": "GET", "path": COUNTER, "body": {}}, "method need"),
        ({"method": "PUT", "path": "/1.1/classes/Comment/x", "body": INCREMENT}, "path need"),
        ({"method": "PUT", "path": f"{COUNTER}/_w", "body": INCREMENT}, "objectId is"),
        ({"method": ["PUT"], "path": f"{COUNTER}/_w", "body": INCREMENT}, "method need"),
        ({"method": "PUT", "path": 7, "body": INCREMENT}, "path need"),
        ({"method": "POST", "path": COUNTER, "body": [1]}, "path need"),
        ("PUT", "each of the requests"),
        (None, "each of the requests"),
    )
    answered = await batch(site, put("/a"), *(each for each, _ in wrong), put("/a"), created)
    first, *refusals, second, last = answered
    assert first.keys() == second.keys() == last.keys() == {"success"}
    assert last["success"].keys() == {"objectId", "createdAt"}
    for refusal, (_, words) in zip(refusals, wrong, strict=True):
        assert refusal["error"]["code"] == 105
        assert refusal["error"]["error"].startswith(words)
    assert (await views(site, "/a"), await views(site, "/b")) == (2, 1)


async def test_a_batch_of_which_nothing_is_done_changes_nothing(site: Site) -> None:
    none = {"method": "POST", "path": COUNTER, "body": {"url": "/a", "time": 0}}
    assert [[*each] for each in await batch(site, none, None)] == [["success"], ["error"]]
    assert await views(site, "/a") == 0


async def test_a_batch_is_one_round_trip(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = list[object]()
    send = site.service.counting.counters.send

    def noted(*args: Any) -> None:
        sent.append(args)
        send(*args)

    monkeypatch.setattr(site.service.counting.counters, "send", noted)
    await batch(site, *(put(f"/{n}") for n in range(MAX_BATCH)))
    assert len(sent) == 1


# What is refused.

LONG = "/" + "x" * MAX_PATH


@pytest.mark.parametrize(
    "where",
    [
        "",
        "{",
        "null",
        "[]",
        "7",
        '"/a"',
        "{}",
        '{"url":"/a","target":"/a"}',
        '{"url":""}',
        '{"url":7}',
        '{"url":null}',
        '{"url":["/a"]}',
        '{"url":{"$in":"/a"}}',
        '{"url":{"$in":[["/a"]]}}',
        '{"url":{"$in":["/a",""]}}',
        '{"url":{"$in":["/a"],"$nin":[]}}',
        '{"url":{"$regex":".*"}}',
        '{"nick":"Ann"}',
        '{"url":' + "[" * 5000 + "}",
        json.dumps({"url": LONG}),
        json.dumps({"url": {"$in": [f"/{n}" for n in range(MAX_QUERY_NAMES + 1)]}}),
    ],
)
async def test_a_query_for_anything_but_pages_is_refused(site: Site, where: str) -> None:
    status, code, words = await refused(site, "GET", COUNTER, params={"where": where})
    assert (status, code) == (400, 105)
    assert "where" in words


async def test_a_query_needs_a_where_and_numbers_that_are_some(site: Site) -> None:
    right = '{"url":"/a"}'
    for query, field in (
        ("", "where"),
        (f"where={right}&where={right}", "where"),
        (f"where={right}&limit=-x", "limit"),
        (f"where={right}&limit=1001", "limit"),
        (f"where={right}&count=yes", "count"),
    ):
        status, code, words = await refused(site, "GET", f"{COUNTER}?{query}")
        assert (status, code, field in words) == (400, 105, True)


async def test_as_many_names_as_may_be_are_found(site: Site) -> None:
    names = [f"/{n}" for n in range(MAX_QUERY_NAMES)]
    await batch(site, put(names[0]), put(names[-1]))
    found = await find(site, {"url": {"$in": names}})
    assert [each["url"] for each in found["results"]] == [names[0], names[-1]]


@pytest.mark.parametrize(
    "time",
    [
        None,
        1,
        [],
        {"__op": "Increment", "amount": 2},
        {"__op": "Increment", "amount": -1},
        {"__op": "Increment", "amount": True},
        {"__op": "Increment", "amount": 1.0},
        {"__op": "Increment", "amount": "1"},
        {"__op": "Increment"},
        {"__op": "Delete"},
        {"__op": "Increment", "amount": 1, "more": 1},
    ],
)
async def test_a_count_rises_by_one_and_changes_in_no_other_way(site: Site, time: object) -> None:
    status, code, words = await refused(
        site, "PUT", f"{COUNTER}/{id_of('/a')}", json={"time": time}
    )
    assert (status, code) == (400, 105)
    assert words.startswith("time need")
    assert await views(site, "/a") == 0


async def test_no_other_field_of_an_object_changes(site: Site) -> None:
    for more in ({"url": "/b"}, {"title": "x"}, {"x" * 100_000: 1}, {"objectId": "x"}):
        sent = {**INCREMENT, **more}
        status, code, words = await refused(site, "PUT", f"{COUNTER}/{id_of('/a')}", json=sent)
        assert (status, code, len(words) < 200) == (400, 105, True)
    assert await views(site, "/a") == 0


@pytest.mark.parametrize(
    "id",
    [
        "_w",
        "x",
        "=",
        "%2Fa",
        "L2E=",
        "L2E+",
        "你",
        "A" * (MAX_OBJECT_ID + 2),
        base64.urlsafe_b64encode(LONG.encode()).rstrip(b"=").decode(),
    ],
)
async def test_an_id_that_no_page_has_is_refused(site: Site, id: str) -> None:
    status, code, _ = await refused(site, "PUT", f"{COUNTER}/{id}", json=INCREMENT)
    assert (status, code) in ((400, 105), (404, 401))


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "url can not be blank"),
        ({"url": "", "target": ""}, "url can not be blank"),
        ({"url": ["/a"]}, "url need a string"),
        ({"target": LONG}, "target should be at most"),
        ({"url": "/a", "time": 2}, "time need 0 or 1"),
        ({"url": "/a", "time": -1}, "time need 0 or 1"),
        ({"url": "/a", "time": True}, "time need 0 or 1"),
        ({"url": "/a", "time": "1"}, "time need 0 or 1"),
        ({"url": "/a", "time": {"__op": "Increment", "amount": 1}}, "time need 0 or 1"),
        (["/a"], "url can not be blank"),
    ],
)
async def test_an_object_that_is_none_of_a_page_is_not_created(
    site: Site, sent: object, words: str
) -> None:
    status, code, told = await refused(site, "POST", COUNTER, json=sent)
    assert (status, code) == (400, 105)
    assert told.startswith(words)
    assert await views(site, "/a") == 0


@pytest.mark.parametrize("requests", [None, {}, "x", [], [put("/a")] * (MAX_BATCH + 1)])
async def test_a_batch_is_a_list_of_some_and_not_of_many(site: Site, requests: object) -> None:
    status, code, words = await refused(site, "POST", "/1.1/batch", json={"requests": requests})
    assert (status, code) == (400, 105)
    assert words.startswith("requests need")
    assert await views(site, "/a") == 0


async def test_a_body_that_is_no_json_is_refused_as_any_other(site: Site) -> None:
    for content, type, expected in (
        (b"{", "application/json", 400),
        (b"\xff\xfe{\0", "text/plain", 400),
        (b"<a/>", "text/xml", 415),
    ):
        headers = {"content-type": type}
        status, code, _ = await refused(
            site, "POST", "/1.1/batch", content=content, headers=headers
        )
        assert status == code == expected


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/1.1/classes/_User"),
        ("POST", "/1.1/users"),
        ("POST", "/1.1/login"),
        ("GET", "/1.1/cloudQuery?cql=select"),
        ("GET", "/1.1/"),
        ("PUT", "//1.1/users/x"),
    ],
)
async def test_there_is_no_other_class_and_nobody_logs_in(
    site: Site, method: str, path: str
) -> None:
    status, code, words = await refused(site, method, f"http://site.test{path}")
    assert (status, code) == (404, 401)
    assert "not found" in words


async def test_no_comments_are_there_and_who_sends_one_reads_why_it_is_refused(site: Site) -> None:
    for params in ({"where": '{"url":"/a"}', "limit": "0", "count": "1"}, {"skip": "x"}, {}):
        assert await site.get("/1.1/classes/Comment", **params) == {"results": [], "count": 0}
    sent = {"json": {"comment": "<p>hello", "nick": "Ann", "mail": "ann@site.example"}}
    for language, words in (("en", "no longer be sent"), ("zh-CN", "不再接受评论")):
        headers = {"accept-language": language}
        found = await refused(site, "POST", "/1.1/classes/Comment", headers=headers, **sent)
        assert found[:2] == (403, 1)
        assert words in found[2]


async def test_whatever_refuses_says_the_one_code_that_fluid_knows(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its script meets any other, it shows that a page has one view."""

    def is_away(reading: object, done: Callable[[Exception], None]) -> None:
        done(StoreUnavailable())

    asked = f"{COUNTER}?where=%7B%22target%22%3A%22/a%22%7D"
    for settings, status in (
        ({"COMPAT": "badges"}, 404),
        ({"COMPAT": "leancloud", "SECURE_DOMAINS": "blog.example"}, 403),
        ({"COMPAT": "leancloud"}, 503),
    ):
        site = await make_site(**settings)
        monkeypatch.setattr(site.service.counting.counters, "fetch", is_away)
        assert (await refused(site, "GET", asked))[:2] == (status, 401)


async def test_a_preflight_allows_the_headers_of_leancloud(site: Site) -> None:
    asked = "X-LC-Id, X-LC-Key, X-LC-Sign, X-LC-UA, Content-Type"
    for path in (COUNTER, f"{COUNTER}/L2E", "/1.1/batch", "/1.1/users"):
        answer = await site.http.options(path, headers={"access-control-request-headers": asked})
        assert answer.headers["access-control-allow-headers"] == asked
        assert "PUT" in answer.headers["access-control-allow-methods"]


# Who may ask, and how often.


ID, KEY = "footfall", "a key that stands in every page"


def sign(now_ms: int, key: str = KEY) -> str:
    made = hashlib.md5(f"{now_ms}{key}".encode(), usedforsecurity=False).hexdigest()
    return f"{made},{now_ms}"


@pytest.fixture
async def known(make_site: Sites) -> Site:
    return await make_site(COMPAT="leancloud", LEANCLOUD_APP_ID=ID, LEANCLOUD_APP_KEY=KEY)


async def statuses(site: Site, headers: Mapping[str, str]) -> set[int]:
    """What each operation answers."""
    sent = {**headers}
    where = {"where": '{"url":"/a"}'}
    counted = f"{COUNTER}/{id_of('/a')}"
    return {
        (await site.http.get(COUNTER, params=where, headers=sent)).status_code,
        (await site.http.put(counted, json=INCREMENT, headers=sent)).status_code,
        (await site.http.post(COUNTER, json={"url": "/a"}, headers=sent)).status_code,
        (await site.http.post("/1.1/batch", json={"requests": [None]}, headers=sent)).status_code,
    }


async def test_an_application_is_known_by_its_key_or_by_a_sign(known: Site) -> None:
    now = known.clock.now
    for proof in (
        {"X-LC-Key": KEY},
        {"X-LC-Sign": sign(now)},
        {"X-LC-Sign": sign(now).upper()},
        {"X-LC-Sign": sign(now - MAX_SIGN_AGE_MS // 2)},
        {"X-LC-Sign": sign(now + MAX_SIGN_AGE_MS // 2)},
    ):
        assert await statuses(known, {"X-LC-Id": ID, **proof}) == {200, 201}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-LC-Id": ID},
        {"X-LC-Key": KEY},
        {"X-LC-Id": "other", "X-LC-Key": KEY},
        {"X-LC-Id": ID, "X-LC-Key": f"{KEY},master"},
        {"X-LC-Id": ID, "X-LC-Key": ""},
        {"X-LC-Id": ID, "X-LC-Sign": "x"},
        {"X-LC-Id": ID, "X-LC-Sign": "é"},
        {"X-LC-Id": ID, "X-LC-Sign": f"{'0' * 32},1700000000000"},
        {"X-LC-Id": ID, "X-LC-Sign": f"{'0' * 32},{'9' * 5000}"},
        {"X-LC-Id": ID, "X-LC-Sign": sign(1_700_000_000_000, "another key")},
        {"X-LC-Id": ID, "X-LC-Sign": sign(1_700_000_000_000) + ",master"},
        {"X-LC-Id": ID, "X-LC-Sign": sign(1_700_000_000_000 - MAX_SIGN_AGE_MS)},
        {"X-LC-Id": ID, "X-LC-Sign": sign(1_700_000_000_000 + 2 * MAX_SIGN_AGE_MS)},
    ],
)
async def test_another_application_is_refused(known: Site, headers: dict[str, str]) -> None:
    encoded: Any = {name: value.encode() for name, value in headers.items()}
    assert await statuses(known, encoded) == {401}
    where = {"where": '{"url":"/a"}'}
    status, code, words = await refused(known, "GET", COUNTER, params=where, headers=encoded)
    assert (status, code) == (401, 401)
    assert words.startswith("Unauthorized: X-LC-")
    assert await views(known, "/a") == 0


async def test_either_may_be_left_open(make_site: Sites) -> None:
    by_id = await make_site(COMPAT="leancloud", LEANCLOUD_APP_ID=ID)
    assert await statuses(by_id, {"X-LC-Id": ID}) == {200, 201}
    assert await statuses(by_id, {"X-LC-Key": KEY}) == {401}
    by_key = await make_site(COMPAT="leancloud", LEANCLOUD_APP_KEY=KEY)
    assert await statuses(by_key, {"X-LC-Key": KEY}) == {200, 201}
    assert await statuses(by_key, {"X-LC-Id": ID}) == {401}


# How it is described.


def test_an_id_is_the_name() -> None:
    for name in ("/a", READABLE, "site-pv", "/" + "\U0001f600" * (MAX_PATH - 1)):
        assert page_of_object(id_of(name)) == name
        assert len(id_of(name)) <= MAX_OBJECT_ID


async def test_a_name_is_repeated_letter_by_letter(site: Site) -> None:
    """Its answers are templates, in which some letters mean something."""
    for name in ("/100%", "/%d%(time)d", '/"\\u0000', "/%%25", "/\x00\x01"):
        await view(site, name)
        found = await row(site, name)
        assert (found["url"], found["time"]) == (name, 1)
        (told,) = await batch(site, put(name, {name: 1}))
        assert name in told["error"]["error"]
