"""docs/getting-started.md does what it says: its commands give the output that stands below them."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.serving import serving

PAGE = Path(__file__).parents[2] / "docs/getting-started.md"
STEP = re.compile(r"```sh\n(curl .*?)```\n\n```json\n(.*?)\n```", re.DOTALL)


@pytest.mark.rare
def test_each_command_gives_the_output_below_it(own: Path) -> None:
    steps = STEP.findall(PAGE.read_text())
    assert len(steps) == 2
    with serving(own / "s") as served:
        for command, output in steps:
            text = command.replace("http://127.0.0.1:8360", served.url)
            done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
            assert done.stdout == output
