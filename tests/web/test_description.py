"""/openapi.json says what there is; the tests' client compares every answer with it."""

from collections.abc import Sequence

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from footfall.model import PROTOCOLS
from footfall.routes import TABLE
from footfall.table.prefixes import UI
from tests.conftest import Site, Sites
from tests.support.description import description_of

# A description does not depend on the server.
ON = ("fake",)


@pytest.mark.parametrize("spoken", [(), PROTOCOLS], ids=["Waline alone", "every protocol"])
async def test_it_is_openapi(make_site: Sites, spoken: Sequence[str]) -> None:
    site = await make_site(COMPAT=",".join(spoken))
    validator = OpenAPIV31SpecValidator(await site.get("/openapi.json"))
    assert [iter_error.message for iter_error in validator.iter_errors()] == []


async def test_every_operation_is_described(site: Site) -> None:
    described = (await site.get("/openapi.json"))["paths"]
    for row in TABLE:
        for prefix in row.prefixes:
            url = f"{prefix.path}{row.template}"
            forms = (url, f"{url}/{{id}}")
            is_there = any(row.method.lower() in described.get(form, {}) for form in forms)
            # What is elsewhere, too, is described there.
            assert is_there == (prefix is not UI or row.prefixes == (UI,)), row.route


async def test_every_operation_has_a_tag_that_the_description_names(make_site: Sites) -> None:
    """/ui/api groups what it shows by these tags."""
    described = await (await make_site(COMPAT=",".join(PROTOCOLS))).get("/openapi.json")
    operations = [method for methods in described["paths"].values() for method in methods.values()]
    used = {tag for operation in operations for tag in operation["tags"]}
    assert used == {tag["name"] for tag in described["tags"]}


async def test_what_is_bounded_by_a_setting_has_its_bound(make_site: Sites) -> None:
    site = await make_site(COMMENT_LENGTH="1000", COUNTER_TYPES="time,applause")
    paths = (await site.get("/openapi.json"))["paths"]
    bodies = paths["/api/comment"]["post"]["requestBody"]["content"]
    draft = bodies["application/json"]["schema"]["properties"]
    assert draft["comment"]["maxLength"] == 1000
    (types,) = [
        path["schema"]["items"]["enum"]
        for path in paths["/api/article"]["get"]["parameters"]
        if path["name"] == "type"
    ]
    assert types == ["time", "applause"]


async def test_the_description_has_an_etag(site: Site) -> None:
    first = await site.http.get("/openapi.json")
    again = await site.http.get("/openapi.json", headers={"if-none-match": first.headers["etag"]})
    assert (first.status_code, again.status_code) == (200, 304)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (418, {"errno": 418}),
        (200, {"errno": 0, "errmsg": "", "data": [{"time": "many"}]}),
        (200, {"errno": 0, "errmsg": "", "data": [], "more": 1}),
        (403, {"errno": 401, "errmsg": "Unauthorized"}),
    ],
)
async def test_an_answer_that_is_not_described_is_found(
    site: Site, status: int, body: dict[str, object]
) -> None:
    """A test of the comparison: it can fail."""
    request = httpx.Request("GET", "http://site.test/api/article?path=/a")
    with pytest.raises(AssertionError, match="get /api/article"):
        await description_of(site.service)(httpx.Response(status, json=body, request=request))


async def test_no_description_of_a_comment_has_a_field_that_nobody_named(site: Site) -> None:
    comment = await site.post("hello")
    request = httpx.Request("POST", "http://site.test/api/comment")
    body = {"errno": 0, "errmsg": "", "data": {**comment, "password": "secret"}}
    with pytest.raises(AssertionError, match="post /api/comment"):
        await description_of(site.service)(httpx.Response(200, json=body, request=request))


async def test_the_page_about_it_stands_before_the_operations_of_the_admin_ui(site: Site) -> None:
    page = await site.http.get("/ui/api")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    below = await site.http.get("/ui/api/state", headers={"x-footfall-page": "1"})
    assert (below.status_code, below.headers["content-type"]) == (
        401,
        "application/json; charset=utf-8",
    )
