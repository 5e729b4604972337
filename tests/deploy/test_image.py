"""The container image: built as the Dockerfile says, and run as deploy/ runs it."""

import re
import signal
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.workers import children_of

from .image import Build, Stage, running
from .tools import judged

# An image takes half a minute to build.
pytestmark = pytest.mark.rare(together="image")

Volumes = dict[str, Path]


def test_it_answers_with_nothing_writable_but_its_volume(image: Stage, volumes: Volumes) -> None:
    with running(image, volumes) as container:
        assert httpx.post(f"{container.url}/article", json={"path": "/a"}).json() == 1
        draft = {"comment": "*hello*", "url": "/a", "nick": "Ann"}
        answer = httpx.post(f"{container.url}/api/comment", json=draft).json()
        assert answer["data"]["comment"] == "<p><em>hello</em></p>\n"

    attempt = "open('/opt/footfall/new', 'w')"
    code, output = judged(*image.contained(["python", "-c", attempt], volumes))
    assert (code, "Read-only file system" in output) == (1, True), output


def test_it_runs_as_nobody_special(image: Stage, volumes: Volumes) -> None:
    with running(image, volumes) as container:
        status = Path(f"/proc/{container.init}/status").read_text()
        facts = dict(re.findall(r"(\w+):\t(\S+)", status))
        assert (facts["Uid"], facts["Gid"], int(facts["CapEff"], 16)) == ("10001", "10001", 0)
        inside = Path("/proc", str(container.init), "root")
        assert (inside / "opt/footfall/bin/python").is_symlink()
        assert [path.name for path in (inside / "opt").iterdir()] == ["footfall"]
        assert not (inside / "opt/footfall/bin/pip").exists()


def test_its_private_server_is_the_distributions(image: Stage, volumes: Volumes) -> None:
    with running(image, volumes) as container:
        # The first process watches over the service, whose child the server is.
        (service,) = children_of(container.init)
        programs = {Path(f"/proc/{each}/exe").readlink() for each in children_of(service)}
        servers = [program for program in programs if "python" not in program.name]
        assert servers
        assert not any(server.is_relative_to("/opt/footfall") for server in servers)


def test_its_stop_signal_ends_it_in_order_and_the_next_one_finds_the_data(
    image: Stage, volumes: Volumes
) -> None:
    with running(image, volumes) as container:
        httpx.post(f"{container.url}/article", json={"path": "/a"})
        code, output = container.stop(signal.Signals[image.stop_signal])
        assert (code, output.splitlines()[-1]) == (0, "Footfall has stopped")
    with running(image, volumes) as container:
        assert httpx.get(f"{container.url}/article?path=/a").json() == 1


def test_its_entry_point_takes_every_command(image: Stage, volumes: Volumes) -> None:
    with running(image, volumes):
        pass
    assert judged(*image.contained([*image.entrypoint, "check"], volumes))[0] == 0


def test_its_health_check_finds_it_healthy(image: Stage, volumes: Volumes) -> None:
    with running(image, volumes) as container:
        port = str(urlsplit(container.url).port)
        assert judged(*image.contained(image.health, volumes, PORT=port))[0] == 0


# An image of its own, which takes as long to build as the other.
def test_it_takes_traces_as_an_argument(tmp_path: Path) -> None:
    traced = Build(tmp_path / "traced", EXTRA="otel").image
    program = "import opentelemetry.exporter.otlp.proto.http, footfall.tracing.spans"
    assert judged(*traced.contained(["python", "-c", program], {})) == (0, "")
