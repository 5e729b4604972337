"""`footfall health`, for probes that cannot use the network."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers import RealServer, program_of, running
from tests.support.serving import Serving, serving

ALIVE = '{"status":"alive"}\n'


@pytest.fixture
def real_redis(own: Path) -> Iterator[RealServer]:
    with running(program_of("valkey"), own / "redis") as server:
        yield server


@pytest.mark.parametrize("place", ["port", "socket"])
def test_a_running_service_is_asked_where_it_listens(own: Path, place: str) -> None:
    environ = {"UDS": str(own / "s")} if place == "socket" else {}
    with serving(own / "it", **environ) as served:
        port = served.url.rpartition(":")[2] if place == "port" else "1"
        asker = Serving(own / "it", PORT=port, **environ)
        assert asker.ask("health") == (0, ALIVE)
        code, output = asker.ask("health", "--ready")
        assert (code, '"status":"ready"' in output) == (0, True)


def test_without_a_service_there_is_one_sentence(own: Path) -> None:
    code, output = Serving(own / "it", UDS=str(own / "none")).ask("health")
    assert code == 1
    assert output.startswith(f"Error: no answer from {own / 'none'}: ")
    assert "Traceback" not in output


def test_a_service_that_does_not_answer_in_time_is_not_alive(own: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = str(silent.getsockname()[1])
        code, output = Serving(own / "it", PORT=port).ask("health", "--seconds", "0.2")
    assert (code, output) == (1, f"Error: no answer from 127.0.0.1 port {port}: timed out\n")


def test_a_service_without_its_redis_is_alive_and_not_ready(
    own: Path, real_redis: RealServer
) -> None:
    with serving(own / "it", REDIS_URL=real_redis.url) as served:
        real_redis.stop()
        asker = Serving(own / "it", PORT=served.url.rpartition(":")[2])
        assert asker.ask("health") == (0, ALIVE)
        code, output = asker.ask("health", "--ready")
        assert (code, '"status":"not ready"' in output) == (1, True)
