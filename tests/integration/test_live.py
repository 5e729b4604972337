"""GET /api/live: what changes on a page is told to who watches it, while that is so."""

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from footfall.comments.rules.live import SILENT_SECONDS
from footfall.limits.pools import Pools
from tests.support.servers import wait_until
from tests.support.serving import Serving, serving

PAGE = "/2020/你好/"


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Serving]:
    with serving(home / "live") as served:
        yield served


@contextmanager
def watching(served: Serving, path: str, **headers: str) -> Iterator[Iterator[dict[str, Any]]]:
    """The events of a page."""
    address = f"{served.url}/api/live"
    with httpx.stream("GET", address, params={"path": path}, headers=headers, timeout=60) as stream:
        assert stream.status_code == 200, stream.read()
        assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert stream.headers["access-control-allow-origin"] == "*"
        assert stream.headers["cache-control"] == "no-store"
        yield (
            json.loads(line.removeprefix("data: "))
            for line in stream.iter_lines()
            if line.startswith("data: ")
        )


def view(served: Serving, path: str) -> int:
    number: int = httpx.post(f"{served.url}/article", json={"path": path}).json()
    return number


def comment(served: Serving, path: str) -> None:
    draft = {"comment": "Good.", "url": path, "nick": "Ann", "mail": "ann@example.com"}
    answer = httpx.post(f"{served.url}/api/comment", json=draft)
    assert answer.json()["errno"] == 0, answer.text


def test_everybody_who_watches_is_told_of_views_and_comments(served: Serving) -> None:
    with watching(served, PAGE) as ann, watching(served, "/2020/%E4%BD%A0%E5%A5%BD/") as ben:
        first = next(ann)
        assert next(ben) == first == {"path": PAGE, "time": 0, "comments": first["comments"]}
        view(served, PAGE)
        assert next(ann) == next(ben) == {**first, "time": 1}
        comment(served, PAGE)
        assert next(ann)["comments"] == next(ben)["comments"] != first["comments"]


def test_who_comes_later_is_told_at_once(served: Serving) -> None:
    view(served, "/later")
    with watching(served, "/later") as ann:
        assert next(ann)["time"] == 1
        with watching(served, "/later") as ben:
            assert next(ben)["time"] == 1


def test_an_address_has_so_many_streams_and_gets_them_back(served: Serving) -> None:
    def asked(address: str) -> int:
        headers = {"X-Forwarded-For": address}
        with httpx.stream(
            "GET", f"{served.url}/api/live", params={"path": "/a"}, headers=headers
        ) as stream:
            return stream.status_code

    ann = "192.0.2.1"
    with ExitStack() as stack:
        for _ in range(Pools().streams.each):
            stack.enter_context(watching(served, "/a", **{"X-Forwarded-For": ann}))
        assert asked(ann) == 429
        assert asked("192.0.2.2") == 200
    wait_until(lambda: asked(ann) == 200, "a stream for who has ended theirs")


def test_a_stream_ends_when_its_client_has_read_all_and_says_goodbye(served: Serving) -> None:
    """A connection that is closed with unread bytes is reset; this one is closed politely."""
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"GET /api/live?path=/polite HTTP/1.1\r\nhost: a\r\n\r\n")
        told = b""
        while b"data: " not in told or not told.endswith(b"\n\n\r\n"):
            told += client.recv(65_536)
        # Sooner than the service would write again to a page that nothing happens on.
        client.settimeout(SILENT_SECONDS / 2)
        client.shutdown(socket.SHUT_WR)
        while client.recv(65_536):
            pass


@pytest.mark.parametrize("query", ["", "?path=", f"?path={'a' * 2049}", "?path=/a&path=/b"])
def test_a_page_has_to_be_named(served: Serving, query: str) -> None:
    answer = httpx.get(f"{served.url}/api/live{query}")
    assert list(answer.json()["errmsg"]) == ["path"]
    assert answer.headers["access-control-allow-origin"] == "*"


def test_other_methods_do_not_watch(served: Serving) -> None:
    assert httpx.head(f"{served.url}/api/live?path=/a").status_code == 200
    assert httpx.post(f"{served.url}/api/live?path=/a").status_code == 405
    assert httpx.options(f"{served.url}/api/live?path=/a").status_code == 204


def test_a_page_of_another_site_may_not_watch(home: Path) -> None:
    with serving(home / "live-domains", SECURE_DOMAINS="blog.example") as served:
        answer = httpx.get(f"{served.url}/api/live?path=/a", headers={"Referer": "https://x.test/"})
        assert answer.status_code == 403


def test_who_reads_nothing_does_not_keep_others_waiting(served: Serving) -> None:
    host, _, port = served.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.sendall(b"GET /api/live?path=/slow HTTP/1.1\r\nHost: ff.example\r\n\r\n")
        with watching(served, "/slow") as ann:
            assert next(ann)["time"] == 0
            view(served, "/slow")
            assert next(ann)["time"] == 1


def test_a_service_that_stops_ends_its_streams(home: Path) -> None:
    with serving(home / "live-stopped") as served, watching(served, "/a") as events:
        assert next(events)["time"] == 0
        assert served.process is not None
        served.process.send_signal(signal.SIGTERM)
        assert list(events) == []
        code, output = served.end()
        assert code == 0, output
        assert "Traceback" not in output
