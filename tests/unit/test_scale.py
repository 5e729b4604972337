"""The scaling plan: its arithmetic by hand, and its document against its results."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import machine
from bench.capacity import costs, fleet, placement, plan, scale
from bench.capacity.costs import Rows
from bench.capacity.fleet import Costs, Fleet, simulate
from bench.capacity.placement import Part, Wish, part_of, wishes
from bench.capacity.scale import fitted, parts_of, stored
from bench.machine import Cores
from bench.scenarios import path
from bench.stats import between
from footfall.driver.cluster import slot_of
from footfall.driver.connection import pack
from footfall.driver.keys import GROUPS

KINDS = ("add", "spend", "read", "version", "submit", "follow")
CHEAP = Costs(
    part=10.0,
    call=dict.fromkeys(KINDS, 5.0),
    item=dict.fromkeys(KINDS, 1.0),
    request={"view": 20.0, "read": 20.0, "page": 20.0, "submit": 20.0},
    send=2.0,
)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of a few thousand requests, which is enough here."""
    monkeypatch.setattr(fleet, "REQUESTS", 5_000)


def wanted(*asked: tuple[str, int], nodes: int = 1) -> dict[int, Part]:
    """node -> what one batch of these requests wants of it."""
    found: defaultdict[int, list[Wish]] = defaultdict(list)
    for number, (kind, rank) in enumerate(asked):
        for node, wish in wishes(kind, rank, number, nodes):
            found[node].append(wish)
    return {node: part_of(there, nodes) for node, there in found.items()}


def test_a_single_server_gets_one_command_a_kind() -> None:
    (part,) = wanted(("view", 1), ("view", 1), ("view", 2), ("read", 3), ("submit", 1)).values()
    assert part.items == Counter(add=3, read=1, submit=1, follow=1)
    assert part.commands == Counter(add=1, read=1, submit=1, follow=1)
    # 10 for the part, 4 commands of 5, 6 entries of 1.
    assert CHEAP.of(part) == 36.0


def test_a_counter_is_read_once_a_batch_but_changed_once_a_request() -> None:
    (part,) = wanted(*[("read", 7)] * 9, *[("view", 7)] * 9).values()
    assert part.items == Counter(read=1, add=9)
    # Each is read by a command of its own, but one command changes all of them.
    (part,) = wanted(("read", 7), ("read", 8), ("view", 7), ("view", 8)).values()
    assert part.commands == Counter(read=2, add=1)


def test_the_version_of_a_page_is_read_once_a_batch() -> None:
    (part,) = wanted(("page", 1), ("page", 1), ("page", 2)).values()
    assert (part.items, part.commands) == (Counter(version=2), Counter(version=1))


def test_a_cluster_gets_a_command_a_slot_and_each_page_has_its_own() -> None:
    found = wanted(*[("submit", 1)] * 50, *[("view", 7)] * 50, nodes=3)
    commands = sum((Counter(part.commands) for part in found.values()), Counter[str]())
    assert commands == Counter(submit=50, follow=50, add=1)
    assert sum(part.items.get("add", 0) for part in found.values()) == 50


def test_keys_are_on_the_nodes_where_a_cluster_has_them() -> None:
    key = placement.KEYS.counts(f"time {path(7)}")
    node, group = placement.counter_at(7, 30)
    assert group.decode() in key
    assert node == slot_of(pack("GET", key)) * 30 // 16384


def test_every_group_is_on_one_node() -> None:
    for nodes in (1, 3, 30):
        assert sum(placement.groups_by_node(nodes)) == GROUPS


def test_the_shares_of_all_nodes_add_up_to_one() -> None:
    assert sum(placement.shares_by_node(3, 1000, 1.0)) == pytest.approx(1.0)
    # One path is on one node.
    assert sorted(placement.shares_by_node(3, 1, 1.0)) == [0.0, 0.0, 1.0]


def test_zipfs_law_by_hand() -> None:
    assert placement.zipf_weights(3, 1.0) == pytest.approx([1, 1.5, 1.5 + 1 / 3])


def test_a_calm_fleet_is_as_busy_as_its_work() -> None:
    # 100 reads a second, each alone: 20 µs of the worker, and 10 + 5 + 1 of the node.
    calm = simulate(Fleet(1, 1, 100, {"read": 1.0}, paths=1000), CHEAP)
    assert calm.rate == pytest.approx(100, rel=0.05)
    assert calm.worker_busy == pytest.approx(100 * 20e-6, rel=0.05)
    assert calm.node_us == pytest.approx(16, rel=0.05)
    assert (calm.batch, calm.commands) == pytest.approx((1, 1), abs=0.05)
    # The worker's turn, the trip and the node's turn: nothing waits for anything else.
    assert calm.p50_us == pytest.approx(20 + fleet.TRIP_US + 16, abs=1)


def test_a_page_waits_for_one_node() -> None:
    pages = Fleet(30, 1, 100, {"page": 1.0}, paths=10)
    assert simulate(pages, CHEAP).p50_us == pytest.approx(20 + fleet.TRIP_US + 16, abs=1)
    assert simulate(pages, CHEAP).commands == pytest.approx(1, abs=0.05)


def test_a_slow_node_delays_no_request_that_wants_nothing_of_it() -> None:
    # A new comment keeps its page's node busy for 30 ms each time.
    dear = replace(CHEAP, item={**CHEAP.item, "submit": 30_000.0})
    site = Fleet(30, 4, 1_000, {"read": 0.98, "submit": 0.02}, paths=10_000, s=0.0)
    assert simulate(site, dear).p50_us == pytest.approx(20 + fleet.TRIP_US + 16, rel=0.1)


def test_every_request_is_answered_once() -> None:
    site = simulate(Fleet(3, 4, 9_000), CHEAP)
    assert site.asked == site.answered
    assert site.asked == pytest.approx(fleet.REQUESTS, rel=0.05)


def test_nobody_is_busier_than_all_the_time() -> None:
    # A request takes a worker 20 µs, so at best half of these can be answered.
    late = simulate(Fleet(1, 2, 100_000, {"read": 1.0}), CHEAP)
    assert late.worker_busy == pytest.approx(1.0, abs=0.01)
    assert max(late.nodes_busy) <= 1
    assert late.kept_up < 0.52
    assert not late.is_carried


@pytest.mark.rare
def test_a_hot_counter_is_no_faster_on_thirty_nodes_than_on_one() -> None:
    # A change takes its node 20 µs, so there are 50,000 a second, whatever else there is.
    dear = replace(CHEAP, item=dict.fromkeys(KINDS, 20.0))
    hot = Fleet(1, 1, 4_000, {"view": 1.0}, paths=1)
    for nodes in (1, 30):
        _, outcome = fleet.most(replace(hot, nodes=nodes), dear)
        assert 40_000 < outcome.rate < 50_000
        assert sum(outcome.nodes_busy) == pytest.approx(outcome.hottest)


@pytest.mark.rare
def test_many_counters_are_faster_on_three_nodes_than_on_one() -> None:
    dear = replace(CHEAP, item=dict.fromkeys(KINDS, 20.0))
    even = Fleet(1, 1, 4_000, {"view": 1.0}, paths=10_000, s=0.0)
    one, three = (fleet.most(replace(even, nodes=nodes), dear)[1].rate for nodes in (1, 3))
    assert 2 < three / one < 3.2


def test_batches_grow_as_the_node_fills_up_and_make_requests_cheaper() -> None:
    few, many = (
        simulate(Fleet(1, 4, rate, {"read": 1.0}, paths=1000), CHEAP) for rate in (1000, 45_000)
    )
    assert many.batch > 2 * few.batch
    assert many.node_us < few.node_us / 2
    assert many.saved > few.saved


def test_the_same_seed_is_the_same_fleet() -> None:
    site = Fleet(3, 2, 5000)
    assert simulate(site, CHEAP) == simulate(site, CHEAP)


@pytest.mark.rare
def test_most_workers_are_the_last_number_that_is_fast_enough() -> None:
    # A counter takes the node 20 µs: at most 50,000 changes a second, the work of 12 workers.
    dear = replace(CHEAP, item=dict.fromkeys(KINDS, 20.0))
    views = Fleet(1, 1, 4_000, {"view": 1.0}, paths=1000)
    best, outcome = fleet.most(views, dear)
    assert outcome.is_carried
    assert 9 <= best.workers <= 12
    assert not simulate(replace(views, workers=best.workers + 2), dear).is_carried


def test_costs_are_found_again_in_their_sums() -> None:
    rows: list[dict[str, Any]] = [
        {"nodes": nodes, "size": size, "sent": sent, "redis_us": 0.0}
        for nodes, size, sent in ((1, 1, 1), (1, 64, 1), (1, 256, 1), (3, 64, 40), (3, 256, 160))
    ]
    for row in rows:
        row["redis_us"] = 12 * parts_of(row) + 4 * row["sent"] + 2.5 * row["size"]
    assert fitted(rows, 12) == pytest.approx((4, 2.5))


def test_an_entry_that_is_a_command_costs_what_both_cost() -> None:
    rows: list[dict[str, Any]] = [
        {"nodes": 1, "size": size, "sent": size, "redis_us": 12 + 6.5 * size} for size in (1, 64)
    ]
    assert fitted(rows, 12) == pytest.approx((0, 6.5))


def test_one_command_is_one_part_and_many_are_as_many_as_there_are_nodes() -> None:
    assert parts_of({"nodes": 3, "sent": 1}) == pytest.approx(1)
    assert parts_of({"nodes": 3, "sent": 100}) == pytest.approx(3)


def test_costs_are_interpolated_by_the_logarithm_and_never_extrapolated() -> None:
    assert between([(1, 10.0), (100, 30.0)], 10) == pytest.approx(20)
    assert between([(1, 10.0), (100, 30.0)], 100) == pytest.approx(30)
    with pytest.raises(ValueError, match="beyond what was measured"):
        between([(1, 10.0), (100, 30.0)], 101)


# Noise of other processes.


@pytest.fixture
def disturb(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let other processes use these shares of the cores, one row after the other."""

    def disturb(*foreign: float) -> None:
        shares = iter(foreign)
        monkeypatch.setattr(machine.Watch, "foreign", lambda watch: next(shares))
        monkeypatch.setattr(costs, "wait_for_calm", lambda cores: None)

    return disturb


ROWS = Rows(Cores((0,), (0,)))


async def found() -> dict[str, Any]:
    return {"us": 1.23456}


async def test_a_disturbed_row_is_measured_again(disturb: Callable[..., None]) -> None:
    disturb(0.5, 0.01, 0.0)
    assert await ROWS.row({"a": 1}, found) == {"a": 1, "us": 1.235, "foreign": 0.01}


async def test_of_disturbed_rows_the_calmest_is_kept(disturb: Callable[..., None]) -> None:
    disturb(0.5, 0.3, 0.4)
    assert await ROWS.row({"a": 1}, found) == {"a": 1, "us": 1.235, "foreign": 0.3}


def test_disturbed_figures_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async def measure() -> dict[str, Any]:
        return {"batches": [{"foreign": 0.01}], "fills": [{"foreign": 0.5}]}

    monkeypatch.setattr(scale, "measure", measure)
    monkeypatch.setattr(scale, "FILE", tmp_path / "scale.json")
    assert scale.main([]) == 1
    assert "up to 50% of these cores during 1 of 2 rows" in capsys.readouterr().err
    assert not scale.FILE.exists()


# The document.


def results() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(scale.FILE.read_text())
    return read


def documents() -> str:
    return "".join(path.read_text() for path in plan.DOCUMENTS)


def test_the_documents_tables_are_what_was_found() -> None:
    assert plan.filled(documents(), results()) == documents()


def test_the_documents_have_each_table_once_and_no_other() -> None:
    assert sorted(re.findall(r"<!-- (\w+) -->\n\n\|", documents())) == sorted(plan.TABLES)
    assert len(re.findall(r"(?<!\|)\n\|", documents())) == len(plan.TABLES)


def test_figures_are_in_tables_alone() -> None:
    words = re.sub(r"(?m)^\|.*|`[^`]*`|\]\([^)]*\)", "", documents())
    assert re.findall(r"\d[\d.,]*\d|\d+ ?%", words) == []


def test_rows_that_are_taken_from_the_bench_are_still_measured() -> None:
    assert stored().keys() == results()["stored"].keys()
    for name in results()["stored"]["tables"]:
        assert (scale.FILE.parent / f"{name}.md").exists()
