"""What the private server's start and its disk say: how far it is, what was lost, what is full."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import redis
from redis.asyncio import Redis
from redis.exceptions import RedisError

from footfall.config import Settings
from footfall.data.store import Store
from footfall.driver import loading, private_log, private_server
from footfall.driver.client import connect
from footfall.server.opening import opened
from tests.support.requirements import give_up, program
from tests.support.servers import RealServer, program_of, running, wait_until
from tests.support.serving import serving
from tests.support.sites import process_of


@asynccontextmanager
async def private(directory: Path, program: str) -> AsyncIterator[Redis]:
    """A client of a private server that runs during the block."""
    async with (
        private_server.private_server(directory, program),
        Redis(unix_socket_path=str(directory / "redis.sock")) as client,
    ):
        yield client


def file_of(directory: Path) -> Path:
    """The file that changes are appended to, which releases before 7 keep beside the others."""
    return next(directory.glob("appendonlydir/*.incr.aof"), directory / "appendonly.aof")


async def comes(is_true: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not is_true():
            await asyncio.sleep(0.01)


async def test_an_end_that_a_crash_cut_off_is_told_with_its_bytes(
    own: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with private(own, program_of(kind)) as client:
        await client.set("whole", "1")
        whole = file_of(own).stat().st_size
        await client.set("cut", "1" * 2000)
    with file_of(own).open("r+b") as file:
        file.truncate(whole + 1234)
    async with private(own, program_of(kind)) as client:
        assert (await client.get("whole"), await client.get("cut")) == (b"1", None)
    (told,) = [record.getMessage() for record in caplog.records]
    assert told == (
        f"{file_of(own).name} ended within a change, as after a crash: its last 1,234 bytes were "
        "dropped"
    )


async def test_a_start_without_the_list_of_its_files_is_refused_and_overwrites_nothing(
    own: Path, kind: str
) -> None:
    async with private(own, program_of(kind)) as client:
        await client.set("a", "1" * 2000)
    file, manifest = file_of(own), own / "appendonlydir/appendonly.aof.manifest"
    if not manifest.exists():
        give_up(f"{kind} has one append-only file and no list", is_in_ci=False)
    before = file.read_bytes()
    content = manifest.read_bytes()
    manifest.unlink()
    with pytest.raises(private_server.CannotStart, match="no file appendonly.aof.manifest"):
        async with private(own, program_of(kind)):
            pass
    assert file.read_bytes() == before
    manifest.write_bytes(content)
    async with private(own, program_of(kind)) as client:
        assert await client.strlen("a") == 2000


def slow(own: Path, kind: str) -> str:
    """A program that takes a tenth of a millisecond to load a command."""
    script = own / "slow"
    script.write_text(f'#!/bin/sh\nexec {program_of(kind)} "$@" --key-load-delay 100\n')
    script.chmod(0o700)
    return str(script)


async def fill(client: Redis) -> None:
    pipeline = client.pipeline(transaction=False)
    for n in range(12_000):
        pipeline.set(str(n), "x" * 100)
    await pipeline.execute()


PROGRESS = r"loads its data: \d+ % of \d MB, about \d+ s to go"


@pytest.mark.rare
async def test_a_large_file_that_loads_says_how_far_it_is(
    own: Path, kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with private(own / "d", program_of(kind)) as client:
        await fill(client)
    for module in (loading, private_server):
        monkeypatch.setattr(module, "LINE_SECONDS", 0.01)
    async with private(own / "d", slow(own, kind)) as client:
        assert await client.dbsize() == 12_000
    assert len(re.findall(f"the private server {PROGRESS}", caplog.text)) > 1, caplog.text


async def test_lines_of_an_earlier_start_are_not_shown_and_a_large_log_starts_anew(
    own: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own / "broken").write_text("#!/bin/sh\necho this one\nexit 1\n")
    (own / "broken").chmod(0o700)
    log, older = own / "redis.log", own / "redis.log.1"
    log.write_text("earlier\n" * 3)
    with pytest.raises(private_server.CannotStart) as raised:
        async with private(own, str(own / "broken")):
            pass
    assert str(raised.value) == "the private server did not start:\nthis one"
    monkeypatch.setattr(private_server, "LOG_SECONDS", 0.01)
    async with private(own, program_of(kind)) as client:
        assert not older.exists()
        monkeypatch.setattr(private_log, "MAX_LOG_BYTES", 10)
        await comes(older.exists)
        monkeypatch.undo()
        assert older.read_text().startswith("earlier\n")
        await client.bgrewriteaof()
        await comes(lambda: log.exists() and "rewrit" in log.read_text())


@pytest.fixture
def small_disk(own: Path) -> Iterator[Path]:
    """A directory on a file system of 16 MiB."""
    place = own / "disk"
    place.mkdir()
    mount = [program("mount"), "-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        give_up("this user may not mount a small disk to fill it", is_in_ci=False)
    yield place
    subprocess.run([program("umount"), str(place)], check=True)


def fill_up(file: Path) -> None:
    with file.open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while filler.write(bytes(65_536)):
            pass


def test_a_full_disk_is_called_that_with_its_directory_and_bytes(
    own: Path, small_disk: Path, kind: str
) -> None:
    data, filler = small_disk / "data", small_disk / "filler"
    full = f"disk full: DATA_DIR={data} has 0 bytes free"
    environ = {"DATA_DIR": str(data), "REDIS_SERVER": program_of(kind)}
    with serving(own, **environ) as served, httpx.Client(base_url=served.url) as client:

        def count() -> int:
            return client.post("/article", json={"path": "/a"}).status_code

        def ready() -> httpx.Response:
            return client.get("/readyz")

        assert count() == 200
        # However small it is, it is not low from the first day on.
        assert "DATA_DIR" not in ready().text
        before = pid_of(data)
        fill_up(filler)
        wait_until(lambda: full in "".join(ready().json()["reasons"]), "the disk to be full")
        assert [count() for _ in range(20)] == [503] * 20
        assert client.get("/article?path=/a").json() == 1
        assert client.get("/comment?path=/a").status_code == 200
        filler.unlink()
        wait_until(lambda: count() == 200, "changes to be stored again")
        wait_until(lambda: ready().status_code == 200, "the service to be ready again")
        # No change has ended the server.
        assert pid_of(data) == before


def pid_of(data: Path) -> int:
    with redis.Redis(unix_socket_path=str(data / "redis.sock")) as client:
        return int(client.info("server")["process_id"])


def test_a_server_that_has_ended_on_a_full_disk_says_why(
    own: Path, small_disk: Path, kind: str
) -> None:
    data, filler = small_disk / "data", small_disk / "filler"
    environ = {"DATA_DIR": str(data), "REDIS_SERVER": program_of(kind)}
    with serving(own, **environ) as served:
        fill_up(filler)
        os.kill(pid_of(data), signal.SIGKILL)
        assert served.process is not None
        assert served.process.stdout is not None
        line = next(line for line in served.process.stdout if "last lines" in line)
        assert f"disk full: DATA_DIR={data} has 0 bytes free; the server's last lines:" in line
        filler.unlink()


async def test_a_first_start_on_a_full_disk_says_so(small_disk: Path, kind: str) -> None:
    data = small_disk / "data"
    fill_up(small_disk / "filler")
    words = f"No space left on device.*; disk full: DATA_DIR={data} has 0 bytes free"
    with pytest.raises(private_server.CannotStart, match=words):
        async with private(data, program_of(kind)):
            pass


def is_loading(server: RealServer) -> bool:
    with server.admin() as admin, contextlib.suppress(RedisError):
        return bool(admin.info("persistence")["loading"])
    return False


@pytest.mark.rare
async def test_a_redis_that_loads_is_waited_for_and_says_how_far_it_is(
    own: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with running(program_of(kind), own) as server:
        with server.admin() as admin:
            admin.mset({f"{n}": "x" * 100 for n in range(9000)})
            admin.bgrewriteaof()
            wait_until(
                lambda: not admin.info("persistence")["aof_rewrite_in_progress"], "a new file"
            )
        server.kill()
        # It loads for longer than REDIS_WAIT.
        server.options = (
            *("--port", "0", "--key-load-delay", "100"),
            *("--loading-process-events-interval-bytes", "1024"),
        )
        with (own / "log").open("wb") as log:
            server.process = subprocess.Popen(server.command(), stdout=log, stderr=log)
        await comes(lambda: is_loading(server))
        settings = Settings.from_env({"REDIS_URL": server.url, "REDIS_WAIT": "0.5"})
        store = Store(connect(server.url, timeout=1), prefix="t", buckets=256)
        await opened(process_of(store), store, settings, creates=True)
        assert await store.counters.add([("/a", "time", 1)]) == [1]
        await store.redis.close()
    assert re.search(f"Redis {PROGRESS}", caplog.text), caplog.text
