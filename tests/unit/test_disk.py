"""What is said of the room on a private server's disk, and of its files."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from footfall.data.store import Store
from footfall.driver import disk, private_aof, private_log
from footfall.driver.client import connect
from footfall.driver.private_log import ServerLog
from footfall.driver.safety import Unsafe
from tests.support.sites import safety_of

GIB = 1 << 30


@pytest.fixture
def disk_of(monkeypatch: pytest.MonkeyPatch) -> "type[FakeDisk]":
    FakeDisk.patch = monkeypatch
    return FakeDisk


class FakeDisk:
    patch: pytest.MonkeyPatch

    def __init__(self, free: int, total: int, files: int = 1000, free_files: int = 100) -> None:
        found = SimpleNamespace(
            f_bavail=free, f_blocks=total, f_frsize=1, f_files=files, f_favail=free_files
        )
        self.patch.setattr(os, "statvfs", lambda path: found)


HERE = Path("/data")


@pytest.mark.parametrize(
    ("free", "total", "code"),
    [
        (10 * GIB, 100 * GIB, None),
        (10 * GIB - 1, 100 * GIB, "disk_low"),
        (GIB, 5 * GIB, None),
        (GIB - 1, 5 * GIB, "disk_low"),
        (GIB // 4, GIB, None),
        (GIB // 4 - 1, GIB, "disk_low"),
        (1 << 20, 2 * GIB, "disk_low"),
        ((1 << 20) - 1, 2 * GIB, "disk_full"),
        # Some file systems do not say.
        (0, 0, None),
    ],
)
def test_room_that_runs_out_is_a_warning_below_a_tenth_and_a_gibibyte(
    disk_of: type[FakeDisk], free: int, total: int, code: str | None
) -> None:
    disk_of(free, total)
    found = disk.find(HERE)
    assert (found and found[0]) == code
    if found:
        assert f"DATA_DIR=/data has {free:,} bytes free" in found[1]
        assert found[2] == found[1].startswith("disk full: ") == (code == "disk_full")


async def test_a_start_is_refused_while_the_disk_is_full_and_warned_while_it_fills_up(
    disk_of: type[FakeDisk], caplog: pytest.LogCaptureFixture
) -> None:
    safety = safety_of(Store(connect("redis://localhost", 1), prefix="t", buckets=256))
    safety.data_dir = HERE
    disk_of(0, GIB)
    with pytest.raises(Unsafe, match="disk full: DATA_DIR=/data has 0 bytes free: free some"):
        safety.refuse()
    disk_of(GIB, 100 * GIB)
    safety.refuse()
    assert list(safety.problems) == ["disk_low"]
    assert "1,073,741,824 bytes free, 1% of its disk: free some" in caplog.text


def test_a_disk_that_takes_no_more_files_is_full(disk_of: type[FakeDisk]) -> None:
    disk_of(5 * GIB, 10 * GIB, free_files=0)
    assert disk.room(HERE) == (
        f"disk full: DATA_DIR=/data has {5 * GIB:,} bytes free, and no file can be added"
    )
    disk_of(5 * GIB, 10 * GIB, files=0, free_files=0)
    assert disk.find(HERE) is None


def test_what_cannot_be_written_is_told_with_the_room_only_if_that_is_the_cause(
    disk_of: type[FakeDisk],
) -> None:
    disk_of(0, GIB)
    full = "No space left on device; disk full: DATA_DIR=/data has 0 bytes free"
    assert disk.reason(HERE, OSError(errno.ENOSPC, "No space left on device")) == full
    denied = disk.reason(HERE, OSError(errno.EACCES, "Permission denied", "/data/lock"))
    assert denied == (
        f"Permission denied: /data/lock, for user {os.geteuid()}, as whom the service runs"
    )


def test_a_directory_that_is_gone_is_no_finding() -> None:
    assert disk.find(Path("/nowhere")) is None
    assert disk.room(Path("/nowhere")) == "DATA_DIR=/nowhere: No such file or directory"


def test_files_that_a_start_has_made_shorter_are_named_with_what_was_dropped() -> None:
    said = """!!! Truncating the AOF a.aof at offset 3 !!!
    !!! Truncating the AOF at offset 6 !!!
    !!! Truncating the AOF gone.aof at offset 0 !!!"""
    before = {"a.aof": 1500, "appendonly.aof": 7, "whole.aof": 9}
    words = "ended within a change, as after a crash: its last"
    assert list(private_aof.cut_off(before, said)) == [
        f"a.aof {words} 1,497 bytes were dropped",
        f"appendonly.aof {words} 1 byte was dropped",
    ]


def test_files_without_their_list_are_not_started_on(tmp_path: Path) -> None:
    files = tmp_path / "appendonlydir"
    files.mkdir()
    (files / "appendonly.aof.1.base.rdb").write_bytes(b"x" * 100)
    assert private_aof.flaw(tmp_path) == "", "a first start was interrupted"
    (files / "appendonly.aof.1.incr.aof").write_bytes(b"x" * 1000)
    assert "has data but no file appendonly.aof.manifest" in private_aof.flaw(tmp_path)
    (tmp_path / "appendonly.aof").touch()
    assert private_aof.flaw(tmp_path) == "", "a newer server takes an older one's file over"


def test_a_server_that_does_not_start_is_not_taken_for_an_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk_of: type[FakeDisk]
) -> None:
    disk_of(5 * GIB, 10 * GIB)
    log = ServerLog(tmp_path)
    with log.open() as file:
        file.write(b"Bad file format\n" * 9)
    with log.open() as file:
        assert log.explained() == "it has said nothing"
        file.write(b"one\ntwo\n")
    assert log.last_lines() == "one\ntwo"
    monkeypatch.setattr(private_log, "MAX_LOG_BYTES", 10)
    with log.open() as file:
        file.write(b"write error: No space left on device\n")
    assert (tmp_path / "redis.log.1").read_text().endswith("one\ntwo\n")
    assert log.explained() == (
        f"write error: No space left on device\nDATA_DIR={tmp_path} has {5 * GIB:,} bytes free"
    )
    log.rotate()
    assert log.last_lines() == log.first_lines() == "", "nothing was said since"
