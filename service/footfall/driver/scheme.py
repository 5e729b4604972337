"""Do the servers of a REDIS_URL use TLS although it starts with redis://, or not although it starts
with rediss://?

Their errors do not tell: a server without TLS waits for the end of a presumed command, and one with
TLS closes the connection.
"""

import asyncio
import ssl

from redis.asyncio.connection import SSLConnection
from redis.exceptions import AuthenticationError, ResponseError

from .replies import ErrorReply, cause_of
from .url import Address, parse_redis_url

PROBE_SECONDS = 1.0
# Replies that prove the right scheme.
_SAID = (ErrorReply, ResponseError, AuthenticationError)


class WrongScheme(Exception):
    """REDIS_URL has the wrong scheme; the message names the right one."""


async def require_scheme(url: str, failure: Exception | None = None) -> None:
    """Raises WrongScheme if that is why a Redis of one's own fails, or has failed like this."""
    if not url or (failure and isinstance(cause_of(failure), _SAID)):
        return
    if advice := await wrong_scheme(url):
        raise WrongScheme(advice) from failure


async def wrong_scheme(url: str) -> str:
    """A sentence with the right scheme; "" if the scheme is right, or no server answers."""
    address = parse_redis_url(url)
    is_tls = address.kind is SSLConnection
    context = None if is_tls else _trusting()
    places = _places(address)
    answers = await asyncio.gather(*(_answers(*place, context) for place in places))
    if not any(answers):
        return ""
    host, port = places[answers.index(True)]
    scheme = url.partition("://")[0]
    said = f"REDIS_URL says {scheme}://, and {host}:{port} answers"
    if is_tls:
        return f"{said} without TLS: write {scheme.replace('rediss', 'redis')}://"
    return (
        f"{said} with TLS: write {scheme.replace('redis', 'rediss')}://, maybe with ssl_ca_certs, "
        "ssl_certfile and ssl_keyfile"
    )


def _places(address: Address) -> list[tuple[str, int]]:
    if address.hosts:
        return list(address.hosts)
    if "path" in address.options:
        return []
    return [(address.options.get("host", "localhost"), address.options.get("port", 6379))]


def _trusting() -> ssl.SSLContext:
    """Only to detect TLS: no password is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def _answers(host: str, port: int, context: ssl.SSLContext | None) -> bool:
    """Does a Redis or a Sentinel answer there in this way?"""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            reader, writer = await asyncio.open_connection(host, port, ssl=context)
            try:
                writer.write(b"PING\r\n")
                return await reader.read(1) in (b"+", b"-")
            finally:
                writer.close()
    except ssl.SSLError as error:
        # It wants a certificate of ours, which only a server with TLS does.
        return "ALERT" in str(error) or "CERTIFICATE_REQUIRED" in str(error)
    except (OSError, TimeoutError):
        return False
