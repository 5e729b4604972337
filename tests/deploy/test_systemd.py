"""The systemd unit, judged by systemd itself."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.requirements import program

from .files import DEPLOY, UNIT, unit
from .tools import judged

README = DEPLOY / "README.md"
# At most ten: a service on the network can hardly be closed further; in tenths for systemd-analyze.
MOST_EXPOSED = 15


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """The unit with an existing program, for which systemd looks."""
    text = UNIT.read_text()
    (command,) = (value for name, value in unit() if name == "ExecStart")
    path = command.split()[0]
    there = tmp_path / "footfall"
    there.touch(mode=0o755)
    (tmp_path / UNIT.name).write_text(text.replace(path, str(there)))
    return str(tmp_path / UNIT.name)


def test_systemd_understands_every_line(installed: str) -> None:
    code, output = judged("systemd-analyze", "verify", "--man=no", installed)
    # systemd may also report units of this machine.
    ours = [line for line in output.splitlines() if UNIT.stem in line]
    assert (code, ours) == (0, []), output


def test_it_understands_the_secret_of_its_first_lines_too(installed: str) -> None:
    service = Path(installed)
    text = service.read_text()
    lines = [line.removeprefix("#   ") for line in text.splitlines() if line.startswith("#   ")]
    secret = lines[lines.index("[Service]") + 1 :]
    assert [line.partition("=")[0] for line in secret] == ["LoadCredential", "Environment"]
    service.write_text(text.replace("\n[Service]\n", "\n[Service]\n" + "\n".join(secret) + "\n"))
    test_systemd_understands_every_line(installed)


def test_it_waits_for_the_service_to_be_ready_and_watches_it() -> None:
    values = dict(unit())
    assert (values["Type"], values["WatchdogSec"]) == ("notify", "60")


def test_it_is_locked_down(installed: str) -> None:
    limit = f"--threshold={MOST_EXPOSED}"
    code, output = judged("systemd-analyze", "security", "--offline=true", limit, installed)
    assert code == 0, output


def test_units_for_ports_are_made_of_it_as_the_readme_says(tmp_path: Path) -> None:
    (change,) = re.findall(r"^sed '(.*?)' deploy/systemd/", README.read_text(), re.MULTILINE)
    sed = [program("sed"), change, str(UNIT)]
    text = subprocess.run(sed, capture_output=True, check=True, text=True).stdout
    assert "Environment=PORT=%i\n" in text
    assert "DATA_DIR=" not in text
    (tmp_path / "there").touch(mode=0o755)
    template = tmp_path / "footfall@.service"
    template.write_text(re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={tmp_path}/there", text))
    test_systemd_understands_every_line(str(template))
