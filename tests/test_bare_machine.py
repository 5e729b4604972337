"""On a machine that has Python and nothing else, no test fails: what needs more says so."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LACKED = (
    "there is no bash on this machine",
    "there is no bwrap on this machine",
    "there is no git on this machine",
    "there is no nginx on this machine",
    "there is no promtool on this machine",
    "there is no redis-server on this machine",
    "there is no sqlite3 on this machine",
    "there is no systemd-analyze on this machine",
    "no Chromium could be started",
)


# Whose tests are run; all others are only found.
TIERS = "(deploy or browser or test_tls or test_import_pages)"
# Of these, what takes long and needs no program.
LONG = "(makes_a_backup or test_probes or runs_on_its_valkey)"


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest says where there is no program but the interpreter, and no registry of npm's."""
    empty = str(tmp_path_factory.mktemp("empty"))
    environ = {
        "PATH": "",
        "HOME": str(Path.home()),
        "PLAYWRIGHT_BROWSERS_PATH": empty,
        "npm_config_cache": empty,
        "npm_config_offline": "true",
    }
    words = ["-q", "-p", "no:cacheprovider", "tests", "-k", f"{TIERS} and not {LONG}"]
    command = [sys.executable, "-m", "pytest", *words]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
    output = done.stdout + done.stderr
    # A file that cannot be imported would be an error, too.
    assert done.returncode == 0, output
    return output


@pytest.mark.rare
@pytest.mark.parametrize("reason", LACKED)
def test_what_needs_a_program_is_skipped_and_says_so(said: str, reason: str) -> None:
    assert reason in said
