"""Messages at a service's start and end: they have the LOG_FORMAT, and are true."""

import json
from pathlib import Path
from typing import Any

import pytest

from footfall import __version__
from tests.support.commands import commands, invoke
from tests.support.servers import program_of, running
from tests.support.serving import SOURCES, Serving, serving

ROOT = Path(__file__).parents[2]


def records(output: str) -> list[dict[str, Any]]:
    """The lines of the output, each of which must be an object."""
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.rare
@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_banner_is_made_of_objects_too(own: Path, workers: str) -> None:
    with serving(own, LOG_FORMAT="json", WORKERS=workers, SLOW_SECONDS="0") as served:
        vacancy, banner, *_, end = records(served.end()[1])
    assert vacancy["level"] == "WARNING"
    assert vacancy["message"].startswith("there is no administrator yet: ")
    assert banner["message"].startswith(
        f"Footfall {__version__} listens on {served.url} (Redis private "
    )
    assert (banner["level"], banner["logger"]) == ("INFO", "footfall.said")
    assert banner["data"].endswith("/data, on disk before a change is acknowledged")
    assert banner["holds"] == "nothing yet"
    assert banner["logins"].endswith("set SITE_URL")
    assert (end["message"], end["level"]) == ("Footfall has stopped", "INFO")


def preload(own: Path, code: str) -> dict[str, str]:
    """An environment in which Python runs this code before anything of ours."""
    own.mkdir(exist_ok=True)
    (own / "sitecustomize.py").write_text(code)
    return {"PYTHONPATH": f"{own}:{SOURCES}", "LOG_FORMAT": "json"}


BROKEN = "import socket; socket.socket.listen = lambda *_: 1 / 0"
DYING = "import os, sys\nif '--as-worker' in sys.orig_argv: os._exit(3)"


@pytest.mark.parametrize(
    ("options", "environ", "message"),
    [
        ((), {"PORT": "x"}, "these settings cannot be used:\nPORT='x': needs a whole number"),
        ((), {"HOST": "192.0.2.1"}, "cannot listen on 192.0.2.1 port 0"),
        ((), {"REDIS_SERVER": "/bin/false"}, "the private server did not start"),
        (("--bogus",), {}, "No such option"),
        (("--workers", "100"), {}, "Invalid value for '--workers'"),
    ],
    ids=str,
)
def test_every_error_that_stops_the_start_is_an_object(
    own: Path, options: tuple[str, ...], environ: dict[str, str], message: str
) -> None:
    code, output = Serving(own, LOG_FORMAT="json", **environ).ask("serve", *options)
    (*_, last) = records(output)
    assert code == (2 if options else 1)
    assert (last["level"], last["message"][: len(message)]) == ("CRITICAL", message)


@pytest.mark.rare
def test_a_traceback_at_the_start_is_an_object(own: Path) -> None:
    code, output = Serving(own, **preload(own, BROKEN)).ask("serve")
    (last,) = records(output)
    assert code == 1
    assert "ZeroDivisionError" in last["exc_info"]


@pytest.mark.rare
def test_the_parent_of_workers_says_objects(own: Path) -> None:
    code, output = Serving(own, WORKERS="2", **preload(own, DYING)).ask("serve")
    *_, last = records(output)
    assert code == 1
    assert last["message"] == "a worker died at once 10 times in a row, with exit code 3"


def test_errors_in_the_file_that_sets_the_format_have_that_format(own: Path) -> None:
    own.mkdir(exist_ok=True)
    (own / ".env").write_text("LOG_FORMAT=json\n=nothing\nPORT=x\n")
    served = Serving(own)
    del served.environ["PORT"]
    code, output = served.ask("serve")
    warning, *_, last = records(output)
    assert code == 1
    assert (warning["logger"], last["logger"]) == ("dotenv.main", "footfall.cli")


def test_the_banner_promises_no_more_than_redis_keeps(own: Path) -> None:
    with (
        running(program_of("valkey"), own / "r", "--port", "0", "--appendonly", "no") as redis,
        serving(own / "s", REDIS_URL=redis.url, GUARD="warn") as served,
    ):
        code, output = served.end()
    assert code == 0
    assert "Redis has no append-only file" in output
    assert "on disk" not in output
    assert "under ff:*, but could be lost: see the errors above" in output


def test_the_banner_names_the_redis_without_its_password(own: Path) -> None:
    with (
        running(program_of("valkey"), own / "r") as redis,
        serving(own / "s", REDIS_URL=redis.url) as served,
    ):
        code, output = served.end()
    assert code == 0
    assert "@" in redis.url
    assert f"\n  Redis  REDIS_URL unix://{redis.socket}\n" in output


@pytest.mark.parametrize("name", ["", *commands(has_groups=True)])
def test_help_consists_of_whole_sentences(name: str) -> None:
    done = invoke(*name.split(), "--help", environ={})
    assert (done.exit_code, done.stderr) == (0, "")
    output = done.output
    # In the usage, dots mean that there may be more.
    assert "..." not in output.partition("\n\n")[2]
    listed = output.partition("Commands:\n")[2]
    # A line that is indented no deeper than a name starts a command.
    entries = listed.replace("\n   ", " ").splitlines() if listed else []
    assert all(entry.rstrip().endswith(".") for entry in entries), entries
