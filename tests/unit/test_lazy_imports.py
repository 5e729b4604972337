"""Nothing is imported before it is needed: a process that only counts loads neither the renderer
nor what accounts need, and a probe loads next to nothing."""

import os
import subprocess
import sys

from tests.support.serving import SOURCES

# What counting can do without.
UNNEEDED = {
    *("httpx2", "authlib", "joserfc"),
    *("markdown_it", "nh3", "pygments", "emoji", "latex2mathml", "linkify_it", "ua_parser"),
    *("jinja2", "re2", "email_validator", "babel", "argon2", "bcrypt", "zxcvbn"),
    *("ijson", "sqlite3", "xml", "crawleruseragents"),
}


def test_a_service_starts_without_what_comments_and_accounts_need() -> None:
    assert imported("import footfall.cli.serve", UNNEEDED) == set()


def imported(program: str, suspects: set[str]) -> set[str]:
    """Those of the modules that are there after the program has run in a process of its own."""
    show = f"\nimport sys; print(*{suspects} & sys.modules.keys())"
    done = subprocess.run(
        [sys.executable, "-c", program + show],
        env={**os.environ, "PYTHONPATH": SOURCES, "PORT": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())
