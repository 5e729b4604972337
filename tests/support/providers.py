"""Small real providers on loopback by which people log in, of both kinds, and their mistakes."""

import base64
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

CLIENT, SECRET = "footfall", "the client's own"
OCTA = {
    "id": "octa",
    "name": "Octa <b>",
    "email": "octa@example.com",
    "url": "https://octa.example",
    "avatar": "https://octa.example/a.png",
}


@dataclass
class Provider:
    """`people` maps the name of a service to its answer about who logs in; `raw` maps a path to the
    bytes that it answers there instead, with these `statuses`, and `stuck` are paths that it does
    not answer at all."""

    url: str = ""
    services: Any = field(default_factory=lambda: [{"name": "github", "origin": "github.com"}])
    people: dict[str, Any] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    stuck: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    # The last request and its parameters.
    last: dict[str, str] = field(default_factory=dict)
    # OpenID Connect: the contents of its metadata and its tokens, and how it signs.
    described: dict[str, Any] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)
    key: Any = None
    codes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    was_asked: threading.Event = field(default_factory=threading.Event)
    is_over: threading.Event = field(default_factory=threading.Event)

    @property
    def issuer(self) -> str:
        return f"{self.url}/issuer"


# Made once, since a key of this kind takes a while.
RSA = RSAKey.generate_key(2048, {"kid": "k1", "use": "sig"}, auto_kid=False)
OTHER = ECKey.generate_key("P-256", {"kid": "k2"}, auto_kid=False)
SHARED = OctKey.import_key(SECRET * 4)


@contextmanager
def provider() -> Iterator[Provider]:
    made = Provider(key=RSA)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"provider": made}))
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.is_over.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def lasting_provider() -> Iterator[Provider]:
    with provider() as made:
        yield made


@pytest.fixture
def other(lasting_provider: Provider) -> Provider:
    return fresh(lasting_provider)


def fresh(running: Provider) -> Provider:
    """The provider without mistakes and without requests so far."""
    made = Provider(url=running.url, key=RSA, is_over=running.is_over)
    made.people["github"] = dict(OCTA)
    for name in Provider.__dataclass_fields__:
        setattr(running, name, getattr(made, name))
    return running


class Handler(BaseHTTPRequestHandler):
    provider: Provider

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        if self._is_wrong(parts.path):
            return
        if parts.path == "/":
            return self._say({"services": self.provider.services})
        if parts.path.startswith("/issuer/"):
            return self._issuer(parts.path.removeprefix("/issuer"), query)
        self.provider.last = {**query, "user-agent": self.headers["user-agent"]}
        name = parts.path[1:]
        if "code" not in query and "oauth_verifier" not in query:
            return self._send_back(query["redirect"], {"code": "c1", "state": query["state"]})
        self._say(self.provider.people.get(name, {"errno": 1}))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        if self._is_wrong(urlsplit(self.path).path):
            return
        form = dict(parse_qsl(body))
        started = self.provider.codes.pop(form.get("code", ""), None)
        proof = base64.urlsafe_b64encode(sha256(form.get("code_verifier", "").encode()).digest())
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if self.headers["authorization"] != f"Basic {basic}":
            return self._say({"error": "invalid_client"}, 401)
        if (
            started is None
            or proof.decode().rstrip("=") != started["code_challenge"]
            or form["redirect_uri"] != started["redirect_uri"]
        ):
            return self._say({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {
            "iss": self.provider.issuer,
            "aud": CLIENT,
            "sub": "s1",
            "iat": now,
            "exp": now + 60,
            "nonce": started["nonce"],
            **self.provider.claims,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        token = signed(self.provider, claims)
        self._say({"access_token": "a1", "token_type": "Bearer", "id_token": token})

    def _issuer(self, path: str, query: Mapping[str, str]) -> None:
        issuer = self.provider.issuer
        if path == "/.well-known/openid-configuration":
            names = ("authorization", "token", "userinfo")
            endpoints = {f"{name}_endpoint": f"{issuer}/{name}" for name in names}
            described = {"issuer": issuer, "jwks_uri": f"{issuer}/keys", **endpoints}
            return self._say({**described, **self.provider.described})
        if path == "/keys":
            return self._say({"keys": [RSA.as_dict(private=False)]})
        if path == "/userinfo":
            return self._say({"sub": "s1", **self.provider.more})
        code = f"c{len(self.provider.asked)}"
        self.provider.codes[code] = query
        self._send_back(query["redirect_uri"], {"code": code, "state": query["state"]})

    def _is_wrong(self, path: str) -> bool:
        self.provider.asked.append(path)
        self.provider.was_asked.set()
        if path in self.provider.stuck:
            self.provider.is_over.wait()
            self.close_connection = True
        elif path in self.provider.raw:
            self._send(self.provider.statuses.get(path, 200), self.provider.raw[path])
        return path in self.provider.stuck or path in self.provider.raw

    def _send_back(self, address: str, answer: Mapping[str, str]) -> None:
        self.send_response(302)
        self.send_header(
            "location", f"{address}{'&' if '?' in address else '?'}{urlencode(answer)}"
        )
        self.send_header("content-length", "0")
        self.end_headers()

    def _say(self, what: Any, status: int = 200) -> None:
        self._send(status, json.dumps(what).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in self.provider.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def signed(provider: Provider, claims: Mapping[str, Any]) -> str:
    header = {"alg": "RS256", "kid": "k1", **provider.header}
    if header["alg"] == "none":
        parts = (json.dumps(each).encode() for each in (header, claims))
        return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "."
    return jwt.encode(header, dict(claims), provider.key, [header["alg"]])
