"""Each command as a process of its own, as other tests run most of them in theirs."""

import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from redis import Redis

from footfall.cli import settings
from tests.support.commands import commands, invoke
from tests.support.serving import Serving, serving

NOTHING_TO_DO = 3
# What commands do with an empty data set: their arguments, and their exit status.
WITH_NOTHING = {
    "accounts list": ([], 0),
    "authors export": (["a@example.com"], 1),
    "authors show": (["a@example.com"], 1),
    "bans list": ([], 0),
    "bans remove": (["192.0.2.1"], NOTHING_TO_DO),
    "check": (["--repair"], 0),
    "comments list": ([], 0),
    "comments rerender": ([], NOTHING_TO_DO),
    "comments show": (["0" * 32], 1),
    "comments spam": (["--words", "x"], NOTHING_TO_DO),
    "config": ([], 0),
    "counters list": ([], 0),
    "counters prune": (["--below", "2", "--yes"], NOTHING_TO_DO),
    "health": ([], 0),
    "import": (["nowhere.json"], 1),
    "log": ([], 0),
    "outbox drop": (["--all"], NOTHING_TO_DO),
    "outbox list": ([], 0),
    "paths merge": (["--yes"], NOTHING_TO_DO),
    "paths move": (["/a", "/b", "--yes"], NOTHING_TO_DO),
    "statistics": ([], NOTHING_TO_DO),
    "worker": ([], 1),
}


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Serving]:
    """A service without anything; commands are told where it listens."""
    with serving(home / "empty") as served:
        served.environ["PORT"] = served.url.rpartition(":")[2]
        yield served


@pytest.mark.rare
@pytest.mark.parametrize("name", [*commands(has_groups=True)])
def test_a_command_is_a_process_that_explains_itself(served: Serving, name: str) -> None:
    code, output = served.ask_process(*name.split(), "--help")
    assert (code, output.startswith(f"Usage: footfall {name} [OPTIONS]")) == (0, True), output


@pytest.mark.rare
@pytest.mark.parametrize("name", [*WITH_NOTHING])
def test_a_command_says_the_same_as_a_process_and_in_this_one(served: Serving, name: str) -> None:
    words, status = WITH_NOTHING[name]
    code, output = served.ask_process(*name.split(), *words)
    assert code == status, output
    assert served.ask(*name.split(), *words) == (code, output)


def test_commands_that_show_something_print_it_as_json(own: Path) -> None:
    with serving(own / "s") as served:
        for path in ("/a", "/a", "/b"):
            httpx.post(f"{served.url}/article", json={"path": path})

        def shown(*words: str) -> Any:
            code, output = served.ask(*words, "--json")
            assert code == 0, output
            return orjson.loads(output.splitlines()[-1])

        assert shown("check") == {"problems": [], "summary": [shown("check")["summary"][0]]}
        found = shown("counters", "list")
        assert (found["found"], found["of"]) == (2, 2)
        assert found["counters"][0] == {"type": "time", "path": "/a", "count": 2}
        days = shown("statistics", "/a")
        assert (days["path"], days["views"], days["days"][-1]["views"]) == ("/a", 2, 2)
        of_names = {each["name"]: each for each in shown("config")["settings"]}
        assert of_names["IPQPS"]["value"] == "0"
        with Redis(unix_socket_path=f"{served.environ['DATA_DIR']}/redis.sock") as client:
            client.set("ff:{site}:total", 7)
        code, output = served.ask("check", "--json")
        assert code == 1
        assert len(orjson.loads(output.splitlines()[-1])["problems"]) == 1


ANY_OUTPUT = (
    "config",
    "check",
    "counters list",
    "statistics",
    "doctor",
    "backup",
    "export",
    "--help",
)


@pytest.mark.parametrize("name", ANY_OUTPUT)
def test_a_full_device_is_an_error_in_a_sentence(served: Serving, name: str) -> None:
    httpx.post(f"{served.url}/article", json={"path": "/a"})
    with Path("/dev/full").open("w") as full:
        running = served.run(*name.split(), stdout=full.fileno(), stderr=subprocess.PIPE)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("Error: "), said
    assert said.splitlines()[-1].endswith("No space left on device")


@pytest.mark.parametrize("name", ["serve", *ANY_OUTPUT])
def test_a_terminal_without_unicode_is_shown_other_characters(own: Path, name: str) -> None:
    there = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with serving(own / "s", **there) as served:
        path = "/\N{LATIN SMALL LETTER U WITH DIAERESIS}"
        assert httpx.post(f"{served.url}/article", json={"path": path}).json() == 1
        assert httpx.get(f"{served.url}/ui/login").status_code == 200
        if name != "serve":
            words = (*name.split(), *([str(own / "b.gz")] if name == "backup" else []))
            # The doctor finds that there is no administrator.
            code, said = served.ask_process(*words)
            assert (code, "Traceback" in said) == (int(name == "doctor"), False), said


def test_a_backup_and_an_export_are_written_to_the_standard_output(served: Serving) -> None:
    for words in (("export",), ("export", "--format", "csv", "--only", "counters")):
        code, output = served.ask_process(*words)
        assert code == 0, output


def test_a_command_in_this_process_leaves_nothing_behind(own: Path) -> None:
    def state() -> list[object]:
        os.umask(mask := os.umask(0))
        streams = (sys.stdin, sys.stdout, sys.stderr)
        logger = logging.getLogger()
        logs = (logger.level, *logger.handlers)
        return [dict(os.environ), Path.cwd(), mask, *streams, *logs, [*warnings.filters]]

    before = state()
    for words in (("config",), ("check",), ("nonsense",)):
        invoke(*words, directory=own, environ={"KEY_PREFIX": "mine", "NO_SETTING": "1"})
        assert state() == before


def test_what_would_end_in_a_traceback_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "settings_of_environment", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        invoke("config", environ={})
