"""`footfall verify` with a service that is disturbed meanwhile, and with servers that count
wrongly.
"""

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from footfall.loadtest import exchange
from footfall.loadtest.measurement import Measurement, Plan
from tests.support.checking import checking
from tests.support.fake_waline import Start
from tests.support.servers import free_port, wait_until
from tests.support.serving import Serving, serving

QUICK = ("--seconds", "0.2", "--connections", "8", "--paths", "10")
NAMESPACE = "/counted/"


@pytest.fixture
def verify(directory: Path) -> Callable[..., tuple[int, str]]:
    """Run the command to its end, with a server that has no Redis: (exit code, output)."""

    def verify(url: str, *options: str) -> tuple[int, str]:
        words = ("verify", url, "--leave-behind", *QUICK, *options)
        code, output = Serving(directory).ask(*words)
        assert "Traceback" not in output, output
        return code, output

    return verify


Verify = Callable[..., tuple[int, str]]


def test_a_real_service_is_exact_and_says_so_to_people_and_programs(directory: Path) -> None:
    with serving(directory) as served:
        words = ("verify", served.url, *QUICK, "--json", "figures.json")
        code, output = served.output_of(*words)
    figures = json.loads((directory / "figures.json").read_text())
    increments = figures["increments"]
    lines = output.splitlines()
    assert (code, lines[0]) == (0, f"{served.url}: Footfall, Waline API 1.39.3"), output
    assert lines[-1] == f"Increments: {increments['verdict']}"
    assert lines[-1].startswith("Increments: exact (accepted ")
    assert "Responses: no count twice, none below what was known" in lines
    assert increments["sent"] == increments["accepted"] == increments["counted"] > 0
    assert (increments["unknown"], figures["wrong"], figures["hung"]) == (0, 0, 0)
    assert (figures["exit"], figures["reads"] > 0) == (0, True)


def test_it_goes_on_while_the_service_is_killed_and_started_again(
    directory: Path, data_set: dict[str, str]
) -> None:
    with (
        serving(directory, PORT=str(free_port()), **data_set) as served,
        checking(served.url, Plan(600, connections=8)) as running,
    ):
        running.wait_for_more()
        served.stop(signal.SIGKILL)
        wait_until(lambda: running.ledger.refused, "an increment to find nobody")
        served.start()
        running.wait_for_more()
        report = running.stop()
    assert (report.ledger.is_exact, report.hung) == (True, 0), [*report.lines()]
    assert report.longest_outage > 0.05


@pytest.mark.parametrize(
    ("manners", "words"),
    [
        ({"loses": 20}, r"Responses: \d+ WRONG\n  /footfall-bench/\S+ (was|got) "),
        ({"doubles": 20}, r"Increments: COUNTED TWICE \d+ \(accepted"),
    ],
    ids=str,
)
def test_a_server_that_miscounts_one_view_in_twenty_is_found_out(
    start: Start, verify: Verify, manners: dict[str, Any], words: str
) -> None:
    code, output = verify(start(**manners).url)
    assert (code, bool(re.search(words, output))) == (1, True), output


@pytest.mark.rare
def test_a_request_without_an_answer_is_hung(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "RESPONSE_SECONDS", 0.2)
    report = Measurement(start(keeps_silent=20).url, Plan(1, 4), NAMESPACE).run()
    assert report.ledger.is_exact
    assert report.hung > 0
    assert report.hung == report.ledger.total.unknown


@pytest.mark.rare
def test_a_server_that_stays_away_is_given_up(start: Start, verify: Verify) -> None:
    code, output = verify(start(ends=5).url, "--seconds", "600", "--retry-for", "0.3")
    assert code == 1
    assert "Stopped: no request was answered for 0.3 seconds" in output
    assert "x cannot connect: Connection refused" in output
    assert "but the counts cannot be read: Connection refused" in output


@pytest.mark.rare
def test_ctrl_c_ends_it_with_what_was_measured_so_far(start: Start, directory: Path) -> None:
    fake = start()
    words = ("verify", fake.url, "--leave-behind", "--seconds", "600", "--connections", "2")
    process = Serving(directory).run(*words)
    wait_until(lambda: fake.views > 100, "views to be counted")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "Stopped early; this is what was measured so far." in output
    assert "Increments: exact (accepted " in output
