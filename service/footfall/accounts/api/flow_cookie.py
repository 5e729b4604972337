"""The cookie of a login by another service, which binds it to the browser that started it.

It holds the flow's state while the browser is at the other service. Afterwards, it holds a secret
that was in no address, without which the ticket in the address is useless.
"""

import re

from ...http.client import Headers
from ...http.response import Headers as Lines
from ...outside.targets import Targets

# A browser takes a cookie of this first word only from this host, over HTTPS.
_SECURE_NAME, _NAME = "__Host-footfall-flow", "footfall-flow"


def cookie(targets: Targets, value: str, lasts_seconds: int = 0) -> Lines:
    """The cookie that keeps the value in this browser for this long; "" deletes it."""
    secure = "; Secure" if targets.server_url.startswith("https:") else ""
    rest = f"Path=/; Max-Age={lasts_seconds}; HttpOnly; SameSite=Lax{secure}"
    return [(b"set-cookie", f"{_name(targets)}={value}; {rest}".encode())]


def kept(targets: Targets, headers: Headers) -> str:
    """The value in this browser; "" for none."""
    start = f"{_name(targets)}="
    pairs = re.split("[,;]", headers.get(b"cookie", b"").decode("latin-1"))
    values = [pair.strip().removeprefix(start) for pair in pairs if start in pair]
    # If there are two, somebody who controls a part of this host's domain has set one.
    return values[0] if len(values) == 1 else ""


def _name(targets: Targets) -> str:
    return _SECURE_NAME if targets.server_url.startswith("https:") else _NAME
