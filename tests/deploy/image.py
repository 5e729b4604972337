"""Carries deploy/Dockerfile out without a container engine: every step for real, in a sandbox.

bubblewrap gives each step its own root, in which this machine's system directories are mounted
read-only: these replace the base image and the distribution's packages, of which Python is the one
that runs the tests. A step or a flag that is not known here stops the build, so that none is
ignored.
"""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import string
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dockerfile_parse import DockerfileParser
from pathspec import PathSpec

from tests.support.npm import CACHE
from tests.support.requirements import give_up, program
from tests.support.workers import children_of

from .files import DEPLOY, ROOT
from .tools import judged

STEP_SECONDS = 300
STOP_SECONDS = 60
# The directories of this machine that replace the base image, if they exist.
SYSTEM = ("/usr", "/etc", "/bin", "/lib", "/lib64", "/sbin")
# Variables by which pip finds its registry, and certificates that this machine trusts.
KEPT = re.compile(r"PIP_.*|SSL_CERT_FILE|https?_proxy|no_proxy", re.IGNORECASE)
# A step that installs packages, the program that each brings, and what replaces it here.
INSTALL = re.compile(
    r"apt-get update && apt-get install --yes --no-install-recommends\s+([\w -]+?)\s+"
    r"&& rm -rf /var/lib/apt/lists/\*"
)
PACKAGES = {
    "ca-certificates": "",
    "python3": "python3",
    "python3-venv": "python3",
    "valkey-server": "valkey-server",
}
STAND_INS = {
    "python3": (str(Path(sys.base_prefix, "bin", "python3").resolve()),),
    "valkey-server": ("valkey-server", "redis-server"),
}
FLAG = re.compile(r"--([\w-]+)=(\S+)\s+")
# Settings of the user who runs the steps; what pip is told of registries is the machine's.
HOME = "/home"
PIP_CONFIG = f"{HOME}/.config/pip"
# When and how often the health check runs is up to the engine.
FLAGS = {"from", "mount", "interval", "timeout", "start-period"}


@dataclass
class Stage:
    """One FROM and its steps. `root` has what the image has beyond the base image."""

    root: Path
    environ: dict[str, str]
    workdir: str = "/"
    user: str = "0:0"
    volumes: list[str] = field(default_factory=list)
    entrypoint: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    stop_signal: str = ""

    @classmethod
    def on_base(cls, root: Path) -> "Stage":
        (root / "base").mkdir(parents=True)
        for name in (*SYSTEM, sys.base_prefix, "/proc", "/dev", "/tmp", PIP_CONFIG):
            Path(f"{root}{name}").mkdir(parents=True, exist_ok=True)
        return cls(root, {"PATH": "/base:/usr/local/bin:/usr/bin:/bin", "HOME": HOME})

    def sandboxed(
        self, command: list[str], *options: str, environ: Mapping[str, str] | None = None
    ) -> list[str]:
        """The command line that runs a command in this image; options are bubblewrap's."""
        line = ["bwrap", "--unshare-pid", "--die-with-parent", "--clearenv", *options]
        for name in (*SYSTEM, sys.base_prefix):
            line += ["--ro-bind-try", name, name]
        line += ["--proc", "/proc", "--dev", "/dev", "--chdir", self.workdir]
        for name, value in {**self.environ, **(environ or {})}.items():
            line += ["--setenv", name, value]
        return [*line, "--", *command]

    def contained(
        self, command: list[str], volumes: Mapping[str, Path], groups: str = "", **environ: str
    ) -> list[str]:
        """The command line of a container: its root is read-only, and its user has no rights."""
        options = ["--ro-bind", str(self.root), "/", "--perms", "1777", "--tmpfs", "/tmp"]
        for path, place in volumes.items():
            Path(f"{self.root}{path}").mkdir(parents=True, exist_ok=True)
            options += ["--bind", str(place), path]
        user, group = self.user.split(":")
        ids = [f"--reuid={user}", f"--regid={group}"]
        ids += [f"--groups={groups}" if groups else "--clear-groups"]
        rights = ["--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"]
        # The sandbox has every right only to give them up again.
        options += ["--as-pid-1", "--cap-add", "ALL"]
        return self.sandboxed(["setpriv", *ids, *rights, *command], *options, environ=environ)


class Build:
    """The stages, made one after the other below `home`; the last one is the image."""

    def __init__(self, home: Path, **arguments: str) -> None:
        _try_sandbox()
        self.home = home
        # Values of `--build-arg`.
        self.arguments = arguments
        self.stages: dict[str, Stage] = {}
        self.image = Stage(home, {})
        # Not git's rules: here the last line that matches decides, for everything below a
        # directory.
        ignored = (ROOT / ".dockerignore").read_text().splitlines()
        self._ignored = PathSpec.from_lines("gitignore", ignored)
        for step in DockerfileParser(str(DEPLOY / "Dockerfile")).structure:
            kind = step["instruction"].lower()
            if kind not in ("comment", "arg", "label", "expose"):
                flags = dict[str, str]()
                value = step["value"]
                while match := FLAG.match(value):
                    flags[match[1]], value = match[2], value[match.end() :]
                assert flags.keys() <= FLAGS, f"{step['content']} has a flag not known here"
                getattr(self, f"_{kind}")(value, flags)

    def _from(self, value: str, flags: Mapping[str, str]) -> None:
        base, *name = re.split(r"\s+AS\s+", value)
        assert base == "${BASE}", f"{base} is not the one base image"
        self.image = Stage.on_base(self.home / f"stage{len(self.stages)}")
        self.stages[name[0] if name else "last"] = self.image

    def _workdir(self, value: str, flags: Mapping[str, str]) -> None:
        self.image.workdir = value
        self._inside(value).mkdir(parents=True, exist_ok=True)

    def _copy(self, value: str, flags: Mapping[str, str]) -> None:
        *sources, target = value.split()
        to = self._inside(os.path.join(self.image.workdir, target))
        for source in sources:
            if "from" in flags:
                there = Path(f"{self.stages[flags['from']].root}{source}")
                shutil.copytree(there, to, symlinks=True)
                continue
            files = [path for path in (ROOT / source).rglob("*") if path.is_file()]
            for path in files or [ROOT / source]:
                name = path.relative_to(ROOT)
                if not self._ignored.match_file(name):
                    # Of a directory, COPY takes the contents, and not the directory itself.
                    place = to / (path.relative_to(ROOT / source) if files else name.name)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, place)

    def _run(self, value: str, flags: Mapping[str, str]) -> None:
        if installed := INSTALL.fullmatch(value):
            for package in installed[1].split():
                if name := PACKAGES[package]:
                    self._inside(f"/base/{name}").symlink_to(program(*STAND_INS[name]))
            return
        home = Path.home() / ".config" / "pip"
        options = ["--bind", str(self.image.root), "/", "--tmpfs", "/tmp", "--cap-add", "ALL"]
        options += ["--ro-bind-try", str(home), PIP_CONFIG]
        if mount := flags.get("mount"):
            target = mount.removeprefix("type=cache,target=")
            assert target != mount, f"{mount} is not known here"
            (CACHE / "image").mkdir(parents=True, exist_ok=True)
            self._inside(target).mkdir(parents=True, exist_ok=True)
            options += ["--bind", str(CACHE / "image"), target]
        kept = {name: text for name, text in os.environ.items() if KEPT.fullmatch(name)}
        environ = {**kept, **self.arguments}
        command = self.image.sandboxed(["/bin/sh", "-c", value], *options, environ=environ)
        done = subprocess.run(command, capture_output=True, text=True, timeout=STEP_SECONDS)
        assert done.returncode == 0, f"RUN {value}\n{done.stdout}{done.stderr}"

    def _env(self, value: str, flags: Mapping[str, str]) -> None:
        for pair in shlex.split(value):
            name, _, text = pair.partition("=")
            self.image.environ[name] = string.Template(text).substitute(self.image.environ)

    def _user(self, value: str, flags: Mapping[str, str]) -> None:
        self.image.user = value

    def _volume(self, value: str, flags: Mapping[str, str]) -> None:
        self.image.volumes = json.loads(value)

    def _stopsignal(self, value: str, flags: Mapping[str, str]) -> None:
        self.image.stop_signal = value

    def _healthcheck(self, value: str, flags: Mapping[str, str]) -> None:
        self.image.health = json.loads(value.removeprefix("CMD "))

    def _entrypoint(self, value: str, flags: Mapping[str, str]) -> None:
        self.image.entrypoint = json.loads(value)

    def _cmd(self, value: str, flags: Mapping[str, str]) -> None:
        self.image.arguments = json.loads(value)

    def _inside(self, path: str) -> Path:
        return Path(f"{self.image.root}{path}")


def _try_sandbox() -> None:
    """Skip if this machine lacks any part of what every container takes."""
    bwrap, setpriv = program("bwrap"), program("setpriv")
    if os.geteuid() != 0:
        give_up("building the container image takes root")
    options = ["--unshare-pid", "--cap-add", "ALL", "--ro-bind", "/", "/", "--proc", "/proc"]
    code, output = judged(bwrap, *options, "--dev", "/dev", setpriv, "--version")
    if code != 0:
        give_up(f"bubblewrap can make no sandbox on this machine: {output.strip()}")


def init_of(process: subprocess.Popen[str]) -> int:
    """The first process in the container, to which an engine sends signals."""
    (init,) = children_of(process.pid)
    return init


class Container:
    """The image's own command, running."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        said, found = "", None
        while found is None:
            line = process.stdout.readline()
            assert line, said
            said += line
            found = re.search(r"listens on (\S+)", line)
        self.url = found[1].replace("0.0.0.0", "127.0.0.1")
        self.init = init_of(process)

    def stop(self, number: signal.Signals) -> tuple[int, str]:
        """(exit code, the rest of its output)"""
        os.kill(self.init, number)
        output, _ = self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode, output


@contextlib.contextmanager
def running(
    image: Stage, volumes: Mapping[str, Path], groups: str = "", **environ: str
) -> Iterator[Container]:
    command = [*image.entrypoint, *image.arguments]
    with subprocess.Popen(
        image.contained(command, volumes, groups, **{"PORT": "0", **environ}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield Container(process)
        finally:
            # bubblewrap's end would not end it, since it runs as another user.
            if process.poll() is None:
                os.kill(init_of(process), signal.SIGKILL)
