"""Declarations of fields: each row has a whole one, and a list names what is wrong by its place."""

from types import SimpleNamespace
from typing import Any

import pytest

from footfall.counting import api as counters
from footfall.errors import BadRequest
from footfall.http.params import RawRequest
from footfall.pages import PageNames
from footfall.routes import TABLE
from footfall.table.fields import Fields, ListOf
from footfall.table.rows import Row
from footfall.table.variants import WALINE

SETTINGS = SimpleNamespace(known_counter_types=("time", "reaction0"))
CONTEXT: Any = SimpleNamespace(settings=SETTINGS, page_of=PageNames().of)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.route)
def test_every_request_has_a_shape_and_only_the_last_one_is_for_all_others(row: Row) -> None:
    *others, last = row.fields.shapes
    assert isinstance(last, Fields)
    assert last.when is None
    assert all(other.when is not None for other in others)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.route)
def test_every_field_is_told_once_in_each_shape_and_with_words(row: Row) -> None:
    for shape in row.fields.shapes:
        fields = (shape.object if isinstance(shape, ListOf) else shape).fields
        names = [each.name for each in fields]
        assert len(names) == len({*names})
        assert all(field.doc for field in fields)


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ([], {"changes": "changes need a list of 1 to 200"}),
        ([{}] * 201, {"changes": "changes need a list of 1 to 200"}),
        ([{"path": "/a"}, 5], {"1": "each change need an object"}),
        ([{"path": "/a"}, {"path": ""}], {"1.path": "path can not be blank"}),
        (
            [{"path": "/a", "type": "views", "action": "up"}],
            {
                "0.type": 'type need in an array of ["time","reaction0"]',
                "0.action": 'action need in an array of ["inc","desc"]',
            },
        ),
    ],
)
def test_a_list_names_what_is_wrong_by_its_place(body: Any, wrong: dict[str, str]) -> None:
    with pytest.raises(BadRequest) as refused:
        counters.CHANGE(RawRequest({}, WALINE, body), CONTEXT)
    assert refused.value.fields == wrong


def test_a_field_means_its_default_where_it_was_not_sent() -> None:
    change = counters.CHANGE(RawRequest({}, WALINE, {"path": "/a"}), CONTEXT)
    assert isinstance(change, counters.Change)
    assert change.changes == [("/a", "time", 1)]
