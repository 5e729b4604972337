"""Is another server there? Connects as a request to it would, by TCP, TLS and a proxy of the
environment, and sends no request.
"""

import asyncio
import ssl
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

PORTS = {"http": 80, "https": 443}


async def reach(url: str, seconds: float) -> str:
    """Why the host of this address cannot be reached; "" if it can."""
    try:
        async with asyncio.timeout(seconds):
            await _connect(url)
    except TimeoutError:
        return f"no answer within {seconds:g} s"
    except (OSError, ValueError) as error:
        return getattr(error, "verify_message", "") or str(error) or type(error).__name__
    return ""


async def _connect(url: str) -> None:
    proxy = _proxy_for(url)
    parts = urlsplit(proxy or url)
    trusted: ssl.SSLContext | None = None
    if parts.scheme == "https":
        trusted = httpx2.create_ssl_context()
    port = parts.port or PORTS.get(parts.scheme, 443)
    _, writer = await asyncio.open_connection(parts.hostname, port, ssl=trusted)
    writer.close()


def _proxy_for(url: str) -> str:
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return ""
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"
