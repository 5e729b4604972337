"""What a site's visitors are: browser, system, size of screen, country and language.

A visitor is classed once a day, when Redis is told of them (lua/views/visit.lua), and only numbers
of visitors are stored. Names are from the tables here, or two letters, so that strangers cannot
make up any number of them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from ..driver.commands import pack_word

KINDS = ("browser", "system", "size", "country", "language")
# A class with fewer visitors in a period could be one person.
LEAST_VISITORS, OTHER = 5, ""
MAX_CACHED_VISITORS = 4_096

# Marks of user agents -> names, in this order: most browsers name those that they resemble, too.
# Patterns of a library for all browsers would take 15 MB in each worker.
BROWSERS = {
    "MicroMessenger/": "WeChat",
    "SamsungBrowser/": "Samsung Internet",
    "HuaweiBrowser/": "Huawei Browser",
    "MiuiBrowser/": "MIUI Browser",
    "UCBrowser/": "UC Browser",
    "QQBrowser/": "QQ Browser",
    "YaBrowser/": "Yandex Browser",
    "DuckDuckGo/": "DuckDuckGo",
    "Ddg/": "DuckDuckGo",
    "Vivaldi/": "Vivaldi",
    "Instagram ": "Instagram",
    "FBAN/": "Facebook",
    "FBAV/": "Facebook",
    "GSA/": "Google app",
    "EdgA/": "Edge",
    "EdgiOS/": "Edge",
    "Edg/": "Edge",
    "OPR/": "Opera",
    "OPT/": "Opera",
    "FxiOS/": "Firefox",
    "Firefox/": "Firefox",
    "CriOS/": "Chrome",
    "Chrome/": "Chrome",
    "AppleWebKit/": "Safari",
}
SYSTEMS = {
    "HarmonyOS": "HarmonyOS",
    "OpenHarmony": "HarmonyOS",
    "iPhone": "iOS",
    "iPod": "iOS",
    "iPad": "iPadOS",
    "Android": "Android",
    "Windows": "Windows",
    "CrOS": "ChromeOS",
    "Macintosh": "macOS",
    "Linux": "Linux",
    "BSD": "BSD",
}
_TABLET = re.compile(r"iPad|Tablet|Android(?!.*Mobile)")
_PHONE = re.compile(r"Mobi|iPhone|iPod")
_LANGUAGE = re.compile(r"\s*([A-Za-z]{2})\b")

# Address -> the two letters of its country, or its name, or "".
CountryOf = Callable[[str], str]


# Most visitors are like others.
@lru_cache(MAX_CACHED_VISITORS)
def _packed(agent: bytes, language: bytes, country: str) -> bytes:
    text = agent.decode("latin-1")
    browser, system = (
        next((name for mark, name in marks.items() if mark in text), OTHER)
        for marks in (BROWSERS, SYSTEMS)
    )
    size = "tablet" if _TABLET.search(text) else "phone" if _PHONE.search(text) else "desktop"
    names = browser, system, size, country, language_of(language)
    return pack_word("".join(f"{name}\n" for name in names))


def language_of(accepted: bytes) -> str:
    """The first language of Accept-Language, such as "de" of "de-AT, en"."""
    match = _LANGUAGE.match(accepted[:16].decode("latin-1"))
    return match[1].lower() if match else OTHER


class Audience:
    """Classes of visitors, as the script gets them. `country_of` is by a table of addresses."""

    def __init__(self, country_of: CountryOf) -> None:
        self._country_of = country_of

    def packed(self, agent: bytes, language: bytes, address: str) -> bytes:
        """The name of each of KINDS on a line of its own, as the script's argument, of the headers
        of a visitor."""
        return _packed(agent, language, self._country_of(address))


def by_kind(fields: Iterable[tuple[str, int]]) -> dict[str, Counter[str]]:
    """Visitors by kind and name, from fields such as "browser Firefox"."""
    found = {kind: Counter[str]() for kind in KINDS}
    for field, visitors in fields:
        kind, _, name = field.partition(" ")
        if kind in found:
            found[kind][name] += visitors
    return found


def told(names: Mapping[str, int]) -> list[tuple[str, int]]:
    """The most frequent first; behind them, as OTHER, unknown ones and those with few visitors."""
    many = {name: n for name, n in names.items() if name != OTHER and n >= LEAST_VISITORS}
    others = sum(names.values()) - sum(many.values())
    ranked = sorted(many.items(), key=lambda each: (-each[1], each[0]))
    return [*ranked, (OTHER, others)] if others else ranked
