"""`footfall backup` and `footfall restore` as an operator runs them: files, pipes, signals."""

import asyncio
import os
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import count, islice
from pathlib import Path

import httpx
import pytest
from redis import Redis

from footfall import __version__
from footfall.data.backups import LastBackup
from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.driver.keys import Keys
from footfall.ids import IdGenerator, created_ms
from footfall.model import Comment
from tests.support.servers import RealServer, program_of, running, wait_until
from tests.support.serving import BUCKETS, Serving, serving

# Others than those of the data set that it is restored to.
SOURCE_BUCKETS = 2 * BUCKETS


@pytest.fixture
def own(home: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=home) as name:
        yield Path(name)


@pytest.fixture
def server(kind: str, own: Path) -> Iterator[RealServer]:
    """A server for this test only: both data sets are on it, under two prefixes."""
    with running(program_of(kind), own / "r") as server:
        yield server


@pytest.fixture
def source(server: RealServer, own: Path) -> Serving:
    buckets = str(SOURCE_BUCKETS)
    return Serving(own / "s", REDIS_URL=server.url, KEY_PREFIX="one", COUNTER_BUCKETS=buckets)


@pytest.fixture
def target(server: RealServer, own: Path) -> Serving:
    return Serving(own / "t", REDIS_URL=server.url, KEY_PREFIX="two")


def fill(server: RealServer, number: int, length: int = 3000) -> None:
    """Write so many comments and counters to the first data set, for some chunks of a file."""

    async def publish() -> None:
        store, generator = (
            Store(connect(server.url, 5), prefix="one", buckets=SOURCE_BUCKETS),
            IdGenerator(),
        )
        await store.create()
        for n in range(number):
            path = f"/{n % 50}"
            id = generator.new(1_700_000_000_000 + n, path)
            # Random text, which gzip does not make smaller.
            comment = Comment(
                id, path, created_ms(id), os.urandom(length // 2).hex(), "x", author="a"
            )
            await store.comments.publish(comment, "approved", f"f{n}")
            await store.redis.change(("HSET", store.keys.counts(f"time {path}"), f"time {path}", n))
        await store.redis.close()

    asyncio.run(publish())


def noted(server: RealServer) -> LastBackup | None:
    """What became of the backups of the first data set."""

    async def last() -> LastBackup | None:
        store = Store(connect(server.url, 5), prefix="one", buckets=SOURCE_BUCKETS)
        try:
            return await store.backups.last()
        finally:
            await store.redis.close()

    return asyncio.run(last())


def until_started(file: Path) -> None:
    wait_until(lambda: file.exists() and file.stat().st_size, "the backup to begin")


def compared(served: Serving, file: Path) -> bool:
    """Is exactly what the file holds in its data set?"""
    return served.output_of("restore", "--compare", str(file)) == (
        0,
        f"nothing differs from {file}\n",
    )


def is_marked(server: RealServer) -> bool:
    with server.admin() as admin:
        return bool(admin.hexists("two:{site}:format", "restoring"))


def test_a_backup_of_a_running_service_is_restored_elsewhere(own: Path, kind: str) -> None:
    # These are private servers, and the backup connects to the running one.
    program = {} if kind == "valkey" else {"REDIS_SERVER": program_of(kind)}
    copy = Serving(own / "t")
    with serving(own / "s", **program) as served:
        assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 1
        draft = {"comment": "hello", "url": "/a", "nick": "Ann"}
        assert httpx.post(f"{served.url}/api/comment", json=draft).json()["errno"] == 0
        file = own / "backup.gz"
        code, output = served.output_of("backup", str(file))
        said = "1 counter, 1 comment on 1 page, 0 accounts"
        assert (code, output) == (0, f"{said} in {file}\n")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        code, output = served.ask("restore", str(file))
        assert code == 1
        assert "is using DATA_DIR" in output
    # Also where the settings are good for nothing, as on a machine that only keeps backups.
    reading = Serving(own / "v", REDIS_URL="redis:", PORT="none")
    code, output = reading.ask("restore", "--verify", str(file))
    assert (code, output.startswith(f"{said} in {file}, whole and unchanged; made 20")) == (0, True)
    assert output.endswith(f" by Footfall {__version__}, of KEY_PREFIX ff\n")
    assert list(reading.directory.iterdir()) == []
    assert not copy.directory.joinpath("data").exists()
    assert copy.output_of("restore", str(file)) == (0, f"{said} restored from {file}\n")
    assert compared(copy, file)
    assert copy.ask("check")[0] == 0
    with serving(own / "t") as after:
        assert httpx.get(f"{after.url}/article?path=/a").json() == 1
        page = httpx.get(f"{after.url}/comment?path=/a").json()
        assert [root["orig"] for root in page["data"]] == ["hello"]
        reader = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0"}
        more = httpx.post(f"{after.url}/article", json={"path": "/a"}, headers=reader)
        assert more.json() == 2
        code, output = after.output_of("restore", "--compare", str(file))
        assert code == 1
        counter, days, site, read, classes, *ever = output.splitlines()
        assert site == "the site's views, visitors and bots differ"
        assert read.startswith("most read pages of 20")
        assert classes.startswith("classes of visitors of 20")
        # The service may have come to keep up this list, or not yet.
        assert ever in ([], ["most read pages of ever differ"])
        assert counter == "counter 'time /a' is 2 instead of 1"
        assert days == "views of '/a' have other days"
        assert after.ask("counters", "delete", "/a", "--yes")[0] == 0
        output = after.output_of("restore", "--compare", str(file))[1]
        assert "counter 'time /a' is not there; it should be 1\n" in output
        output = after.ask("restore", "--compare", str(own / "nowhere"))[1]
        assert output == f"Error: {own / 'nowhere'} cannot be read: No such file or directory\n"
        for n in range(30):
            httpx.post(f"{after.url}/article", json={"path": f"/{n}"})
        with Redis(unix_socket_path=str(own / "t/data/redis.sock")) as redis:
            seed = bytes.fromhex(redis.hget("ff:{site}:format", "seed").decode())
            keys = Keys("ff", BUCKETS, seed)
            key = keys.counts("time /a")
            # One in 256 would be in its place there.
            strays = (name for n in count() if keys.counts(name := f"time /{n}") != key)
            redis.hset(key, mapping=dict.fromkeys(islice(strays, 30), 1))
        code, output = after.ask("backup", str(own / "damaged.gz"))
        assert (code, output.count("left out, since it is damaged: counters ff:")) == (1, 20)
        assert output.splitlines()[-2:] == [
            "and 10 more",
            f"30 counters, 1 comment on 1 page, 0 accounts in {own / 'damaged.gz'}",
        ]


def test_a_directory_keeps_the_newest_backups_only(
    server: RealServer, source: Serving, own: Path
) -> None:
    fill(server, 10)
    directory = own / "backups"
    directory.mkdir()
    others = ["footfall-one-20200101T000000Z.gz.bak", "footfall-two-20200101T000000Z.gz", "notes"]
    older = [f"footfall-one-2020010{n}T000000Z.gz" for n in range(1, 4)]
    # Files of backups that were killed; the last one may still be growing.
    parts = ["footfall-one-20200102T000000Z.gz.part", "footfall-one-21000101T000000Z.gz.part"]
    others.append(parts[1])
    for name in (*others, *older, parts[0]):
        (directory / name).touch()
    code, output = source.ask("backup", "--keep", "2", str(directory))
    assert (code, output.count("removed ")) == (0, 3), output
    (made,) = {each.name for each in directory.iterdir()} - {*others, older[-1]}
    assert compared(source, directory / made)
    # A backup that fails removes no older one.
    gone = Serving(own / "s", REDIS_URL=f"unix://{own}/none", KEY_PREFIX="one")
    assert gone.ask("backup", "--keep", "1", str(directory))[0] == 1
    assert {each.name for each in directory.iterdir()} == {*others, older[-1], made}


@pytest.mark.rare
def test_a_slow_backup_is_not_removed_by_a_quick_one(
    server: RealServer, source: Serving, own: Path
) -> None:
    fill(server, 1000, 12_000)
    directory = own / "backups"
    directory.mkdir()
    slow = source.run("backup", "--keep", "2", str(directory))
    wait_until(lambda: [each for each in directory.iterdir() if each.stat().st_size], "its file")
    (part,) = directory.iterdir()
    slow.send_signal(signal.SIGSTOP)
    try:
        wait_until(lambda: f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}" not in part.name, "another name")
        code, output = source.ask("backup", "--keep", "2", str(directory))
    finally:
        slow.send_signal(signal.SIGCONT)
    assert (code, f"kept {part}, as another backup still writes it" in output) == (0, True), output
    output, _ = slow.communicate(timeout=60)
    assert slow.returncode == 0, output
    assert len([each for each in directory.iterdir() if each.suffix == ".gz"]) == 2


@pytest.mark.rare
def test_a_backup_goes_through_a_pipe(server: RealServer, source: Serving, target: Serving) -> None:
    fill(server, 500, 12_000)
    reading, writing = os.pipe()
    taking = source.run("backup", "-", stdout=writing, stderr=subprocess.DEVNULL)
    os.close(writing)
    putting = target.run("restore", "-", stdin=reading)
    os.close(reading)
    output, _ = putting.communicate(timeout=60)
    assert (putting.returncode, taking.wait(20)) == (0, 0), output
    assert "500 comments on 50 pages" in output
    assert target.ask("check")[0] == 0


def test_what_became_of_a_backup_is_noted(
    server: RealServer, source: Serving, target: Serving, own: Path
) -> None:
    fill(server, 10)
    assert noted(server) is None
    file = own / "backup.gz"
    assert source.ask("backup", str(file))[0] == 0
    first = noted(server)
    assert first
    assert (first.bytes, first.failed_at_ms) == (file.stat().st_size, 0)
    # A disk that is not mounted is told like any other failure.
    assert source.ask("backup", "--keep", "3", str(own / "none"))[0] == 1
    assert (noted(server) or first).error == f"--keep needs a directory, and {own}/none is not one"
    # A reader that goes away before the end has no backup; nor is one whole that lacks something.
    closed, writing = os.pipe()
    os.close(closed)
    piped = source.run("backup", "-", stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    piped.communicate(timeout=60)
    assert piped.returncode == 1
    last = noted(server)
    assert last
    assert (last.at_ms, last.bytes) == (first.at_ms, first.bytes)
    assert last.failed_at_ms > first.at_ms
    assert last.error == "the standard output cannot be written: Broken pipe"
    with server.admin() as admin:
        admin.hset("one:{c:00}:counts:0", "nothing", "1")
        assert source.ask("backup", str(own / "damaged.gz"))[0] == 1
        assert (noted(server) or last).error == "1 damaged entries were left out"
        # It is not a data that a restore would mix with others.
        admin.hset("two:{site}:backup", "at_ms", 1)
        assert target.ask("restore", str(file))[0] == 0
        assert admin.hget("two:{site}:backup", "at_ms") == b"1"
        # A backup is as good if that cannot be noted.
        admin.hdel("one:{c:00}:counts:0", "nothing")
        admin.delete("one:{site}:backup")
        admin.set("one:{site}:backup", "")
    code, output = source.ask("backup", str(own / "other.gz"))
    assert (code, "/metrics does not know of this backup" in output) == (0, True), output


@pytest.mark.rare
def test_killed_commands_do_no_harm(
    server: RealServer, source: Serving, target: Serving, own: Path
) -> None:
    fill(server, 1000, 12_000)
    file, cut, part = own / "backup.gz", own / "cut.gz", own / "cut.gz.part"
    killed = source.run("backup", str(cut))
    until_started(part)
    killed.kill()
    killed.communicate()
    assert not cut.exists()
    part.rename(cut)
    code, output = target.ask("restore", str(cut))
    assert (code, "is not a complete backup: it was cut off" in output) == (1, True), output
    with server.admin() as admin:
        assert admin.keys("two:*") == []
    code, output = source.ask("backup", str(file))
    assert (code, "1,000 comments on 50 pages" in output) == (0, True), output
    for _ in range(2):
        killed = target.run("restore", str(file))
        wait_until(partial(is_marked, server), "the restore to begin")
        killed.kill()
        killed.communicate()
        for command in (["serve"], ["check"], ["backup", str(own / "none.gz")]):
            code, output = target.ask(*command)
            assert code == 1
            assert "this data set is being restored" in output
    assert target.ask("restore", str(file))[0] == 0
    assert compared(target, file)
    assert target.ask("check")[0] == 0


@pytest.mark.rare
def test_ctrl_c_leaves_a_message_about_the_state(
    server: RealServer, source: Serving, target: Serving, own: Path
) -> None:
    fill(server, 1000, 12_000)
    file = own / "backup.gz"
    taking = source.run("backup", str(file))
    until_started(own / "backup.gz.part")
    taking.send_signal(signal.SIGINT)
    output, _ = taking.communicate(timeout=60)
    assert taking.returncode == 130
    assert output.splitlines()[1:] == ["Interrupted: there is no backup"]
    assert [each.name for each in own.glob("backup*")] == []
    assert source.ask("backup", str(file))[0] == 0
    putting = target.run("restore", str(file))
    wait_until(partial(is_marked, server), "the restore to begin")
    putting.send_signal(signal.SIGINT)
    output, _ = putting.communicate(timeout=60)
    assert putting.returncode == 130, output
    assert "run it again, it starts over" in output
    assert target.ask("restore", str(file))[0] == 0


@pytest.mark.rare
def test_a_backup_that_cannot_be_made_or_restored_is_refused_in_a_sentence(
    server: RealServer, source: Serving, target: Serving, own: Path
) -> None:
    fill(server, 500)
    file, cut = own / "backup.gz", own / "cut.gz"
    assert source.ask("backup", str(file))[0] == 0
    whole = file.read_bytes()
    cut.write_bytes(whole[: len(whole) // 2])
    (own / "diary").write_text("Dear diary")
    for command, sentence in {
        ("backup", str(file)): "is there already; name another file",
        ("backup", "/dev/full"): "/dev/full cannot be written: No space left on device",
        ("backup", "--keep", "3", str(own / "file")): "--keep needs a directory",
        (
            "restore",
            str(own / "diary"),
        ): "is not a complete backup: it was changed, is encrypted, or never was",
        ("restore", str(own / "none")): "No such file or directory",
        ("restore", str(cut)): "is not a complete backup: it was cut off",
        ("restore", "--replace", str(cut)): "is not a complete backup: it was cut off",
        ("restore", str(file)): "there is data under KEY_PREFIX one already",
    }.items():
        code, output = source.ask(*command)
        assert sentence in output, output
        assert (code in (1, 2), "Traceback" in output) == (True, False), output
    # None of this has changed anything, and what was not tried has not failed.
    code, _ = source.ask("backup", str(file))
    assert code == 1
    assert compared(source, file)
    assert source.ask("restore", "--replace", str(file))[0] == 0
    assert file.read_bytes() == whole
    # The same goes for input from a pipe.
    putting = target.run("restore", "-", stdin=subprocess.PIPE)
    assert putting.stdin is not None
    putting.stdin.buffer.write(cut.read_bytes())  # type: ignore[attr-defined]
    output, _ = putting.communicate(timeout=60)
    assert putting.returncode == 1
    assert "it was cut off" in output
    with server.admin() as admin:
        assert admin.keys("two:*") == []
