"""Requests of this service's own pages: they are logged in by a cookie, which scripts cannot read.

A browser sends a cookie whoever's page asks. So it goes with no request that another site began
(SameSite), each request has a header that other origins could send after a preflight only, which
is refused, and what the browser itself says of where a request comes from has to be this host. The
host has to be one at which this service may be.
"""

from urllib.parse import urlsplit

from starlette.types import Scope

from ..errors import Forbidden
from .client import Headers, host_of, may_be_own, server_address
from .policy import Policy
from .response import Headers as Lines

HEADER = b"x-footfall-page"
# A browser takes a cookie of this first word only over HTTPS, and with `Secure`.
SECURE_COOKIE, COOKIE = "__Secure-footfall", "footfall"
# Behind either word in the name of the cookie that tells a browser in which an account logged in.
DEVICE = "-device"
# Methods that change nothing: a browser need not say where these come from.
_READING = ("GET", "HEAD")


def require_own_page(method: str, headers: Headers, scope: Scope, policy: Policy) -> None:
    """Raises Forbidden, unless a page of this service sent the request."""
    if not headers.get(HEADER):
        raise Forbidden(
            f"Forbidden: only for this service's own pages, which send {HEADER.decode()}"
        )
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if method not in _READING and site is None and origin is None:
        raise Forbidden("Forbidden: neither Origin nor Sec-Fetch-Site says which page sent this")
    here = host_of(server_address(scope, policy))
    own = {host_of(policy.server_url), here if may_be_own(here, policy) else ""} - {""}
    if here not in own and (not own or (origin and host_of(origin.decode("latin-1")) == here)):
        raise Forbidden(f"Forbidden: SERVER_URL does not say that this service is at {here}")
    is_from_elsewhere = origin is not None and host_of(origin.decode("latin-1")) not in own
    if is_from_elsewhere or site not in (None, b"same-origin"):
        raise Forbidden("Forbidden: a page of another site sent this")


def session_of(headers: Headers, scope: Scope, policy: Policy) -> str:
    """The token in the cookie; "" if there is none."""
    is_encrypted = _is_encrypted(headers, scope, policy)
    found = _values(headers, SECURE_COOKIE)
    if not (found or is_encrypted):
        found = _values(headers, COOKIE)
    # Of two, somebody who has a part of this host's domain has set one.
    return found[0] if len(found) == 1 else ""


def device_of(headers: Headers) -> str:
    """What tells the browser (domain/devices.py); "" if nothing does."""
    found = _values(headers, SECURE_COOKIE + DEVICE) or _values(headers, COOKIE + DEVICE)
    return found[0] if found else ""


def _values(headers: Headers, name: str) -> list[str]:
    # Several lines of it were joined by commas, which no token has.
    pairs = headers.get(b"cookie", b"").decode("latin-1").replace(",", ";").split(";")
    split = (each.strip().partition("=") for each in pairs)
    return [value for key, _, value in split if key == name]


def cookie(
    token: str,
    headers: Headers,
    scope: Scope,
    policy: Policy,
    *,
    lasts_seconds: int = 0,
    suffix: str = "",
) -> Lines:
    """What keeps this token in the browser, for so long or until it is closed; "" ends it.

    `suffix` is of the cookie's name.
    """
    name, secure = (
        (SECURE_COOKIE, "; Secure") if _is_encrypted(headers, scope, policy) else (COOKIE, "")
    )
    path = urlsplit(policy.server_url).path.rstrip("/") + "/ui"
    age = f"; Max-Age={lasts_seconds}" if lasts_seconds or not token else ""
    value = f"{name}{suffix}={token}; Path={path}; HttpOnly; SameSite=Strict{secure}{age}"
    return [(b"set-cookie", value.encode())]


def _is_encrypted(headers: Headers, scope: Scope, policy: Policy) -> bool:
    """Did the browser ask over HTTPS? It says so itself; a proxy may have forgotten to."""
    page = headers.get(b"origin") or headers.get(b"referer") or b""
    return page.startswith(b"https:") or server_address(scope, policy).startswith("https:")
