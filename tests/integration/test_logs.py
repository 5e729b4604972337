"""What a real service writes to its standard error: a line a record, with its request's id."""

import contextlib
import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from footfall.ids import digest
from tests.support.servers import RealServer, program_of, running, wait_until
from tests.support.serving import SOURCES, STOP_SECONDS, Serving, started

ALWAYS = {"timestamp", "level", "logger", "message"}
# As hostile as an HTTP client lets a header be.
HOSTILE = ("<script>", "a b", "a" * 129, '"},{"level":"ERROR', "\u00e9", "")
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
FORGED = "/api/comment/x%0AERROR%20service:%20forged%1B%5B2J?path=/a"


class Logged(Serving):
    """A service whose log goes to a file."""

    @property
    def lines(self) -> list[str]:
        """The complete lines."""
        return (self.directory / "log").read_text().split("\n")[:-1]

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    def wait_for(self, **wanted: Any) -> dict[str, Any]:
        """The first record with these values, once it is there."""

        def found() -> list[dict[str, Any]]:
            return [record for record in self.records if wanted.items() <= record.items()]

        wait_until(found, f"a line with {wanted}")
        return found()[0]


@contextlib.contextmanager
def logged(directory: Path, *options: str, **environ: str) -> Iterator[Logged]:
    served = Logged(directory, *options, **{"LOG_FORMAT": "json", **environ})
    with (directory / "log").open("wb") as log:
        served.stderr = log.fileno()
        served.start()
        try:
            yield served
        finally:
            served.end()


@pytest.fixture
def server(own: Path) -> Iterator[RealServer]:
    """A Redis that a test may damage."""
    with running(program_of("valkey"), own) as server:
        yield server


def spoil(served: Serving) -> None:
    """Make pages of comments fail from now on, through no fault of the client."""
    with Redis(unix_socket_path=str(served.directory / "data/redis.sock")) as client:
        client.set(f"ff:{{p:{digest('/a')}}}:version", "abc")


def request(target: str, id: str | None = None, more: str = "") -> str:
    named = "" if id is None else f"X-Request-Id: {id}\r\n"
    return f"GET {target} HTTP/1.1\r\nHost: a\r\n{named}{more}\r\n"


def pipelined(served: Serving, *requests: str) -> None:
    """Send the requests in one go on one connection, and wait for its end."""
    url = httpx.URL(served.url)
    with socket.create_connection((url.host, url.port)) as connection:
        connection.sendall("".join(requests).encode())
        while connection.recv(65536):
            pass


def test_every_line_is_an_object_also_uvicorns(directory: Path) -> None:
    with logged(directory, SLOW_SECONDS="0.000001") as served:
        httpx.get(f"{served.url}/comment?type=count")
        pipelined(served, "\0\r\n\r\n")
        spoil(served)
        httpx.get(f"{served.url}/api/comment/x?path=/a")
    records = served.records
    assert all(record.keys() >= ALWAYS for record in records)
    loggers = {record["logger"]: record["level"] for record in records}
    assert loggers == {
        "footfall.server.opening": "WARNING",
        "footfall.driver.stats": "WARNING",
        "footfall.table.fast_cycle": "WARNING",
        "footfall.table.middleware": "WARNING",
        "footfall.http.response": "ERROR",
        "uvicorn.error": "WARNING",
    }
    failures = [record for record in records if "exc_info" in record]
    assert [failure["message"] for failure in failures] == ["GET /api/comment/x"]
    assert failures[0]["exc_info"].startswith("Traceback")


def test_messages_before_and_beside_the_log_have_its_format_too(directory: Path) -> None:
    # A warning of Python's, and a start that fails.
    (directory / "stub").mkdir()
    (directory / "stub/sitecustomize.py").write_text(
        "import atexit, warnings\natexit.register(warnings.warn, 'old and worn')\n"
    )
    path = f"{directory}/stub:{SOURCES}"
    served = Logged(
        directory, LOG_FORMAT="json", PYTHONPATH=path, REDIS_URL="unix:///nowhere/redis.sock"
    )
    with (directory / "log").open("wb") as log, served.run("serve", stderr=log.fileno()) as process:
        assert process.wait(STOP_SECONDS) == 1
    *_, failure, warning = served.records
    assert (failure["level"], failure["logger"]) == ("CRITICAL", "footfall.cli")
    assert failure["message"].startswith("Redis does not answer: ")
    assert (warning["level"], warning["logger"]) == ("WARNING", "py.warnings")
    assert "old and worn" in warning["message"]


def test_the_line_of_a_failed_or_slow_request_has_its_id(directory: Path) -> None:
    with logged(directory, SLOW_SECONDS="0.000001") as served:
        spoil(served)
        httpx.get(f"{served.url}/comment?type=count", headers={"x-request-id": "slow-1"})
        httpx.get(f"{served.url}/api/comment/x?path=/a", headers={"x-request-id": "failed:2/b=="})
        assert served.wait_for(route="comment_count")["request_id"] == "slow-1"
        failed = served.wait_for(message="GET /api/comment/x")
        assert failed["request_id"] == "failed:2/b=="
        httpx.get(f"{served.url}/api/comment?path=/a", headers={"x-request-id": "hot:3"})
        assert served.wait_for(message="comment_page")["request_id"] == "hot:3"


def test_no_line_has_a_hostile_id_or_another_requests_id(directory: Path) -> None:
    failing = "/api/comment/x?path=/a"
    with logged(directory) as served:
        spoil(served)
        ids = [*HOSTILE, None]
        requests = [part for id in ids for part in (request(failing, "good"), request(failing, id))]
        pipelined(served, *requests, request("/livez", more="Connection: close\r\n"))
    failed = [record.get("request_id") for record in served.records if "exc_info" in record]
    assert failed == ["good", None] * len(ids)


@pytest.mark.rare
def test_a_slow_answer_of_redis_has_no_id_of_the_request_that_opened_the_connection(
    directory: Path, server: RealServer
) -> None:
    with (
        logged(directory, "--no-fast-path", REDIS_URL=server.url, SLOW_SECONDS="0.2") as served,
        server.admin() as admin,
    ):
        admin.client_kill_filter(_type="normal", skipme=True)
        named = {"x-request-id": "opener"}
        statuses = set[int]()
        while statuses != {200}:
            statuses = {httpx.get(f"{served.url}/article?path=/a", headers=named).status_code}
        slow = {"x-request-id": "slow"}

        def is_said() -> bool:
            # Something else may have been slow in the same second.
            admin.execute_command("CLIENT", "PAUSE", 1000, "ALL")
            assert httpx.get(f"{served.url}/article?path=/a", headers=slow).status_code == 200
            return any(record.get("command") == "HGET" for record in served.records)

        wait_until(is_said, "a slow answer of Redis")
        line = served.wait_for(command="HGET")
        assert line["message"].startswith(f"Redis's HGET took {line['took_ms']} ms")
        assert line["took_ms"] >= 200
        # The command may have been sent for many requests at once.
        assert "request_id" not in line
        assert served.wait_for(route="article_read", request_id="slow")["status"] == 200


@pytest.mark.rare
def test_slow_lines_are_one_a_second_at_most_and_count_the_others(directory: Path) -> None:
    with (
        logged(directory, "--no-fast-path", SLOW_SECONDS="0.000001") as served,
        httpx.Client() as client,
    ):

        def lines(logger: str) -> list[dict[str, Any]]:
            return [record for record in served.records if record["logger"] == logger]

        asked = 0
        while len(said := lines("footfall.table.middleware")) < 2:
            client.get(f"{served.url}/article?path=/a")
            asked += 1
        assert said[1]["message"].endswith(f"; {asked - 2} more were slow")
        for logger in ("footfall.table.middleware", "footfall.driver.stats"):
            assert all(re.fullmatch(TIME, line["timestamp"]) for line in lines(logger))
            times = [datetime.fromisoformat(line["timestamp"]) for line in lines(logger)]
            assert all(later - one > timedelta(seconds=0.99) for one, later in pairwise(times))


def test_text_is_a_line_a_record_whatever_a_stranger_asks(directory: Path) -> None:
    with logged(directory, LOG_FORMAT="text", SLOW_SECONDS="0.000001") as served:
        spoil(served)
        httpx.get(f"{served.url}/comment?type=count")
        httpx.get(f"{served.url}{FORGED}")
    kinds = [re.match(rf"{TIME} (\w+) ([\w.]+): ", line) for line in served.lines]
    assert all(kinds), served.lines
    assert {(kind[1], kind[2]) for kind in kinds if kind} == {
        ("WARNING", "footfall.server.opening"),
        ("WARNING", "footfall.driver.stats"),
        ("WARNING", "footfall.table.fast_cycle"),
        ("WARNING", "footfall.table.middleware"),
        ("ERROR", "footfall.http.response"),
    }
    (failure,) = [line for line in served.lines if " ERROR footfall.http.response: " in line]
    assert "GET /api/comment/x\\nERROR service: forged\\x1b[2J\\nTraceback" in failure


def test_journald_notes_the_time_itself(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    with (directory / "log").open("wb") as log:
        there = os.fstat(log.fileno())
        code, lines = failing(directory, JOURNAL_STREAM=f"{there.st_dev}:{there.st_ino}")
        assert (code, lines[0].partition(" ")[0]) == (1, "WARNING"), lines
        # Its own standard error went to journald, but not ours.
        code, lines = failing(directory, JOURNAL_STREAM=f"{there.st_dev}:{there.st_ino + 1}")
    assert re.match(rf"{TIME} WARNING ", lines[0]), lines


def failing(directory: Path, **environ: str) -> tuple[int, list[str]]:
    """Start a service that says something and fails: (exit code, what it has said)."""
    served = Logged(directory, REDIS_URL="unix:///nowhere", PRT="1", UDS_MODE="660", **environ)
    with (directory / "log").open("r+b") as log:
        log.truncate()
        process = served.run("serve", stdout=log.fileno(), stderr=log.fileno())
        return process.wait(STOP_SECONDS), served.lines


def test_the_level_decides_what_is_logged(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    (directory / "log").touch()
    code, (line,) = failing(directory, LOG_LEVEL="Error")
    assert code == 1
    assert line.startswith("Error: Redis does not answer")


def test_the_access_log_has_each_request_however_it_is_answered(directory: Path) -> None:
    environ = {"ACCESS_LOG": "true", "LOG_FORMAT": "json"}
    served = Serving(directory, **environ)
    served.stderr = subprocess.DEVNULL
    with started(served):
        with httpx.Client(base_url=served.url, headers={"user-agent": "tests"}) as client:
            named = {"x-request-id": "one", "x-forwarded-for": "203.0.113.7"}
            client.get("/api/article?path=/a&token=secret", headers=named)
            tag = client.get("/comment?path=/a").headers["etag"]
            client.get("/comment?path=/a", headers={"if-none-match": tag})
            client.get("/nowhere?token=secret")
            client.head("/livez")
            client.get("/ui/login")
            client.get("/count.js")
            client.options("/api/comment")
            client.post("/api/comment", json={})
        pipelined(served, *[request(f"/article?path=/{n}") for n in "ab"], "nonsense\r\n\r\n")
        pipelined(served, "GET /early HTTP/1.1\r\n\r\n")
        pipelined(served, request(f"/{'a' * 20_000}", more="Connection: close\r\n"))
        output = served.end()[1]
    records = [json.loads(line) for line in output.splitlines()]
    found = [record for record in records if record["logger"] == "footfall.access"]
    assert "secret" not in output
    assert all(each.keys() >= {*ALWAYS, "seconds", "bytes"} for each in found)
    names = ("method", "path", "route", "status")
    assert [tuple(str(each[name])[:9] for name in names) for each in found] == [
        ("GET", "/api/arti", "article_r", "200"),
        ("GET", "/comment", "comment_p", "200"),
        ("GET", "/comment", "comment_p", "304"),
        ("GET", "/nowhere", "other", "404"),
        ("HEAD", "/livez", "health", "200"),
        ("GET", "/ui/login", "page", "200"),
        ("GET", "/count.js", "static", "200"),
        ("OPTIONS", "/api/comm", "preflight", "204"),
        ("POST", "/api/comm", "comment_p", "200"),
        ("GET", "/article", "article_r", "200"),
        # It is refused from within the answer to the request before it.
        ("", "", "other", "400"),
        ("GET", "/article", "article_r", "200"),
        ("GET", "/early", "other", "400"),
        ("GET", "/aaaaaaaa", "other", "431"),
    ]
    first, _, not_modified, _, head, *_ = found
    assert (first["address"], first["request_id"], first["user_agent"]) == (
        "203.0.113.7",
        "one",
        "tests",
    )
    assert first["bytes"] > 0
    assert (not_modified["bytes"], head["bytes"]) == (0, 0)
