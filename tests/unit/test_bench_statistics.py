"""What statistics cost: the documents' tables, and what is measured for them."""

import json

from bench.results import Results
from bench.statistics import tables


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
