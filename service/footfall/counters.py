"""The names of counters: `<type> <path>`, such as `time /a` for the views of /a."""

import re

from .model import NO_VIEWS

# The largest whole number that JSON has for every client (RFC 8259, section 6): a counter stops
# there.
MAX_COUNT = 2**53 - 1
VIEWS = "time"
# A client that measures the service has read no page of the site.
DEMO_PAGE = "/.footfall-demo"
# How Fluid names two counters of the site, in addition to those of its pages.
SITE_COUNTERS = ("site-pv", "site-uv")
# Names in other protocols that are no page of a site: a profile's or a project's, whose badge is
# shown elsewhere, and a key of Abacus in its namespace.
_NO_PAGE = re.compile(
    r"(?:ghpvc|(?:gist\.)?github\.com|gitlab\.com|gitee\.com|bitbucket\.org|codeberg\.org)/"
    r"|[A-Za-z0-9_.-]{3,64}/[A-Za-z0-9_-]{3,64}\Z",
    re.IGNORECASE,
)

_PREFIX = f"{VIEWS} "


def counter_of(path: str, type: str = VIEWS) -> str:
    """The name of the counter that clients, commands and files mean by a path, in any protocol.

    What is viewed has one counter: of views if it is a page's, else of the type NO_VIEWS, so that
    nobody has read the site. Clients may ask for either type."""
    # Nearly all paths start with a slash, and are looked at no further.
    if type == VIEWS and path[:1] == "/" and path != DEMO_PAGE:
        return f"{VIEWS} {path}"
    if type in (VIEWS, NO_VIEWS):
        type = VIEWS if is_page(path) else NO_VIEWS
    return f"{type} {path}"


def is_page(path: str) -> bool:
    """Is this a page of the site, and not what else may be counted?"""
    return path not in (DEMO_PAGE, *SITE_COUNTERS) and not _NO_PAGE.match(path)


def view_counter(path: str) -> str:
    return f"{VIEWS} {path}"


def is_view_counter(name: str) -> bool:
    return name.startswith(_PREFIX)


def viewed_page(name: str) -> str:
    """The page whose views this counts."""
    return name.removeprefix(_PREFIX)
