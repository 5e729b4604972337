"""The browser and the system a comment was written with, out of its user-agent string.

The string comes from the request's body and may hold anything: only the resolver with linear-time
expressions is used, never the package's default, which falls back to backtracking ones.
"""

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ua_parser import OS, UserAgent
    from ua_parser.regex import Resolver

# The longest strings in use, of browsers inside applications, are about 400 characters.
MAX_LENGTH = 512
REMEMBERED = 4_096

# The client writes 11.0 for Windows 11, which browsers never do and no pattern knows.
_WINDOWS_NT = re.compile(r"Windows NT (\d{1,3}\.\d{1,3})")
# An absent match and the pattern's own word for one.
_UNKNOWN = {"", "Other"}


def describe(ua: str) -> tuple[str, str]:
    """Browser with its version, system with its version: "Chrome120.0", "Windows 10"."""
    return _describe(ua[:MAX_LENGTH])


@cache
def _resolver() -> "Resolver":
    # Not before somebody comments: it takes a quarter of a second and 28 MB, and a service that
    # only counts needs neither.
    from ua_parser import load_lazy_builtins
    from ua_parser.regex import Resolver

    return Resolver(load_lazy_builtins())


@lru_cache(maxsize=REMEMBERED)
def _describe(ua: str) -> tuple[str, str]:
    from ua_parser import Domain

    found = _resolver()(ua, Domain.USER_AGENT | Domain.OS)
    return _browser(found.user_agent), _system(found.os, ua)


def _browser(found: "UserAgent | None") -> str:
    if found is None or found.family in _UNKNOWN:
        return ""
    return found.family + _version(found.major, found.minor)


def _system(found: "OS | None", ua: str) -> str:
    if found is None or found.family in _UNKNOWN:
        return ""
    if found.major == "NT" and (numbered := _WINDOWS_NT.search(ua)):
        return f"Windows {numbered[1]}"
    return f"{found.family} {_version(found.major, found.minor)}".rstrip()


def _version(*parts: str | None) -> str:
    return ".".join(part for part in parts if part)
