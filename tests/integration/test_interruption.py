"""Signals: commands that are ended by one take away what they leave and say what is done, the first
process of a container takes in orphans, and SIGHUP opens log files again."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from footfall.data.backups import LastBackup
from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.transfer.storing import IMPORT_STEP_COMMENTS
from tests.support.requirements import program
from tests.support.servers import program_of, running, wait_until
from tests.support.serving import Serving, serving

from .test_backup_command import fill, until_started

BOTH = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


@BOTH
def test_a_backup_that_is_ended_is_noted_as_failed_and_leaves_no_part(
    own: Path, kind: str, number: signal.Signals
) -> None:
    with running(program_of(kind), own / "r") as server:
        served = Serving(own / "s", REDIS_URL=server.url, KEY_PREFIX="one", COUNTER_BUCKETS="512")
        fill(server, 1000, 12_000)
        taking = served.run("backup", str(own / "backup.gz"))
        until_started(own / "backup.gz.part")
        taking.send_signal(number)
        output, _ = taking.communicate(timeout=60)
        assert taking.returncode == 130, output
        assert output.splitlines()[1:] == ["Interrupted: there is no backup"]
        assert [*own.glob("backup*")] == []
        last = asyncio.run(last_backup(server.url))
        assert last is not None
        assert (last.at_ms, last.error) == (0, "it was interrupted")


async def last_backup(url: str) -> LastBackup | None:
    store = Store(connect(url, timeout=60), prefix="one", buckets=512)
    await store.open()
    last = await store.backups.last()
    await store.redis.close()
    return last


# Of an import, and their pages.
NUMBER, PAGES = 4000, 50


def comments(number: int) -> bytes:
    """An export of Waline."""
    rows = [
        {
            "objectId": f"{n:024x}",
            "url": f"/p{n % PAGES}",
            "comment": f"number {n}",
            "nick": "Ann",
            "insertedAt": "2024-01-02T03:04:05.000Z",
            "status": "approved",
        }
        for n in range(number)
    ]
    tables = {"Comment": rows, "Counter": [], "Users": []}
    return json.dumps({"type": "waline", "version": 1, "data": tables}).encode()


@BOTH
def test_an_import_that_is_ended_says_what_is_stored(own: Path, number: signal.Signals) -> None:
    with serving(own / "s") as served:
        file = own / "comments.json"
        file.write_bytes(comments(NUMBER))
        importing = served.run("import", str(file))

        # They are stored in the order of their pages, some at a time: when a later one is there,
        # the first are known to be.
        pages = sorted(f"/p{n}" for n in range(PAGES))
        later = pages[IMPORT_STEP_COMMENTS * PAGES // NUMBER + 1]

        def stored() -> int:
            found: int = httpx.get(f"{served.url}/comment?type=count&url={later}").json()
            return found

        wait_until(stored, "comments that are not the first")
        importing.send_signal(number)
        output, _ = importing.communicate(timeout=60)
        assert importing.returncode == 130, output
        said = re.search(r"^known to be stored: ([\d,]+) comments$", output, re.MULTILINE)
        assert said, output
        assert 0 < int(said[1].replace(",", "")) < NUMBER
        assert "Traceback" not in output
        code, output = served.ask("import", str(file))
        assert (code, "4,000 read" in output or "stored" in output) == (0, True), output
        # The service follows in seconds what the first has left, and tests' checks look once.
        wait_until(lambda: served.ask("check")[0] == 0, "a site that has followed its pages")


@BOTH
def test_an_import_that_still_reads_is_ended_at_once(own: Path, number: signal.Signals) -> None:
    with serving(own / "s") as served:
        file = own / "comments.json"
        file.write_bytes(comments(100_000))
        importing = served.run("import", str(file), stdout=subprocess.PIPE)
        assert importing.stdout is not None
        assert importing.stdout.readline().startswith("Data set: ")
        importing.send_signal(number)
        output, _ = importing.communicate(timeout=60)
        assert importing.returncode == 130, output
        assert "known to be stored: nothing\nInterrupted: " in output


@pytest.mark.parametrize("command", ["serve", "check", "import"])
@BOTH
def test_before_a_command_has_started_a_signal_ends_it_without_a_word(
    own: Path, command: str, number: signal.Signals
) -> None:
    """Which takes as long as the imports, of which one hangs here."""
    (own / "uvloop.py").write_text("import time\nopen('begun', 'w').close()\ntime.sleep(600)\n")
    with subprocess.Popen(
        [sys.executable, "-m", "footfall", command, "file"],
        env={**os.environ, "PYTHONPATH": str(own)},
        cwd=own,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        wait_until((own / "begun").exists, "the imports")
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    is_clean = command == "serve" and number == signal.SIGTERM
    assert (process.returncode, output) == (0 if is_clean else -number, "")


def test_the_first_process_of_a_container_takes_in_orphans_and_passes_signals_on(own: Path) -> None:
    inside = [program("bwrap"), "--unshare-pid", "--as-pid-1", "--die-with-parent"]
    inside += ["--dev-bind", "/", "/"]
    served = Serving(own / "s", UDS=str(own / "u"))
    served.directory.mkdir()
    # Processes whose parents end: they are taken in by the first one, and then end, too, one of
    # them before it awaits signals.
    orphan = f"((sleep 0.1; : > {own}/ended) &); (: &); exec {sys.executable} -m footfall serve"
    with subprocess.Popen(
        [*inside, "--proc", "/proc", program("bash"), "-c", orphan],
        env={**served.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as outer:
        try:
            children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
            wait_until(children.read_text, "the first process")
            first = int(children.read_text().split()[0])
            assert outer.stdout is not None
            assert any("listens on" in line for line in outer.stdout)
            wait_until((own / "ended").exists, "the orphan's end")
            wait_until(lambda: zombies(first) == [], "nobody to be left")
            os.kill(first, signal.SIGTERM)
            output, _ = outer.communicate(timeout=60)
        finally:
            # Or a failure would wait for it.
            outer.kill()
    assert (outer.returncode, output.splitlines()[-1]) == (0, "Footfall has stopped")


def zombies(pid: int) -> list[str]:
    names = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [name for name in names if is_zombie(name)]


def is_zombie(name: str) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{name}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        # It was taken in since it was listed.
        return False


@pytest.mark.parametrize("workers", ["1", "2"])
def test_sighup_opens_the_log_files_again(own: Path, workers: str) -> None:
    served = Serving(own / "s", ACCESS_LOG="true", WORKERS=workers, PORT="0")
    served.directory.mkdir()
    log, old = own / "access.log", own / "access.log.1"
    with log.open("ab") as file:
        process = served.run("serve", stdout=file.fileno(), stderr=subprocess.STDOUT)
    try:
        address = re.compile(r"listens on (http://\S+)")
        wait_until(lambda: address.search(log.read_text()), "the service")
        found = address.search(log.read_text())
        assert found is not None
        log.rename(old)
        process.send_signal(signal.SIGHUP)
        wait_until(log.exists, "the new file")

        def is_written() -> bool:
            httpx.get(f"{found[1]}/api/article?path=/a")
            return "article_read" in log.read_text()

        wait_until(is_written, "a line in it")
        size = -1
        while size != (size := old.stat().st_size):
            for _ in range(20):
                httpx.get(f"{found[1]}/api/article?path=/a")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert log.read_text().splitlines()[-1] == "Footfall has stopped"
