"""The prefixes of operations, and their dialects.

Only the exact path without prefix has the older dialect. The same path with a trailing slash,
".html" or an id after it answers as under /api, because Waline does that.
"""

from dataclasses import dataclass

from .dialects import BARE, WALINE, Dialect
from .own_pages import OWN_PAGES


# Compared by identity, since another protocol may be without prefix, too.
@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """`dialect` is that of an exact path after it, `longer` that of longer paths, such as one with
    an id: None if there is none. /openapi.json lists the operations under `name`, or by the first
    words of their paths."""

    path: str
    dialect: Dialect
    longer: Dialect | None = None
    name: str = ""


API = Prefix("/api", WALINE, WALINE)
BARE_API = Prefix("", BARE, WALINE)
UI = Prefix("/ui/api", OWN_PAGES, OWN_PAGES)
# Where Waline's operations are.
WALINE_PREFIXES = (API, BARE_API, UI)
