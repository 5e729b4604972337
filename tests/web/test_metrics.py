"""GET /metrics: what it says, when, and in which words."""

import asyncio
import re
from pathlib import Path

import pytest

from service import __version__
from service.store.size import Kind, Scale, Size
from service.web.metrics import Figures
from tests.conftest import Site, Sites

README = Path(__file__).parents[2] / "README.md"
SIZE = Size(Kind(1_204_331, 46.5), Kind(3_127, 812, is_measured=False))


async def scrape(site: Site) -> dict[str, float]:
    """Values by name and labels."""
    response = await site.http.get("/metrics")
    assert response.status_code == 200
    lines = [line for line in response.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis says how much is stored, which fakeredis does not."""

    async def weigh(scale: Scale) -> Size:
        scale.reading = SIZE
        return SIZE

    monkeypatch.setattr(Scale, "weigh", weigh)


@pytest.mark.usefixtures("known")
async def test_a_scrape_says_what_is_stored_and_how_the_process_is_doing(site: Site) -> None:
    await site.post("hello")
    await site.page()
    sent = site.service.store.batch.sent
    site.service.store.batch.largest = 7
    assert await scrape(site) == {
        f'footfall_build_info{{version="{__version__}"}}': 1,
        "footfall_counters": 1_204_331,
        "footfall_counter_bytes": 46.5,
        "footfall_comments": 3_127,
        "footfall_comment_bytes": 812,
        "footfall_batches_total": sent,
        "footfall_batch_requests": 7,
        "footfall_batch_waiting": 0,
        "footfall_kept_pages_bytes": site.service.pages.bytes,
    }
    assert sent > 0 and site.service.pages.bytes > 0


async def test_without_a_word_from_redis_a_scrape_leaves_out_what_is_stored(site: Site) -> None:
    # fakeredis knows no MEMORY USAGE.
    await site.count("/a")
    assert [name for name in await scrape(site) if "count" in name or "comment" in name] == []


async def test_nothing_stored_is_zero_and_weighs_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site.service.store.scale, "reading", Size(Kind(0, 0), Kind(0, 0)))
    monkeypatch.setattr(site.service.store.scale, "refresh", _at_once)
    values = await scrape(site)
    stored = {name: value for name, value in values.items() if "count" in name or "comm" in name}
    assert stored == {"footfall_counters": 0, "footfall_comments": 0}


async def _at_once(wait_seconds: float) -> None:
    pass


async def test_requests_that_wait_for_a_batch_are_seen(site: Site) -> None:
    figures = Figures(site.service, "1")
    requests = [asyncio.create_task(site.get("/article", path=path)) for path in ("/a", "/b")]
    waiting = set[float]()
    while not all(request.done() for request in requests):
        waiting |= {
            metric.samples[0].value
            for metric in figures.collect()
            if metric.name == "footfall_batch_waiting"
        }
        await asyncio.sleep(0)
    assert 2 in waiting


async def test_it_is_a_page_that_scrapers_read_and_other_sites_do_not(site: Site) -> None:
    response = await site.http.get("/metrics", headers={"origin": "https://blog.example"})
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in response.headers
    head = await site.http.head("/metrics")
    assert (head.status_code, head.content) == (200, b"")
    refused = await site.http.post("/metrics")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


async def test_services_in_one_process_do_not_share_figures(make_site: Sites) -> None:
    one, other = await make_site(), await make_site()
    await one.post("hello")
    await one.page()
    assert (await scrape(one))["footfall_kept_pages_bytes"] > 0
    assert (await scrape(other))["footfall_kept_pages_bytes"] == 0


@pytest.mark.usefixtures("known")
async def test_the_readme_lists_every_metric(site: Site) -> None:
    text = (await site.http.get("/metrics")).text
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    helps = re.findall(r"^# HELP (\w+) (.*)$", text, re.MULTILINE)
    rows = re.findall(r"^\| `(footfall_\w+)` \| (\w+) \| (.*) \|$", README.read_text(), re.M)
    assert rows == [(name, types[name], help) for name, help in helps]
