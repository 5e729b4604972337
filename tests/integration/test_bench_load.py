"""The commands in bench/README.md that put load on the service with wrk."""

import re
import shlex
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.support.requirements import program
from tests.support.serving import ROOT, serving

LOAD = ROOT / "bench" / "load"
COMMANDS = re.findall(r"`wrk (.*)`", (ROOT / "bench" / "README.md").read_text())


@pytest.mark.rare
def test_each_command_for_wrk_is_answered_well(directory: Path) -> None:
    wrk = program("wrk")
    assert {word for command in COMMANDS for word in command.split() if ".lua" in word} == {
        file.name for file in LOAD.iterdir()
    }
    with serving(directory, IPQPS="0") as served:
        comment = {"comment": "Hello", "url": "/a", "nick": "Ann"}
        posted = httpx.post(f"{served.url}/api/comment", json=comment).json()
        for command in COMMANDS:
            line = command.replace("-d10s", "-d1s").replace("ID", posted["data"]["objectId"])
            words = shlex.split(line.replace("$URL", served.url))
            shown = subprocess.check_output([wrk, *words], cwd=LOAD, text=True)
            requests = re.search(r"(\d+) requests in", shown)
            assert requests, shown
            assert int(requests[1]) > 0
            assert "Non-2xx" not in shown, (command, shown)
            assert "Socket errors" not in shown, (command, shown)
