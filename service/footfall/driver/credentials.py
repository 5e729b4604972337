"""The name and password with which a connection to Redis is opened: the current ones.

A password may change while services run. Open connections stay open; each new one reads it here,
from its source within the last second.
"""

import logging
import math
from collections.abc import Callable
from time import monotonic

from redis.credentials import CredentialProvider

from .url import Address, Login, parse_redis_url

log = logging.getLogger(__name__)

# The maximum age of credentials: while Redis is unreachable, each request may try a connection.
FRESH_SECONDS = 1.0

# Called with False for the values read at startup, and with True for the current ones; returns
# (URL, password in place of the URL's, or ""), and raises ValueError, which contains no secret.
Source = Callable[[bool], tuple[str, str]]


class Credentials:
    """The credentials for one Redis, read again from their source.

    Raises ValueError for a URL that could not be used at startup.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.address = parse_redis_url(*source(False))
        # A worker that is started later uses the current ones for its first connection.
        self._read_at = -math.inf
        self._trouble = ""

    def redis(self) -> Login:
        return self._now().login

    def sentinels(self) -> Login:
        return self._now().sentinel_login

    def _now(self) -> Address:
        if monotonic() > self._read_at + FRESH_SECONDS:
            self._read_at = monotonic()
            self._read()
        return self.address

    def _read(self) -> None:
        """Read them; if that is not possible, the last ones remain, and the log reports it once."""
        trouble = ""
        try:
            self._take(*self._source(True))
        except ValueError as error:
            trouble = f"{error}; new connections to Redis use what was read before"
        if trouble and trouble != self._trouble:
            log.warning("%s", trouble)
        self._trouble = trouble

    def _take(self, url: str, password: str) -> None:
        try:
            address = parse_redis_url(url, password)
        except ValueError as error:
            raise ValueError(f"REDIS_URL: {error}") from None
        if address.shown != self.address.shown:
            # Another server's password is not for this one.
            raise ValueError(
                f"REDIS_URL is {address.shown} now, and was {self.address.shown}: restart "
                "the service to use it"
            )
        if address != self.address:
            log.info("new connections to Redis use other credentials than before")
        self.address = address


class Provider(CredentialProvider):
    """Supplies redis-py with the arguments of AUTH when it opens a connection; none: no AUTH."""

    def __init__(self, login: Callable[[], Login]) -> None:
        self._login = login

    async def get_credentials_async(self) -> Login:  # type: ignore[override]
        return self._login()
