"""Another counter's protocol is one file and its rows: paths, answers and refusals of its own."""

from dataclasses import replace
from typing import Any

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from footfall import routes
from tests.conftest import Site, Sites
from tests.support import hits

# A protocol is a codec, and asks the store for what others ask.
ON = ("fake",)

COUNTING = ("/hits/count?page=/a", "/hits/badge/a.svg")


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "TABLE", hits.TABLE)


async def views(site: Site) -> Any:
    return await site.get("/article", path="/a")


async def test_a_get_counts_the_same_counter_as_walines_operations(site: Site) -> None:
    assert await site.get("/hits/count?page=/a") == {"value": 1}
    assert await site.send("POST", "/hit?page=/a") == {"value": 2}
    assert await site.count("/a") == 3
    assert await site.get("/hits/value/a.json") == {"value": 3}


async def test_its_operations_are_under_its_own_prefix_alone(site: Site) -> None:
    for path in ("/count", "/api/count", "/ui/api/count", "/hits/hit", "/hits/article", "/api/hit"):
        assert (await site.http.get(f"{path}?page=/a")).status_code == 404, path
    assert await views(site) == 0


async def test_every_refusal_is_in_its_own_words(make_site: Sites) -> None:
    site = await make_site("203.0.113.9", SECURE_DOMAINS="blog.example", COUNTER_RATE="0.01")
    known = {"referer": "https://blog.example/a"}

    async def refused(path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
        answer = await site.http.request(method, path, headers=headers)
        (said,) = answer.json().items()
        return answer.status_code, said[0]

    assert await refused("/hits/count", **known) == (400, "error")
    assert await refused("/hits/count?page=/a") == (403, "error")
    assert await refused("/hits/nothing", **known) == (404, "error")
    assert await refused("/hits/count?page=/a", "PUT", **known) == (405, "error")


async def test_who_counts_too_much_is_told_so_in_its_words(make_site: Sites) -> None:
    site = await make_site("203.0.113.9", COUNTER_RATE="0.01")
    for _ in range(300):
        answer = await site.http.get("/hits/count?page=/a")
    assert (answer.status_code, answer.json()) == (429, {"error": "Too Many Requests"})
    assert int(answer.headers["retry-after"]) > 0
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
@pytest.mark.parametrize("url", COUNTING)
async def test_only_the_get_counts(site: Site, url: str, method: str) -> None:
    answer = await site.http.request(method, url)
    assert (answer.is_success, answer.content) == (True, b"")
    assert await views(site) == 0
    got = await site.http.get(url)
    assert await views(site) == 1
    if method == "HEAD":
        # All but the length, which nobody knows without counting.
        del got.headers["content-length"]
        assert answer.headers == got.headers


def test_a_get_that_counts_and_does_not_say_so_is_a_bug(site: Site) -> None:
    (row, *_) = hits.ROWS
    with pytest.raises(AssertionError, match="hits_count counts"):
        replace(row, is_unsafe=False).fast_request(site.service.served, hits.Hit("/a"))


@pytest.mark.parametrize("url", [*COUNTING, "/hits/count", "/hits/badge.svg"])
async def test_nothing_keeps_an_answer_of_what_counts(site: Site, url: str) -> None:
    for _ in range(2):
        answer = await site.http.get(url, headers={"if-none-match": "*"})
        assert answer.headers.get_list("cache-control") == ["no-store"]
        assert "etag" not in answer.headers
        assert answer.status_code != 304


async def test_what_only_reads_is_told_unchanged(site: Site) -> None:
    first = await site.http.get("/hits/value/a.json")
    again = await site.http.get(
        "/hits/value/a.json", headers={"if-none-match": first.headers["etag"]}
    )
    assert (first.headers["cache-control"], again.status_code) == ("no-cache", 304)


async def test_an_answer_may_be_a_picture_in_which_nothing_runs(site: Site) -> None:
    answer = await site.http.get("/hits/badge/a.svg")
    assert answer.text.endswith(">1</text></svg>")
    assert dict(answer.headers) == {
        "content-type": "image/svg+xml",
        "x-content-type-options": "nosniff",
        "access-control-allow-origin": "*",
        "vary": "Origin",
        "cache-control": "no-store",
        "content-length": str(len(answer.content)),
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    }


async def test_it_is_described(site: Site) -> None:
    described = await site.get("/openapi.json")
    validator = OpenAPIV31SpecValidator(described)
    assert [iter_error.message for iter_error in validator.iter_errors()] == []
    for row in hits.ROWS:
        (prefix,) = row.prefixes
        operation = described["paths"][prefix.path + row.template][row.method.lower()]
        (page,) = operation["parameters"]
        assert (page["in"], page["required"]) == ("path" if row.variables else "query", True)
        good = operation["responses"].pop("200")["content"]
        assert good == {row.answer.media: {"schema": row.answer.data}}
        told = described["components"]["responses"]
        for status, each in operation["responses"].items():
            if status != "304":
                body = told[each["$ref"].rpartition("/")[2]]["content"]["application/json"]
                assert [*body["schema"]["properties"]] == ["error"]


@pytest.mark.parametrize("body", [{"value": "1"}, {"errno": 0, "errmsg": "", "data": 1}])
async def test_an_answer_in_other_words_than_described_is_found(site: Site, body: Any) -> None:
    """A test of the comparison that these tests' client makes: it can fail."""
    request = httpx.Request("GET", "http://site.test/hits/count")
    (compare,) = site.http.event_hooks["response"]
    with pytest.raises(AssertionError, match="get /hits/count"):
        await compare(httpx.Response(200, json=body, request=request))


async def test_it_has_metrics_of_its_own(site: Site) -> None:
    for url in COUNTING:
        await site.http.get(url)
    counted = site.service.process.metrics.routes
    assert [dict(counted[row.route].by_status()).get("200", 0) for row in hits.ROWS] == [1, 0, 1, 0]
