"""The image's packages are named by hash and digest, and agree with what the service needs."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .files import DEPLOY, ROOT
from .tools import judged, path_from

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
NEEDED: dict[str, list[str]] = {
    "footfall": PROJECT["project"]["dependencies"],
    "footfall-otel": [
        *PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"]["otel"],
    ],
    "build": PROJECT["build-system"]["requires"],
}
PINNED = re.compile(r"([\w.-]+)==(\S+)( ; .+?)?( \\\n    --hash=sha256:[0-9a-f]{64})+")
IMAGE = re.compile(r"^(?:ARG BASE=| *image: )(\S+)$", re.MULTILINE)


def locked(name: str) -> dict[str, str]:
    """Version by name; every line belongs to a package that is named by a hash."""
    text = (DEPLOY / "requirements" / f"{name}.lock").read_text()
    body = "".join(line for line in text.splitlines(True) if not line.startswith("#"))
    assert PINNED.sub("", body).strip() == ""
    return {canonicalize_name(found[1]): found[2] for found in PINNED.finditer(body)}


def test_each_purpose_has_a_lock_file() -> None:
    assert {path.stem for path in (DEPLOY / "requirements").iterdir()} == NEEDED.keys()


@pytest.mark.parametrize("name", NEEDED)
def test_every_requirement_is_locked_in_a_version_that_it_allows(name: str) -> None:
    versions = locked(name)
    for requirement in map(Requirement, NEEDED[name]):
        assert versions[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_traces_are_an_addition() -> None:
    assert locked("footfall").items() < locked("footfall-otel").items()


def test_no_package_is_locked_that_nothing_needs() -> None:
    """A package that is named only in the lock file is left over."""
    from importlib.metadata import requires

    reached = {canonicalize_name(Requirement(each).name) for each in NEEDED["footfall-otel"]}
    while True:
        more = {
            canonicalize_name(Requirement(each).name)
            for name in reached
            if name in locked("footfall-otel")
            for each in _requires(requires, name)
        }
        if more <= reached:
            break
        reached |= more
    assert locked("footfall-otel").keys() <= reached


def _requires(requires: Any, name: str) -> list[str]:
    try:
        return requires(name) or []
    except ModuleNotFoundError:
        # Another platform's, or another Python's.
        return []


@pytest.mark.parametrize("file", ["Dockerfile", "compose.yaml", "kubernetes/sidecar.yaml"])
def test_images_of_others_are_named_by_digest(file: str) -> None:
    images = [
        each for each in IMAGE.findall((DEPLOY / file).read_text()) if "footfall:" not in each
    ]
    assert images
    assert all(re.fullmatch(r"\S+:[\w.-]+@sha256:[0-9a-f]{64}", each) for each in images), images


def test_the_script_that_renews_them_finds_each_image(tmp_path: Path) -> None:
    """With a docker that knows one digest for all; the packages need uv, and a registry."""
    here = tmp_path / "deploy"
    here.mkdir()
    for name in ("renew.sh", "Dockerfile", "compose.yaml", "kubernetes/sidecar.yaml"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text((DEPLOY / name).read_text())
    digest = f"sha256:{'5' * 64}"
    (tmp_path / "docker").write_text(f"#!/bin/sh\necho {digest}\n")
    (tmp_path / "docker").chmod(0o755)
    code, output = judged("sh", str(here / "renew.sh"), "images", PATH=path_from(tmp_path))
    assert code == 0, output
    for name in ("Dockerfile", "compose.yaml", "kubernetes/sidecar.yaml"):
        text = (here / name).read_text()
        assert re.findall(r"sha256:[0-9a-f]{64}", text) == [digest] * text.count("@sha256:")
        assert text.count("@sha256:") == 1
