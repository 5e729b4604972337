"""A web server that is told of comments: a process that can be killed, and keeps what it took.

`python -m tests.chaos.told PORT FILE` is that process. It adds the text of each comment to the file
before it answers, so what it has answered is there when it is started again.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from redis import Redis

from footfall.notifications.store.outbox import CONSUMER, GROUP, IDLE_MS

from ..support.servers import wait_until
from ..support.serving import SOURCES, Serving

# An answer takes so long, so that there is always one under way.
ANSWER_SECONDS = 0.05
ROOT = Path(__file__).parents[2]


class AuthoredComment:
    """The web server, and the worker that tells it."""

    def __init__(self, directory: Path, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/"
        self._file = directory / "told"
        self._file.touch()
        self._command = [sys.executable, "-m", "tests.chaos.told", str(port), str(self._file)]
        self._server: subprocess.Popen[bytes] | None = None
        self._worker: subprocess.Popen[str] | None = None

    def start(self) -> None:
        environ = {**os.environ, "PYTHONPATH": f"{SOURCES}{os.pathsep}{ROOT}"}
        self._server = subprocess.Popen(
            self._command, cwd=ROOT, env=environ, stdout=subprocess.PIPE
        )
        assert self._server.stdout is not None
        # It reports when it listens.
        assert self._server.stdout.readline()

    def start_worker(self, service: Serving) -> None:
        self._worker = service.run("worker", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        assert self._server is not None
        _kill(self._server)

    def kill_worker(self) -> None:
        assert self._worker is not None
        _kill(self._worker)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        self.start()
        try:
            yield
        finally:
            for process in (self._worker, self._server):
                if process is not None:
                    _kill(process)

    def wait_for_more(self) -> None:
        before = self.times().total()
        wait_until(lambda: self.times().total() > before, "a comment to be told")

    def times(self) -> Counter[str]:
        """How often it was told of each comment, by their texts."""
        return Counter(self._file.read_text().splitlines())


def _kill(process: "subprocess.Popen[bytes] | subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def hurry(client: Redis, *, least_ms: int = 0) -> None:
    """Let pass the time that has to pass for what was interrupted, and for what has failed. A task
    that somebody took less than `least_ms` ago is still being carried out."""
    outbox, retries = "ff:{site}:outbox", "ff:{site}:retries"
    if client.exists(outbox):
        for each in client.xpending_range(outbox, GROUP, "-", "+", 100, idle=least_ms):
            client.xclaim(
                outbox,
                GROUP,
                CONSUMER,
                0,
                (each["message_id"],),
                idle=IDLE_MS,
                justid=True,
                retrycount=1,
            )
    for task in client.zrange(retries, 0, -1):
        assert isinstance(task, bytes)
        client.zadd(retries, {task: 0}, xx=True)


def main(port: int, file: Path) -> None:
    target = os.open(file, os.O_WRONLY | os.O_APPEND)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            time.sleep(ANSWER_SECONDS)
            os.write(target, body["data"]["comment"]["rawComment"].encode() + b"\n")
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        print("listening", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
