"""The manifests and the chart's output: valid, consistent, and locked down."""

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from footfall.driver.keys import WEIGHT_UNIT_BYTES

from .files import CHART, DEPLOY, MANIFESTS, containers, documents, footfall_in
from .tools import helm, judged

# The oldest version that sidecar.yaml allows, and the newest with a schema.
VERSIONS = ("1.30", kubernetes_validate.latest_version())
# Every switch set to its other value.
SWITCHED = (
    "--set=autoscaling.enabled=false,networkPolicy.enabled=false,service.type=NodePort",
    "--set=serviceMonitor.enabled=true,image.pullSecrets={registry},podAnnotations.team=web",
    "--set=nodeSelector.disk=ssd,tolerations[0].key=web,maxUnavailable=34%,drainSeconds=20",
    "--set=monitoring.rules=true,monitoring.dashboard=true",
    "--set-string=settings.REDIS_WAIT=300,settings.SITE_NAME=A\\,\\ B",
)


def rendered(*options: str, release: str = "footfall") -> list[dict[str, Any]]:
    code, output = judged(helm(), "template", release, str(CHART), *options)
    assert code == 0, output
    return documents(output)


@pytest.fixture(scope="module", params=[*(path.stem for path in MANIFESTS), "chart", "switched"])
def objects(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    match request.param:
        case "chart":
            return rendered()
        case "switched":
            return rendered(*SWITCHED, release="blog")
        case name:
            return documents((DEPLOY / "kubernetes" / f"{name}.yaml").read_text())


def only(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = (each for each in objects if each["kind"] == kind)
    return found


def pod(objects: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = only(objects, "Deployment")["spec"]["template"]["spec"]
    return found


def test_yamllint_has_nothing_to_say() -> None:
    config = str(DEPLOY / ".yamllint.yaml")
    assert judged("yamllint", "--strict", "-c", config, str(DEPLOY)) == (0, "")


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_knows_every_field(objects: list[dict[str, Any]], version: str) -> None:
    for each in objects:
        # The Prometheus operator's own kinds are in no schema of Kubernetes.
        if each["kind"] not in ("ServiceMonitor", "PrometheusRule"):
            kubernetes_validate.validate(each, version, strict=True)


def test_every_selector_finds_the_pods(objects: list[dict[str, Any]]) -> None:
    deployment = only(objects, "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    selectors = [deployment["spec"]["selector"]["matchLabels"]]
    for each in objects:
        match each["kind"]:
            case "Service":
                selectors.append(each["spec"]["selector"])
            case "PodDisruptionBudget":
                selectors.append(each["spec"]["selector"]["matchLabels"])
            case "NetworkPolicy":
                selectors.append(each["spec"]["podSelector"]["matchLabels"])
            case "ServiceMonitor":
                service = only(objects, "Service")["metadata"]["labels"]
                assert each["spec"]["selector"]["matchLabels"].items() <= service.items()
    for spread in pod(objects).get("topologySpreadConstraints", []):
        selectors.append(spread["labelSelector"]["matchLabels"])
    assert len(selectors) > 1
    for selector in selectors:
        assert selector.items() <= labels.items()


def test_every_name_refers_to_something(objects: list[dict[str, Any]]) -> None:
    names = {(each["kind"], each["metadata"]["name"]) for each in objects}
    ports, mounted = set(), set()
    for container in containers(pod(objects)):
        ports |= {port["name"] for port in container.get("ports", [])}
        mounted |= {mount["name"] for mount in container["volumeMounts"]}
    assert {volume["name"] for volume in pod(objects)["volumes"]} == mounted
    for port in only(objects, "Service")["spec"]["ports"]:
        assert port["targetPort"] in ports
    for volume in pod(objects)["volumes"]:
        if "configMap" in volume:
            assert ("ConfigMap", volume["configMap"]["name"]) in names
        if "persistentVolumeClaim" in volume:
            assert ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]) in names
    for each in objects:
        if each["kind"] == "HorizontalPodAutoscaler":
            target = each["spec"]["scaleTargetRef"]
            assert (target["kind"], target["name"]) in names
            assert "replicas" not in only(objects, "Deployment")["spec"]


def test_no_container_has_more_rights_than_it_needs(objects: list[dict[str, Any]]) -> None:
    """The restricted profile of Kubernetes' pod security standards, and a read-only root."""
    of_pod = pod(objects)["securityContext"]
    assert of_pod["runAsNonRoot"] is True
    assert of_pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod(objects)["automountServiceAccountToken"] is False
    for container in containers(pod(objects)):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
        assert "memory" in container["resources"]["limits"]


def test_the_sidecar_and_its_nginx_use_the_same_socket() -> None:
    objects = documents((DEPLOY / "kubernetes" / "sidecar.yaml").read_text())
    footfall = footfall_in(pod(objects))
    environ = {each["name"]: each["value"] for each in footfall["env"]}
    assert f"server unix:{environ['UDS']};" in only(objects, "ConfigMap")["data"]["default.conf"]
    for container in containers(pod(objects)):
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounts["socket"] == str(Path(environ["UDS"]).parent)
    # Both must be in the group that owns the directory, and so the socket.
    assert environ["UDS_MODE"] == "660"
    assert pod(objects)["securityContext"]["fsGroup"]


def test_the_sidecar_has_room_for_all_counters_twice_and_for_itself() -> None:
    """Else the kernel would kill it before COUNTER_LIMIT refuses new counters."""
    objects = documents((DEPLOY / "kubernetes" / "sidecar.yaml").read_text())
    footfall = footfall_in(pod(objects))
    environ = {each["name"]: each["value"] for each in footfall["env"]}
    counter_bytes = int(environ["COUNTER_LIMIT"]) * WEIGHT_UNIT_BYTES
    limit_bytes = int(footfall["resources"]["limits"]["memory"].removesuffix("Mi")) << 20
    itself_bytes = int(footfall["resources"]["requests"]["memory"].removesuffix("Mi")) << 20
    assert limit_bytes > 2 * counter_bytes + itself_bytes


def test_helm_lint_has_nothing_to_say() -> None:
    code, output = judged(helm(), "lint", "--strict", "--quiet", str(CHART))
    assert code == 0, output


def test_the_chart_says_what_the_manifest_says() -> None:
    manifest = (DEPLOY / "kubernetes" / "cluster.yaml").read_text()
    ours = {document["kind"]: document for document in documents(manifest)}
    charts = {each["kind"]: each for each in rendered()}
    for chart in charts.values():
        for label in ("app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"):
            del chart["metadata"]["labels"][label]
    assert charts == ours


@pytest.mark.parametrize(
    "option",
    [
        "--set=settings.PORT=80",
        "--set-string=settings.REDIS_URL=redis://:secret@here",
        "--set-string=settings.site=lower",
        "--set=settings.WORKERS=0",
        "--set=settings.WORKER=2",
        "--set-string=settings.GUARD=ignore",
        "--set=drainSeconds=-1",
        "--set=redis.secret=",
        "--set=networkPolicy.from=null",
        "--set=replica=3",
    ],
)
def test_the_chart_refuses_wrong_values(option: str) -> None:
    code, output = judged(helm(), "template", "footfall", str(CHART), option)
    assert (code, "schema" in output) == (1, True), output


def test_settings_reach_the_service_as_they_are_written(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("""
settings: {COUNTER_LIMIT: 100000000, DEMO: false, COUNTER_RATE: 0.5, BLOGGER_EMAIL: a@b.c}
env: [{name: SETUP_CODE, valueFrom: {secretKeyRef: {name: footfall, key: code}}}]
volumes: [{name: regions, configMap: {name: regions}}]
volumeMounts: [{name: regions, mountPath: /regions}]
""")
    objects = rendered(f"--values={values}")
    job = only(objects, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    for each in (pod(objects), job):
        given = {variable["name"]: variable for variable in footfall_in(each)["env"]}
        written = {"COUNTER_LIMIT": "100000000", "DEMO": "false", "COUNTER_RATE": "0.5"}
        assert {name: given[name]["value"] for name in written} == written
        assert given["SETUP_CODE"]["valueFrom"]["secretKeyRef"]["key"] == "code"
    for each in objects:
        kubernetes_validate.validate(each, VERSIONS[-1], strict=True)


def test_the_notes_say_where_it_is() -> None:
    command = (helm(), "install", "blog", str(CHART), "--dry-run=client", "-n", "web")
    code, output = judged(*command)
    assert code == 0, output
    assert "http://blog-footfall.web.svc\n" in output
