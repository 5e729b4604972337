"""The prefixes of operations, and their variants.

Only the exact path without prefix has the older variant. The same path with a trailing slash,
".html" or an id after it answers as under /api, because Waline does that.
"""

from dataclasses import dataclass

from .admin_ui import ADMIN_UI
from .variants import BARE, WALINE, Variant


# Compared by identity, since another protocol may be without prefix, too.
@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """`variant` is that of an exact path after it, `longer` that of longer paths, such as one with
    an id: None if there is none. /openapi.json lists the operations under `name`, or by the first
    words of their paths."""

    path: str
    variant: Variant
    longer: Variant | None = None
    name: str = ""


API = Prefix("/api", WALINE, WALINE)
BARE_API = Prefix("", BARE, WALINE)
UI = Prefix("/ui/api", ADMIN_UI, ADMIN_UI)
# Where Waline's operations are.
WALINE_PREFIXES = (API, BARE_API, UI)
