"""Probes that are commands: their results for yes, for no, and for no service."""

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator

import pytest
from dockerfile_parse import DockerfileParser

from tests.support.serving import SOURCES

from .files import DEPLOY, environ_of, footfall_in, pod_of

SIDECAR = footfall_in(pod_of(DEPLOY / "kubernetes" / "sidecar.yaml"))
ANSWERS = {"200 OK": 0, "503 Service Unavailable": 1}


@contextlib.contextmanager
def answering(listener: socket.socket, status: str) -> Iterator[list[str]]:
    """Answer one request with this status; has the paths that were asked for."""
    asked: list[str] = []

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            asked.append(connection.recv(1024).split()[1].decode())
            connection.sendall(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode())

    thread = threading.Thread(target=answer)
    thread.start()
    yield asked
    thread.join()


def code_of(command: list[str], **environ: str) -> int:
    assert command[0] == "footfall"
    run = [sys.executable, "-m", "footfall", *command[1:]]
    return subprocess.run(
        run, env={"PYTHONPATH": SOURCES, **environ}, capture_output=True, timeout=60
    ).returncode


@pytest.mark.rare
@pytest.mark.parametrize("status", ANSWERS)
@pytest.mark.parametrize("probe", ["startupProbe", "livenessProbe"])
def test_the_sidecars_probes_ask_over_its_socket(probe: str, status: str) -> None:
    command = SIDECAR[probe]["exec"]["command"]
    expected = "/livez" if probe == "livenessProbe" else "/readyz"
    with tempfile.TemporaryDirectory(prefix="ff") as home, socket.socket(socket.AF_UNIX) as there:
        assert environ_of(SIDECAR)["UDS"]
        place = f"{home}/s"
        assert code_of(command, UDS=place) == 1
        there.bind(place)
        there.listen()
        with answering(there, status) as asked:
            assert code_of(command, UDS=place) == ANSWERS[status]
        assert asked == [expected]


@pytest.mark.parametrize("status", ANSWERS)
def test_the_images_health_check_asks_on_its_port(status: str) -> None:
    (line,) = (
        step["value"]
        for step in DockerfileParser(str(DEPLOY / "Dockerfile")).structure
        if step["instruction"] == "HEALTHCHECK"
    )
    command = json.loads(line.partition("CMD ")[2])
    with socket.create_server(("127.0.0.1", 0)) as there:
        port = str(there.getsockname()[1])
        with answering(there, status) as asked:
            assert code_of(command, PORT=port) == ANSWERS[status]
        assert asked == ["/livez"]
    assert code_of(command, PORT=port) == 1
