"""The names of counters: `<type> <path>`, such as `time /a` for the views of /a."""

from ..model import NO_VIEWS

# The largest whole number that JSON has for every client (RFC 8259, section 6): a counter stops
# there.
MAX_COUNT = 2**53 - 1
VIEWS = "time"
# How Fluid names two counters of the site.
SITE_COUNTERS = ("site-pv", "site-uv")

_PREFIX = f"{VIEWS} "


def view_counter(path: str) -> str:
    return f"{VIEWS} {path}"


def is_view_counter(name: str) -> bool:
    return name.startswith(_PREFIX)


def viewed_page(name: str) -> str:
    """The page whose views this counts."""
    return name.removeprefix(_PREFIX)


def type_of(name: str) -> str:
    """The type of the counter with this name in other protocols. A page may have any name, but two
    are Fluid's: it counts these in addition to the page's, and as views the site would have each
    three times."""
    return NO_VIEWS if name in SITE_COUNTERS else VIEWS
