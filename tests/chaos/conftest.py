"""`make test` plays one fault of each part; TEST_ALL=1, and `make chaos`, play all."""

from pathlib import Path

import pytest

from tests.support import extent

from .faults import Fault

HERE = Path(__file__).parent
# Of Redis, of the service and of the way between them.
ENOUGH = {
    "own Redis killed",
    "the service killed while it stores a comment",
    "replies of Redis cut amid moderators",
}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    extent.leave_out(items, HERE, _is_another_fault)


def _is_another_fault(item: pytest.Function) -> bool:
    fault = extent.parameters_of(item).get("fault")
    return isinstance(fault, Fault) and fault.name not in ENOUGH
