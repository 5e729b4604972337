"""What statistics cost: the documents' tables, and what is measured for them."""

import re
from pathlib import Path

from bench.statistics import tables


def test_the_documents_figures_are_those_that_were_measured() -> None:
    document = tables.DOCUMENT.read_text()
    assert tables.filled(document) == document


def test_what_statistics_cost_is_documented_as_it_was_measured() -> None:
    document = Path(__file__).parents[2] / "docs" / "statistics.md"
    costs = document.read_text().partition("\n## Costs\n")[2]
    figures = re.findall(r"[\d,.]+ k?B|\b0\.\d+", costs)
    results = tables.DOCUMENT.read_text()
    assert len(figures) > 10
    assert [each for each in figures if f" {each} " not in results] == []


def test_the_document_has_a_place_for_each_table() -> None:
    document = tables.DOCUMENT.read_text()
    for name in (*tables.OF_MEMORY, *tables.OF_RATES):
        assert document.count(f"<!-- {name} -->\n\n") == 1
