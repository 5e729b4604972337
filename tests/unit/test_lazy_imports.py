"""A process that only counts loads neither the renderer nor what accounts need."""

import os
import subprocess
import sys

from tests.support.serving import SOURCES

UNNEEDED = {
    *("httpx2", "authlib", "joserfc"),
    *("markdown_it", "nh3", "pygments", "emoji", "latex2mathml", "linkify_it", "ua_parser"),
    *("jinja2", "re2", "jwt", "email_validator", "passlib"),
    *("ijson", "sqlite3", "xml"),
}


def test_a_service_starts_without_what_comments_and_accounts_need() -> None:
    program = (
        f"import sys, footfall.app, footfall.cli.main; print(*{UNNEEDED} & sys.modules.keys())"
    )
    environ = {**os.environ, "PYTHONPATH": SOURCES}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == []
