"""Names, numbers and times in deploy/ that must agree with the service."""

import re
from dataclasses import Field
from typing import Any, get_type_hints

import pytest
from dockerfile_parse import DockerfileParser
from jsonschema import ValidationError, validate

from footfall import __version__
from footfall.config import BadSettings, Settings
from footfall.driver.private_server import STOP_SECONDS
from footfall.server.answering import GRACE_SECONDS

from . import schema
from .files import CHART, DEPLOY, MANIFESTS, containers, environ_of, footfall_in, pod_of, read, unit
from .tools import judged

KNOWN = list(Settings.settings())
SETTINGS = {each.metadata["env"]: each.metadata["default"] for each in KNOWN}
# Variables that other programs read: the shell, Python, pip.
FOREIGN = {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}


def dockerfile(instruction: str) -> list[str]:
    steps = DockerfileParser(str(DEPLOY / "Dockerfile")).structure
    return [step["value"] for step in steps if step["instruction"] == instruction]


def compose() -> dict[str, Any]:
    service: dict[str, Any] = read(DEPLOY / "compose.yaml")["services"]["footfall"]
    return service


def pods() -> list[dict[str, Any]]:
    return [pod_of(manifest) for manifest in MANIFESTS]


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


def test_hadolint_has_nothing_to_say() -> None:
    assert judged("hadolint", str(DEPLOY / "Dockerfile")) == (0, "")


def test_every_name_in_the_environment_is_a_setting() -> None:
    names = set(re.findall(r"(\w+)=", " ".join(dockerfile("ENV"))))
    names |= compose()["environment"].keys()
    for pod in pods():
        names |= environ_of(footfall_in(pod)).keys()
    names |= read(CHART / "values.yaml")["settings"].keys()
    names |= schema.TAKEN
    names |= {value.partition("=")[0] for name, value in unit() if name == "Environment"}
    assert names - FOREIGN - SETTINGS.keys() == set()


def test_the_chart_knows_the_type_of_each_setting() -> None:
    text = schema.FILE.read_text()
    assert text == schema.written(text), "run: python -m tests.deploy.schema"


def test_the_chart_takes_what_the_service_takes() -> None:
    types = get_type_hints(Settings)
    for setting in KNOWN:
        found = schema.schema_of(setting)
        for text in (
            setting.metadata["default"],
            "0",
            "1",
            "true",
            "false",
            "a word",
            "",
            "https://a.net",
        ):
            if is_taken(setting, text):
                validate(text, found)
        if setting.metadata["env"] not in schema.TAKEN and types[setting.name] in (int, float):
            with pytest.raises(ValidationError):
                validate("a word", found)


def is_taken(setting: "Field[Any]", text: str) -> bool:
    try:
        Settings.from_env({setting.metadata["env"]: text})
    except BadSettings:
        return False
    return True


def test_the_port_is_the_default_everywhere() -> None:
    port = SETTINGS["PORT"]
    assert dockerfile("EXPOSE") == [port]
    assert compose()["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert f"server 127.0.0.1:{port};" in (DEPLOY / "nginx.conf").read_text()
    texts = [*CHART.rglob("*.yaml"), DEPLOY / "kubernetes" / "cluster.yaml"]
    found = {number for path in texts for number in re.findall(r"\b8\d{3}\b", path.read_text())}
    assert found == {port}


def test_the_version_is_the_packages_everywhere() -> None:
    assert read(CHART / "Chart.yaml")["appVersion"] == __version__
    assert read(CHART / "Chart.yaml")["version"] == __version__
    assert f'image.version="{__version__}"' in dockerfile("LABEL")[0]
    texts = [path.read_text() for path in DEPLOY.rglob("*") if path.is_file()]
    tags = [tag for text in texts for tag in re.findall(r"footfall:(\d[\w.]*)", text)]
    assert len(tags) > 10
    assert set(tags) == {__version__}


def test_compose_waits_until_the_last_request_is_answered() -> None:
    drain = float(compose()["environment"]["DRAIN_SECONDS"])
    assert seconds(compose()["stop_grace_period"]) > drain + GRACE_SECONDS


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.stem)
def test_kubernetes_waits_until_the_last_request_is_answered(manifest: Any) -> None:
    pod = pod_of(manifest)
    environ = environ_of(footfall_in(pod))
    needed = float(environ["DRAIN_SECONDS"]) + GRACE_SECONDS
    if "REDIS_URL" not in environ:
        needed += STOP_SECONDS
    # A sidecar ends after the others have.
    for other in containers(pod):
        if "lifecycle" in other:
            (shutdown,) = re.findall(r"worker_shutdown_timeout (\d+)s", " ".join(other["command"]))
            needed += other["lifecycle"]["preStop"]["sleep"]["seconds"] + int(shutdown)
    assert pod["terminationGracePeriodSeconds"] >= needed


def test_systemd_waits_until_the_private_server_has_ended() -> None:
    (timeout,) = (value for name, value in unit() if name == "TimeoutStopSec")
    assert seconds(timeout) > GRACE_SECONDS + STOP_SECONDS


def test_a_service_that_waits_for_redis_is_not_killed_meanwhile() -> None:
    probes = [footfall_in(pod)["startupProbe"] for pod in pods()]
    patience = [probe["periodSeconds"] * probe["failureThreshold"] for probe in probes]
    (start,) = re.findall(r"--start-period=(\w+)", dockerfile("HEALTHCHECK")[0])
    assert min(*patience, seconds(start)) > int(SETTINGS["REDIS_WAIT"])


def test_the_image_contains_only_what_the_wheel_is_built_from() -> None:
    lines = (DEPLOY.parent / ".dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied = {name for value in dockerfile("COPY")[:4] for name in value.split()[:-1]}
    assert allowed == copied


def test_the_page_on_deploying_names_every_way() -> None:
    links = re.findall(r"\]\(([\w./-]+)\)", (DEPLOY / "README.md").read_text())
    assert all((DEPLOY / link).exists() for link in links)
    files = [path for path in DEPLOY.rglob("*") if path.is_file() and path.name[0] != "."]
    for path in files:
        name = str(path.relative_to(DEPLOY))
        assert name == "README.md" or any(name.startswith(link) for link in links), name
