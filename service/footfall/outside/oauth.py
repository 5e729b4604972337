"""Login services of Waline's kind: one address in front of several services.

GET <address>/ lists them; <address>/<name>?redirect&state sends a browser to one, which returns
with a code; and <address>/<name>?code returns the person. The list is fetched in the background and
cached, so that only people who log in wait for it.
"""

import asyncio
import logging
import re
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from ..errors import NotProven, ProviderUnavailable, ServiceError
from ..model import Identity
from ..telemetry.faults import Faults
from . import load

log = logging.getLogger(__name__)

# How long a list of services is valid, and the pause after a failed request.
KNOWN_SECONDS, AGAIN_SECONDS = 300, 15
MAX_SERVICES = 20
MAX_ID = 255
# The first status that is not the person's fault.
SERVER_ERROR = 500
NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
# The parameters that a service may send back; the older Twitter has its own.
PASSED_ON = ("code", "state", "oauth_token", "oauth_verifier")


class OAuthServices:
    def __init__(self, url: str) -> None:
        self._url = url
        self._names: tuple[str, ...] = ()
        self._ask_again = float("-inf")
        self._asking: asyncio.Task[None] | None = None
        self._is_away = False
        self._faults = Faults("OAUTH_URL")

    def known(self) -> tuple[str, ...]:
        """The services of the last list. If that is old, a new one is fetched in the background."""
        is_asking = self._asking is not None and not self._asking.done()
        if time.monotonic() > self._ask_again and not is_asking:
            self._asking = asyncio.create_task(self._ask())
        return self._names

    async def names(self, wait_seconds: float) -> tuple[str, ...]:
        """The services' names, waiting at most this long for the first list."""
        if not self.known() and self._asking:
            await asyncio.wait([self._asking], timeout=wait_seconds)
        return self._names

    async def _ask(self) -> None:
        await load(".fetch")
        from .fetch import get

        try:
            answer = (await get(f"{self._url}/")).json
            names = _names_of(answer)
        except ServiceError as error:
            names, answer = (), error.__cause__ or error
        lasts = KNOWN_SECONDS if names else AGAIN_SECONDS
        self._ask_again = time.monotonic() + lasts
        if names:
            self._names = names
        if self._is_away == bool(names):
            self._is_away = not names
            if names:
                log.info("OAUTH_URL answers: people can log in by %s", ", ".join(names))
            else:
                log.warning("OAUTH_URL does not list its services: %.200r", answer)

    async def fault(self) -> str:
        """Why it is none, or cannot be asked; "" if it lists services. Raises
        ProviderUnavailable."""
        from .fetch import get

        status, answer = await get(f"{self._url}/")
        return "" if _names_of(answer) else f"status {status} without a list of services"

    def address(self, name: str, callback: str, state: str) -> str:
        """Where a browser goes to log in; it comes back to `callback`."""
        return f"{self._url}/{name}?" + urlencode({"redirect": callback, "state": state})

    async def identity(
        self, name: str, callback: str, state: str, answer: Mapping[str, str]
    ) -> Identity:
        """The person of this answer. Raises NotProven, ProviderUnavailable."""
        await load(".fetch")
        from .fetch import get

        asked = {word: answer[word] for word in PASSED_ON if answer.get(word)}
        if name == "facebook":
            # It demands the address that it was first called with.
            asked["state"] = urlencode({"redirect": callback, "state": state})
        status, said = await get(f"{self._url}/{name}", asked)
        id = said.get("id") if isinstance(said, dict) else None
        if isinstance(id, bool) or not isinstance(id, str | int) or not 0 < len(str(id)) <= MAX_ID:
            kind = "no id" if isinstance(said, dict) else "no JSON object"
            self._faults.tell(f"{name} with status {status} and {kind}", "nobody is logged in")
            raise NotProven() if status < SERVER_ERROR else ProviderUnavailable()
        shown = (text_of(said, key) for key in ("name", "email", "url", "avatar"))
        return Identity(name, str(id), *shown, is_vouched=said.get("email_verified") is True)


def text_of(said: Mapping[str, Any], *keys: str) -> str:
    """The first of these that exists, in one line; "" if none does."""
    values = (said.get(key) for key in keys)
    text = next((value for value in values if isinstance(value, str) and value.strip()), "")
    return " ".join(text.split())


def _names_of(answer: Any) -> tuple[str, ...]:
    services = answer.get("services") if isinstance(answer, dict) else None
    listed = services if isinstance(services, list) else []
    given = (entry.get("name") for entry in listed if isinstance(entry, dict))
    names = [name for name in given if isinstance(name, str) and NAME.fullmatch(name)]
    return tuple(dict.fromkeys(names))[:MAX_SERVICES]
