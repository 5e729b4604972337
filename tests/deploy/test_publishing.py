"""Files for contributors and package indexes: what the code host reads, the long description, the
release."""

import re
import shutil
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from footfall import __version__
from tests.support.requirements import path_from

from .files import DEPLOY, ROOT, read
from .tools import judged

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GITHUB = ROOT / ".github"
WORKFLOW = GITHUB / "workflows" / "ci.yml"
WORKFLOWS = sorted((GITHUB / "workflows").iterdir())
FORMS = [GITHUB / "ISSUE_TEMPLATE" / f"{name}.yml" for name in ("bug", "feature", "question")]
HOOKS = ROOT / ".pre-commit-config.yaml"


# What the code host reads. It runs elsewhere.


@pytest.mark.parametrize(
    ("path", "schema"),
    [
        *((path, "vendor.github-workflows") for path in WORKFLOWS),
        *((path, "custom.github-workflows-require-timeout") for path in WORKFLOWS),
        (GITHUB / "dependabot.yml", "vendor.dependabot"),
        (GITHUB / "ISSUE_TEMPLATE" / "config.yml", "vendor.github-issue-config"),
        *((form, "vendor.github-issue-forms") for form in FORMS),
    ],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_it_is_valid(path: Path, schema: str) -> None:
    code, output = judged("check-jsonschema", "--builtin-schema", schema, str(path))
    assert code == 0, output


@pytest.mark.rare
@pytest.mark.parametrize(
    "path", [*sorted(GITHUB.rglob("*.yml")), HOOKS], ids=lambda path: str(path.relative_to(ROOT))
)
def test_yamllint_has_nothing_to_say(path: Path) -> None:
    rules = ROOT / "deploy" / ".yamllint.yaml"
    assert judged("yamllint", "--strict", "-c", str(rules), str(path)) == (0, "")


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_who_reports_something_is_asked_what_doctor_prints(form: Path) -> None:
    fields = {each["id"]: each for each in read(form)["body"] if each["type"] != "markdown"}
    assert "`footfall doctor`" in fields["doctor"]["attributes"]["label"]
    # As it is printed: nothing in it becomes a heading or a list.
    assert fields["doctor"]["attributes"]["render"] == "text"


def test_updates_are_asked_for_wherever_a_manifest_names_an_image_by_digest() -> None:
    asked = {
        each["directory"]
        for each in read(GITHUB / "dependabot.yml")["updates"]
        if each["package-ecosystem"].startswith("docker")
    }
    named = {
        f"/{path.parent.relative_to(ROOT)}"
        for path in DEPLOY.rglob("*.yaml")
        if "@sha256:" in path.read_text()
    }
    assert asked == named


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_and_images_of_others_are_named_by_hash(path: Path) -> None:
    used = re.findall(r"uses: (\S+)", path.read_text())
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each) for each in used)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_it_names_no_dimension_that_it_does_not_have(path: Path) -> None:
    (matrix,) = (
        job["strategy"]["matrix"] for job in read(path)["jobs"].values() if "strategy" in job
    )
    assert set(re.findall(r"\{\{ matrix\.(\w+) \}\}", path.read_text())) == set(matrix)


def test_what_a_workflow_asks_for_is_something_that_can_be_asked() -> None:
    """The words behind .ci/run are those that its head explains."""
    explained = re.findall(r"(?m)^#   \.ci/run (\w+) ", (ROOT / ".ci" / "run").read_text())
    asked = re.findall(r"\.ci/run (\w+)$", WORKFLOW.read_text(), re.MULTILINE)
    (of,) = (
        job["strategy"]["matrix"]["of"]
        for job in read(GITHUB / "workflows" / "next.yml")["jobs"].values()
    )
    assert {*asked, *of} == set(explained)


def test_every_python_that_is_promised_is_tested() -> None:
    promised = re.findall(r":: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    assert read(WORKFLOW)["jobs"]["tests"]["strategy"]["matrix"]["python"] == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_the_workflow_and_the_hooks_run_what_developers_run() -> None:
    jobs = read(WORKFLOW)["jobs"].values()
    runs = {step.get("run") for job in jobs for step in job["steps"]}
    assert runs >= {".ci/run", ".ci/run coverage"}
    (repo,) = read(HOOKS)["repos"]
    assert [hook["entry"] for hook in repo["hooks"]] == ["make check"]


# The long description.


def test_links_are_absolute_on_a_package_index() -> None:
    text = ProjectMetadata(str(ROOT), PluginManager()).core.readme
    here = (ROOT / "README.md").read_text()
    source = PROJECT["urls"]["Source"]
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) == len(re.findall(r"\]\(([^)]+)\)", here)) > 20
    for link in links:
        assert link.startswith("https://")
        if link.startswith(source):
            kind, version, path = link.removeprefix(f"{source}/").split("/", 2)
            assert version == f"v{__version__}"
            assert f"]({path})" in here
            assert (kind == "raw") == path.endswith(".png")


def test_one_address_is_all_there_is_of_the_repositorys() -> None:
    urls = PROJECT["urls"].values()
    assert {url.startswith(PROJECT["urls"]["Source"]) for url in urls} == {True}


# The release.


class Checkout:
    """The part of this repository that a release checks before it builds."""

    def __init__(self, home: Path) -> None:
        self.home = home
        hatch = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]
        named = hatch["version"]["path"]
        self.version_file = home / named
        for name in (".ci/release", "pyproject.toml", "CHANGELOG.md", named):
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, home / name)
        shutil.copytree(ROOT / "deploy", home / "deploy")
        self.say_where("https://git.somewhere.net/footfall")
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "All of it")

    def say_where(self, source: str) -> None:
        project = self.home / "pyproject.toml"
        text, number = re.subn(r'(?m)^Source = ".*"$', f'Source = "{source}"', project.read_text())
        assert number == 1
        project.write_text(text)

    def git(self, *words: str) -> None:
        who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com"}
        who |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}
        code, output = judged("git", "-C", str(self.home), *words, **who)
        assert code == 0, output

    def release(self, *words: str) -> tuple[int, str]:
        # "python" fails: nothing here may get as far as building.
        path = path_from(self.home / "none")
        return judged("bash", str(self.home / ".ci/release"), *words, PATH=path)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path / "checkout")
    (made.home / ".git" / "info" / "exclude").write_text("none\n")
    (made.home / "none").mkdir()
    (made.home / "none" / "python").write_text("#!/bin/sh\necho it builds; exit 7\n")
    (made.home / "none" / "python").chmod(0o755)
    return made


def test_a_clean_checkout_is_built(checkout: Checkout) -> None:
    assert checkout.release() == (7, "it builds\n")


def test_what_is_not_committed_is_not_released(checkout: Checkout) -> None:
    (checkout.home / "new").touch()
    code, output = checkout.release()
    assert (code, "not committed" in output) == (1, True)


@pytest.mark.parametrize("source", ["https://git.example/footfall", "https://a.b.example/c/d"])
def test_nothing_is_released_whose_address_is_an_examples(checkout: Checkout, source: str) -> None:
    checkout.say_where(source)
    checkout.git("commit", "--quiet", "--all", "--message", source)
    code, output = checkout.release()
    assert (code, "does not say where the repository is" in output) == (1, True)


def test_a_version_is_released_once(checkout: Checkout) -> None:
    checkout.git("tag", f"v{__version__}")
    code, output = checkout.release()
    assert (code, f"v{__version__} is there already" in output) == (1, True)


def test_a_version_without_a_heading_is_not_released(checkout: Checkout) -> None:
    assert checkout.release("version", "9.8.7")[0] == 0
    checkout.git("commit", "--quiet", "--all", "--message", "9.8.7")
    code, output = checkout.release()
    assert (code, "no heading for 9.8.7" in output) == (1, True)


def test_a_new_version_is_written_wherever_the_old_one_stood(checkout: Checkout) -> None:
    assert checkout.release("version", "9.8.7")[0] == 0
    assert checkout.version_file.read_text().count('__version__ = "9.8.7"') == 1
    for path in (ROOT / "deploy").rglob("*"):
        if path.is_file() and path.suffix != ".lock":
            old, new = path.read_text(), (checkout.home / path.relative_to(ROOT)).read_text()
            assert new == old.replace(__version__, "9.8.7"), path


def test_what_goes_with_the_packages_is_whole(checkout: Checkout) -> None:
    """With a python that makes empty bills of materials."""
    home = checkout.home
    for name in (".dockerignore", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, home / name)
    (home / "lua").mkdir()
    (home / "lua" / "one.lua").touch()
    checkout.git("add", "--all")
    checkout.git("commit", "--quiet", "--message", "What an image is built from")
    (home / "none" / "python").write_text('#!/bin/sh\nfor last; do :; done\necho {} > "$last"\n')
    (home / "dist").mkdir()
    (home / "dist" / "footfall.whl").touch()
    assert checkout.release("describe") == (0, "")
    code, output = judged("bash", "-c", f"cd {home}/dist && sha256sum --check SHA256SUMS")
    listed = {line.partition(":")[0] for line in output.splitlines()}
    bills = {f"{name}-{__version__}.cdx.json" for name in ("footfall", "footfall-otel")}
    image = f"footfall-image-{__version__}.tgz"
    assert (code, listed) == (0, {"footfall.whl", image, *bills})
    with tarfile.open(home / "dist" / image) as context:
        names = set(context.getnames())
    wanted = {"deploy/Dockerfile", "deploy/requirements/footfall.lock", ".dockerignore"}
    assert names >= wanted | {"lua/one.lua", "pyproject.toml", "hatch_build.py", "LICENSE"}
