"""A run of tests that is stopped leaves no process, port or file behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.servers import wait_until

ROOT = Path(__file__).parents[1]
ENDLESS = "tests/support/endless.py"
END_SECONDS = 60


def alive(session: int) -> list[str]:
    """The processes of a session that have not ended."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, of = (each / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(of) == session and state != "Z":
                found.append((each / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.rare)]
)
def test_a_run_that_is_stopped_leaves_nothing_behind(
    tmp_path: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "-n", "1", "-p", "no:cacheprovider", ENDLESS],
        cwd=ROOT,
        env={**os.environ, "TOLD": str(tmp_path), "TEST_ALL": "1", "SLICE": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as run:
        told = tmp_path / "told"
        wait_until(lambda: told.exists() or run.poll() is not None, "a service of the run")
        assert told.exists(), run.communicate()
        url, directory = told.read_text().splitlines()
        assert httpx.get(f"{url}/livez").status_code == 200
        assert len(alive(run.pid)) > 3
        run.send_signal(number)
        output, _ = run.communicate(timeout=END_SECONDS)
        assert (run.returncode != 0, alive(run.pid)) == (True, []), output
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/livez")
    assert not Path(directory).exists()
