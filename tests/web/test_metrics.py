"""GET /metrics: its metrics, their values and their documentation."""

import asyncio
import os
import platform
import re
import threading
import time
from pathlib import Path

import pytest
import uvicorn
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import Metric

from footfall import __version__
from footfall.accounts.rules import log_ins
from footfall.accounts.store.accounts import AccountStore
from footfall.data.size import Kind, Scale, Size
from footfall.errors import Denied, StoreUnavailable
from footfall.monitoring import metrics
from footfall.monitoring.health import Health
from footfall.monitoring.metrics import Figures
from footfall.server.descriptors import Shortage
from footfall.server.server import TICK_SECONDS, Server
from footfall.telemetry.logs import request_id
from tests.conftest import ADMIN, Site, Sites

MONITORING = Path(__file__).parents[2] / "docs" / "monitoring.md"
STORED = {
    "footfall_counters",
    "footfall_counters_mean_bytes",
    "footfall_comments",
    "footfall_comments_mean_bytes",
}
SIZE = Size(Kind(1_204_331, 46.5), Kind(3_127, 812))


async def scrape(site: Site) -> dict[str, float]:
    """The values by name and labels."""
    response = await site.http.get("/metrics")
    assert response.status_code == 200
    lines = [line for line in response.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading of how much is stored, which fakeredis cannot give."""

    async def weigh(scale: Scale) -> Size:
        scale.reading = SIZE
        return SIZE

    monkeypatch.setattr(Scale, "weigh", weigh)


@pytest.mark.usefixtures("known")
async def test_a_scrape_has_what_is_stored_and_how_the_service_is_doing(site: Site) -> None:
    await site.post("hello")
    await site.page()
    await site.http.get("/api/article")
    await site.http.delete("/api/article")
    values = await scrape(site)
    (build,) = (name for name in values if name.startswith("footfall_build_info"))
    assert values[build] == 1
    for label, version in {"version": __version__, "python": platform.python_version()}.items():
        assert f'{label}="{version}"' in build
    assert not re.search('=""', build)
    assert values["footfall_redis_up"] == 1
    assert values["footfall_counters"] == 1_204_331
    assert values["footfall_counters_mean_bytes"] == 46.5
    assert values["footfall_comments"] == 3_127
    assert values["footfall_comments_mean_bytes"] == 812
    assert values["footfall_kept_pages_bytes"] == site.service.comments.page_cache.bytes
    assert site.service.comments.page_cache.bytes > 0
    requests = {name: n for name, n in values.items() if "requests_total" in name and n}
    assert requests == {
        'footfall_requests_total{route="comment_post",status="200"}': 1,
        'footfall_requests_total{route="comment_page",status="200"}': 1,
        'footfall_requests_total{route="article_read",status="200"}': 1,
        'footfall_requests_total{route="other",status="405"}': 1,
    }
    assert values['footfall_request_seconds_count{route="comment_post"}'] == 1
    assert 0 < values['footfall_request_seconds_sum{route="comment_post"}'] < 10
    assert values['footfall_request_seconds_bucket{le="+Inf",route="comment_post"}'] == 1
    assert values['footfall_refused_total{reason="WrongMethod"}'] == 1
    assert values['footfall_finding{code="evicts"}'] == 0


async def test_the_pause_of_a_log_in_that_fails_is_no_time_of_the_service(
    make_site: Sites, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_ins, "FAILED_SECONDS", 0.5)
    site = await make_site(SLOW_SECONDS="0.45")
    wrong = {"email": "ann@example.com", "password": "none of hers"}
    assert (await site.send("POST", "/api/token", wrong))["errno"] == Denied.errno
    values = await scrape(site)
    assert values['footfall_requests_total{route="token_log_in",status="200"}'] == 1
    assert values['footfall_request_seconds_sum{route="token_log_in"}'] < 0.45
    assert caplog.messages == []


async def test_who_looks_at_a_service_that_waits_for_redis_leaves_no_line(
    make_site: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    site = await make_site(SLOW_SECONDS="0.0000001")
    for path in ("/metrics", "/livez", "/readyz", "/count.js"):
        await site.http.get(path)
    slow = [line.partition(" took")[0] for line in caplog.messages if " took " in line]
    assert [route for route in slow if not route.startswith("Redis")] == ["static"]


async def test_a_line_has_the_id_of_its_own_request(site: Site) -> None:
    for path, sent, named in (
        ("/api/article", {"x-request-id": "first"}, "first"),
        ("/count.js", {}, ""),
        ("/nowhere", {"x-request-id": "third"}, "third"),
    ):
        # httpx calls the application in the task of its caller.
        await site.http.get(path, headers=sent)
        assert request_id.get() == named


async def test_an_error_that_a_page_does_not_expect_is_answered_and_counted(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(accounts: AccountStore) -> bool:
        raise StoreUnavailable()

    monkeypatch.setattr(AccountStore, "lacks_administrator", fail)
    assert (await site.http.get("/ui/register")).status_code == 503
    values = await scrape(site)
    assert values['footfall_requests_total{route="page",status="503"}'] == 1
    assert values['footfall_refused_total{reason="StoreUnavailable"}'] == 1


@pytest.mark.parametrize("kind", ["fake"])
async def test_a_scrape_leaves_out_what_is_stored_if_redis_does_not_say(site: Site) -> None:
    # fakeredis has no MEMORY USAGE.
    await site.count("/a")
    assert not STORED & (await scrape(site)).keys()


async def test_what_waits_for_people_and_the_last_backup_are_known(site: Site) -> None:
    assert (await scrape(site))["footfall_backup_last_success_timestamp_seconds"] == 0
    for text, status in {"a": "approved", "b": "waiting", "c": "waiting", "d": "spam"}.items():
        id = (await site.post(text))["objectId"]
        await site.send("PUT", f"/api/comment/{id}", {"status": status}, by=ADMIN)
    await site.service.data.backups.succeeded(1_700_000_000_500, 4_096)
    await site.service.data.backups.failed(1_700_000_001_500, "no room")
    values = await scrape(site)
    assert values["footfall_comments_waiting"] == 2
    assert values["footfall_comments_spam"] == 1
    assert values["footfall_backup_last_success_timestamp_seconds"] == 1_700_000_000.5
    assert values["footfall_backup_last_failure_timestamp_seconds"] == 1_700_000_001.5
    assert values["footfall_backup_bytes"] == 4_096


async def test_room_is_told_for_the_disk_of_a_private_server_alone(
    make_site: Sites, tmp_path: Path
) -> None:
    disk = os.statvfs(tmp_path)
    site = await make_site()
    assert not [name for name in await scrape(site) if "data_dir" in name]
    site.service.process.safety.data_dir = tmp_path
    values = await scrape(site)
    assert values["footfall_data_dir_size_bytes"] == disk.f_blocks * disk.f_frsize
    assert 0 < values["footfall_data_dir_free_bytes"] <= disk.f_bfree * disk.f_frsize
    site.service.process.safety.data_dir = tmp_path / "nowhere"
    assert not [name for name in await scrape(site) if "data_dir" in name]


async def test_files_that_take_long_to_list_are_not_listed_on_the_event_loop(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set[threading.Thread]()

    def note(collector: ProcessCollector) -> list[Metric]:
        threads.add(threading.current_thread())
        return []

    monkeypatch.setattr(ProcessCollector, "collect", note)
    await scrape(site)
    assert len(threads) == 1
    assert threading.main_thread() not in threads


async def test_a_busy_event_loop_is_seen(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    health = Health(site.service, "1")
    config = uvicorn.Config("", log_config=None)
    shortage = Shortage(site.service.process.metrics, 1)
    ticking = Server(config, site.service, health, 0, shortage, lambda: None, is_own=True)
    for later in (0.0, TICK_SECONDS, TICK_SECONDS + 0.4):
        now += later
        await ticking.on_tick(1)
    buckets, sum_ = site.service.process.metrics.loop_lag.totals()
    assert (dict(buckets)["0.2"], dict(buckets)["0.5"]) == (2, 3)
    assert sum_ == pytest.approx(0.4)


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


async def test_metrics_are_readable_for_scrapers_and_not_for_other_sites(site: Site) -> None:
    response = await site.http.get("/metrics", headers={"origin": "https://blog.example"})
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in response.headers
    head = await site.http.head("/metrics")
    assert (head.status_code, head.content) == (200, b"")
    refused = await site.http.post("/metrics")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


@pytest.mark.usefixtures("known")
async def test_the_documents_list_every_metric(
    make_site: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await make_site()
    site.service.process.safety.data_dir = tmp_path
    # With a channel, there are metrics of the outbox.
    monkeypatch.setattr(site.service.notifications.outbox, "is_on", True)
    text = (await site.http.get("/metrics")).text
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    helps = re.findall(r"^# HELP (\w+) (.*)$", text, re.MULTILINE)
    row = r"^\| `((?:footfall|process)_\w+)` \| (\w+) \| (.*) \|$"
    rows = re.findall(row, MONITORING.read_text(), re.MULTILINE)
    assert rows == [(name, types[name], help) for name, help in helps]


async def test_it_is_made_once_a_second_for_all_who_want_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "PERIOD_SECONDS", 0.5)
    made = 0

    def counted(registry: CollectorRegistry) -> bytes:
        nonlocal made
        made += 1
        return generate_latest(registry)

    monkeypatch.setattr(metrics, "generate_latest", counted)
    started = time.monotonic()
    answers = await asyncio.gather(*(site.http.get("/metrics") for _ in range(64)))
    assert made == 1
    assert {answer.text.count("footfall_build_info{") for answer in answers} == {1}
    # What was counted before a request is in its answer.
    await site.http.get("/api/article?path=/a")
    counted_once = 'footfall_requests_total{route="article_read",status="200"} 1.0'
    assert counted_once in (await site.http.get("/metrics")).text
    assert (made, time.monotonic() - started >= 0.5) == (2, True)
    assert (await site.http.head("/metrics")).content == b""


async def test_what_never_occurred_is_left_out(site: Site) -> None:
    await site.http.get("/api/article?path=/a")
    lines = (await site.http.get("/metrics")).text.splitlines()
    routes = {line for line in lines if line.startswith(("footfall_request", "footfall_refused"))}
    assert all('route="article_read"' in line for line in routes)
