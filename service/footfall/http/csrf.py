"""Against cross-site request forgery: the checks of requests whose login is a session cookie.

A browser sends a cookie with requests of any page. So this cookie is not sent with requests that
another site started (SameSite); each request has a CSRF header, which other origins could send only
after a preflight, which is rejected; and the origin reported by the browser must be this host. The
host must be one that is allowed for this service.
"""

from urllib.parse import urlsplit

from starlette.types import Scope

from ..errors import Forbidden
from .client import Headers, host_of, may_be_own, server_address
from .policy import Policy
from .response import Headers as Lines

# Any value will do: no other origin can send a header of this name.
CSRF_HEADER = b"x-footfall-page"
SESSION_COOKIE = "footfall"
# Identifies a browser in which an account logged in (accounts/rules/devices.py).
DEVICE_COOKIE = "footfall-device"
# A browser takes a cookie with this before its name only over HTTPS, and with `Secure`.
SECURE_PREFIX = "__Secure-"
# Methods that change nothing: browsers may omit the origin.
_SAFE_METHODS = ("GET", "HEAD")


def check_csrf(method: str, headers: Headers, scope: Scope, policy: Policy) -> None:
    """Raises Forbidden, unless a page of this service sent the request."""
    if not headers.get(CSRF_HEADER):
        raise Forbidden(
            f"Forbidden: only for this service's own pages, which send {CSRF_HEADER.decode()}"
        )
    check_origin(method, headers, scope, policy)


def check_origin(method: str, headers: Headers, scope: Scope, policy: Policy) -> None:
    """Raises Forbidden unless Origin and Sec-Fetch-Site name a page of this host.

    For a form without a script, which cannot send its own header, this is the whole check.
    """
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if method not in _SAFE_METHODS and site is None and origin is None:
        raise Forbidden("Forbidden: neither Origin nor Sec-Fetch-Site says which page sent this")
    here = host_of(server_address(scope, policy))
    own = {host_of(policy.server_url), here if may_be_own(here, policy) else ""} - {""}
    if here not in own and (not own or (origin and host_of(origin.decode("latin-1")) == here)):
        raise Forbidden(f"Forbidden: SERVER_URL does not say that this service is at {here}")
    is_from_elsewhere = origin is not None and host_of(origin.decode("latin-1")) not in own
    if is_from_elsewhere or site not in (None, b"same-origin"):
        raise Forbidden("Forbidden: a page of another site sent this")


def session_cookie(headers: Headers, scope: Scope, policy: Policy) -> str:
    """The token in the session cookie; "" if there is none."""
    is_encrypted = _is_encrypted(headers, scope, policy)
    tokens = _values(headers, SECURE_PREFIX + SESSION_COOKIE)
    if not (tokens or is_encrypted):
        tokens = _values(headers, SESSION_COOKIE)
    # If there are two, somebody who controls a part of this host's domain has set one.
    return tokens[0] if len(tokens) == 1 else ""


def device_cookie(headers: Headers) -> str:
    """What identifies the browser; "" if nothing does."""
    tokens = _values(headers, SECURE_PREFIX + DEVICE_COOKIE) or _values(headers, DEVICE_COOKIE)
    return tokens[0] if tokens else ""


def _values(headers: Headers, name: str) -> list[str]:
    # Several lines of it were joined by commas, which no token has.
    pairs = headers.get(b"cookie", b"").decode("latin-1").replace(",", ";").split(";")
    split = (pair.strip().partition("=") for pair in pairs)
    return [value for key, _, value in split if key == name]


def set_cookie(
    name: str, value: str, headers: Headers, scope: Scope, policy: Policy, *, lasts_seconds: int = 0
) -> Lines:
    """The cookie that keeps this in the browser, for this long or until it is closed; the value ""
    deletes it."""
    prefix, secure = "", ""
    if _is_encrypted(headers, scope, policy):
        prefix, secure = SECURE_PREFIX, "; Secure"
    path = urlsplit(policy.server_url).path.rstrip("/") + "/ui"
    age = f"; Max-Age={lasts_seconds}" if lasts_seconds or not value else ""
    line = f"{prefix}{name}={value}; Path={path}; HttpOnly; SameSite=Strict{secure}{age}"
    return [(b"set-cookie", line.encode())]


def _is_encrypted(headers: Headers, scope: Scope, policy: Policy) -> bool:
    """Is the browser using HTTPS? The browser's own headers tell; a proxy may have forgotten to."""
    page = headers.get(b"origin") or headers.get(b"referer") or b""
    return page.startswith(b"https:") or server_address(scope, policy).startswith("https:")
