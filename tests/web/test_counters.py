from typing import Any

import pytest

from footfall.errors import UnsupportedMediaType
from tests.conftest import ADMIN, BOB, Site


async def test_a_view_is_counted_and_read_back_in_both_variants(site: Site) -> None:
    assert await site.send("POST", "/api/article", {"path": "/a"}) == {
        "errno": 0,
        "errmsg": "",
        "data": [{"time": 1}],
    }
    assert await site.send("POST", "/article", {"path": "/a"}) == 2
    assert (await site.get("/api/article", path="/a"))["data"] == [{"time": 2}]
    assert await site.get("/article", path="/a") == 2


@pytest.mark.parametrize(
    ("query", "api", "flat"),
    [
        ("", 0, 0),
        ("?path[]=/a", 0, 0),
        ("?path=", [{"time": 0}], 0),
        ("?path=/a", [{"time": 1}], 1),
        ("?path=/a,/b", [{"time": 1}, {"time": 0}], [1, 0]),
        ("?path=/a&path=/b", [{"time": 1}, {"time": 0}], [1, 0]),
        ("?path=/a,/a", [{"time": 1}, {"time": 1}], [1, 1]),
        (
            "?path=/a&type=time,reaction0",
            [{"time": 1, "reaction0": 2}],
            {"time": 1, "reaction0": 2},
        ),
        ("?path=/a,/b&type=reaction0", [{"reaction0": 2}, {"reaction0": 0}], [2, 0]),
        (
            "?path=/a&type=reaction0&type=time",
            [{"reaction0": 2, "time": 1}],
            {"reaction0": 2, "time": 1},
        ),
    ],
)
async def test_each_number_of_paths_and_types_has_its_shape(
    site: Site, query: str, api: Any, flat: Any
) -> None:
    await site.count("/a")
    await site.count("/a", type="reaction0")
    await site.count("/a", type="reaction0")
    assert (await site.get(f"/api/article{query}"))["data"] == api
    assert await site.get(f"/article{query}") == flat


async def test_a_path_with_a_comma_can_be_read_by_repeating_the_parameter(site: Site) -> None:
    await site.count("/a,b")
    assert await site.get("/article?path=/a,b&path=/c") == [1, 0]


async def test_a_path_with_a_comma_can_be_read_from_a_json_list(site: Site) -> None:
    await site.count("/a,b")
    for method in ("GET", "POST"):
        assert await site.send(method, "/article", {"paths": ["/a,b", "/c"]}) == [1, 0]
        assert await site.send(
            method, "/api/article", {"paths": ["/a,b"], "type": ["time", "reaction1"]}
        ) == {"errno": 0, "errmsg": "", "data": [{"time": 1, "reaction1": 0}]}


@pytest.mark.cluster
async def test_many_changes_are_answered_in_their_order(site: Site) -> None:
    changes = [
        {"path": "/a"},
        {"path": "/b", "type": "reaction1"},
        {"path": "/a"},
        {"path": "/b", "type": "reaction1", "action": "desc"},
    ]
    assert (await site.send("POST", "/api/article", changes))["data"] == [
        {"time": 1},
        {"reaction1": 1},
        {"time": 2},
        {"reaction1": 0},
    ]
    assert await site.send("POST", "/article", changes[:1]) == [3]


async def test_only_an_administrator_counts_views_down(site: Site) -> None:
    await site.count("/a")
    change = {"path": "/a", "action": "desc"}
    assert (await site.send("POST", "/api/article", change))["errno"] == 401
    assert (await site.send("POST", "/api/article", change, by=BOB))["errno"] == 403
    assert (await site.send("POST", "/api/article", [{"path": "/a"}, change]))["errno"] == 401
    assert await site.get("/article", path="/a") == 1
    assert await site.send("POST", "/article", change, by=ADMIN) == 0


@pytest.mark.parametrize(
    ("body", "errmsg"),
    [
        ({}, {"path": "path can not be blank"}),
        ({"path": ""}, {"path": "path can not be blank"}),
        ({"path": None}, {"path": "path can not be blank"}),
        ({"path": 5}, {"path": "path need a string"}),
        ({"path": "/" * 2049}, {"path": "path should be at most 2048 characters long"}),
        ({"path": "/a", "action": "boom"}, {"action": 'action need in an array of ["inc","desc"]'}),
        ({"path": "/a", "action": 1}, {"action": "action need a string"}),
        ({"path": "/a", "type": 5}, {"type": "type need a string"}),
        ([{"path": "/a"}, {"path": 5}], {"1.path": "path need a string"}),
        ([{"path": "/a"}, 5], {"1": "each change need an object"}),
        ([], {"changes": "changes need a list of 1 to 200"}),
        ([{"path": "/a"}] * 201, {"changes": "changes need a list of 1 to 200"}),
    ],
)
async def test_a_change_that_cannot_be_made_names_the_field(
    site: Site, body: Any, errmsg: dict[str, str]
) -> None:
    for path in ("/api/article", "/article"):
        assert await site.send("POST", path, body) == {"errno": 1001, "errmsg": errmsg}
    assert await site.get("/article", path="/a") == 0


@pytest.mark.parametrize("type", ["bogus", "url", "objectId", "", None, "reaction9"])
async def test_a_counter_that_does_not_exist_is_refused(site: Site, type: str | None) -> None:
    answer = await site.send("POST", "/api/article", {"path": "/a", "type": type})
    assert answer["errno"] == 1001
    assert list(answer["errmsg"]) == ["type"]
    answer = await site.get("/api/article", path="/a", type=type or "")
    assert answer["errno"] == 1001


async def test_the_list_of_counters_is_a_setting(make_site: Any) -> None:
    site = await make_site(COUNTER_TYPES="time,downloads")
    assert await site.count("/a", type="downloads") == 1
    assert (await site.count("/a", type="reaction0"))["errno"] == 1001


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b'{"path":"/a"}'),
        ("application/json; charset=utf-8", b'{"path":"/a"}'),
        ("text/plain;charset=UTF-8", b'{"path":"/a"}'),
        ("application/x-www-form-urlencoded", b"path=%2Fa&type=time"),
        (
            "multipart/form-data; boundary=B",
            b'--B\r\ncontent-disposition: form-data; name="path"\r\n\r\n/a\r\n--B--\r\n',
        ),
    ],
)
async def test_a_view_can_be_sent_in_every_kind_of_body(
    site: Site, content_type: str, body: bytes
) -> None:
    response = await site.http.post(
        "/article", content=body, headers={"content-type": content_type}
    )
    assert response.json() == 1


@pytest.mark.parametrize("content_type", ["application/octet-stream", "text/xml", "image/png"])
async def test_a_body_of_another_kind_is_refused_with_words(site: Site, content_type: str) -> None:
    response = await site.http.post(
        "/article?path=/a", content=b'{"path":"/a"}', headers={"content-type": content_type}
    )
    assert (response.status_code, response.json()) == (
        415,
        {"errno": 415, "errmsg": UnsupportedMediaType.text},
    )


async def test_two_hundred_paths_are_read_in_one_request_and_no_more(site: Site) -> None:
    await site.count("/199")
    paths = [f"/{n}" for n in range(200)]
    assert await site.get("/article", path=",".join(paths)) == [0] * 199 + [1]
    answer = await site.get("/article", path=",".join([*paths, "/200"]))
    assert answer == {"errno": 1001, "errmsg": {"path": "path should be at most 200 paths"}}


async def test_no_paths_have_no_counts(site: Site) -> None:
    assert await site.send("POST", "/article", {"paths": []}) == []
    assert await site.send("POST", "/article", {"paths": ["/a"]}) == 0


async def test_without_a_body_the_query_counts_whatever_type_is_named(site: Site) -> None:
    kinds = ("application/json", "text/plain", "application/x-www-form-urlencoded")
    for count, kind in enumerate(kinds, 1):
        response = await site.http.post("/article?path=/a", headers={"content-type": kind})
        assert response.json() == count


@pytest.mark.parametrize("charset", ["utf-7", "punycode", "unicode_escape", "latin-1", "nonsense"])
async def test_a_multipart_form_is_utf8_whatever_charset_it_names(site: Site, charset: str) -> None:
    body = '--B\r\ncontent-disposition: form-data; name="path"\r\n\r\n/中文+2AA-\r\n--B--\r\n'
    kind = f"multipart/form-data; boundary=B; charset={charset}"
    response = await site.http.post(
        "/article", content=body.encode(), headers={"content-type": kind}
    )
    assert response.json() == 1
    assert await site.get("/article", path="/中文+2AA-") == 1


async def test_a_form_may_contain_utf8_that_is_not_escaped(site: Site) -> None:
    kind = {"content-type": "application/x-www-form-urlencoded"}
    response = await site.http.post("/article", content="path=/中文".encode(), headers=kind)
    assert response.json() == 1
    assert await site.get("/article", path="/中文") == 1


async def test_a_read_may_name_the_type_of_a_body_that_it_does_not_have(site: Site) -> None:
    headers = {"content-type": "application/json", "content-length": "0"}
    response = await site.http.get("/article?path=/a", headers=headers)
    assert response.json() == 0
