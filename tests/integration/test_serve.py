"""The service as an operator runs it: started, stopped, killed, started again."""

import asyncio
import contextlib
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from footfall.config import Settings
from footfall.driver import private_server
from tests.support.requirements import program
from tests.support.servers import free_port, program_of, wait_until
from tests.support.serving import Serving, serving
from tests.support.workers import children_of, is_alive, workers


@pytest.fixture
def environ(kind: str) -> dict[str, str]:
    """The private server is the wheel's Valkey, or the redis-server that REDIS_SERVER names."""
    return {} if kind == "valkey" else {"REDIS_SERVER": program_of(kind)}


def leave_traces(url: str) -> None:
    """Make a view and a comment."""
    assert httpx.post(f"{url}/article", json={"path": "/a"}).json() == 1
    draft = {"comment": "hello", "url": "/a", "nick": "Ann"}
    assert httpx.post(f"{url}/api/comment", json=draft).json()["errno"] == 0


def traces(url: str) -> tuple[int, list[str]]:
    page = httpx.get(f"{url}/comment?path=/a").json()
    assert "data" in page, page
    return httpx.get(f"{url}/article?path=/a").json(), [root["orig"] for root in page["data"]]


def child_of(served: Serving) -> int:
    """Process id of the private server."""
    with Redis(unix_socket_path=str(served.directory / "data/redis.sock")) as client:
        info: dict[str, int] = client.info("server")
        return info["process_id"]


@pytest.mark.parametrize("is_loading", [True, False])
def test_the_first_process_of_a_container_ends_before_it_has_started(
    own: Path, is_loading: bool
) -> None:
    """Such a process has no signals but those that it handles."""
    inside = [program("bwrap"), "--unshare-pid", "--as-pid-1", "--dev-bind", "/", "/"]
    served = Serving(own / "s", REDIS_URL=f"redis://127.0.0.1:{free_port()}", REDIS_WAIT="60")
    with subprocess.Popen(
        [*inside, "--proc", "/proc", sys.executable, "-m", "footfall", "serve"],
        env=served.environ,
        stderr=subprocess.PIPE,
        text=True,
    ) as outer:
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
        wait_until(children.read_text, "the process")
        first = Path("/proc") / children.read_text().split()[0]
        handled = re.compile(r"SigCgt:\s+[0-9a-f]+([4-7c-f])[0-9a-f]{3}$", re.MULTILINE)
        wait_until(lambda: handled.search((first / "status").read_text()), "its handler")
        if not is_loading:
            assert outer.stderr
            assert any("waiting for it" in line for line in outer.stderr)
        os.kill(int(first.name), signal.SIGTERM)
        assert outer.wait(60) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_service_leaves_nothing_running_and_finds_its_data_again(
    directory: Path, environ: dict[str, str], number: signal.Signals
) -> None:
    with serving(directory, **environ) as served:
        leave_traces(served.url)
        child = child_of(served)
        code, output = served.stop(number)
        assert (code, output.splitlines()[-1]) == (0, "Footfall has stopped")
        assert not is_alive(child)
        served.start()
        assert traces(served.url) == (1, ["hello"])


@pytest.mark.parametrize(
    "files", [">&-", "<&-", "2>&-", ">&- 2>&- <&-", ">/dev/full", ">/dev/full 2>&1"]
)
def test_without_standard_files_a_service_runs_and_stops_cleanly(own: Path, files: str) -> None:
    served = Serving(own / "s", PORT=str(free_port()))
    url = f"http://127.0.0.1:{served.environ['PORT']}/livez"

    def is_alive() -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(url).status_code == 200
        return False

    with in_a_shell(served, f"exec {files}") as process:
        wait_until(is_alive, "the service")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ("ulimit -n 10", "Error: `ulimit -n` is 10, and a service needs 64 at least"),
        ("cd gone; rmdir ../gone", "Error: the directory in which this is called: No such file"),
    ],
)
def test_what_a_service_cannot_start_with_is_a_sentence(
    own: Path, start: str, sentence: str
) -> None:
    (own / "gone").mkdir()
    with in_a_shell(Serving(own / "s"), f"cd {own}; {start}") as process:
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said.count("\n"), said.startswith(sentence)) == (1, 1, True), said


def in_a_shell(served: Serving, start: str) -> subprocess.Popen[str]:
    command = f"{start}; exec {sys.executable} -m footfall serve"
    return subprocess.Popen(
        [program("bash"), "-c", command],
        env=served.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("loss", ["empty", "gone"])
def test_a_data_set_whose_files_are_lost_is_no_new_site(
    directory: Path, environ: dict[str, str], loss: str
) -> None:
    """It would belong to the first visitor."""
    with serving(directory, **environ) as served:
        data = Path(served.environ["DATA_DIR"])
        with Redis(unix_socket_path=str(data / "redis.sock")) as client:
            client.bgrewriteaof()
            wait_until(
                lambda: (
                    not client.info("persistence")["aof_rewrite_in_progress"]
                    and not client.info("persistence")["aof_rewrite_scheduled"]
                ),
                "the file to be written anew",
            )
        served.stop()
        # As small as a data set can be.
        served.start()
        served.stop()
        for file in [*data.glob("appendonlydir/*.[ar][od][fb]"), *data.glob("appendonly.aof")]:
            file.write_bytes(b"") if loss == "empty" else file.unlink()
        for command in ("serve", "doctor"):
            code, output = served.ask(command)
            assert (code, "data-set marks a data set" in output) == (1, True), output
        (data / "data-set").unlink()
        for file in data.glob("appendonlydir/*"):
            file.unlink()
        served.start()
        assert httpx.get(f"{served.url}/article?path=/a").json() == 0


def test_everything_acknowledged_survives_a_kill_of_everything(
    directory: Path, environ: dict[str, str]
) -> None:
    with serving(directory, **environ) as served:
        leave_traces(served.url)
        child = child_of(served)
        os.kill(child, signal.SIGKILL)
        served.stop(signal.SIGKILL)
        served.start()
        assert traces(served.url) == (1, ["hello"])


def test_a_private_server_left_over_by_a_killed_service_is_replaced(
    directory: Path, environ: dict[str, str]
) -> None:
    with serving(directory, **environ) as served:
        leave_traces(served.url)
        child = child_of(served)
        served.stop(signal.SIGKILL)
        served.start()
        assert traces(served.url) == (1, ["hello"])
        assert child_of(served) != child
        wait_until(lambda: not is_alive(child), "the left-over server to end")


@pytest.mark.rare
def test_a_private_server_that_dies_is_started_again(
    directory: Path, environ: dict[str, str]
) -> None:
    with serving(directory, **environ) as served:
        leave_traces(served.url)
        os.kill(child_of(served), signal.SIGKILL)

        def is_back() -> bool:
            return httpx.get(f"{served.url}/article?path=/a").status_code == 200

        wait_until(is_back, "the private server to be started again")
        assert traces(served.url) == (1, ["hello"])


async def comes(client: AsyncRedis) -> None:
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(RedisError):
                await client.ping()
                return
            await asyncio.sleep(0.01)


@pytest.mark.rare
async def test_a_private_server_that_dies_again_and_again_is_restarted_ever_more_slowly(
    directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(private_server, "MIN_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(private_server, "MAX_PAUSE_SECONDS", 0.05)
    (directory / "server").write_text(
        f"""#!/bin/sh\n[ -e full ] && echo "$$ no room" && exit 1\n"""
        f"""exec {program_of("valkey")} "$@"\n"""
    )
    (directory / "server").chmod(0o700)

    async def pauses(number: int) -> list[str]:
        async with asyncio.timeout(60):
            while len(found := re.findall(r"restarting it in (\S+) s", caplog.text)) < number:
                await asyncio.sleep(0.01)
        return found[:number]

    async with (
        private_server.private_server(directory, str(directory / "server")),
        AsyncRedis(
            unix_socket_path=str(directory / "redis.sock"), retry=Retry(NoBackoff(), 0)
        ) as client,
    ):
        (directory / "full").touch()
        await client.shutdown(nosave=True)
        assert await pauses(5) == ["0.01", "0.02", "0.04", "0.05", "0.05"]
        assert caplog.text.count("no room") == 1
        assert f"DATA_DIR={directory} has " in caplog.text
        (directory / "full").unlink()
        monkeypatch.setattr(private_server, "STABLE_SECONDS", -1)
        await comes(client)
        caplog.clear()
        await client.shutdown(nosave=True)
        assert await pauses(1) == ["0.01"]


@pytest.mark.rare
def test_a_service_with_much_to_load_starts_when_it_is_loaded(
    directory: Path, environ: dict[str, str]
) -> None:
    changes = [{"path": f"/{n}"} for n in range(200)]
    with serving(directory, REDIS_TIMEOUT="60", **environ) as served:
        for _ in range(20):
            httpx.post(f"{served.url}/article", json=changes).raise_for_status()
    slow = directory / "slow-server"
    server = environ.get("REDIS_SERVER") or program_of("valkey")
    slow.write_text(f'#!/bin/sh\nexec {server} "$@" --key-load-delay 10\n')
    slow.chmod(0o700)
    with serving(directory, REDIS_SERVER=str(slow)) as served:
        assert httpx.get(f"{served.url}/article?path=/199").json() == 20


def test_a_second_service_on_the_same_data_says_so_and_exits(
    directory: Path, environ: dict[str, str]
) -> None:
    with serving(directory, **environ) as served:
        assert served.process is not None
        code, output = Serving(directory, **environ).ask("serve")
        assert code == 1
        assert f"another service (process {served.process.pid}) is using DATA_DIR" in output
        leave_traces(served.url)


def test_only_its_owner_reaches_the_private_server(
    directory: Path, environ: dict[str, str]
) -> None:
    with serving(directory, **environ) as served:
        socket = directory / "data/redis.sock"
        assert stat.S_IMODE(socket.stat().st_mode) == 0o600
        with Redis(unix_socket_path=str(socket)) as client:
            config = client.config_get("*")
        assert config["port"] == "0"
        assert config["appendonly"] == "yes"
        assert config["appendfsync"] == "always"
        assert config["maxmemory-policy"] == "noeviction"
        assert served.url.startswith("http://127.0.0.1:")


def modes(directory: Path) -> dict[str, str]:
    found = [directory, *directory.rglob("*")]
    return {str(each.relative_to(directory)): f"{each.stat().st_mode & 0o777:o}" for each in found}


@pytest.fixture
def umask() -> Iterator[None]:
    """Set the umask of most machines, whatever this one has."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.rare
def test_only_the_owner_can_read_the_data_also_older_files(
    directory: Path, environ: dict[str, str], umask: None
) -> None:
    data = directory / "data"

    def are_private() -> None:
        found = modes(data)
        # Releases before 7 keep their file beside the others.
        assert {"redis.conf", "redis.log", "redis.sock", "lock"} < found.keys()
        wrong = {
            name: mode
            for name, mode in found.items()
            if mode != ("700" if (data / name).is_dir() else "600")
        }
        assert wrong == {}

    with serving(directory, **environ) as served:
        leave_traces(served.url)
        are_private()
        with Redis(unix_socket_path=str(data / "redis.sock")) as client:
            client.bgrewriteaof()
            wait_until(
                lambda: not client.info("persistence")["aof_rewrite_in_progress"], "a new file"
            )
        are_private()
        served.stop()
        for each in (data, *data.rglob("*")):
            each.chmod(0o777 if each.is_dir() else 0o666)
        served.start()
        are_private()
        assert traces(served.url) == (1, ["hello"])


@pytest.mark.rare
async def test_a_fork_that_fails_is_reported_at_the_start_and_survived_later(
    directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(private_server, "MIN_PAUSE_SECONDS", 0.01)
    real, is_full = asyncio.create_subprocess_exec, True

    async def fork(*arguments: str, **options: Any) -> asyncio.subprocess.Process:
        if is_full:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return await real(*arguments, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", fork)
    words = "the private server cannot be started: .*Resource temporarily unavailable"
    with pytest.raises(private_server.CannotStart, match=words):
        async with private_server.private_server(directory):
            pass
    is_full = False
    async with (
        private_server.private_server(directory),
        AsyncRedis(
            unix_socket_path=str(directory / "redis.sock"), retry=Retry(NoBackoff(), 0)
        ) as client,
    ):
        is_full = True
        await client.shutdown(nosave=True)
        async with asyncio.timeout(60):
            while not re.search(words, caplog.text):
                await asyncio.sleep(0.01)
        is_full = False
        await comes(client)
        async with asyncio.timeout(60):
            while "the private server runs again" not in caplog.text:
                await asyncio.sleep(0.01)


def test_a_directory_may_have_any_name(directory: Path, environ: dict[str, str]) -> None:
    with serving(directory, DATA_DIR="d a:t@ä#?%41&=/x", **environ) as served:
        leave_traces(served.url)
        assert served.ask("check")[0] == 0


@pytest.mark.rare
def test_check_works_beside_a_running_service_and_on_its_data_afterwards(
    directory: Path, environ: dict[str, str]
) -> None:

    def found() -> tuple[int, str]:
        """The exit code, and the output without the line about the data set."""
        code, output = served.ask("check")
        return code, output.partition("\n")[2]

    expected = "1 page, 1 approved comment, 0 held, 1 counter, 0 problems\n"
    # As many hashes as operators have.
    environ["COUNTER_BUCKETS"] = str(Settings().counter_buckets)
    with serving(directory, **environ) as served:
        leave_traces(served.url)
        assert found() == (0, expected)
        served.stop()
        assert found() == (0, expected)
        served.start()
        with Redis(unix_socket_path=str(directory / "data/redis.sock")) as client:
            client.set("ff:{site}:total", 7)
        code, output = served.ask("check")
        assert (code, "total has comments at 7 instead of 1" in output) == (1, True)
        assert served.ask("check", "--repair")[0] == 1
        assert found() == (0, expected)


@pytest.mark.rare
def test_two_services_on_one_redis_count_as_one(directory: Path, environ: dict[str, str]) -> None:
    with serving(directory / "1", **environ) as first:
        url = f"unix://{directory}/1/data/redis.sock"
        with serving(directory / "2", REDIS_URL=url) as second:

            async def count_everywhere() -> list[int]:
                async with httpx.AsyncClient(timeout=60) as client:
                    answers = await asyncio.gather(
                        *(
                            client.post(f"{served.url}/article", json={"path": "/a"})
                            for _ in range(100)
                            for served in (first, second)
                        )
                    )
                return [answer.json() for answer in answers]

            assert sorted(asyncio.run(count_everywhere())) == list(range(1, 201))


async def test_a_left_over_server_that_does_not_end_is_not_joined_by_a_second(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_server, "STOP_SECONDS", 0.1)
    path = directory / "redis.sock"
    deaf = await asyncio.start_unix_server(lambda reader, writer: writer.close(), str(path))
    async with deaf:
        with pytest.raises(private_server.CannotStart, match="does not stop"):
            async with private_server.private_server(directory):
                pass
    assert not (directory / "appendonlydir").exists()


def test_settings_are_read_from_a_file_and_the_environment_wins(directory: Path) -> None:
    (directory / ".env").write_text("SITE_NAME=From the file\nCOUNTER_TYPES=time,downloads\n")
    with serving(directory, SITE_NAME="From the environment") as served:
        assert "From the environment" in httpx.get(served.url).text
        change = {"path": "/a", "type": "downloads"}
        assert httpx.post(f"{served.url}/article", json=change).json() == 1


def test_bad_settings_stop_the_start_with_all_of_them_named(directory: Path) -> None:
    served = Serving(directory, PORT="x", FORBIDDEN_WORDS="[a-", REDIS_URL="")
    code, output = served.ask("serve")
    assert code == 1
    assert "PORT='x': needs a whole number" in output
    assert "FORBIDDEN_WORDS='[a-': the pattern '[a-' cannot be used" in output


def test_config_lists_every_setting_with_its_value(directory: Path) -> None:
    served = Serving(directory, IPQPS="7", REDIS_URL="redis://:hunter2@redis.example")
    code, output = served.ask("config")
    assert code == 0
    assert "IPQPS=7  (default '60')\n    Seconds between two comments" in output
    assert "REDIS_URL=***" in output
    assert "hunter2" not in output


@pytest.mark.rare
def test_a_server_that_cannot_read_its_files_says_how_to_move_them(directory: Path) -> None:
    """The server's own advice is to cut them off."""
    older = program_of("redis")
    with serving(directory) as served:
        assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 1
    served = Serving(directory, REDIS_SERVER=older)
    code, output = served.ask("serve")
    assert code == 1
    assert "Do not repair them" in output
    with serving(directory) as served:
        assert httpx.get(f"{served.url}/article?path=/a").json() == 1


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"REDIS_SERVER": "/nowhere/redis-server"}, "REDIS_SERVER '/nowhere/redis-server' is not"),
        ({"REDIS_SERVER": "/bin/false"}, "the private server did not start"),
        ({"DATA_DIR": "/proc/nowhere"}, "DATA_DIR /proc/nowhere cannot be made"),
        ({"DATA_DIR": "x" * 120}, "is too long for a UNIX socket"),
        ({"REDIS_URL": "unix:///nowhere/redis.sock"}, "it is not running, or its `unixsocket`"),
        ({"REDIS_URL": "http://redis"}, "REDIS_URL"),
        ({"REDIS_URL": "redis://127.0.0.1:port"}, "REDIS_URL"),
        ({"REDIS_URL": "unix:///nowhere?bogus=1"}, "REDIS_URL: has an option that it cannot have"),
        ({"REDIS_URL": "redis://127.0.0.1:1?cluster=false"}, "nothing listens there"),
        ({"IP2REGION_DB": __file__}, "IP2REGION_DB"),
        ({"HOST": "192.0.2.1"}, "cannot listen on 192.0.2.1 port 0: Cannot assign requested addr"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_service_that_cannot_start_says_why_in_a_sentence(
    directory: Path, environ: dict[str, str], words: str
) -> None:
    code, output = Serving(directory, **environ).ask("serve")
    assert (code, words in output, "Traceback" in output) == (1, True, False), output


@pytest.mark.rare
def test_a_data_set_keeps_its_buckets_whatever_the_setting(directory: Path) -> None:
    with serving(directory) as served:
        leave_traces(served.url)
        served.stop()
    with serving(directory, COUNTER_BUCKETS="512") as served:
        assert traces(served.url) == (1, ["hello"])


def test_a_request_in_flight_is_answered_before_the_service_stops(directory: Path) -> None:
    with serving(directory) as served, httpx.Client() as client:
        # The body arrives in two parts, with the signal between them.
        def body() -> Iterator[bytes]:
            yield b'{"path":'
            assert served.process is not None
            served.process.send_signal(signal.SIGTERM)
            wait_until(lambda: not is_listening(served.url), "the listener to close")
            yield b'"/a"}'

        headers = {"content-type": "application/json"}
        response = client.post(f"{served.url}/article", content=body(), headers=headers)
        assert response.json() == 1
        assert served.process is not None
        assert served.process.wait(20) == 0


def is_listening(url: str) -> bool:
    try:
        httpx.get(url)
    except httpx.HTTPError:
        return False
    return True


def test_workers_share_a_port_and_count_as_one(directory: Path, environ: dict[str, str]) -> None:
    with serving(directory, "--workers", "2", **environ) as served:

        async def count() -> list[int]:
            async with httpx.AsyncClient(timeout=60) as client:
                answers = await asyncio.gather(
                    *(client.post(f"{served.url}/article", json={"path": "/a"}) for _ in range(200))
                )
            return [answer.json() for answer in answers]

        assert sorted(asyncio.run(count())) == list(range(1, 201))
        assert served.process is not None
        killed = min(workers(served))
        os.kill(killed, signal.SIGKILL)

        def is_replaced() -> bool:
            pids = workers(served)
            return len(pids) == 2 and killed not in pids

        wait_until(is_replaced, "the killed worker to be replaced")
        wait_until(lambda: is_listening(served.url), "a worker to listen")
        pids = children_of(served.process.pid)
        code, output = served.stop()
        assert (code, output.splitlines()[-1]) == (0, "Footfall has stopped")
        assert not any(map(is_alive, pids))
