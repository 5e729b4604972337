"""The container image: built as the Dockerfile says, and run as deploy/ runs it."""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.missing import Missing, give_up

from .files import DEPLOY
from .image import Build, Stage
from .tools import judged, program

STOP_SECONDS = 20


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    try:
        return Build(tmp_path_factory.mktemp("image")).image
    except Missing as missing:
        give_up(missing)


@pytest.fixture
def volume(image: Stage, tmp_path: Path) -> Path:
    """A new volume: it takes over owner and mode of what it is mounted on."""
    (path,) = image.volumes
    status = Path(f"{image.root}{path}").stat()
    volume = tmp_path / "volume"
    volume.mkdir()
    os.chown(volume, status.st_uid, status.st_gid)
    volume.chmod(status.st_mode)
    return volume


def inside(image: Stage, volume: Path, command: list[str], **environ: str) -> list[str]:
    """A command line in a container: its root read-only, its user without rights."""
    options = ["--ro-bind", str(image.root), "/", "--bind", str(volume), image.volumes[0]]
    options += ["--perms", "1777", "--tmpfs", "/tmp", "--as-pid-1", "--cap-add", "ALL"]
    return image.sandboxed(image.as_user(command), *options, environ=environ)


class Container:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.search(r"listens on http://0\.0\.0\.0:(\d+)", first)
        assert found, first + process.stdout.read()
        self.port = found[1]
        self.url = f"http://127.0.0.1:{self.port}"

    @property
    def init(self) -> int:
        """The first process in the container, which is the one that an engine sends signals to."""
        pid = self.process.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())

    def stop(self, number: signal.Signals) -> tuple[int, str]:
        os.kill(self.init, number)
        output, _ = self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode, output


@contextlib.contextmanager
def running(image: Stage, volume: Path) -> Iterator[Container]:
    command = inside(image, volume, [*image.entrypoint, *image.arguments], PORT="0")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield Container(process)
        finally:
            process.kill()


def test_hadolint_has_nothing_to_say() -> None:
    assert judged(program("hadolint"), str(DEPLOY / "Dockerfile")) == (0, "")


def test_it_answers_with_nothing_writable_but_its_volume(image: Stage, volume: Path) -> None:
    with running(image, volume) as container:
        assert httpx.post(f"{container.url}/article", json={"path": "/a"}).json() == 1
        draft = {"comment": "*hello*", "url": "/a", "nick": "Ann"}
        answer = httpx.post(f"{container.url}/api/comment", json=draft).json()
        assert answer["data"]["comment"] == "<p><em>hello</em></p>\n"

    attempt = "open('/opt/footfall/new', 'w')"
    code, output = judged(*inside(image, volume, ["python", "-c", attempt]))
    assert (code, "Read-only file system" in output) == (1, True), output


def test_it_runs_as_nobody_special(image: Stage, volume: Path) -> None:
    with running(image, volume) as container:
        status = Path(f"/proc/{container.init}/status").read_text()
        facts = dict(re.findall(r"(\w+):\t(\S+)", status))
        assert (facts["Uid"], facts["Gid"], int(facts["CapEff"], 16)) == ("10001", "10001", 0)
        assert not Path(f"/proc/{container.init}/root/opt/footfall/bin/pip").exists()


def test_its_stop_signal_ends_it_in_order_and_the_next_one_finds_the_data(
    image: Stage, volume: Path
) -> None:
    with running(image, volume) as container:
        httpx.post(f"{container.url}/article", json={"path": "/a"})
        code, output = container.stop(signal.Signals[image.stop_signal])
        assert (code, output.splitlines()[-1]) == (0, "Footfall has stopped")
    with running(image, volume) as container:
        assert httpx.get(f"{container.url}/article?path=/a").json() == 1


def test_its_entry_point_takes_every_command(image: Stage, volume: Path) -> None:
    assert judged(*inside(image, volume, [*image.entrypoint, "check"]))[0] == 0


@pytest.mark.xfail(reason="there is no /livez on this branch yet")
def test_its_health_check_finds_it_healthy(image: Stage, volume: Path) -> None:
    with running(image, volume) as container:
        check = inside(image, volume, image.health, PORT=container.port)
        assert judged(*check) == (0, "")
