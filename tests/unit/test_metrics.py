"""A metric can be read at any moment, also between two steps of a writer."""

import mmap
import re
from pathlib import Path

import pytest

import footfall
from footfall import errors
from footfall.asgi import create_metrics
from footfall.errors import ServiceError
from footfall.routes import TABLE
from footfall.table.middleware import ROUTES
from footfall.telemetry.metrics import OTHER, Histogram, Metrics, statuses


class Killed(Exception):
    pass


def failures() -> list[type[ServiceError]]:
    kinds = [var for var in vars(errors).values() if isinstance(var, type)]
    return [kind for kind in kinds if issubclass(kind, ServiceError)]


def test_no_count_falls_when_its_writer_is_killed_between_two_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def die(histogram: Histogram, value: float) -> None:
        raise Killed

    route = Metrics(routes=["article_read"]).routes["article_read"]
    route.took(0.001, 200)
    monkeypatch.setattr(Histogram, "observe", die)
    with pytest.raises(Killed):
        route.took(0.001, 304)
    assert dict(route.by_status()) == {"200": 1, "304": 1}


def test_the_time_of_every_request_counts_whatever_its_status() -> None:
    route = Metrics(routes=["article_read"]).routes["article_read"]
    for seconds, status in ((0.25, 200), (0.5, 304), (9.0, 503)):
        route.took(seconds, status)
    buckets, sum_ = route.seconds()
    assert (dict(buckets)["0.5"], dict(buckets)["+Inf"], sum_) == (2, 3, 9.75)
    assert dict(route.by_status()) == {"200": 1, "304": 1, "503": 1}


def test_every_error_is_a_reason_of_its_own_and_any_other_is_the_services() -> None:
    metrics = Metrics()
    names = [failure.__name__ for failure in failures()]
    for name in [*names, "ValueError"]:
        metrics.refused.add(name)
    assert dict(metrics.refused.totals()) == {**dict.fromkeys(names, 1), "ServiceError": 2}


def test_there_is_room_for_any_number_of_routes() -> None:
    routes = [f"route{n}" for n in range(500)]
    row_bytes = Metrics(routes=routes).row_bytes
    memory = mmap.mmap(-1, 3 * row_bytes)
    first, last = (Metrics(memory, row, routes=routes) for row in (0, 2))
    for metrics in (first, last):
        for route in metrics.routes.values():
            route.took(0.001, 200)
        metrics.hurt.show(1)
    assert {dict(route.by_status())["200"] for route in first.routes.values()} == {2}
    assert first.hurt.by_worker() == [1, 0, 1]


def test_every_operation_is_a_route_of_its_own() -> None:
    assert [*create_metrics().routes] == [*(row.route for row in TABLE), *ROUTES, OTHER]


def test_every_status_is_counted_as_itself() -> None:
    route = Metrics(routes=["article_read"]).routes["article_read"]
    sent = {200, 204, 302, 303, 304, 307, *(failure.status for failure in failures())}
    for status in (*sent, 599):
        route.took(0.001, status)
    assert dict(route.by_status()) == {str(each): 1 + (each == 500) for each in sent}


def test_every_status_in_the_source_is_one_that_is_counted() -> None:
    folders = [
        Path(footfall.__file__).parent / name
        for name in ("table", "owner", "accounts", "http", "tracing", "monitoring")
    ]
    text = "".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))
    found = set(
        re.findall(r"""(?:Response\(|status=|"status": |status\w*, \w+ = )([1-5]\d\d)\b""", text)
    )
    assert {"200", "302", "303", "307", "503"} <= found <= set(statuses())
