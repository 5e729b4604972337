"""Numbers that whoever reads them finds at any moment, also between two steps of whoever writes."""

import pytest

from footfall.telemetry.metrics import Histogram, Metrics


class Killed(Exception):
    pass


def test_no_count_falls_when_its_writer_is_killed_between_two_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def die(histogram: Histogram, value: float) -> None:
        raise Killed

    route = Metrics().routes["article_read"]
    route.took(0.001, 200)
    monkeypatch.setattr(Histogram, "observe", die)
    with pytest.raises(Killed):
        route.took(0.001, 304)
    assert dict(route.by_status()) == {"200": 1, "304": 1}


def test_the_time_of_every_request_counts_whatever_its_status() -> None:
    route = Metrics().routes["article_read"]
    for seconds, status in ((0.25, 200), (0.5, 304), (9.0, 503)):
        route.took(seconds, status)
    buckets, sum_ = route.seconds()
    assert (dict(buckets)["0.5"], dict(buckets)["+Inf"], sum_) == (2, 3, 9.75)
    assert dict(route.by_status()) == {"200": 1, "304": 1, "503": 1}
