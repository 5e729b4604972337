"""The bench's arithmetic, which must be right before any run is."""

import json
from pathlib import Path

import pytest

from bench import lane, summary
from bench.constructs import CONSTRUCTS
from bench.measure import changes_among
from bench.report import GOALS, MEASURES, Goal, markdown
from bench.results import Results, lines
from bench.run import Plan
from bench.scenarios import QUICK, SCENARIOS
from bench.scripts import COUNTED, worse
from bench.statistics.tables import RATES as STATISTICS_RATES
from bench.stats import NOISE, Spread, percentile, ratios
from footfall.driver.scripts import sources

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 1), (0.01, 1), (0.5, 50), (0.99, 99), (0.999, 100), (1.0, 100)]
)
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(
    share: float, expected: int
) -> None:
    assert percentile(range(100, 0, -1), share) == expected


def test_ratios_are_taken_round_by_round() -> None:
    # The second minute was twice as fast for both, and each pair still has the ratio 2.
    assert ratios({0: 20.0, 1: 40.0}, {0: 10.0, 1: 20.0}) == Spread(2.0, 2.0, 2.0, 2)


def test_a_round_that_only_one_has_does_not_count() -> None:
    assert ratios({0: 20.0, 1: 999.0, 2: 10.0}, {0: 10.0, 2: 10.0}) == Spread(1.5, 1.0, 2.0, 2)
    assert ratios({0: 1.0}, {1: 1.0}) is None
    assert ratios({0: 1.0}, {0: 0.0}) is None


def test_changes_are_counted_among_requests_that_are_repeated_in_turn() -> None:
    assert [changes_among([True, False, True], sent) for sent in range(5)] == [0, 1, 1, 2, 3]


@pytest.mark.rare
async def test_the_hot_path_gives_the_answers_that_are_measured() -> None:
    calls = lane.encoders()
    assert len(calls) == 12
    for call in calls.values():
        call()


def test_a_quick_run_measures_counters_beside_nginx_the_least_and_another_checkout() -> None:
    plan = Plan.parse(["--quick", "--also", str(ROOT)])
    other = f"footfall:{ROOT.name}"
    assert plan.peers == ("footfall", other, "nginx", "least")
    assert {scenario.name for scenario in plan.scenarios} == set(QUICK)
    assert all(scenario.is_for(peer) for scenario in plan.scenarios for peer in plan.peers)
    assert plan.kinds[other].title == f"Footfall in {ROOT.name}"


def run_of(peer: str, round: int, rate: float, **fields: object) -> dict[str, object]:
    return {
        "scenario": "inc",
        "peer": peer,
        "round": round,
        "rate": rate,
        "p50_us": 1.0,
        "p99_us": 9.0,
        "server_us": 10.0,
        "user_us": 6.5,
        "system_us": 7.0,
        "redis_us": 3.0,
        "refused": 0,
        "broken": 0,
        "stale": None,
        "is_discarded": False,
        "is_exact": True,
        "verdict": "",
        **fields,
    }


def results(ours: float, **fields: object) -> Results:
    runs = [run_of("footfall", n, ours, **fields) for n in range(3)]
    runs += [run_of("nginx", n, 100.0) for n in range(3)]
    runs.append(run_of("footfall", 0, 1.0, is_discarded=True))
    return Results(runs=runs)


def reported(scenario: str) -> Results:
    """With all that a table says of where it was measured."""
    found = results(170.0)
    found.runs = [run | {"scenario": scenario} for run in found.runs]
    found.titles = {scenario: "POST article"}
    found.machine = {"cpu": "", "cores": 2, "system": "", "python": "", "fsync_us": 9}
    found.settings = {"cores": "", "rounds": 3, "seconds": 2, "noise": NOISE}
    return found


def test_a_goal_is_measured_against_the_best_peer() -> None:
    found = results(170.0)
    found.runs += [run_of("webdis", n, 200.0) for n in range(3)]
    assert Goal("inc", 1.0, ("webdis", "nginx")).found(found) == Spread(0.85, 0.85, 0.85, 3)
    assert Goal("inc", 1.0, ("plain",)).found(found) is None
    own = Goal("inc", 6.5, what="server_us")
    assert own.found(found) == Spread(10.0, 10.0, 10.0, 3)
    assert (own.is_met(6.5), own.is_met(6.6)) == (True, False)


def test_every_goal_names_a_row_and_peers_that_run_it() -> None:
    by_name = {scenario.name: scenario for scenario in SCENARIOS}
    for goal in GOALS:
        assert set(goal.against) <= set(by_name[goal.scenario].peers)
        assert goal.what in MEASURES


def test_a_servers_own_code_is_compared_with_that_of_the_least_round_by_round() -> None:
    # In the second round the machine was half as fast for both.
    costs = (("footfall", 0, 13.0), ("least", 0, 5.2), ("footfall", 1, 26.0), ("least", 1, 10.4))
    found = Results(runs=[run_of(peer, n, 100.0, user_us=us) for peer, n, us in costs])
    assert found.user_to_least("inc") == Spread(2.5, 2.5, 2.5, 2)


def test_tables_compare_own_code_where_the_least_took_part() -> None:
    found = reported("read1")
    assert "÷ least" not in markdown(found) + "".join(summary.numbers(found))
    found.runs += [run_of("least", n, 100.0, scenario="read1", user_us=2.6) for n in range(3)]
    assert "| its own code | user ÷ least | its kernel |" in markdown(found)
    assert "| 6.5 | 2.50 (2.50 to 2.50) | 7.0 |" in markdown(found)
    assert "| 2.6 |  | 7.0 |" in markdown(found)
    head, _, row = summary.numbers(found)
    assert "| of it Python | user ÷ least | ÷ nginx + Lua |" in head
    assert "| 6.5 | 2.50 | 1.70 |" in row


def test_a_report_says_whether_each_goal_was_reached() -> None:
    text = markdown(reported("inc-everysec"))
    assert (
        "| inc-everysec | requests/s | nginx | 1.70 (1.70 to 1.70) | ≥ 1.8 | **not met** |" in text
    )
    assert "| inc-everysec | µs in its own code | itself | 6.5 (6.5 to 6.5) | ≤ 6.5 | met |" in text
    assert "read1" not in text


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    results(1.5).write(file)
    assert Results.read(file) == results(1.5)
    assert sum("round" in line for line in file.read_text().splitlines()) == len(results(1.5).runs)


def test_runs_of_each_topic_are_kept_once_and_each_has_its_table() -> None:
    directory = ROOT / "bench/results"
    assert [*directory.glob("*.json")]
    for file in directory.glob("*.json"):
        kept = json.loads(file.read_text())
        assert file.read_text() == f"{lines(kept)}\n", f"{file.name}: a run is a line"
        if "runs" in kept and file != STATISTICS_RATES:
            assert (directory / f"{Results.read(file).name}.md").exists()


@pytest.mark.parametrize(
    ("words", "topic"),
    [
        ("", "main"),
        ("--full", "full"),
        ("--long", "long"),
        ("--quick", ""),
        ("--only inc", "other"),
        ("--only inc --topic views", "views"),
    ],
)
def test_new_runs_replace_those_of_their_topic(words: str, topic: str) -> None:
    assert Plan.parse(words.split()).topic == topic


def test_what_is_counted_may_not_grow_and_times_may() -> None:
    stored = {
        "counters/add": {"commands": 4.0, "redis_us": 2.0},
        "rendering links": {"bytes_a_byte": 3.0, "us_a_byte": 1.0},
        "gone": {"commands": 1.0},
    }
    slow = {
        "counters/add": {"commands": 4.0, "redis_us": 90.0},
        "rendering links": {"bytes_a_byte": 2.9, "us_a_byte": 50.0},
        "new": {"commands": 9.0},
    }
    assert worse(slow, stored) == []
    assert worse({"counters/add": {"commands": 5.0}}, stored) == [
        "counters/add: commands is 5; stored is 4"
    ]
    assert len(worse({"rendering links": {"bytes_a_byte": 3.01}}, stored)) == 1


def test_every_script_and_every_construct_has_counted_figures() -> None:
    """One without any could grow unseen."""
    stored = json.loads((ROOT / "bench/results/scripts.json").read_text())
    counted = {name for name, figures in stored.items() if COUNTED.keys() & figures}
    assert {f"rendering {name}" for name in CONSTRUCTS} <= counted
    assert sources().keys() <= {name.partition(",")[0] for name in counted}


def test_the_documents_figures_are_those_that_were_measured() -> None:
    results = Results.read(ROOT / "bench/results/main.json")
    texts = [document.read_text() for document in summary.DOCUMENTS]
    for text in texts:
        assert [name for name, _ in summary.SOURCE.findall(text)] == [results.name]
        assert summary.filled(text, results) == text
    for name, table in summary.TABLES.items():
        wanted = f"<!-- {name} -->\n\n" + "\n".join(table(results)) + "\n\n"
        assert sum(wanted in text for text in texts) == 1
