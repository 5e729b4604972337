"""The page about the API: every operation with its fields and samples, on a phone and a desk."""

import httpx
import pytest
from playwright.sync_api import expect

from tests.support.serving import Serving

from .conftest import NewVisitor

WIDTHS = {"phone": 390, "desk": 1280}


@pytest.mark.parametrize("width", WIDTHS)
def test_every_operation_is_shown_with_fields_answers_and_samples(
    service: Serving, new_visitor: NewVisitor, width: str
) -> None:
    visitor = new_visitor(viewport={"width": WIDTHS[width], "height": 844})
    visitor.open(f"{service.url}/ui/api")
    page = visitor.page
    expect(page.get_by_role("heading", name="Counters of pages")).to_be_visible()
    described = httpx.get(f"{service.url}/openapi.json").json()
    shown = [
        methods
        for path, methods in described["paths"].items()
        if path.startswith(("/api/", "/ui/"))
    ]
    number = sum(map(len, shown)) + len(described["components"]["schemas"])
    expect(page.locator("details")).to_have_count(number)
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    change = page.locator("details", has=page.get_by_text("article change", exact=False)).first
    expect(change).to_contain_text("Who: anybody")
    expect(change).to_contain_text("1 to 2048 characters")
    assert f"curl \\\n  -X POST \\\n  '{service.url}/api/article'" in change.inner_text()


def test_the_sample_for_fetch_works(service: Serving, new_visitor: NewVisitor) -> None:
    visitor = new_visitor()
    visitor.open(f"{service.url}/ui/api")
    page = visitor.page
    change = page.locator("details", has=page.get_by_text("article change", exact=False)).first
    change.locator("summary").click()
    code = change.locator("pre").last.inner_text()
    before = httpx.get(f"{service.url}/api/article?path=/a").json()["data"][0]["time"]
    page.evaluate(f"(async () => {{ {code} }})()")
    after = httpx.get(f"{service.url}/api/article?path=/a").json()["data"][0]["time"]
    assert after == before + 1
