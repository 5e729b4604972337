"""The browser and the system that a comment was written with, by its user-agent string.

They have the names that Waline gives them. It uses another library, so the tables
below translate names, and list applications where ua-parser finds only their engine.

The string comes from the request's body and may be anything: only the resolver with linear-time
expressions is used, not the package's default, which may fall back to backtracking ones.
"""

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ua_parser import OS, UserAgent
    from ua_parser.regex import Resolver

# The longest strings in use, of browsers inside applications, are about 400 characters.
MAX_CHARACTERS = 512
MAX_CACHED = 4_096

# ua-parser's name of a browser -> Waline's.
BROWSERS = {
    "Amazon Silk": "Silk",
    "Android": "Android Browser",
    "Baidu Browser": "Baidu",
    "Baidu Explorer": "Baidu",
    "Chrome Mobile": "Mobile Chrome",
    "Chrome Mobile WebView": "Chrome WebView",
    "Chrome Mobile iOS": "Mobile Chrome",
    "DuckDuckGo Mobile": "DuckDuckGo",
    "Edge Mobile": "Edge",
    "Firefox Mobile": "Mobile Firefox",
    "Firefox iOS": "Mobile Firefox",
    "Google": "GSA",
    "HeadlessChrome": "Chrome Headless",
    "HeyTap Browser": "HeyTap",
    "LINE": "Line",
    "MiuiBrowser": "MIUI Browser",
    "Opera Mobile": "Opera",
    "QQ Browser": "QQBrowser",
    "QQ Browser Mobile": "QQBrowser",
    "UC Browser": "UCBrowser",
    "VivoBrowser": "Vivo Browser",
    "Weibo": "weibo",
    "Yandex Browser": "Yandex",
}
SYSTEMS = {"Arch Linux": "Arch", "Mac OS X": "macOS"}
# Applications for which ua-parser names the engine that shows their pages.
APPLICATIONS = {
    "2345Explorer": "2345",
    "AlipayClient": "Alipay",
    "Focus": "Firefox Focus",
    "MicroMessenger": "WeChat",
    "PaleMoon": "PaleMoon",
    "QQ": "QQBrowser",
    "Quark": "Quark",
    "QuarkPC": "Quark",
}
_APPLICATION = re.compile(
    rf"(?<![\w.])({'|'.join(APPLICATIONS)})/(\d{{1,9}}(?:\.\d{{1,9}})?)", re.ASCII
)
# These two browsers send no version of their own; they get the version of their Chrome.
_QIHU = re.compile(r"\b360[SE]E\b")
_ENGINE = re.compile(r"AppleWebKit/(\d{1,4}(?:\.\d{1,4})?)", re.ASCII)
_HARMONY = re.compile(r"\b(HarmonyOS|OpenHarmony)\b(?: ([\d.]{1,16}))?", re.ASCII)
# Waline's clients send 11.0 for Windows 11, which browsers never do and ua-parser does not know.
_WINDOWS_NT = re.compile(r"Windows NT (\d{1,3}\.\d{1,3})")
# Waline's name of Linux: as the string spells it, with some machines' names.
_LINUX = re.compile(r"linux(?: (?:aarch64|amd64|i\d86)\b)?", re.IGNORECASE | re.ASCII)
# No match, ua-parser's word for that, and a name that means an engine alone.
_UNKNOWN = {"", "Other", "Mobile Safari UI/WKWebView"}


def describe(ua: str) -> tuple[str, str]:
    """Browser and system, each with its version: "Chrome120.0" and "macOS 10.15.7", or ""."""
    return _describe(ua[:MAX_CHARACTERS])


@cache
def _resolver() -> "Resolver":
    # Loaded with the first comment: it takes a tenth of a second and 15 MB, which a service that
    # only counts can save. Devices are left out, since they would take as much again.
    from ua_parser import load_lazy_builtins
    from ua_parser.regex import Resolver

    browsers, systems, _ = load_lazy_builtins()
    return Resolver((browsers, systems, []))


@lru_cache(maxsize=MAX_CACHED)
def _describe(ua: str) -> tuple[str, str]:
    from ua_parser import Domain

    agent = _resolver()(ua, Domain.USER_AGENT | Domain.OS)
    return _browser(agent.user_agent, ua), _system(agent.os, ua)


def _browser(agent: "UserAgent | None", ua: str) -> str:
    if application := _APPLICATION.search(ua):
        return APPLICATIONS[application[1]] + application[2]
    if agent is None or agent.family in _UNKNOWN:
        engine = _ENGINE.search(ua)
        return f"WebKit{engine[1]}" if engine else ""
    name = "360" if _QIHU.search(ua) else BROWSERS.get(agent.family, agent.family)
    return name + _version(agent.major, agent.minor)


def _system(system: "OS | None", ua: str) -> str:
    if harmony := _HARMONY.search(ua):
        return " ".join(filter(None, harmony.groups()))
    if system is None or system.family in _UNKNOWN:
        return ""
    if system.major == "NT" and (numbered := _WINDOWS_NT.search(ua)):
        return f"Windows {numbered[1]}"
    if system.family == "Linux" and (linux := _LINUX.search(ua)):
        return linux[0]
    name = SYSTEMS.get(system.family, system.family)
    return (
        f"{name} {_version(system.major, system.minor, system.patch, system.patch_minor)}".rstrip()
    )


def _version(*parts: str | None) -> str:
    return ".".join(part for part in parts if part)
