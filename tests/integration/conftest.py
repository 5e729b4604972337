"""The integration tier tests what only a real server does."""

import itertools
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_waline import Fake, Faults, Start
from tests.support.receivers import MailServer, Receiver, mail_server, receiver
from tests.support.servers import RealServer

_numbers = itertools.count()


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
