"""docs/getting-started.md: its commands give the output that stands below them."""

import re
import shlex
from argparse import ArgumentParser
from pathlib import Path

import httpx

from tests.support.serving import serving

PAGE = Path(__file__).parents[2] / "docs/getting-started.md"
STEP = re.compile(r"```sh\n(curl .*?)```\n\n```json\n(.*?)\n```", re.DOTALL)
CURL = ArgumentParser()
CURL.add_argument("url")
CURL.add_argument("-s", action="store_true")
CURL.add_argument("-X", default="GET")
CURL.add_argument("-H")
CURL.add_argument("-d")


def test_each_command_gives_the_output_below_it(own: Path) -> None:
    steps = STEP.findall(PAGE.read_text())
    assert len(steps) == 2
    with serving(own / "s") as served:
        for command, output in steps:
            asked = CURL.parse_args(shlex.split(command.replace("\\\n", " "))[1:])
            headers = dict([asked.H.split(": ")]) if asked.H else {}
            url = asked.url.replace("http://127.0.0.1:8360", served.url)
            answer = httpx.request(asked.X, url, headers=headers, content=asked.d)
            assert answer.text == output
