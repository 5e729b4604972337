"""deploy/monitoring: alerts that fire when they should, and names that /metrics has."""

import asyncio
import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from footfall.telemetry.metrics import statuses
from tests.conftest import Site
from tests.support.requirements import program

from .files import DEPLOY, ROOT, read
from .test_kubernetes import only, rendered
from .tools import judged

ON = ("fake",)

MONITORING = DEPLOY / "monitoring"
ALERTS: list[dict[str, Any]] = [
    rule for group in read(MONITORING / "alerts.yaml")["groups"] for rule in group["rules"]
]
DASHBOARD: dict[str, Any] = json.loads((MONITORING / "dashboard.json").read_text())
TARGETS = [target for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
EXPRESSIONS = [*(rule["expr"] for rule in ALERTS), *(target["expr"] for target in TARGETS)]
# Labels that Prometheus itself adds.
OUTSIDE = {"namespace", "job", "instance"}
# What Grafana puts in place of its variables.
VARIABLES = {"$__rate_interval": "5m", "$namespace": ".*", "$job": ".*"}

Labels = Mapping[str, Mapping[str, set[str]]]


@pytest.fixture
async def labels(site: Site, monkeypatch: pytest.MonkeyPatch) -> Labels:
    """Metric -> label -> its values, of all that one scrape tells."""
    # With a channel, there are metrics of the outbox.
    monkeypatch.setattr(site.service.notifications.outbox, "is_on", True)
    found: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for family in text_string_to_metric_families((await site.http.get("/metrics")).text):
        for sample in family.samples:
            for label, value in sample.labels.items():
                found[sample.name][label].add(value)
    # A route, a status and an error are told when the first request had them.
    metrics = site.service.process.metrics
    found["footfall_requests_total"]["status"] |= {*statuses()}
    for name in ("requests_total", *(f"request_seconds_{part}" for part in ("bucket", "count"))):
        found[f"footfall_{name}"]["route"] |= metrics.routes.keys()
    found["footfall_request_seconds_bucket"]["le"] |= found["footfall_redis_seconds_bucket"]["le"]
    found["footfall_refused_total"]["reason"] |= metrics.refused.totals().keys()
    return found


def listed() -> set[str]:
    """The metrics of docs/monitoring.md, which another test compares with the service's own."""
    text = (ROOT / "docs" / "monitoring.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (counter|gauge|histogram) \|", text, re.MULTILINE)
    parts = ("_bucket", "_sum", "_count")
    return {name + part for name, kind in rows for part in (parts if kind == "histogram" else [""])}


def selectors(expression: str) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """(metric, [(label, operator, value), …]) of each metric of ours in it."""
    for name, matchers in re.findall(r"\b((?:footfall|process)_\w+)(?:\{([^}]*)\})?", expression):
        yield name, re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', matchers)


def grouped(expression: str) -> set[str]:
    lists = re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expression)
    return {label for each in lists for label in re.findall(r"\w+", each)}


def test_every_metric_and_every_label_is_one_that_the_service_tells(labels: Labels) -> None:
    for expression in EXPRESSIONS:
        known = set(OUTSIDE)
        for name, matchers in selectors(expression):
            assert name in listed()
            known |= labels[name].keys()
            for label, _, value in matchers:
                values = [] if label in OUTSIDE else labels[name][label]
                chosen = [re.fullmatch(value, each) for each in values]
                assert label in OUTSIDE or any(chosen), (expression, label)
        assert grouped(expression) <= known, expression


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: str(rule["alert"]))
def test_every_alert_says_what_to_do_of_what_it_knows(rule: dict[str, Any]) -> None:
    texts = rule["annotations"]
    assert {*texts} == {"summary", "description"}
    assert texts["description"].endswith(".")
    assert len(texts["description"]) > 60
    assert rule["labels"]["severity"] in ("page", "tomorrow")
    named = set(re.findall(r"\$labels\.(\w+)", " ".join(texts.values())))
    if re.search(r"\bby\b", rule["expr"]):
        # An aggregation has no other labels.
        assert named <= grouped(rule["expr"])


def test_the_lists_are_those_of_the_alerts() -> None:
    text = (MONITORING / "README.md").read_text()
    for heading, severity in (("Page on this", "page"), ("Look at that tomorrow", "tomorrow")):
        (part,) = re.findall(rf"^## {heading}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        names = re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)
        assert names == [rule["alert"] for rule in ALERTS if rule["labels"]["severity"] == severity]


@pytest.mark.rare
def test_each_alert_fires_when_it_should_and_not_before() -> None:
    tests = MONITORING / "alerts.test.yaml"
    tried = [
        (each["expr"], bool(each["exp_samples"]))
        for test in read(tests)["tests"]
        for each in test["promql_expr_test"]
    ]
    for rule in ALERTS:
        firing = f'count(ALERTS{{alertname="{rule["alert"]}", alertstate="firing"}})'
        assert {fires for expression, fires in tried if expression == firing} == {True, False}
    code, output = judged("promtool", "test", "rules", str(tests))
    assert code == 0, output


def test_prometheus_reads_what_the_dashboard_asks(tmp_path: Path) -> None:
    rules = list[dict[str, str]]()
    for target in TARGETS:
        expression = target["expr"]
        for name, value in VARIABLES.items():
            expression = expression.replace(name, value)
        rules.append({"record": f"panel:{len(rules)}", "expr": expression})
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    code, output = judged("promtool", "check", "rules", str(file))
    assert code == 0, output


async def test_prometheus_finds_nothing_wrong_with_the_names_of_metrics(site: Site) -> None:
    await site.post("hello")
    await site.count("/a")
    scraped = (await site.http.get("/metrics")).content
    check = [program("promtool"), "check", "metrics"]
    found = await asyncio.to_thread(subprocess.run, check, input=scraped, capture_output=True)
    assert (found.returncode, found.stdout + found.stderr) == (0, b"")


def test_no_two_panels_lie_on_each_other() -> None:
    places = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len({*places}) == len(places)
    assert max(x for x, _ in places) == 23


def test_the_chart_installs_both_and_neither_unless_it_is_asked_to() -> None:
    assert not {"PrometheusRule", "ConfigMap"} & {each["kind"] for each in rendered()}
    objects = rendered("--set=monitoring.rules=true,monitoring.ruleLabels.release=prom")
    rule = only(objects, "PrometheusRule")
    assert rule["spec"] == read(MONITORING / "alerts.yaml")
    assert rule["metadata"]["labels"]["release"] == "prom"
    # As in an upgrade with the values of a release that had no such values.
    older = ("--set=monitoring.dashboardLabels=null,monitoring.ruleLabels=null",)
    dashboard = only(rendered("--set=monitoring.dashboard=true", *older), "ConfigMap")
    assert json.loads(dashboard["data"]["footfall.json"]) == DASHBOARD
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
