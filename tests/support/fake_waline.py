"""A fake server with the Waline API, which loses, doubles and refuses requests on purpose."""

import json
import socket
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Faults:
    """What the server does wrong: n means with every n-th view, counted from 0; 0 means never."""

    is_footfall: bool = True
    base: str = "/api"
    loses: int = 0
    doubles: int = 0
    refuses: int = 0
    # Counts the view, and answers 503.
    fails: int = 0
    # Does not answer, and keeps the connection open.
    keeps_silent: int = 0
    closes: int = 0
    # From this view on the server is gone.
    ends: int = 0
    refuses_reads: bool = False
    # Answers so many reads of counts, and keeps the connections of later ones open; 0: all of them.
    answers_reads: int = 0
    redirects: bool = False


class Fake(ThreadingHTTPServer):
    """The server; it keeps counts in a dict."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, faults: Faults, host: str = "127.0.0.1") -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, 0), Handler)
        self.faults = faults
        self.lock = threading.Lock()
        self.is_over = threading.Event()
        self.views = self.reads = 0
        self.counts: Counter[str] = Counter()
        self.pages: set[str] = set()
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}"

    def go_away(self) -> None:
        self.is_over.set()
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        fake, parts = self._fake, urlsplit(self.path)
        query = parse_qs(parts.query)
        if fake.faults.redirects:
            self.send_response(301)
            self.send_header("Location", "https://elsewhere.example/")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif parts.path == "/count.js" and fake.faults.is_footfall:
            self._say(200, "data-footfall-views")
        elif parts.path == f"{fake.faults.base}/article" and fake.faults.refuses_reads:
            self._refuse()
        elif parts.path == f"{fake.faults.base}/article":
            fake.reads += 1
            if 0 < fake.faults.answers_reads < fake.reads:
                fake.is_over.wait()
            counts = [fake.counts[path] for path in query["path"][0].split(",")]
            self._answer([{"time": count} for count in counts], counts)
        elif parts.path == f"{fake.faults.base}/comment":
            fake.pages.add(query["path"][0])
            self._answer({"page": 1, "data": []}, {"page": 1, "data": []})
        else:
            self._say(404, "there is nothing")

    def do_POST(self) -> None:
        fake, faults = self._fake, self._fake.faults
        path = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["path"]
        with fake.lock:
            n, fake.views = fake.views, fake.views + 1
        if faults.ends and n >= faults.ends:
            # The listener is closed when the client notices that its connection was closed.
            fake.go_away()
            self.close_connection = True
        elif is_due(faults.closes, n):
            self.close_connection = True
        elif is_due(faults.refuses, n):
            self._refuse()
        elif is_due(faults.keeps_silent, n):
            fake.is_over.wait()
        else:
            with fake.lock:
                fake.counts[path] += 1 - is_due(faults.loses, n) + is_due(faults.doubles, n)
                count = fake.counts[path]
            if is_due(faults.fails, n):
                self._say(503, "{}")
                return
            self._answer([{"time": count}], count)

    def _answer(self, data: Any, bare: Any) -> None:
        wrapped = {"errno": 0, "errmsg": "", "data": data}
        self._say(200, json.dumps(wrapped if self._fake.faults.base == "/api" else bare))

    def _refuse(self) -> None:
        self._say(429, json.dumps({"errno": 429, "errmsg": "One at a time, please"}))

    def _say(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("X-Waline-Version", "1.2.3")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    @property
    def _fake(self) -> Fake:
        return cast(Fake, self.server)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def is_due(every: int, n: int) -> bool:
    return every > 0 and n % every == 0


# A function of Faults and a host.
Start = Callable[..., Fake]
