"""The scaling plan: its arithmetic by hand, and its document against its results."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench import fleet, plan
from bench.fleet import Costs, Fleet, Part, parts, simulate
from bench.scale import SOURCES, fitted, parts_of, stored
from bench.scenarios import path
from bench.stats import between
from service.store.cluster import slot_of
from service.store.keys import GROUPS
from service.store.wire import pack

ROOT = Path(__file__).parents[2]
KINDS = ("add", "spend", "read", "version", "submit", "announce")
CHEAP = Costs(
    part=10.0,
    call=dict.fromkeys(KINDS, 5.0),
    item=dict.fromkeys(KINDS, 1.0),
    request={"view": 20.0, "read": 20.0, "page": 20.0, "submit": 20.0},
    send=2.0,
)


def wanted(*wishes: tuple[str, int], nodes: int = 1) -> dict[int, Part]:
    return parts(wishes, nodes, Random(1))


def test_a_single_server_gets_one_command_a_kind() -> None:
    (part,) = wanted(("add", 1), ("add", 1), ("add", 2), ("read", 3), ("spend", 1)).values()
    assert part.items == Counter(add=3, read=1, spend=1)
    assert len(part.commands) == 3
    # 10 for the part, 3 commands of 5, 5 things of 1.
    assert part.us(CHEAP) == 30.0


def test_a_counter_is_read_once_a_batch_but_changed_as_often_as_it_is_asked_for() -> None:
    (part,) = wanted(*[("read", 7)] * 9, *[("add", 7)] * 9).values()
    assert part.items == Counter(read=1, add=9)


def test_versions_of_pages_bring_that_of_the_accounts_along() -> None:
    (part,) = wanted(("version", 1), ("version", 1), ("version", 2)).values()
    assert (part.items["version"], len(part.commands)) == (3, 1)


def test_a_cluster_gets_a_command_a_slot_and_each_address_is_another() -> None:
    found = wanted(*[("spend", 1)] * 50, *[("add", 7)] * 50, nodes=3)
    assert sum(part.items["spend"] for part in found.values()) == 50
    commands = [kind for part in found.values() for kind, _ in part.commands]
    assert Counter(commands) == Counter(spend=50, add=1)


def test_keys_lie_where_a_cluster_has_them() -> None:
    key = fleet.KEYS.counts(path(7))
    node, group = fleet.counter_at(7, 30)
    assert group.decode() in key
    assert node == slot_of(pack("GET", key)) * 30 // 16384


def test_every_group_lies_on_one_node() -> None:
    for nodes in (1, 3, 30):
        assert sum(fleet.groups_by_node(nodes)) == GROUPS


def test_shares_of_nodes_are_all_there_is() -> None:
    assert sum(fleet.shares_by_node(3, 1000, 1.0)) == pytest.approx(1.0)
    # One path, one node.
    assert sorted(fleet.shares_by_node(3, 1, 1.0)) == [0.0, 0.0, 1.0]


def test_zipfs_law_by_hand() -> None:
    assert fleet.zipf_weights(3, 1.0) == pytest.approx([1, 1.5, 1.5 + 1 / 3])


def test_a_calm_fleet_is_as_busy_as_its_work() -> None:
    # 100 reads a second, each alone: 20 µs of the worker; of the node 10 + 5 + 1.
    calm = simulate(Fleet(1, 1, 100, {"read": 1.0}, paths=1000), CHEAP)
    assert calm.rate == pytest.approx(100, rel=0.05)
    assert calm.worker_busy == pytest.approx(100 * 20e-6, rel=0.05)
    assert calm.node_us == pytest.approx(16, rel=0.05)
    assert (calm.batch, calm.commands) == pytest.approx((1, 1), abs=0.05)
    # The worker's turn, the trip, the node's: nobody waits for anybody.
    assert calm.p50_us == pytest.approx(20 + fleet.TRIP_US + 16, abs=1)


def test_a_paid_view_asks_twice() -> None:
    views = Fleet(1, 1, 100, {"view": 1.0}, paths=10)
    assert simulate(views, CHEAP).p50_us == pytest.approx(20 + 2 * (fleet.TRIP_US + 16), abs=1)


def test_one_fsync_serves_the_batch_and_reads_need_none() -> None:
    slow = replace(CHEAP, fsync=500.0)
    free = Fleet(1, 1, 100, {"view": 1.0}, paths=10, is_tolled=False)
    assert simulate(free, slow).node_us == pytest.approx(516, rel=0.05)
    assert simulate(Fleet(1, 1, 100, {"read": 1.0}, paths=10), slow).node_us < 20


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


def test_most_workers_are_those_after_which_it_is_too_many() -> None:
    # A counter takes the node 20 µs: no more than 50,000 changes a second, 12 workers' work.
    dear = replace(CHEAP, item=dict.fromkeys(KINDS, 20.0))
    views = Fleet(1, 1, 4_000, {"view": 1.0}, paths=1000, is_tolled=False)
    best, outcome = fleet.most(views, dear)
    assert fleet.is_carried(outcome)
    assert 9 <= best.workers <= 12
    assert not fleet.is_carried(simulate(replace(views, workers=best.workers + 2), dear))


def test_costs_are_found_again_in_what_they_add_up_to() -> None:
    rows: list[dict[str, Any]] = [
        {"nodes": nodes, "size": size, "sent": sent, "redis_us": 0.0}
        for nodes, size, sent in ((1, 1, 1), (1, 64, 1), (1, 256, 1), (3, 64, 40), (3, 256, 160))
    ]
    for row in rows:
        row["redis_us"] = 12 * parts_of(row) + 4 * row["sent"] + 2.5 * row["size"]
    assert fitted(rows, 12) == pytest.approx((4, 2.5))


def test_one_command_is_one_part_and_many_are_as_many_as_there_are_nodes() -> None:
    assert parts_of({"nodes": 3, "sent": 1}) == pytest.approx(1)
    assert parts_of({"nodes": 3, "sent": 100}) == pytest.approx(3)


def test_between_is_by_the_logarithm_and_goes_no_further() -> None:
    assert between([(1, 10.0), (100, 30.0)], 10) == pytest.approx(20)
    assert between([(1, 10.0), (100, 30.0)], 100) == pytest.approx(30)
    with pytest.raises(ValueError):
        between([(1, 10.0), (100, 30.0)], 101)


# The document.


def document() -> str:
    return (ROOT / "docs/scaling.md").read_text()


def results() -> dict[str, Any]:
    """Those that the document names."""
    found = re.search(r"\(\.\./(bench/results/scale-\S+)\.md\)", document())
    assert found
    read: dict[str, Any] = json.loads((ROOT / f"{found[1]}.json").read_text())
    return read


@pytest.mark.parametrize("title", plan.TABLES)
def test_the_documents_tables_are_what_was_found(title: str) -> None:
    assert "\n".join(plan.TABLES[title](results())) in document()


def test_all_its_tables_are_of_the_plan() -> None:
    known = {line for table in plan.TABLES.values() for line in table(results())}
    found = {line for line in document().splitlines() if line.startswith("|")}
    assert found - known == set()


def test_what_it_takes_from_the_bench_is_still_there() -> None:
    assert stored() == {**results()["stored"]}
    for source in SOURCES:
        assert f"bench/results/{source}.md" in document()
