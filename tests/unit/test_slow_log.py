"""Log lines about slow requests: enough to notice them, too few to make things worse."""

import logging

import pytest

from footfall.telemetry import logs
from footfall.telemetry.logs import SlowLog

log = logging.getLogger("footfall.test")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(logs, "monotonic", lambda: now[0])
    return now


def test_one_line_a_second_says_how_many_it_stands_for(
    clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    slow = SlowLog(log, 0.25)
    for took in (0.3, 0.4, 0.5):
        slow.write("article_read", took)
    assert caplog.messages == ["article_read took 300 ms"]
    clock[0] += 1
    slow.write("article_read", 0.6)
    clock[0] += 1
    slow.write("article_read", 0.7)
    assert caplog.messages[1:] == [
        "article_read took 600 ms; 2 more were slow",
        "article_read took 700 ms",
    ]


def test_further_facts_are_fields_of_the_record(caplog: pytest.LogCaptureFixture) -> None:
    SlowLog(log, 0.25).write("article_read", 0.3, route="article_read", status=503)
    fields = vars(caplog.records[0])
    assert (fields["took_ms"], fields["route"], fields["status"]) == (300, "article_read", 503)


def test_without_a_threshold_nothing_is_slow() -> None:
    assert SlowLog(log, 0).seconds == float("inf")
