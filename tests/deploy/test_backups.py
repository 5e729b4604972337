"""Backups in deploy/: each command exists, and reaches the data."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from footfall.cli.main import main
from tests.support.serving import serving

from .files import DEPLOY, documents, environ_of, footfall_in, pod_of, read
from .tools import judged

SYSTEMD = DEPLOY / "systemd"
MANIFESTS = DEPLOY / "kubernetes"


def unit(name: str) -> dict[str, str]:
    lines = (SYSTEMD / name).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and line[0] != "#")


def job_in(name: str) -> dict[str, Any]:
    each = documents((MANIFESTS / f"{name}.yaml").read_text())
    (found,) = (one for one in each if one["kind"] == "CronJob")
    spec: dict[str, Any] = found["spec"]
    return spec


def pod_of_job(name: str) -> dict[str, Any]:
    pod: dict[str, Any] = job_in(name)["jobTemplate"]["spec"]["template"]["spec"]
    return pod


def commands() -> dict[str, list[str]]:
    """How each file starts a backup, without the program's name."""
    return {
        "systemd": unit("footfall-backup.service")["ExecStart"].split()[1:],
        "compose": read(DEPLOY / "compose.yaml")["services"]["backup"]["command"],
        **{name: footfall_in(pod_of_job(name))["args"] for name in ("cluster", "sidecar")},
    }


@pytest.mark.rare
@pytest.mark.parametrize("kind", ["systemd", "compose", "cluster", "sidecar"])
def test_the_command_makes_a_backup(kind: str, tmp_path: Path) -> None:
    *options, directory = commands()[kind]
    assert directory in ("%S/footfall-backups", "/data", "/backups")
    with serving(tmp_path / "s") as served:
        target = tmp_path / "backups"
        target.mkdir()
        code, output = served.ask(*options, str(target))
        assert code == 0, output
        (made,) = target.iterdir()
        assert served.ask("restore", "--verify", str(made))[0] == 0


def test_the_documents_name_options_that_exist() -> None:
    text = (DEPLOY / "README.md").read_text()
    for name in ("backup", "restore"):
        known = CliRunner().invoke(main, [name, "--help"]).output
        assert f" {name} " in text
        for option in ("--keep", "--replace", "--verify"):
            if f"{name} {option}" in text:
                assert option in known


def test_systemd_understands_the_units(tmp_path: Path) -> None:
    program_there = tmp_path / "footfall"
    program_there.touch(mode=0o755)
    for path in SYSTEMD.glob("footfall-backup*"):
        text = path.read_text().replace("/opt/footfall/bin/footfall", str(program_there))
        (tmp_path / path.name).write_text(text)
    told = unit("footfall-backup.service")["OnFailure"]
    names = [str(tmp_path / name) for name in ("footfall-backup.service", "footfall-backup.timer")]
    names.append(str(tmp_path / told))
    code, output = judged("systemd-analyze", "verify", "--man=no", *names)
    ours = [line for line in output.splitlines() if "footfall-backup" in line]
    assert (code, ours) == (0, []), output
    limit = "--threshold=15"
    code, output = judged("systemd-analyze", "security", "--offline=true", limit, names[0])
    assert code == 0, output


def test_the_unit_is_the_services_user_and_sees_its_data() -> None:
    backup, service = unit("footfall-backup.service"), unit("footfall.service")
    assert backup["DynamicUser"] == service["DynamicUser"] == "yes"
    # A dynamic user is named after its unit.
    assert backup["User"] == service.get("User", "footfall")
    assert service["StateDirectory"] in backup["StateDirectory"].split()
    for name in ("Environment", "EnvironmentFile"):
        assert backup[name] == service[name]


def test_composes_backup_reaches_the_same_redis() -> None:
    services = read(DEPLOY / "compose.yaml")["services"]
    backup, footfall = services["backup"], services["footfall"]
    assert backup["environment"]["REDIS_URL"] == footfall["environment"]["REDIS_URL"]
    assert backup["image"] == footfall["image"]
    # It runs on demand, and writes where the image's user may write.
    assert backup["profiles"] == ["backup"]
    assert backup["volumes"] == ["backups:/data"]
    assert set(backup["networks"]) <= set(services["valkey"]["networks"])


@pytest.mark.parametrize("name", ["cluster", "sidecar"])
def test_a_job_has_what_the_service_has(name: str) -> None:
    job, service = pod_of_job(name), pod_of(MANIFESTS / f"{name}.yaml")
    mine, theirs = footfall_in(job), footfall_in(service)
    assert mine["image"] == theirs["image"]
    assert mine["securityContext"] == theirs["securityContext"]
    assert job["securityContext"]["runAsNonRoot"] is True
    assert job["automountServiceAccountToken"] is False
    volumes = {each["name"]: each for each in job["volumes"]}
    mounts = {each["mountPath"]: volumes[each["name"]] for each in mine["volumeMounts"]}
    assert {each["name"] for each in mine["volumeMounts"]} == volumes.keys()
    assert "persistentVolumeClaim" in mounts[mine["args"][-1]]
    claims = {
        document["metadata"]["name"]
        for document in documents((MANIFESTS / f"{name}.yaml").read_text())
        if document["kind"] == "PersistentVolumeClaim"
    }
    used = {
        mount["persistentVolumeClaim"]["claimName"]
        for mount in mounts.values()
        if "persistentVolumeClaim" in mount
    }
    assert used <= claims
    if name == "cluster":
        assert mine["env"][0] == theirs["env"][0]
    else:
        # On the node of the pod, since its volume and the socket in it are there.
        (data,) = (each for each in service["volumes"] if each["name"] == "data")
        assert mounts["/data"] == data
        (near,) = job["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert near["topologyKey"] == "kubernetes.io/hostname"
        assert job["securityContext"]["runAsUser"] == 10001
        assert "REDIS_URL" not in environ_of(theirs)


@pytest.mark.parametrize("name", ["cluster", "sidecar"])
def test_a_job_is_no_pod_of_the_service(name: str) -> None:
    labels = job_in(name)["jobTemplate"]["spec"]["template"]["metadata"]["labels"]
    for document in documents((MANIFESTS / f"{name}.yaml").read_text()):
        if document["kind"] == "Service":
            assert not document["spec"]["selector"].items() <= labels.items()
    assert job_in(name)["concurrencyPolicy"] == "Forbid"
