"""The integration tier is about what only a real server does."""

import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REAL
from tests.support.fake_waline import Fake, Faults, Start


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
