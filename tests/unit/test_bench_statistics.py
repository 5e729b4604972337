"""What statistics cost: the documents' tables, and what is measured for them."""

import json
from pathlib import Path
from typing import Any

from bench.machine import Cores
from bench.peers import Environment, redis_server
from bench.results import Results
from bench.statistics import memory, tables
from bench.statistics.memory import days_of
from bench.statistics.past import opened
from bench.statistics.rates import ROWS, Stored


def run(kept: str, rate: float, number: int = 0, **values: Any) -> dict[str, Any]:
    made = {"scenario": "inc-known", "peer": f"footfall-{kept}", "round": number, "rate": rate}
    return made | {"is_discarded": False} | values


def test_the_documents_figures_are_those_that_were_measured() -> None:
    document = tables.DOCUMENT.read_text()
    assert tables.filled(document) == document
    for name, table in tables.OF_MEMORY.items():
        found = json.loads(tables.MEMORY.read_text())
        assert f"<!-- {name} -->\n\n" + "\n".join(table(found)) + "\n\n" in document
    if tables.RATES.exists():
        for name, rows in tables.OF_RATES.items():
            lines = "\n".join(rows(Results.read(tables.RATES)))
            assert f"<!-- {name} -->\n\n{lines}\n\n" in document


def test_the_document_has_a_place_for_each_table() -> None:
    document = tables.DOCUMENT.read_text()
    for name in (*tables.OF_MEMORY, *tables.OF_RATES):
        assert document.count(f"<!-- {name} -->\n\n") == 1


def test_a_table_stays_as_it_is_until_it_is_measured(tmp_path: Path) -> None:
    document = "<!-- page -->\n\n| as | it | was |\n"
    assert tables.filled(document, tmp_path / "none", tmp_path / "neither") == document


def test_rates_are_divided_by_those_without_statistics_round_by_round() -> None:
    runs = [run("off", 8.0), run("views", 4.0), run("off", 16.0, 1), run("views", 8.0, 1)]
    titles = {each.scenario.name: each.scenario.title for each in ROWS}
    found = Results(titles=titles, runs=runs)
    rows = [line.split(" | ") for line in tables.rates(found)]
    assert next(row[2:4] for row in rows if row[1:2] == ["`views`"]) == ["6", "0.50"]


def test_bytes_of_a_file_that_was_rewritten_are_not_told() -> None:
    before = Stored(memory=1_000, file=500, rewritten=0)
    assert Stored(1_200, 900, 0).a_view(before, 100) == {"memory_bytes": 2.0, "file_bytes": 4.0}
    assert Stored(1_200, 10, 99).a_view(before, 100) == {"memory_bytes": 2.0}


def test_days_are_the_first_of_each_month() -> None:
    assert [str(day) for day in days_of([1, 2], 2)] == [
        "2026-01-01",
        "2026-01-02",
        "2026-02-01",
        "2026-02-02",
    ]
    assert len(days_of(range(1, 13))) == 365


async def test_visitors_of_a_page_are_found_in_its_key(own: Path) -> None:
    environment = Environment(own, Cores.choose(), "none")
    with redis_server(environment, environment.directory("r")) as (_, socket):
        async with opened(socket) as past:
            found = await memory.of_visitors(past, 200)
            hours = await memory.of_hours(past, 12)
    # A number has eight bytes; the rest is for what is around them.
    assert 8 * 200 < found["bytes"] < 8 * 200 + 500
    assert 0 < hours < 500
