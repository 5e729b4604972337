"""The service's health, how it reports that, and how it stops."""

import asyncio
import contextlib
import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from footfall.cli import probe
from footfall.config import Settings
from tests.conftest import Site, server_of
from tests.support.commands import invoke
from tests.support.proxy import Proxy
from tests.support.servers import RealServer, program_of, running, wait_until
from tests.support.serving import Serving, serving
from tests.support.workers import all_answer

ON = ("valkey",)


def over(path: Path) -> httpx.Client:
    return httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://site")


async def test_answers_about_health_are_not_cached(site: Site) -> None:
    for path in ("/livez", "/readyz", "/version"):
        response = await site.http.get(path)
        assert response.status_code == 200
        assert response.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in response.headers
        assert (await site.http.head(path)).content == b""
        assert (await site.http.post(path)).status_code == 405


def test_a_probe_loads_nothing_but_itself(own: Path) -> None:
    with serving(own / "s") as served:
        command = [sys.executable, "-X", "importtime", "-m", "footfall", "health", "--ready"]
        environ = {**served.environ, "PORT": served.url.rpartition(":")[2]}
        asked = subprocess.run(
            command, env=environ, capture_output=True, text=True, timeout=60, cwd=own
        )
    assert asked.returncode == 0
    assert json.loads(asked.stdout)["status"] == "ready"
    loaded = {line.rpartition("|")[2].strip() for line in asked.stderr.splitlines()}
    assert {"footfall.cli.probe", "_socket"} <= loaded
    assert loaded.isdisjoint({"click", "json", "socket", "http.client", "footfall.config"})


@pytest.mark.parametrize(
    ("environ", "words", "is_probe"),
    [
        ({}, ["health"], True),
        ({"PORT": "", "UDS": "/run/x"}, ["health", "--ready"], True),
        ({"UDS": "false"}, ["health"], False),
        ({"PORT": "80\u00b2"}, ["health"], False),
        ({"PORT_FILE": "/dev/null"}, ["health"], False),
        ({"HOST": "::1"}, ["health"], True),
        ({"HOST": "[::]"}, ["health"], False),
        ({"HOST": " 127.0.0.1 "}, ["health"], False),
        ({"PORT": "0"}, ["health"], False),
        ({}, ["health", "--seconds", "1"], False),
        ({}, ["serve"], False),
    ],
)
def test_what_a_probe_does_not_know_the_whole_command_does(
    environ: dict[str, str],
    words: list[str],
    is_probe: bool,
    own: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(own)
    monkeypatch.setattr(os, "environ", environ)
    assert probe.is_probe(words) is is_probe
    (own / ".env").write_text("PORT=1\n")
    assert not probe.is_probe(words)


def test_a_probe_and_the_settings_agree() -> None:
    defaults = {
        setting.metadata["env"]: setting.metadata["default"] for setting in Settings.settings()
    }
    assert probe.DEFAULTS.items() <= defaults.items()


async def test_a_redis_that_has_forgotten_the_scripts_is_given_them_again(
    site: Site, servers: dict[str, RealServer]
) -> None:
    digests = site.store.scripts.digests
    with servers["valkey"].admin() as admin:
        admin.script_flush()
        assert not any(admin.script_exists(*digests))
        assert (await site.http.get("/readyz")).status_code == 200
        assert all(admin.script_exists(*digests))


def test_a_service_whose_redis_is_away_is_alive_and_not_ready(own: Path) -> None:
    with (
        running(program_of("valkey"), own / "r") as redis,
        serving(own / "s", REDIS_URL=redis.url, REDIS_TIMEOUT="0.3") as served,
    ):
        assert httpx.get(f"{served.url}/readyz").json()["status"] == "ready"
        redis.signal(signal.SIGSTOP)
        answer = httpx.get(f"{served.url}/readyz")
        assert answer.status_code == 503
        assert answer.json()["reasons"] == ["Redis does not answer"]
        assert httpx.get(f"{served.url}/livez").status_code == 200
        redis.signal(signal.SIGCONT)
        assert httpx.get(f"{served.url}/readyz").status_code == 200


def test_readiness_is_told_however_long_redis_may_take(own: Path) -> None:
    with (
        running(program_of("valkey"), own / "r") as redis,
        serving(own / "s", REDIS_URL=redis.url, REDIS_TIMEOUT="300") as served,
    ):
        redis.signal(signal.SIGSTOP)
        answer = httpx.get(f"{served.url}/readyz")
        assert (answer.status_code, answer.json()["reasons"]) == (503, ["Redis does not answer"])


@pytest.mark.rare
def test_what_one_worker_is_refused_all_workers_know(own: Path) -> None:
    def ready() -> set[int]:
        # Whichever worker answers.
        return {httpx.get(f"{served.url}/readyz").status_code for _ in range(20)}

    def findings() -> set[bool]:
        texts = (httpx.get(f"{served.url}/metrics").text for _ in range(20))
        return {'footfall_finding{code="full"} 1.0' in text for text in texts}

    with (
        running(program_of("valkey"), own / "r") as redis,
        serving(own / "s", REDIS_URL=redis.url, WORKERS="2") as served,
        redis.admin() as admin,
    ):
        all_answer(served)
        admin.config_set("maxmemory", 1)
        assert httpx.post(f"{served.url}/article", json={"path": "/a"}).status_code == 503
        assert findings() == {True}
        assert ready() == {503}
        admin.config_set("maxmemory", 0)
        # Nobody sends a change.
        wait_until(lambda: findings() == {False}, "the end to be noticed")
        assert ready() == {200}
        assert served.stop()[1].count("Redis is out of memory") == 1


async def test_whatever_happens_to_it_readiness_is_no_error(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr(site.service.accounts.store, "lacks_administrator", fail)
    answer = await site.http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["reasons"] == ["the service cannot tell: see its log"]


def test_a_service_waits_for_a_redis_that_comes_later(own: Path) -> None:
    with running(program_of("valkey"), own / "r") as redis:
        redis.stop()
        served = Serving(own / "s", REDIS_URL=redis.url, REDIS_WAIT="30")
        process = served.run("serve")
        assert process.stdout is not None
        assert "waiting for it for 30 seconds" in process.stdout.readline()
        redis.start()
        # On a busy machine, it may also log that something was slow.
        assert any("listens on" in line for line in process.stdout)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 0


def test_a_service_does_not_wait_for_ever(own: Path) -> None:
    served = Serving(own / "s", REDIS_URL=f"unix://{own}/none", REDIS_WAIT="0")
    code, output = served.ask("serve")
    assert code == 1
    assert "Error: Redis does not answer: " in output


def test_a_service_needs_little_work_to_start(own: Path) -> None:
    """Half a second of a core, which is the time if nothing else runs."""
    with serving(own / "s") as served:
        # The data exists and files are cached, as for a container that is restarted.
        served.stop()
        served.start()
        assert httpx.get(f"{served.url}/livez").status_code == 200
        assert served.process is not None
        fields = Path(f"/proc/{served.process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        assert ticks / os.sysconf("SC_CLK_TCK") < 2


@pytest.mark.rare
@pytest.mark.parametrize("options", [[], ["--no-fast-path"]], ids=["fast path", "endpoints"])
def test_a_slow_request_is_logged_whichever_way_it_is_answered(
    own: Path, options: list[str]
) -> None:
    with serving(own / "s", *options, SLOW_SECONDS="0.0000001") as served:
        host, _, port = served.url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as raw:
            # In one piece, as the fast path needs it.
            raw.sendall(b"GET /article?path=/a HTTP/1.1\r\nhost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b"\r\n\r\n0"):
                assert (more := raw.recv(4096))
                answer += more
        assert "article_read took" in served.stop()[1]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_socket_file_can_be_listened_on(own: Path, workers: str) -> None:
    path = own / "s.sock"
    with serving(own / "s", UDS=str(path), UDS_MODE="600", WORKERS=workers) as served:
        assert served.url == f"unix:{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with over(path) as client:
            wait_until(lambda: client.get("/livez").status_code == 200, "an answer")
            counts = {client.post("/article", json={"path": "/a"}).json() for _ in range(20)}
            assert counts == set(range(1, 21))
        second = Serving(own / "t", UDS=str(path))
        code, output = second.ask("serve")
        assert (code, output) == (
            1,
            f"Error: cannot listen on {path}: another process is listening there\n",
        )
        assert served.stop()[0] == 0
        assert not path.exists()


def test_the_socket_file_of_a_killed_service_is_taken_over(own: Path) -> None:
    path = own / "s.sock"
    with serving(own / "s", UDS=str(path)) as served:
        served.stop(signal.SIGKILL)
        assert path.exists()
        served.start()
        with over(path) as client:
            assert client.get("/livez").status_code == 200


def test_a_path_too_long_for_a_socket_says_so(own: Path) -> None:
    code, output = Serving(own / "s", UDS=str(own / ("x" * 100))).ask("serve")
    assert code == 1
    assert "the path is longer than 103 bytes" in output


def test_a_draining_service_says_so_and_still_takes_requests(own: Path) -> None:
    with serving(own / "s", DRAIN_SECONDS="600") as served:
        host = served.url.removeprefix("http://")
        kept = http.client.HTTPConnection(host)
        kept.request("GET", "/article?path=/a")
        assert kept.getresponse().read() == b"0"
        assert served.process is not None
        served.process.send_signal(signal.SIGTERM)
        wait_until(lambda: httpx.get(f"{served.url}/readyz").status_code == 503, "no")
        assert httpx.get(f"{served.url}/readyz").json()["reasons"] == ["draining"]
        # Clients that keep connections open are told to close them, and lose no request.
        kept.request("POST", "/article", b'{"path": "/a"}', {"content-type": "application/json"})
        answer = kept.getresponse()
        assert answer.read() == b"1"
        assert answer.headers["connection"] == "close"
        # However slow this machine is, the service drained until now.
        assert served.stop()[0] == 0


@pytest.mark.rare
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_second_signal_does_not_wait(own: Path, workers: str) -> None:
    with serving(own / "s", DRAIN_SECONDS="600", WORKERS=workers) as served:
        assert served.process is not None

        def is_draining() -> bool:
            # Whichever worker answers.
            answers = [httpx.get(f"{served.url}/readyz").status_code for _ in range(20)]
            return set(answers) == {503}

        wait_until(lambda: httpx.get(f"{served.url}/readyz").status_code == 200, "it to be ready")
        if workers == "2":
            # Two signals that come before a worker can answer are one to it.
            all_answer(served)
        served.process.send_signal(signal.SIGTERM)
        wait_until(is_draining, "all to drain")
        try:
            assert served.stop()[0] == 0
        finally:
            served.process.kill()


def test_a_service_that_ends_late_leaves_the_socket_of_the_next_one(own: Path) -> None:
    path = own / "here.sock"
    with serving(own / "s", UDS=str(path)) as old, socket.socket(socket.AF_UNIX) as stalled:
        stalled.connect(str(path))
        stalled.sendall(b"POST /article HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{")
        with over(path) as client:
            assert client.get("/livez").status_code == 200
        assert old.process is not None
        old.process.send_signal(signal.SIGTERM)

        def is_closed() -> bool:
            with socket.socket(socket.AF_UNIX) as probe:
                return probe.connect_ex(str(path)) != 0

        wait_until(is_closed, "the old one to take nobody more")
        with serving(own / "t", UDS=str(path)):
            stalled.close()
            assert old.process.wait(20) == 0
            with over(path) as client:
                assert client.get("/livez").status_code == 200


def test_ctrl_c_does_not_drain(own: Path) -> None:
    with serving(own / "s", DRAIN_SECONDS="600") as served:
        assert served.stop(signal.SIGINT)[0] == 0


def test_the_end_is_bounded_whoever_keeps_a_connection_open(own: Path) -> None:
    with serving(own / "s") as served:
        host, _, port = served.url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as stalled:
            stalled.sendall(b"POST /article HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{")
            assert httpx.get(f"{served.url}/livez").status_code == 200
            assert served.stop()[0] == 0


@pytest.mark.rare
async def test_no_request_fails_while_two_services_are_restarted_in_turn(
    own: Path, servers: dict[str, RealServer]
) -> None:
    url = server_of("valkey", servers).url
    with contextlib.ExitStack() as stack:
        both = [
            stack.enter_context(
                serving(own / name, REDIS_URL=url, KEY_PREFIX="rolling", DRAIN_SECONDS="1")
            )
            for name in ("one", "two")
        ]
        async with Proxy([each.url for each in both]) as proxy:
            counts: list[int] = []
            is_over = False

            async def visit() -> None:
                async with httpx.AsyncClient(base_url=proxy.url) as client:
                    while not is_over:
                        answer = await client.post("/article", json={"path": "/a"})
                        assert answer.status_code == 200, answer.text
                        counts.append(answer.json())

            visitors = [asyncio.create_task(visit()) for _ in range(8)]
            for each in both:
                before = len(counts)
                await asyncio.to_thread(each.stop)
                await asyncio.to_thread(each.start)
                proxy.renamed(both.index(each), each.url)
                await proxy.both_are_ready()
                assert len(counts) > before
            is_over = True
            await asyncio.gather(*visitors)
    assert sorted(counts) == list(range(1, len(counts) + 1))


@pytest.mark.parametrize("host", ["[::1]", "[::]", "::", " 127.0.0.1 ", "localhost", "0.0.0.0"])
def test_health_understands_host_as_the_service_does(own: Path, host: str) -> None:
    with serving(own / "s", HOST=host) as served:
        environ = {**served.environ, "PORT": served.url.rpartition(":")[2]}
        command = [sys.executable, "-m", "footfall", "health"]
        asked = subprocess.run(
            command, env=environ, capture_output=True, text=True, timeout=60, cwd=own
        )
    assert (asked.returncode, asked.stderr) == (0, "")


def test_health_says_why_it_does_not_know_the_port(own: Path) -> None:
    asked = invoke("health", environ={"PORT": "0"}, directory=own)
    assert asked.exit_code == 1
    assert "with PORT=0 the kernel chooses the port" in asked.output
