"""The README's first step: what `make serve` needs and says."""

import sys
from pathlib import Path

import pytest

from footfall.config import Settings
from tests.support.requirements import path_from

from .files import ROOT
from .tools import judged


@pytest.mark.parametrize(
    ("fails_at", "said", "makes_one"),
    [
        ("*ensurepip*", "On Debian: apt install python3-venv", False),
        ("*version_info*", "Footfall needs Python 3.11 or newer", False),
        ('*" pip "*', "It needs a package index", True),
    ],
    ids=["Debian without python3-venv", "an old Python", "no package index"],
)
def test_what_is_missing_is_said_in_a_sentence(
    fails_at: str, said: str, makes_one: bool, tmp_path: Path
) -> None:
    interpreter, environment = tmp_path / "python", tmp_path / "v"
    interpreter.write_text(f"""#!/bin/sh
case "$*" in
  {fails_at}) exit 1 ;;
  "-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
esac
""")
    interpreter.chmod(0o755)
    words = ("serve", f"PYTHON={interpreter}", f"VENV={environment}")
    code, output = judged("make", "-C", str(ROOT), *words)
    assert (code, said in output) == (2, True), output
    # Half of one would be taken for one the next time.
    assert environment.exists() == makes_one


@pytest.mark.parametrize("verb", ["test", "check"])
def test_what_judges_the_code_has_the_versions_of_a_lock_file(verb: str, tmp_path: Path) -> None:
    """With an environment whose programs print what they are called with."""
    programs = tmp_path / "v" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "ruff", "mypy"):
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*"\n')
        (programs / name).chmod(0o755)
    code, output = judged("make", "-C", str(ROOT), verb, f"VENV={tmp_path / 'v'}")
    assert code == 0, output
    installs = [
        splitline
        for splitline in output.splitlines()
        if splitline.startswith("python -m pip install")
    ]
    found = [install.partition("--disable-pip-version-check ")[2] for install in installs]
    assert found == [
        f"--require-hashes -r requirements/{verb}.lock",
        "--no-deps --no-build-isolation -e .",
    ]


@pytest.mark.parametrize("order", [("PORT=9000", "make serve"), ("", "make serve PORT=9000")])
def test_the_port_is_chosen_before_or_behind_the_command(
    order: tuple[str, str], tmp_path: Path
) -> None:
    """With an environment that is there already, whose command prints its port."""
    environment = tmp_path / "v"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / "bin" / "footfall").write_text("#!/bin/sh\necho $1 on $PORT\n")
    (environment / "bin" / "footfall").chmod(0o755)
    (environment / ".run").touch()
    text = f"{order[0]} {order[1]} VENV={environment}"
    with_make = path_from(Path(sys.executable).parent)
    code, output = judged("bash", "-c", f"cd {ROOT} && {text}", PATH=with_make)
    assert (code, output) == (0, "serve on 9000\n")


def test_the_first_person_is_told_where_to_register() -> None:
    address = f"http://{Settings().host}:{Settings().port}/ui/register"
    assert f"<{address}>" in (ROOT / "README.md").read_text()
