"""The packages of the image, of tests and of checks are named by hash, images of others by digest,
and they agree with what is needed."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.requirements import path_from

from .files import DEPLOY, ROOT
from .tools import judged

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUNS: list[str] = PROJECT["project"]["dependencies"]
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]


def grouped(name: str) -> list[str]:
    """A group of dependencies, with those of the groups that it includes."""
    found = list[str]()
    for each in PROJECT["dependency-groups"][name]:
        found += grouped(each["include-group"]) if isinstance(each, dict) else [each]
    return found


TESTED = [*RUNS, *EXTRAS["notify"], *EXTRAS["otel"], *grouped("test")]
# What each lock file is there for, by its path without the ending.
NEEDED: dict[str, list[str]] = {
    "deploy/requirements/footfall": RUNS,
    "deploy/requirements/footfall-otel": [*RUNS, *EXTRAS["otel"]],
    "deploy/requirements/build": PROJECT["build-system"]["requires"],
    "requirements/test": TESTED,
    "requirements/check": [*TESTED, *grouped("check"), *grouped("coverage")],
}
FOLDERS = (DEPLOY / "requirements", ROOT / "requirements")
PINNED = re.compile(r"([\w.-]+)==(\S+)( ; .+?)?( \\\n    --hash=sha256:[0-9a-f]{64})+")
IMAGE = re.compile(r"^(?:ARG BASE=| *image: )(\S+)$", re.MULTILINE)


def locked(name: str) -> dict[str, str]:
    """Version by name; every line belongs to a package that is named by a hash."""
    text = (ROOT / f"{name}.lock").read_text()
    body = "".join(line for line in text.splitlines(True) if not line.startswith("#"))
    assert PINNED.sub("", body).strip() == ""
    return {canonicalize_name(found[1]): found[2] for found in PINNED.finditer(body)}


def test_each_purpose_has_a_lock_file() -> None:
    there = {path.relative_to(ROOT) for folder in FOLDERS for path in folder.iterdir()}
    assert there == {Path(f"{name}.lock") for name in NEEDED}


@pytest.mark.parametrize("name", NEEDED)
def test_every_requirement_is_locked_in_a_version_that_it_allows(name: str) -> None:
    versions = locked(name)
    assert NEEDED[name]
    for requirement in map(Requirement, NEEDED[name]):
        assert versions[canonicalize_name(requirement.name)] in requirement.specifier, requirement


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("deploy/requirements/footfall", "deploy/requirements/footfall-otel"),
        ("deploy/requirements/footfall-otel", "requirements/test"),
        ("requirements/test", "requirements/check"),
    ],
    ids=["traces are an addition", "the image is what was tested", "so is what was checked"],
)
def test_a_lock_file_has_the_versions_of_the_one_before(less: str, more: str) -> None:
    assert locked(less).items() < locked(more).items()


# What `make test` installs: what others need can only be read where they are installed.
@pytest.mark.parametrize("name", ["deploy/requirements/footfall-otel", "requirements/test"])
def test_no_package_is_locked_that_nothing_needs(name: str) -> None:
    """A package that is named only in the lock file is left over."""
    from importlib.metadata import requires

    there = locked(name).keys()
    reached = {canonicalize_name(Requirement(each).name) for each in NEEDED[name]}
    while True:
        more = {
            canonicalize_name(Requirement(require).name)
            for package in reached & there
            for require in _requires(requires, package)
        }
        if more <= reached:
            break
        reached |= more
    assert there <= reached


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
    assert all(re.fullmatch(r"\S+:[\w.-]+@sha256:[0-9a-f]{64}", image) for image in images), images


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
