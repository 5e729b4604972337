"""On a machine that has Python and nothing else, no test fails: tests that need more are skipped
with a reason.

Those of deploy/ are run, which need the most programs; .ci/run looks whether all others are found.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LACKED = ("bash", "git", "make", "nginx", "promtool", "sh", "systemd-analyze")
# What takes long and needs no program.
LONG = "makes_a_backup or test_probes or runs_on_its_valkey"


def test_what_needs_a_program_is_skipped_and_says_so(tmp_path: Path) -> None:
    nowhere = {"PATH": "", "HOME": str(Path.home()), "npm_config_cache": str(tmp_path)}
    words = ["-q", "-n0", "-p", "no:cacheprovider", "tests/deploy", "-k", f"not ({LONG})"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=ROOT,
        env=nowhere | {"npm_config_offline": "true"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lacked = [name for name in LACKED if f"there is no {name} on this machine" in done.stdout]
    assert lacked == [*LACKED]
