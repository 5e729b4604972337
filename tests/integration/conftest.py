"""The integration tier tests what only a real server does."""

import os
import tempfile
import threading
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REAL
from tests.support.fake_waline import Fake, Faults, Start
from tests.support.servers import programs

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run each test on Valkey or on Redis, as its name decides; with EVERY_SERVER on both.

    Both together take ten minutes more, and the tiers below ask each script on both.
    """
    if os.environ.get("EVERY_SERVER") or not programs().keys() >= {*REAL}:
        return
    left = [item for item in items if _is_for_another_server(item)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if not _is_for_another_server(item)]


def _is_for_another_server(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or HERE not in item.path.parents:
        return False
    kind = item.callspec.params.get("kind") if hasattr(item, "callspec") else None
    chosen = REAL[zlib.crc32(item.originalname.encode()) % len(REAL)]
    return kind in REAL and kind != chosen


@pytest.fixture(params=REAL)
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


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
def directory(home: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=home) as name:
        yield Path(name)
