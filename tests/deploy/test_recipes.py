"""What deploy/README.md has people type: commands under systemd, encrypted backups, copies."""

import contextlib
import gzip
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.requirements import path_from, program
from tests.support.serving import SOURCES, Serving, serving

from .files import DEPLOY, MANIFESTS, containers, documents, footfall_in, pod_of, read, unit
from .tools import judged

README = (DEPLOY / "README.md").read_text()


def recipe(word: str) -> str:
    """The one block of shell that starts a line with this program, or has it behind a pipe."""
    program(word)
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    (found,) = (block for block in blocks if re.search(rf"(?:^|\| ){word} ", block, re.MULTILINE))
    return str(found)


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ff") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def service(home: Path) -> Iterator[Serving]:
    """A service with one counter; on the PATH from here on, `footfall` is a command for it."""
    program("bash")
    with serving(home / "s", KEY_PREFIX="mine") as served:
        assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 1
        script = home / "footfall"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m footfall "$@"\n')
        script.chmod(0o755)
        yield served


def typed(service: Serving, text: str, **environ: str) -> tuple[int, str]:
    """Run it in a shell, in the directory above the service's: (exit code, output)."""
    home = service.directory.parent
    environ = {"PATH": path_from(home), "HOME": str(home), "PYTHONPATH": SOURCES, **environ}
    with contextlib.chdir(home):
        return judged("bash", "-c", text, **(service.environ | environ))


@pytest.fixture(scope="module")
def recipient(home: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The reader of an encrypted backup; their secret key is in `home`."""
    if request.param == "age":
        code, output = judged("age-keygen", "--output", str(home / "key.txt"))
        assert code == 0, output
        yield output.split()[-1]
        return
    made = judged(
        "gpg",
        "--homedir",
        str(home / ".gnupg"),
        "--batch",
        "--passphrase",
        "",
        "--quick-generate-key",
        "you@example.com",
    )
    assert made[0] == 0, made[1]
    yield "you@example.com"
    judged("gpgconf", "--homedir", f"{home}/.gnupg", "--kill", "all")


@pytest.mark.rare
@pytest.mark.parametrize(
    ("tool", "recipient"), [("age", "age"), ("gpg", "gpg")], indirect=["recipient"], ids=str
)
def test_a_backup_is_encrypted_in_a_pipe_and_read_back(
    service: Serving, home: Path, tool: str, recipient: str
) -> None:
    made = home / f"backup.{tool}"
    code, output = typed(service, f"set -e\n{recipe(tool)}", RECIPIENT=recipient)
    assert (code, output.count("whole and unchanged")) == (0, 1), output
    with pytest.raises(gzip.BadGzipFile), gzip.open(made) as file:
        file.read()


def test_what_could_not_be_encrypted_is_no_backup(service: Serving, home: Path) -> None:
    first_line, last_line = recipe("age").rsplit("age --decrypt", 1)
    code, output = typed(service, first_line.replace("backup.age", "none.age"), RECIPIENT="nobody")
    assert (code != 0, "unknown recipient" in output) == (True, True), output
    assert "backup.age" in last_line
    assert not (home / "none.age").exists()


@pytest.mark.rare
def test_backups_are_copied_to_another_place_and_read_back_there(
    service: Serving, home: Path
) -> None:
    backups, repository, password = home / "backups", home / "elsewhere", home / "password"
    backups.mkdir()
    password.write_text("secret")
    line = recipe("restic")
    for there, here in {
        "sftp:you@elsewhere.example:footfall": repository,
        "/etc/footfall/restic": password,
        "/var/lib/private/footfall-backups": backups,
    }.items():
        assert there in line
        line = line.replace(there, str(here))
    opened = f"restic --repo {repository} --password-file {password}"
    code, output = typed(
        service,
        f"""
        set -e -o pipefail
        {opened} init
        footfall backup --keep 14 {backups}
        {line}
        {opened} dump latest {backups}/footfall-mine-*.gz | footfall restore --verify -
        """,
    )
    assert (code, output.count("whole and unchanged")) == (0, 1), output


def test_the_table_of_commands_names_what_is_there() -> None:
    assert "footfall" in read(DEPLOY / "compose.yaml")["services"]
    assert "compose.yaml exec footfall footfall check`" in README
    for manifest in MANIFESTS:
        (name,) = (
            document["metadata"]["name"]
            for document in documents(manifest.read_text())
            if document["kind"] == "Deployment"
        )
        # A container has to be named if it is not the only one.
        pod = pod_of(manifest)
        container = f" -c {footfall_in(pod)['name']}" if len(containers(pod)) > 1 else ""
        assert f"`kubectl exec deployment/{name}{container} -- footfall check`" in README


# Knows variables and nothing else; the other properties it prints.
SYSTEMD_RUN = """#!/bin/bash
while [ "$1" != -- ]; do
  case "$1" in
    Environment=*) export "${1#*=}" ;;
    EnvironmentFile=-*) set -a; . "${1#*=-}"; set +a ;;
    -p | --*) ;;
    *) echo "$1" ;;
  esac
  shift
done
shift
exec "$@"
"""


def test_a_command_under_systemd_has_the_settings_and_the_data_of_the_unit(tmp_path: Path) -> None:
    of_unit = dict(unit())
    settings, installed = tmp_path / "footfall.env", tmp_path / "installed"
    settings.write_text("KEY_PREFIX=mine\n")
    installed.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m footfall "$@"\n')
    (tmp_path / "systemd-run").write_text(SYSTEMD_RUN)
    for path in (installed, tmp_path / "systemd-run"):
        path.chmod(0o755)
    text = (DEPLOY / "systemd" / "footfall").read_text()
    for there, here in {
        of_unit["ExecStart"].split()[0]: installed,
        of_unit["Environment"].replace("%S", "/var/lib"): f"DATA_DIR={tmp_path}/data",
        of_unit["EnvironmentFile"]: f"-{settings}",
    }.items():
        assert there in text
        text = text.replace(there, str(here))
    environ = {"PATH": path_from(tmp_path), "PYTHONPATH": SOURCES}
    code, output = judged("bash", "-c", text, "footfall", "counters", "delete", "a b", **environ)
    *properties, said, error = output.splitlines()
    same = ("DynamicUser", "StateDirectory", "StateDirectoryMode")
    assert set(properties) == {"User=footfall", *(f"{name}={of_unit[name]}" for name in same)}
    assert said == f"Data set: KEY_PREFIX mine in DATA_DIR {tmp_path}/data"
    assert (code, "there is no data set" in error) == (1, True)
