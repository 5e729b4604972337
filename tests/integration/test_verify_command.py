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

from footfall.loadtest import verify as checker
from footfall.loadtest.verify import Plan, prepare
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
    assert "Answers: no count twice, none below what was known" in lines
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
    assert (report.is_sound, report.ledger.hung) == (True, 0), report.lines()
    assert report.ledger.longest_outage > 0.05


def test_paths_are_of_a_namespace_of_its_own(start: Start, verify: Verify) -> None:
    fake = start()
    assert verify(fake.url)[0] == 0
    # Drawn at random, so one of them may not have come up.
    assert 5 < len(fake.counts) <= 10
    assert all(re.fullmatch(r"/footfall-bench/[0-9a-f]{16}/\d{4}", path) for path in fake.counts)


def test_a_fixed_rate_is_kept(start: Start, verify: Verify, directory: Path) -> None:
    fake = start()
    code, output = verify(fake.url, "--seconds", "0.5", "--rate", "100", "--json", "figures.json")
    assert code == 0, output
    figures = json.loads((directory / "figures.json").read_text())
    # The first reads find out which server it is, and the last read the final counts.
    assert 40 <= fake.views + fake.reads - 2 <= 100 * figures["seconds"] + 2


@pytest.mark.parametrize(
    ("manners", "words"),
    [
        ({"loses": 20}, r"Answers: \d+ WRONG\n  /footfall-bench/\S+ (was|got) "),
        ({"doubles": 20}, r"Increments: COUNTED TWICE \d+ \(accepted"),
    ],
    ids=str,
)
def test_a_server_that_miscounts_one_view_in_twenty_is_found_out(
    start: Start, verify: Verify, manners: dict[str, Any], words: str
) -> None:
    code, output = verify(start(**manners).url)
    assert (code, bool(re.search(words, output))) == (1, True), output


def test_refused_increments_are_neither_accepted_nor_unknown(start: Start, verify: Verify) -> None:
    code, output = verify(start(refuses=5).url)
    assert code == 0
    assert re.search(r" [1-9]\d* refused; ", output)
    assert re.search(r"  \d+ x HTTP 429: One at a time, please", output)
    assert "Increments: exact" in output
    assert "unknown" not in output


@pytest.mark.rare
@pytest.mark.parametrize("manners", [{"fails": 5}, {"closes": 5}], ids=str)
def test_increments_that_may_have_happened_are_unknown(
    start: Start, verify: Verify, manners: dict[str, Any]
) -> None:
    code, output = verify(start(**manners).url)
    assert code == 0
    assert re.search(r"Increments: exact \(accepted \d+, counted \d+, unknown [1-9]\d*\)", output)


@pytest.mark.rare
def test_a_request_without_an_answer_is_hung(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "ANSWER_SECONDS", 0.2)
    report = prepare(start(keeps_silent=20).url, Plan(1, 4), namespace=NAMESPACE).run()
    assert report.is_sound
    assert report.ledger.hung > 0
    assert report.ledger.hung == report.ledger.total.unknown


@pytest.mark.rare
def test_a_server_that_stays_away_is_given_up(start: Start, verify: Verify) -> None:
    code, output = verify(start(ends=5).url, "--seconds", "600", "--retry-for", "0.3")
    assert code == 1
    assert "Given up: nobody was answered for 0.3 seconds" in output
    assert "x cannot connect: Connection refused" in output
    assert "but the counts cannot be read: Connection refused" in output


def test_a_server_that_answers_nobody_proves_nothing(start: Start, verify: Verify) -> None:
    code, output = verify(start(fails=1).url)
    assert (code, "Increments: exact (accepted 0, counted" in output) == (1, True), output


@pytest.mark.rare
def test_ctrl_c_ends_it_with_what_was_measured_so_far(start: Start, directory: Path) -> None:
    fake = start()
    words = ("verify", fake.url, "--leave-behind", "--seconds", "600", "--connections", "2")
    process = Serving(directory).run(*words)
    wait_until(lambda: fake.views > 100, "views to be counted")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "Stopped early; this is what was seen so far." in output
    assert "Increments: exact (accepted " in output
