"""sidecar.yaml as a pod runs it: two users, one group, and a socket between them."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.servers import wait_until

from .files import DEPLOY, environ_of, footfall_in, pod_of
from .image import Container, Stage, running
from .nginx import nginx, sidecar_conf
from .tools import judged

pytestmark = pytest.mark.rare(together="image")

POD = pod_of(DEPLOY / "kubernetes" / "sidecar.yaml")
FOOTFALL = footfall_in(POD)
ENVIRON = environ_of(FOOTFALL)
UDS = ENVIRON["UDS"]
GROUP = POD["securityContext"]["fsGroup"]
# The user of the nginx image.
NGINX = 101


@pytest.fixture
def shared() -> Iterator[Path]:
    """An emptyDir as Kubernetes makes it if there is an fsGroup."""
    with tempfile.TemporaryDirectory(prefix="ff") as name:
        os.chown(name, 0, GROUP)
        Path(name).chmod(0o2777)
        yield Path(name)


@pytest.fixture
def volumes(volumes: dict[str, Path], shared: Path) -> dict[str, Path]:
    return {**volumes, str(Path(ENVIRON["UDS"]).parent): shared}


@pytest.fixture
def footfall(image: Stage, volumes: dict[str, Path]) -> Iterator[Container]:
    with running(image, volumes, str(GROUP), **ENVIRON) as container:
        yield container


def test_nginx_reaches_it_through_the_group_alone(footfall: Container, shared: Path) -> None:
    upstream = f"unix:{shared}/{Path(ENVIRON['UDS']).name}"
    user = ["setpriv", f"--reuid={NGINX}", f"--regid={NGINX}"]
    with tempfile.TemporaryDirectory(prefix="ff") as home:
        os.chown(home, NGINX, NGINX)
        for groups, status in ((f"--groups={GROUP}", 200), ("--clear-groups", 502)):
            with nginx(sidecar_conf(), upstream, Path(home), *user, groups) as url:
                assert httpx.get(f"{url}/api/article?path=/a").status_code == status


@pytest.mark.parametrize("probe", ["startupProbe", "livenessProbe"])
def test_its_probes_find_it_alive(
    footfall: Container, image: Stage, volumes: dict[str, Path], probe: str
) -> None:
    command = FOOTFALL[probe]["exec"]["command"]
    assert judged(*image.contained(command, volumes, str(GROUP), UDS=UDS))[0] == 0


def test_it_still_answers_while_it_drains(
    footfall: Container, image: Stage, volumes: dict[str, Path]
) -> None:
    ready, alive = (FOOTFALL[name]["exec"]["command"] for name in ("startupProbe", "livenessProbe"))
    os.kill(footfall.init, signal.SIGTERM)
    wait_until(
        lambda: judged(*image.contained(ready, volumes, str(GROUP), UDS=UDS))[0], "no from /readyz"
    )
    assert judged(*image.contained(alive, volumes, str(GROUP), UDS=UDS))[0] == 0
