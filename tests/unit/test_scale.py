"""The scaling plan: its arithmetic by hand, and its document against its results."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import machine
from bench.capacity import costs, fleet, placement, plan, scale
from bench.capacity.costs import Rows
from bench.capacity.fleet import Costs, Fleet, simulate
from bench.capacity.scale import fitted, parts_of, stored
from bench.machine import Cores
from bench.stats import between

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


def test_zipfs_law_by_hand() -> None:
    assert placement.zipf_weights(3, 1.0) == pytest.approx([1, 1.5, 1.5 + 1 / 3])


def test_the_same_seed_is_the_same_fleet() -> None:
    site = Fleet(3, 2, 5000)
    assert simulate(site, CHEAP) == simulate(site, CHEAP)


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
