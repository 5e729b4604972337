"""Open Kounter's counters, as Fluid asks for them: refusals have status 200 and a code."""

from typing import Any

import pytest

from footfall.compat.open_kounter import FAILED, MAX_BATCH
from footfall.http.params import MAX_PATH
from tests.conftest import Site, Sites

# A protocol is a codec, and asks the store for what others ask.
ON = ("fake",)

COUNTER = "/api/counter"
ENCODED, READABLE = "/2020/%E4%BD%A0%E5%A5%BD/", "/2020/你好/"


@pytest.fixture
async def site(make_site: Sites) -> Site:
    return await make_site(COMPAT="open-kounter")


async def read(site: Site, target: str) -> Any:
    told = await site.get(COUNTER, target=target)
    assert told["code"] == 0, told
    return told["data"]


async def ask(site: Site, action: str, **fields: Any) -> Any:
    told = await site.send("POST", COUNTER, {"action": action, **fields})
    assert told["code"] == 0, told
    return told["data"]


async def batch(site: Site, *requests: object) -> Any:
    return await ask(site, "batch_inc", requests=requests)


async def views(site: Site, path: str) -> Any:
    return await site.get("/article", path=path)


async def refused(site: Site, method: str = "POST", **sent: Any) -> tuple[int, str]:
    """The status, and the words."""
    answer = await site.http.request(method, COUNTER, **sent)
    assert answer.headers["access-control-allow-origin"] == "*"
    told = answer.json()
    assert told.keys() == {"code", "message"}
    assert told["code"] == FAILED
    return answer.status_code, told["message"]


async def test_a_counter_that_is_not_there_is_none(site: Site) -> None:
    assert await read(site, "site-pv") == {
        "target": "site-pv",
        "time": 0,
        "created_at": 0,
        "updated_at": 0,
    }


async def test_an_increment_counts_the_counter_that_waline_has(site: Site) -> None:
    await site.count("/a/")
    assert await ask(site, "inc", target="/a/") == {"target": "/a/", "time": 2}
    assert (await read(site, "/a/"))["time"] == await views(site, "/a/") == 2


async def test_a_page_view_counts_several_at_once(site: Site) -> None:
    targets = ("site-pv", "site-uv", "/a/")
    told = await batch(site, *({"target": target} for target in targets))
    assert told == [{"target": target, "time": 1} for target in targets]
    again = await batch(site, {"target": "site-pv"}, {"target": "/a/"}, {"target": "/a/"})
    assert [each["time"] for each in again] == [2, 2, 3]


async def test_a_post_without_an_action_reads(site: Site) -> None:
    await site.count("/a")
    told = await site.send("POST", COUNTER, {"target": "/a"})
    assert told == {"code": 0, "data": {"target": "/a", "time": 1}}
    assert await views(site, "/a") == 1


async def test_a_target_may_stand_in_a_path_of_leanclouds(site: Site) -> None:
    request = {"method": "PUT", "path": "/1.1/classes/Counter/a/b", "body": {}}
    assert await batch(site, request) == [{"target": "a/b", "time": 1}]


async def test_a_read_is_told_unchanged_and_a_head_reads(site: Site) -> None:
    url = f"{COUNTER}?target=/a"
    first = await site.http.get(url)
    known = {"if-none-match": first.headers["etag"]}
    assert (await site.http.get(url, headers=known)).status_code == 304
    assert (await site.http.head(url)).is_success
    assert await views(site, "/a") == 0


LONG = "/" + "x" * MAX_PATH


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "target can not be blank"),
        ([], "target can not be blank"),
        ({"action": "inc"}, "target can not be blank"),
        ({"action": "inc", "target": ""}, "target can not be blank"),
        ({"action": "inc", "target": ["/a"]}, "target need a string"),
        ({"action": "inc", "target": LONG}, "target should be at most"),
        ({"action": "set", "target": "/a", "value": 7}, "action need in an array of"),
        ({"action": "delete", "target": "/a"}, "action need in an array of"),
        ({"action": "export_all"}, "action need in an array of"),
        ({"action": ["inc"], "target": "/a"}, "action need in an array of"),
        ({"action": 7, "target": "/a"}, "action need a string"),
        ({"action": "batch_inc"}, "requests need a list"),
        ({"action": "batch_inc", "requests": []}, "requests need a list"),
        ({"action": "batch_inc", "requests": {"target": "/a"}}, "requests need a list"),
        (
            {"action": "batch_inc", "requests": [{"target": "/a"}] * (MAX_BATCH + 1)},
            "requests need a list",
        ),
        ({"action": "batch_inc", "requests": [{"target": "/a"}, None]}, "requests.1.target need"),
        ({"action": "batch_inc", "requests": [{"target": LONG}]}, "requests.0.target need"),
        ({"action": "batch_inc", "requests": [{"target": 7}, {}]}, "requests.0.target need"),
        ({"action": "batch_inc", "requests": [{"path": "/a"}]}, "requests.0.target need"),
    ],
)
async def test_what_is_no_increment_is_refused(site: Site, sent: object, words: str) -> None:
    status, told = await refused(site, json=sent)
    assert status == 200
    assert told.startswith(words)
    assert await views(site, "/a") == 0


@pytest.mark.parametrize("query", ["", "target=", "target=/a&target=/b", f"target={LONG}"])
async def test_a_read_needs_one_target(site: Site, query: str) -> None:
    answer = await site.http.get(f"{COUNTER}?{query}")
    told = answer.json()
    assert (answer.status_code, told["code"], "target" in told["message"]) == (200, FAILED, True)


@pytest.mark.parametrize(
    ("content", "type", "expected"),
    [(b"{", "application/json", 200), (b"\xff", "text/plain", 200), (b"<a/>", "text/xml", 415)],
)
async def test_a_body_that_is_no_json_is_refused(
    site: Site, content: bytes, type: str, expected: int
) -> None:
    status, _ = await refused(site, content=content, headers={"content-type": type})
    assert status == expected


async def test_walines_operations_beside_it_stay_as_they_are(site: Site) -> None:
    assert (await site.get("/api/article", path="/a"))["errno"] == 0
    for path in ("/api/counters", "/api/counter/", "/api/counter/x", "/counter"):
        answer = await site.http.get(f"{path}?target=/a")
        assert (answer.status_code, answer.json()["errno"]) == (404, 404)


async def test_a_name_is_repeated_letter_by_letter(site: Site) -> None:
    """Its answers are templates, in which some letters mean something."""
    for name in ("/100%", "/%d%(time)d", '/"\\u0000', "/%%25", "/\x00\x01"):
        await ask(site, "inc", target=name)
        again = await batch(site, {"target": name}, {"target": "/other"})
        assert again[0] == {"time": 2, "target": name}
        assert await ask(site, "", target=name) == {"time": 2, "target": name}
        assert (await read(site, name))["target"] == name
