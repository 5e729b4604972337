"""The contents of deploy/, read as their programs read them: YAML, and a unit's lines."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "footfall"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
UNIT = DEPLOY / "systemd" / "footfall.service"


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def documents(text: str) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(text) if each]


def pod_of(manifest: Path) -> dict[str, Any]:
    """The spec of the pods of the one Deployment in it."""
    (found,) = (
        document for document in documents(manifest.read_text()) if document["kind"] == "Deployment"
    )
    pod: dict[str, Any] = found["spec"]["template"]["spec"]
    return pod


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod.get("initContainers", []), *pod["containers"]]


def footfall_in(pod: dict[str, Any]) -> dict[str, Any]:
    (found,) = (container for container in containers(pod) if container["name"] == "footfall")
    return found


def environ_of(container: dict[str, Any]) -> dict[str, str]:
    """The environment by name; values from a Secret are empty."""
    return {each["name"]: each.get("value", "") for each in container["env"]}


def unit() -> Iterator[tuple[str, str]]:
    """(directive, value) of the systemd unit's lines."""
    for line in UNIT.read_text().splitlines():
        if match := re.match(r"(\w+)=(.*)", line):
            yield match[1], match[2]
