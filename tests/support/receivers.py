"""Receivers of notifications: an email server and a web server that keep what came."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from .servers import wait_until


@dataclass
class MailServer:
    """`answer` is its reply to an email, and `password` what it takes of everybody who logs in;
    both may be changed. It puts off emails to the host `puts_off`."""

    port: int = 0
    answer: str = "250 taken"
    password: str = ""
    puts_off: str = ""
    came: list[tuple[str, EmailMessage]] = field(default_factory=list)
    # The bytes of each, as they came.
    raw: list[bytes] = field(default_factory=list)
    # The names by which senders introduced themselves.
    helos: list[str] = field(default_factory=list)

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.helos.append(session.host_name)
        if any(to.endswith(f"@{self.puts_off}") for to in envelope.rcpt_tos):
            return "451 try again later"
        if self.answer.startswith("250"):
            mail = message_from_bytes(envelope.content, policy=policy.default)
            assert isinstance(mail, EmailMessage)
            self.raw += [envelope.content for _ in envelope.rcpt_tos]
            self.came += [(to, mail) for to in envelope.rcpt_tos]
        return self.answer

    def let_in(self, server: Any, session: Any, envelope: Any, way: str, login: Any) -> AuthResult:
        return AuthResult(success=login.password.decode() == self.password, handled=False)

    def wait(self, number: int) -> list[tuple[str, EmailMessage]]:
        wait_until(lambda: len(self.came) >= number, f"{number} mails")
        return self.came


class _Controller(Controller):
    def _trigger_server(self) -> None:
        # Not the port that was asked for, which is 0, but the one that it got.
        assert isinstance(self.server, asyncio.Server)
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def mail_server() -> Iterator[MailServer]:
    server = MailServer()
    controller = _Controller(
        server,
        hostname="127.0.0.1",
        port=0,
        authenticator=server.let_in,
        auth_require_tls=False,
        # As most are.
        enable_SMTPUTF8=False,
    )
    controller.start()
    server.port = controller.port
    try:
        yield server
    finally:
        controller.stop()


@pytest.fixture(scope="module")
def lasting_mail_server() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def mails(lasting_mail_server: MailServer) -> MailServer:
    """The mail server to which nothing has come yet, and which takes everything."""
    fresh = MailServer(port=lasting_mail_server.port)
    for name in MailServer.__dataclass_fields__:
        setattr(lasting_mail_server, name, getattr(fresh, name))
    return lasting_mail_server


@dataclass
class Receiver:
    """A web server that takes POSTs: each is (path, headers, body). `answer` says the status and
    the body for a path."""

    url: str = ""
    came: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    answer: Callable[[str, bytes], tuple[int, bytes]] = lambda path, body: (200, b"ok")
    # Of its answers.
    headers: dict[str, str] = field(default_factory=dict)

    def wait(self, number: int) -> list[tuple[str, dict[str, str], bytes]]:
        wait_until(lambda: len(self.came) >= number, f"{number} requests")
        return self.came


@contextlib.contextmanager
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = self.rfile.read(length)
            if len(body) < length:
                # A sender that was killed amid a request has not made one.
                self.close_connection = True
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.came.append((self.path, headers, body))
            status, said = found.answer(self.path, body)
            self.send_response(status)
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()
