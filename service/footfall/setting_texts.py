"""Parsers of settings that are texts: names, keys, paths and addresses.

Each raises ValueError, which describes the expected text. All but secrets lose the blanks around
them, and none has control characters, such as a line break: it would end a header, a line of a log
or a command of SMTP.
"""

import ipaddress
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

# Characters of a value that an error repeats.
MOST_QUOTED = 80
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def is_off(text: str) -> bool:
    """Does this text turn a setting off that is not a flag? `false` does in Waline."""
    return text.strip().lower() in ("", "false", "none")


def optional(text: str) -> str:
    return "" if is_off(text) else text


def quoted(text: str) -> str:
    """The start of a value, for an error; without control characters."""
    return repr(text if len(text) <= MOST_QUOTED else f"{text[: MOST_QUOTED - 1]}…")


def line(text: str) -> str:
    return secret(text.strip())


def filled(text: str) -> str:
    if not (text := line(text)):
        raise ValueError("must not be empty")
    return text


def secret(text: str) -> str:
    """A password: blanks around it are part of it."""
    if _CONTROL.search(text):
        raise ValueError("must be one line, without control characters")
    return text


def word(text: str) -> str:
    """What another service knows by this name, or a key that it has issued."""
    text = line(optional(text))
    if re.search(r"\s", text):
        raise ValueError("must be one word, without blanks")
    return text


def header_name(text: str) -> str:
    text = text.strip()
    if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", text):
        raise ValueError("must be the name of a header, such as X-Real-IP")
    return text


def path(text: str) -> str:
    return line(optional(text))


def directory(text: str) -> Path:
    return Path(filled(text))


def host(port_setting: str) -> Callable[[str], str]:
    """A parser of a name or an address, or none; an IPv6 address may be in brackets, as in a URL.
    The port is another setting."""

    def parse(text: str) -> str:
        text = optional(text).strip()
        in_brackets = re.fullmatch(r"\[(.*)\]", text)
        if not in_brackets and re.fullmatch(r"[^\s\x00-\x1f:/\\@?#\[\]]*", text):
            return text
        try:
            return str(ipaddress.IPv6Address(in_brackets[1] if in_brackets else text))
        except ValueError:
            words = f"needs only a name or an address; {port_setting} has the port"
            raise ValueError(words) from None

    return parse


def host_or_address(text: str) -> str:
    return host("PORT")(filled(text))


def web_address(text: str) -> str:
    return exact_address(text).rstrip("/")


def exact_address(text: str) -> str:
    """An address as it is: a slash at its end may matter."""
    text = optional(text).strip()
    if text and not re.match(r"https?://", text):
        raise ValueError("must start with http:// or https://")
    if _CONTROL.search(text) or re.search(r"[\s\\]", text):
        raise ValueError("must be an address without blanks, backslashes and control characters")
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        has_host = False
    if text and not has_host:
        raise ValueError("must have a host, with a port from 1 to 65535 or none")
    return text


def issuer(text: str) -> str:
    """Letter by letter, as the provider writes it."""
    here = r"http://(localhost|127\.0\.0\.1|\[::1\])(:|/|$)"
    if not is_off(text) and not re.match(rf"https://|{here}", text.strip()):
        raise ValueError("must start with https://")
    return exact_address(text)


def mail_address(text: str) -> str:
    text = line(optional(text))
    if text and not re.fullmatch(r"[^\s@]+@[^\s@]+", text):
        raise ValueError("needs an email address, such as ann@example.com")
    return text


def mail_addresses(text: str) -> tuple[str, ...]:
    parts = (part.strip() for part in optional(text).split(","))
    return tuple(mail_address(part) for part in parts if part)
