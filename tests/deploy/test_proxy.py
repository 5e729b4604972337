"""Both nginx configurations, read by nginx itself, with a real service behind them."""

import contextlib
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from footfall.asgi import create_app, create_metrics
from footfall.comments.rules.live import SILENT_SECONDS
from footfall.compat.abacus import SETTING
from footfall.config import Settings
from footfall.data.store import Store
from footfall.model import PROTOCOLS
from footfall.routes import TABLE
from footfall.table.middleware import FOR_OPERATORS
from tests.support.fakes import fake_redis
from tests.support.requirements import program
from tests.support.serving import serving
from tests.support.sites import site_of

from .nginx import nginx, proxy_conf, sidecar_conf

# Behind the proxy the service sees 127.0.0.1, so a visitor with another address is recognised.
VISITOR, OTHER = "127.0.0.5", "127.0.0.6"


CONFIGURATIONS = {"proxy": proxy_conf, "sidecar": sidecar_conf}


@pytest.fixture(scope="module", autouse=True)
def needs_nginx() -> None:
    """Before a service is started in vain."""
    program("nginx")


@contextlib.contextmanager
def proxied(kind: str, home: Path) -> Iterator[str]:
    """The address of nginx, with this configuration and its own service behind it."""
    compat = ",".join(PROTOCOLS)
    environ = {"TRUSTED_PROXIES": "127.0.0.1/32", "IPQPS": "60", "COMPAT": compat}
    with serving(home / "service", **environ) as service:
        upstream = service.url.removeprefix("http://")
        with nginx(CONFIGURATIONS[kind](), upstream, home) as url:
            yield url


@pytest.fixture(scope="module", params=CONFIGURATIONS)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture(scope="module")
def url(kind: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="ff") as home, proxied(kind, Path(home)) as url:
        yield url


def public_paths() -> Iterator[tuple[str, bool]]:
    """Every path of the service, and whether a site that has the same path may keep it, as it is
    below /footfall/ as well."""
    settings = Settings.from_env({"COMPAT": ",".join(PROTOCOLS)})
    store = Store(fake_redis(), prefix="t", buckets=256)
    site = site_of(settings, store, metrics=create_metrics(settings.compat))
    app: Any = create_app(settings, site)
    doubled = {row.path for row in TABLE if any(not prefix.path for prefix in row.prefixes)}
    # Of the demonstration page, which a site has in place of its own start page; and a page that a
    # site may have, too.
    doubled |= {"/static/", "/statistics"}
    for route in app._app.routes:
        path = re.sub(r"\{\w+(:\w+)?\}", "abc", route.path)
        # What Abacus's clients set is refused in any case.
        if path not in FOR_OPERATORS and path.split("/")[1] not in SETTING:
            yield path, any(path.startswith(each) for each in doubled)


def test_every_path_of_the_service_reaches_it(url: str) -> None:
    """nginx's own answers end with its name."""
    walked, missed = 0, list[str]()
    for path, may_be_below in public_paths():
        paths = [path, f"/footfall{path}"] if may_be_below else [path]
        answers = [httpx.get(f"{url}{each}", timeout=60) for each in paths]
        if all("<center>nginx" in answer.text for answer in answers):
            missed.append(path)
        walked += 1
    assert missed == []
    assert walked > 150


def from_address(address: str) -> httpx.Client:
    return httpx.Client(transport=httpx.HTTPTransport(local_address=address))


def test_clients_reach_what_they_ask_for(url: str) -> None:
    assert httpx.post(f"{url}/api/article", json={"path": "/a"}).json()["data"] == [{"time": 1}]
    assert httpx.get(f"{url}/api/comment?path=/a").json()["data"]["count"] == 0
    for name in ("count.js", "top.js"):
        assert "footfall" in httpx.get(f"{url}/{name}").text.lower()


def test_all_that_the_service_speaks_and_hands_out_leads_to_it(url: str, kind: str) -> None:
    base = url if kind == "proxy" else f"{url}/footfall"
    described = httpx.get(f"{base}/openapi.json").json()["paths"]
    # Waline's older clients have an address of their own; what sets counters is only refused.
    elsewhere = tuple(f"/{name}" for name in SETTING) + tuple(
        path.removeprefix("/api") for path in described if path.startswith("/api/")
    )
    paths = [path for path in described if not path.startswith(elsewhere)]
    assert len(paths) > 50
    for path in (*paths, "/unsubscribe?token=x", "/ui/login", "/api/comment/rss", "/api/live"):
        filled = re.sub(r"\{\w+\}", "x", path)
        with httpx.stream("GET", url + filled, timeout=10) as answer:
            assert "x-content-type-options" in answer.headers, filled


def test_a_folder_without_its_slash_is_on_the_same_host(url: str, kind: str) -> None:
    if kind == "sidecar":
        assert httpx.get(f"{url}/footfall").headers["location"] == "/footfall/"


def test_a_quiet_stream_is_no_silence_to_nginx(kind: str) -> None:
    timeouts = re.findall(r"(?:read|send)_timeout (\d+)s;", CONFIGURATIONS[kind]())
    assert timeouts
    assert min(map(int, timeouts)) > 2 * SILENT_SECONDS


@pytest.mark.rare
def test_a_quiet_stream_is_not_cut(url: str) -> None:
    """Not for three of its heartbeats, which would end it twice with half of that patience."""
    with httpx.stream("GET", f"{url}/api/live?path=/quiet", timeout=60) as stream:
        came = iter(stream.iter_raw())
        started = next(came)
        # The first event may come in a piece of its own.
        while b"data:" not in started:
            started += next(came)
        assert started.startswith(b"retry:")
        assert {next(came) for _ in range(3)} == {b":\n\n"}


@pytest.mark.parametrize(
    "path",
    [
        "/1.1/classes/Counter?where=%7B%22url%22:%22/other%22%7D",
        "//1.1/classes/Counter?where=%7B%22url%22:%22/other%22%7D",
        "/api/counter?target=/other",
        "/busuanzi/2.3/busuanzi.pure.mini.js",
        "/js",
        "/js/lite",
        "/busuanzi?jsonpCallback=f",
        "/jsonp?callback=f",
        "/log?url=https://blog.example/other",
        "/api/v2/log?url=https://blog.example/other",
        "/count?p=/other",
        "/counter/other.svg",
        "/hit/site/other",
        "/info/site/other",
        "/badge/other.svg",
        "/ghpvc/?username=bob",
        "/api/count/keep/badge.svg?url=/other",
    ],
)
def test_clients_of_other_counters_reach_what_they_ask_for(url: str, path: str) -> None:
    answer = httpx.get(url + path, headers={"Referer": "https://blog.example/other"})
    assert (answer.status_code, "x-content-type-options" in answer.headers) == (200, True)


def test_people_log_in_and_administrators_send_files(url: str) -> None:
    assert "Footfall" in httpx.get(f"{url}/ui/login").text
    assert httpx.get(f"{url}/ui", follow_redirects=True).url == f"{url}/ui/"
    answer = httpx.post(f"{url}/ui/api/import", content=bytes(2 << 20))
    assert answer.status_code != 413, "nginx's own limit is too low"
    assert answer.json()["errno"] == 403


def test_older_clients_and_the_page_have_an_address(url: str, kind: str) -> None:
    base = url if kind == "proxy" else f"{url}/footfall"
    assert httpx.get(f"{base}/article?path=/b").json() == 0
    assert "Footfall" in httpx.get(f"{base}/").text


def test_paths_for_machines_are_not_public(url: str) -> None:
    for path in ("/metrics", "/livez", "/readyz", "/version", "/footfall/metrics"):
        assert httpx.get(url + path).status_code == 404


def test_a_visitor_is_the_address_nginx_sees_whatever_they_claim(url: str) -> None:
    def post(address: str, claim: str) -> int:
        draft = {"comment": f"from {address}, {claim}", "url": "/c", "nick": "Ann"}
        with from_address(address) as client:
            headers = {"X-Forwarded-For": claim}
            answer = client.post(f"{url}/api/comment", json=draft, headers=headers).json()
        errno: int = answer["errno"]
        return errno

    too_fast = 1000
    assert post(VISITOR, "192.0.2.1") == 0
    assert post(VISITOR, "192.0.2.2") == too_fast
    assert post(OTHER, "192.0.2.1") == 0


def test_the_longest_url_gets_through(url: str) -> None:
    paths = ",".join(f"/{n:070}" for n in range(200))
    assert len(httpx.get(f"{url}/api/article?type=time&path={paths}").json()["data"]) == 200


def test_what_has_not_changed_is_not_sent_again(url: str) -> None:
    page = f"{url}/api/comment?path=/a"
    tag = httpx.get(page).headers["etag"]
    assert httpx.get(page, headers={"If-None-Match": tag}).status_code == 304


def test_nginx_lets_go_of_a_connection_before_the_service_does(kind: str) -> None:
    (seconds,) = re.findall(r"keepalive_timeout (\d+)s;", CONFIGURATIONS[kind]())
    assert int(seconds) < uvicorn.Config(app="", log_config=None).timeout_keep_alive


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_line_of_the_log_has_the_id_that_nginx_gave(tmp_path: Path, name: str) -> None:
    """And not one that a visitor chose, which may be another request's."""
    with (
        serving(tmp_path / "service", LOG_FORMAT="json", SLOW_SECONDS="0.000001") as service,
        nginx(CONFIGURATIONS[name](), service.url.removeprefix("http://"), tmp_path) as url,
    ):
        httpx.get(f"{url}/api/comment?type=count", headers={"X-Request-Id": "chosen"})
        lines = [json.loads(line) for line in service.end()[1].splitlines()]
    ids = {each["request_id"] for each in lines if each.get("route") == "comment_count"}
    (found,) = ids
    assert re.fullmatch("[0-9a-f]{32}", found)
