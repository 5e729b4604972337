"""Fetches a file to import: only by http(s), and bounded in size, time and redirects."""

import time
from http.client import HTTPException, HTTPMessage, IncompleteRead
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

MAX_DOWNLOAD_BYTES = 4 << 30
MAX_SECONDS = 900.0
# The longest silence.
SILENT_SECONDS = 30.0
MAX_REDIRECTS = 5
STEP_BYTES = 1 << 16


class CannotFetch(Exception):
    """The text is the reason, without the secret parts of an address."""


def is_address(name: str) -> bool:
    return name.lower().startswith(("http://", "https://"))


def fetch(
    address: str, target: Path, *, max_bytes: int = MAX_DOWNLOAD_BYTES, stays: bool = False
) -> None:
    """With `stays`, redirects to other hosts are refused. Raises CannotFetch, OSError if the target
    cannot be written."""
    host = _host_of(address)
    deadline = time.monotonic() + MAX_SECONDS
    try:
        with (
            _opener(host if stays else None).open(address, timeout=SILENT_SECONDS) as answer,
            target.open("wb") as file,
        ):
            length = answer.length or 0
            # It waits for some bytes and not for all, so that the deadline holds for slow servers.
            while chunk := answer.read1(STEP_BYTES):
                file.write(chunk)
                if file.tell() > max_bytes:
                    raise CannotFetch(f"{host} sends more than {max_bytes:,} bytes")
                if time.monotonic() > deadline:
                    raise CannotFetch(f"{host} takes more than {MAX_SECONDS:.0f} seconds")
            if file.tell() < length:
                raise IncompleteRead(b"")
    except HTTPError as error:
        raise CannotFetch(f"{host} answered {error.code}") from None
    except IncompleteRead:
        raise CannotFetch(f"{host} sent only a part of the file") from None
    except (URLError, HTTPException, TimeoutError, ConnectionError, ValueError) as error:
        reason = getattr(error, "reason", "") or error
        raise CannotFetch(f"{host} could not be asked: {reason}") from None


def _host_of(address: str) -> str | None:
    try:
        parts = urlsplit(address)
    except ValueError:
        # Python's words would repeat a password.
        raise CannotFetch("the address is not a URL") from None
    if parts.username or parts.password:
        raise CannotFetch("an address with a password would be logged: download the file yourself")
    return parts.hostname


class _Redirects(HTTPRedirectHandler):
    max_redirections = MAX_REDIRECTS

    def __init__(self, host: str | None) -> None:
        """`host` is the only one to which it is redirected; None for any."""
        self._host = host

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        was, now = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if now not in ("http", "https") or (was == "https" and now == "http"):
            raise CannotFetch(f"it was redirected from {was} to {now[:16]}, and that is refused")
        host = urlsplit(newurl).hostname
        if self._host is not None and host != self._host:
            raise CannotFetch(f"{self._host} redirects to {host}: name that address instead")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(host: str | None) -> OpenerDirector:
    """An opener without Python's own handlers of files, FTP and data."""
    opener = OpenerDirector()
    for handler in (
        ProxyHandler(),
        HTTPHandler(),
        HTTPSHandler(),
        HTTPDefaultErrorHandler(),
        _Redirects(host),
        HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    opener.addheaders = [("User-Agent", "footfall")]
    return opener
