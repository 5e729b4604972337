"""Chromium, and a person in it: what they open, what they see, and what went wrong meanwhile.

No request is ever intercepted: with interception on, Playwright answers preflights in the server's
place. Other hosts are blocked by the browser's own resolver instead.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, Request, sync_playwright

from tests.support.requirements import find, give_up

# The first has no windows, which cost a browser half of its work.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--disable-gpu",
    # Each test has its own context, and few need two processes for pages.
    "--renderer-process-limit=1",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE *.localhost",
)
PATIENCE_MS = 60_000
REST_MS = 500


def find_program() -> str | None:
    """Chromium by CHROMIUM or PATH; None leaves it to Playwright's own."""
    return os.environ.get("CHROMIUM") or find(*NAMES)


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """A headless Chromium, if there is one that starts."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    # Chromium's sandbox does not work for root.
    args = [*FLAGS, *(["--no-sandbox"] if is_root else [])]
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=find_program(), args=args)
        except Error as error:
            reason = error.message.strip().splitlines()[0]
            give_up(f"no Chromium could be started: {reason}")
        try:
            yield browser
        finally:
            browser.close()


@dataclass(frozen=True)
class Sent:
    """A request as it left the browser, preflights included."""

    method: str
    url: str

    @property
    def path(self) -> str:
        return urlsplit(self.url).path


class Visitor:
    """One person with an empty browser profile, at one page."""

    def __init__(self, browser: Browser, **options: Any) -> None:
        self.context = browser.new_context(**{"locale": "en-US", "timezone_id": "UTC", **options})
        self.context.set_default_timeout(PATIENCE_MS)
        self.page = self.context.new_page()
        self.alerts: list[str] = []
        self.errors: list[str] = []
        self.strangers: list[str] = []
        self.sent: list[Sent] = []
        self._forgiven: list[str] = []
        self._unanswered: dict[str, Sent] = {}
        self.context.on("request", self._notice_stranger)
        self.page.on("dialog", self._read_alert)
        self.page.on("console", self._notice_console)
        self.page.on("pageerror", lambda error: self.errors.append(f"page error: {error}"))
        # Playwright's own events leave preflights out.
        self._network = self.context.new_cdp_session(self.page)
        self._network.on("Network.requestWillBeSent", self._notice_request)
        for end in ("Network.loadingFinished", "Network.loadingFailed"):
            self._network.on(end, self._notice_end)
        self._network.send("Network.enable")

    def open(self, url: str) -> None:
        self.page.goto(url)

    def reload(self) -> None:
        self.page.reload()

    def come_to_rest(self) -> None:
        """Wait until every request has its answer, and none was sent for half a second.

        Playwright's own "networkidle" was once waited for in vain, and names no request.
        """
        deadline = time.monotonic() + PATIENCE_MS / 1000
        while True:
            before = len(self.sent)
            self.page.wait_for_timeout(REST_MS)
            if not self._unanswered and len(self.sent) == before:
                return
            assert time.monotonic() < deadline, f"no rest: {self._unanswered or self.sent[before:]}"

    def asked(self, server: str) -> list[Sent]:
        """The requests to this server so far, in order."""
        self.page.evaluate("0")  # Events come in order: earlier requests are reported first.
        return [sent for sent in self.sent if sent.url.startswith(server)]

    def forgive(self, text: str) -> None:
        """Allow errors, and requests to other hosts, that contain these words, since they are known
        of the client."""
        self._forgiven.append(text)

    def complaints(self) -> list[str]:
        """Everything that should not have happened."""
        if not self.page.is_closed():
            self.page.evaluate("0")
        found = self.errors + [f"asked another host: {url}" for url in self.strangers]
        return [each for each in found if not any(text in each for text in self._forgiven)]

    def close(self) -> None:
        self.context.close()

    def _read_alert(self, dialog: Dialog) -> None:
        self.alerts.append(dialog.message)
        dialog.accept()

    def _notice_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            where = message.location.get("url", "")
            self.errors.append(f"console: {message.text} ({where})")

    def _notice_stranger(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in ("data", "blob"):
            return
        if address.hostname != "127.0.0.1" and not (address.hostname or "").endswith(".localhost"):
            self.strangers.append(request.url)

    def _notice_request(self, event: dict[str, Any]) -> None:
        sent = Sent(event["request"]["method"], event["request"]["url"])
        self.sent.append(sent)
        if event["requestId"] == event["loaderId"]:
            # It is for a document; what the one before has asked for may never be told to end.
            self._unanswered.clear()
        # The end of a preflight is not always told, but then its request follows or fails.
        if event.get("type") != "Preflight":
            self._unanswered[event["requestId"]] = sent

    def _notice_end(self, event: dict[str, Any]) -> None:
        self._unanswered.pop(event["requestId"], None)
