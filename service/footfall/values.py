"""A setting's declaration, and parsers: text -> value.

Each parser raises ValueError, which describes the expected text.
"""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from .model import Durability
from .netaddr import Network
from .patterns import Domain, Patterns, finds_everything, split
from .render.avatar import compile_avatar
from .render.proxy import place_of
from .render.region import open_regions
from .setting_texts import exact_address, is_off, line, optional, path, quoted

MIN_BUCKETS, MAX_BUCKETS = 256, 1 << 20
MAX_SECONDS = 86_400
MIN_TIMEOUT_SECONDS = 0.05
# A second.
MAX_RATE = 1_000_000


def env(default: Any, parse: Callable[[str], Any], *, secret: bool = False, name: str = "") -> Any:
    """A settings field; `default` is written as it would be in the environment, where its name is
    the field's in capitals, unless it has another `name`."""
    return field(
        default_factory=lambda: parse(default),
        metadata={"env": name, "default": default, "parse": parse, "secret": secret},
        repr=not secret,
    )


def flag(text: str) -> bool:
    match text.strip().lower():
        case "1" | "true" | "yes" | "on":
            return True
        case "" | "0" | "false" | "no" | "off":
            return False
    raise ValueError("must be true or false")


def login(text: str) -> str:
    """`force`, or a word that requires nothing: any other is a typo that would protect nothing."""
    word = optional(text).strip().lower()
    if word not in ("", "0", "enable", "disable", "force"):
        raise ValueError("must be force or empty")
    return word


def words(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") if (word := line(part)))


def number(least: int, most: int) -> Callable[[str], int]:
    return partial(within, least, most)


def within(least: int, most: int, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ValueError("needs a whole number") from None
    if not least <= value <= most:
        raise ValueError(f"must be from {least} to {most}")
    return value


def limit(most: int) -> Callable[[str], int]:
    """A parser of a number up to `most`; 0 means no limit."""
    return partial(up_to, most)


def up_to(most: int, text: str) -> int:
    return within(0, most, optional(text) or "0")


def bytes_or_default(text: str) -> int | None:
    """0 means no limit; None, which is empty, that the service chooses one."""
    return within(0, 10**15, text) if text.strip() else None


def seconds(text: str) -> float:
    """0, empty and false turn a limit off, as in Waline."""
    try:
        value = float(optional(text) or 0)
    except ValueError:
        raise ValueError("needs a number of seconds") from None
    if not 0 <= value <= MAX_SECONDS:
        raise ValueError(f"must be from 0 to {MAX_SECONDS} seconds")
    return value


def rate(text: str) -> float:
    try:
        value = float(optional(text) or 0)
    except ValueError:
        raise ValueError("needs a number per second") from None
    if value and not 0.001 <= value <= MAX_RATE:
        raise ValueError(f"must be 0, or from 0.001 to {MAX_RATE} a second")
    return value


def timeout(text: str) -> float:
    value = seconds(text)
    if value < MIN_TIMEOUT_SECONDS:
        raise ValueError(f"must be at least {MIN_TIMEOUT_SECONDS} seconds")
    return value


def networks(text: str) -> tuple[Network, ...]:
    parts = []
    for word in words(optional(text)):
        try:
            parts.append(ipaddress.ip_network(word, strict=False))
        except ValueError:
            raise ValueError(f"{quoted(word)} is neither an address nor a network") from None
    return tuple(parts)


def patterns(text: str) -> Patterns | None:
    """None if empty."""
    parts = split(text)
    if not parts:
        return None
    if parts == ["false"]:
        raise ValueError("leave it empty for no patterns; to match the word, write [f]alse")
    for pattern in parts:
        if finds_everything(pattern):
            raise ValueError(f"the pattern {quoted(pattern)} matches every comment")
    return Patterns(tuple(parts))


def domains(text: str) -> tuple[Domain, ...]:
    """Host names, or /regular expressions/ searched for in the host name."""
    entries = re.findall(r"/(?:[^/\\]|\\.)+/[a-z]*|[^,]+", text)
    return tuple(_domain(word) for entry in entries if (word := entry.strip()))


def _domain(word: str) -> Domain:
    if match := re.fullmatch(r"/(.+)/([a-z]*)", word):
        if match[2].strip("iu"):
            raise ValueError(f"the pattern {quoted(word)} has other flags than i and u")
        return Patterns((match[1],))
    # The commonest mistake with this setting is a scheme in front: only the host is used.
    host = re.sub(r"^https?://|(:\d+)?(/.*)?$", "", word.lower())
    try:
        # Browsers send host names in this form.
        host = host.strip("[]") if ":" in host else host.encode("idna").decode()
    except UnicodeError:
        host = ""
    if host == "false" or not re.fullmatch(r"[a-z0-9._-]{1,253}|[0-9a-f:.]{2,45}", host):
        raise ValueError(f"{quoted(word)} is neither a host name nor a /pattern/")
    return host


def levels(text: str) -> tuple[int, ...]:
    if is_off(text):
        return ()
    try:
        numbers = tuple(int(word) for word in words(text))
    except ValueError:
        raise ValueError("needs whole numbers between commas") from None
    if list(numbers) != sorted(set(numbers)):
        raise ValueError("must rise from left to right")
    return numbers


def counters(text: str) -> tuple[str, ...]:
    entries = words(text)
    for word in entries:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,31}", word):
            raise ValueError(f"{quoted(word)} is not a name of up to 32 letters and digits")
    if "time" not in entries:
        raise ValueError("must contain time, the count of views")
    return entries


def prefix(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,32}", text):
        raise ValueError("must be 1 to 32 letters, digits, dots, dashes or underscores")
    return text


def buckets(text: str) -> int:
    value = within(MIN_BUCKETS, MAX_BUCKETS, text)
    if value & (value - 1):
        raise ValueError(f"must be a power of two, from {MIN_BUCKETS} to {MAX_BUCKETS}")
    return value


def scopes(text: str) -> str:
    if "openid" not in text.split():
        raise ValueError("must include openid")
    return " ".join(text.split())


def proxy_address(text: str) -> str:
    """The address as it was given: a final slash may make a difference."""
    text = exact_address(text)
    if text and place_of(text) is None:
        raise ValueError("must be an address without user, blanks and backslashes")
    return text


def redis_url(text: str) -> str:
    """Only the scheme is checked here, the rest in driver/url.py."""
    if text and not re.match(r"(rediss?(\+sentinel)?|unix)://", text):
        raise ValueError(
            "must start with redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://"
        )
    return text


def durability(text: str) -> Durability | None:
    if not text:
        return None
    if match := re.fullmatch(r"replica:([1-9])", text):
        return Durability("replica", int(match[1]))
    for level in ("memory", "everysec", "fsync"):
        if text == level:
            return Durability(level)
    raise ValueError("must be memory, everysec, fsync or replica:N, N from 1 to 9")


def some_of(*choices: str) -> Callable[[str], tuple[str, ...]]:
    """Some of these words, between commas, in their order here."""

    def parse(text: str) -> tuple[str, ...]:
        names = words(text.lower())
        for word in names:
            if word not in choices:
                raise ValueError(f"{quoted(word)} is none of {', '.join(choices)}")
        return tuple(choice for choice in choices if choice in names)

    return parse


def one_of(*choices: str) -> Callable[[str], str]:
    return partial(chosen, choices)


def chosen(choices: tuple[str, ...], text: str) -> str:
    if is_off(text):
        # `false` means the one of these words that does.
        text = next((choice for choice in choices if choice in ("off", "none")), text)
    if text not in choices:
        raise ValueError(f"must be {' or '.join(choices)}")
    return text


def level(text: str) -> str:
    """In any case: many platforms set such a variable for all programs."""
    return one_of("error", "warning", "info")(text.strip().lower())


def mode(text: str) -> int:
    if not re.fullmatch(r"0?[0-7]{3}", text):
        raise ValueError("needs three digits from 0 to 7, as chmod does")
    return int(text, 8)


def template(text: str) -> str:
    """The template is compiled to check it; AVATAR_KEY is not known here."""
    compile_avatar(text, "", key="any")
    return text


def region_file(text: str) -> str:
    text = path(text)
    try:
        if text:
            open_regions(text)
    except ValueError as error:
        # The setting's value names it.
        raise ValueError(str(error).removeprefix(f"{text}: ")) from None
    return text


def time_zone(text: str) -> ZoneInfo:
    """A zone by its name in the tz database, which the package tzdata has where the system has
    none."""
    name = text.strip() or "UTC"
    try:
        return ZoneInfo(name)
    # What it raises depends on what lies at that name: nothing, a folder, or another file.
    except (KeyError, OSError, ValueError):
        raise ValueError(
            f"{quoted(name)} is not a time zone, such as UTC or Europe/Berlin"
        ) from None
