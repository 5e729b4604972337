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


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """Variables with which there is no program but the interpreter, and no registry of npm's."""
    return {
        "PATH": "",
        "HOME": str(Path.home()),
        "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path),
        "npm_config_cache": str(tmp_path),
        "npm_config_offline": "true",
    }


def run(environ: dict[str, str], *words: str) -> tuple[int, str]:
    """Run pytest with these variables alone: (exit code, output)."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_the_tests_of_every_tier_are_found(bare: dict[str, str]) -> None:
    code, output = run(bare, "--collect-only", "tests")
    assert code == 0, output


def test_what_needs_a_program_is_skipped_and_says_so(bare: dict[str, str]) -> None:
    pages = "tests/integration/test_moving_pages.py"
    tiers = ("tests/deploy", "tests/browser", "tests/integration/test_tls.py", pages)
    # These need nothing else, and take half of the time.
    code, output = run(bare, *tiers, "-k", "not makes_a_backup")
    assert code == 0, output
    assert [reason for reason in LACKED if reason not in output] == []
