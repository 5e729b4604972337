"""The site that embeds the clients. It has its own origin, so every call is a cross-origin one."""

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from .packages import SCRIPTS, VERSIONS, bundle, script

TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">{head}</head><body>{body}</body></html>"""


class Blog:
    """Pages by path, the clients' files under /clients/, those of other counters' clients under
    /scripts/, and a picture for every avatar."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        blog = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = blog.find(unquote(urlsplit(self.path).path))
                kind, body = found or ("text/plain", b"no such page")
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                # A browser may leave before it has read everything.
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def publish(self, path: str, body: str, head: str = "") -> str:
        """Put a page at this path, and return its address; the clients on it are fetched first."""
        for version in VERSIONS:
            if f"/clients/{version}/" in head + body:
                bundle(version)
        for name in SCRIPTS:
            if f"/scripts/{name}" in head + body:
                script(name)
        self.pages[path] = PAGE.format(head=head, body=body)
        return self.url + quote(path)

    def find(self, path: str) -> tuple[str, bytes] | None:
        if path in self.pages:
            return TYPES[".html"], self.pages[path].encode()
        match path.split("/"):
            case ["", "clients", version, name] if version in VERSIONS:
                file = bundle(version) / Path(name).name
                return (TYPES[file.suffix], file.read_bytes()) if file.is_file() else None
            case ["", "scripts", name] if name in SCRIPTS:
                return TYPES[".js"], script(name).read_bytes()
            case ["", "avatar", name]:
                return TYPES[".svg"], _avatar(name)
        return None


def _avatar(name: str) -> bytes:
    """Two tones and a pattern of nine squares, from the name's hash."""
    seed = hashlib.sha256(name.encode()).digest()
    hue = seed[0] * 360 // 256
    squares = "".join(
        f'<rect x="{16 + x * 16}" y="{16 + y * 16}" width="16" height="16"/>'
        for y in range(3)
        for x in range(3)
        # Mirrored, so that it looks like a face.
        if seed[1 + y * 2 + (x % 2)] % 2
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 80" width="80" height="80">'
        f'<rect width="80" height="80" fill="hsl({hue} 45% 86%)"/>'
        f'<g fill="hsl({hue} 50% 38%)">{squares}</g></svg>'
    ).encode()


@contextlib.contextmanager
def serving_blog() -> Iterator[Blog]:
    blog = Blog()
    thread = threading.Thread(target=blog.server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield blog
    finally:
        blog.server.shutdown()
        blog.server.server_close()
        thread.join()
