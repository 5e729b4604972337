"""The integration tier tests what only a real server does."""

import itertools
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REAL
from tests.support import extent
from tests.support.fake_waline import Fake, Faults, Start
from tests.support.receivers import MailServer, Receiver, mail_server, receiver
from tests.support.servers import RealServer, programs

HERE = Path(__file__).parent
_numbers = itertools.count()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run each test on Valkey or on Redis, as its name decides: the tier below asks each script on
    both. On a Cluster run what runs nowhere else, and what is marked."""
    kinds = defaultdict[object, set[str]](set)
    for item in items:
        if isinstance(item, pytest.Function):
            kinds[_test(item)].add(extent.kind_of(item))
    has_all = programs().keys() >= {*REAL}

    def is_left_out(item: pytest.Function) -> bool:
        if has_all and (own := extent.parameters_of(item).get("own")) in REAL:
            # A Cluster of a module's own takes seconds to start: it has one kind.
            return own != extent.one_of(REAL, item.path.name)
        kind, real = extent.kind_of(item), [each for each in REAL if each in kinds[_test(item)]]
        if kind == "cluster":
            return bool(real) and item.get_closest_marker("cluster") is None
        return has_all and kind in real and kind != extent.one_of(real, item.originalname)

    extent.leave_out(items, HERE, is_left_out)


def _test(item: pytest.Function) -> object:
    """What the items of a test have in common that differ in their server."""
    values = item.callspec.params if hasattr(item, "callspec") else {}
    others = [f"{name}={value!r}" for name, value in values.items() if name != "kind"]
    return item.path, item.originalname, *others


@pytest.fixture(params=REAL)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def data_set(servers: Mapping[str, RealServer]) -> dict[str, str]:
    """Settings with a data set of a test's own in the Valkey that all share: a private one takes as
    long to start as the service."""
    return {"REDIS_URL": servers["valkey"].url, "KEY_PREFIX": f"own{next(_numbers)}"}


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:

        def start(host: str = "127.0.0.1", **faults: Any) -> Fake:
            fake = Fake(Faults(**faults), host)
            stack.callback(fake.go_away)
            threading.Thread(target=fake.serve_forever, args=(0.01,), daemon=True).start()
            return fake

        yield start


@pytest.fixture
def mails() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


@pytest.fixture
def directory(home: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=home) as name:
        yield Path(name)
