"""Traces, as a collector gets them from a real service; they disturb nothing else."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from footfall import __version__
from tests.support.collector import Collector, collecting
from tests.support.servers import RealServer, free_port, program_of, running
from tests.support.serving import SOURCES, Serving, serving
from tests.support.workers import all_answer

CALLER, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{CALLER}-{SPAN}-01"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


def asking(url: str) -> dict[str, str]:
    """The variables that turn traces on."""
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "20"}


@pytest.fixture
def server(own: Path) -> Iterator[RealServer]:
    """A Redis that a test may damage."""
    with running(program_of("valkey"), own) as server:
        yield server


def view(served: Serving, **headers: str) -> httpx.Response:
    return httpx.post(f"{served.url}/article", json={"path": "/a"}, headers=headers)


def test_a_request_is_a_span(directory: Path, collector: Collector) -> None:
    with serving(directory, **asking(collector.url)) as served:
        assert view(served).json() == 1
        (request,) = collector.wait(name="article_change")
        code, output = served.end()
    assert (request.kind, request.parent, request.is_error) == ("SERVER", "", False)
    assert request.attributes == {
        "http.request.method": "POST",
        "http.route": "/article",
        "http.response.status_code": 200,
        "url.path": "/article",
        "url.scheme": "http",
    }
    names = {name: request.resource[name] for name in ("service.name", "service.version")}
    assert names == {"service.name": "footfall", "service.version": __version__}
    assert "traces sent to OTEL_*; the fast path is off" in output
    assert code == 0


def test_a_callers_trace_is_continued_for_its_own_request_only(
    directory: Path, collector: Collector, data_set: dict[str, str]
) -> None:
    with serving(directory, **asking(collector.url), **data_set) as served:
        url = httpx.URL(served.url)
        head = f"HTTP/1.1\r\nHost: blog.example\r\ntraceparent: {TRACEPARENT}\r\n\r\n"
        # The second request follows the first at once, and names no caller.
        requests = f"GET /comment?type=count {head}GET /comment?type=recent HTTP/1.1\r\nHost: a\r\n"
        with socket.create_connection((url.host, url.port)) as connection:
            connection.sendall(f"{requests}Connection: close\r\n\r\n".encode())
            while connection.recv(65536):
                pass
        (first,) = collector.wait(name="comment_count")
        (second,) = collector.wait(name="comment_recent")
        assert (first.trace, first.parent) == (CALLER, SPAN)
        assert second.trace != CALLER
        assert second.parent == ""


@pytest.mark.rare
def test_spans_that_are_not_sent_yet_are_sent_at_the_end_by_every_worker(
    directory: Path, collector: Collector, data_set: dict[str, str]
) -> None:
    environ = {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.url}/v1/traces",
        "OTEL_SERVICE_NAME": "comments",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
        "OTEL_BSP_SCHEDULE_DELAY": "600000",
        "WORKERS": "2",
    }
    with serving(directory, **environ, **data_set) as served:
        all_answer(served)
        # The kernel draws a worker for each connection; that 40 draw the same is one in 10^11.
        with httpx.Client(headers={"connection": "close"}) as client:
            for _ in range(40):
                assert client.get(f"{served.url}/article?path=/a").status_code == 200
        assert collector.spans == []
        code, output = served.end()
    assert (code, output.splitlines()[-1]) == (0, "Footfall has stopped")
    requests = [span for span in collector.spans if span.name == "article_read"]
    assert len(requests) == 40
    assert len({span.resource["service.instance.id"] for span in requests}) == 2
    assert {span.resource["service.name"] for span in requests} == {"comments"}
    assert {span.resource["deployment.environment.name"] for span in requests} == {"test"}


def test_a_failed_request_is_an_error(
    directory: Path, collector: Collector, server: RealServer
) -> None:
    with serving(directory, REDIS_URL=server.url, **asking(collector.url)) as served:
        server.kill()
        assert view(served).status_code == 503
        (request,) = collector.wait(name="article_change")
        assert (request.is_error, request.attributes["error.type"]) == (True, "503")
        # A refusal is the caller's error, not ours.
        httpx.delete(f"{served.url}/article")
        (refused,) = collector.wait(name="DELETE /article")
        assert (refused.is_error, refused.attributes["http.response.status_code"]) == (False, 405)


@pytest.mark.rare
@pytest.mark.parametrize(
    "environ",
    [
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"},
    ],
    ids=lambda environ: ",".join(environ),
)
def test_without_settings_no_traces_are_sent(
    directory: Path, collector: Collector, environ: dict[str, str], data_set: dict[str, str]
) -> None:
    with serving(directory, **{**asking(collector.url), **environ}, **data_set) as served:
        assert view(served).json() == 1
        code, output = served.end()
    assert (code, "traces" in output, collector.spans) == (0, False, [])


def test_traces_may_be_configured_in_the_file(directory: Path, collector: Collector) -> None:
    lines = [f"{name}={value}" for name, value in asking(collector.url).items()]
    (directory / ".env").write_text("\n".join(lines))
    with serving(directory) as served:
        view(served)
        collector.wait(name="article_change")


@pytest.fixture(params=["refuses", "is silent"])
def nowhere(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a collector that accepts nothing."""
    with ExitStack() as stack:
        port = free_port()
        if request.param == "is silent":
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            port = listener.getsockname()[1]
        yield f"http://127.0.0.1:{port}"


@pytest.mark.rare
def test_an_absent_collector_delays_neither_start_nor_requests_nor_the_end(
    directory: Path, nowhere: str, data_set: dict[str, str]
) -> None:
    # Longer than anything else here waits: a request that waits for the collector would not return.
    environ = {**asking(nowhere), "OTEL_EXPORTER_OTLP_TIMEOUT": "600000"}
    with serving(directory, **environ) as served:
        for n in range(1, 11):
            assert view(served).json() == n
        code, output = served.end()
        assert (code, output.splitlines()[-1]) == (0, "Footfall has stopped")


@pytest.mark.rare
def test_without_the_extra_one_line_says_how_to_install_it(
    directory: Path, collector: Collector, data_set: dict[str, str]
) -> None:
    # Another package of this name hides the real one.
    (directory / "stub/opentelemetry").mkdir(parents=True)
    (directory / "stub/opentelemetry/__init__.py").touch()
    path = f"{directory}/stub:{SOURCES}"
    with serving(
        directory, WORKERS="2", PYTHONPATH=path, **asking(collector.url), **data_set
    ) as served:
        assert view(served).json() == 1
        code, output = served.end()
    (line,) = [line for line in output.splitlines() if "pip install" in line]
    assert line.endswith(
        " WARNING footfall.tracing: OTEL_* asks for traces, which are an extra; this installs it: "
        "pip install 'footfall[otel]'"
    )
    assert (code, "Traceback" in output, collector.spans) == (0, False, [])


@pytest.mark.rare
@pytest.mark.parametrize(
    ("environ", "words"),
    [
        (
            {"OTEL_BSP_MAX_QUEUE_SIZE": "0"},
            "no traces are sent, since a value of OTEL_* cannot be used: ",
        ),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "traces are sent as http/protobuf, not as grpc"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_value_is_named_and_the_service_runs(
    directory: Path,
    collector: Collector,
    environ: dict[str, Any],
    words: str,
    data_set: dict[str, str],
) -> None:
    with serving(directory, **{**asking(collector.url), **environ}, **data_set) as served:
        assert view(served).json() == 1
        code, output = served.end()
    assert (code, words in output) == (0, True)
