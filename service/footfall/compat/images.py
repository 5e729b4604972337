"""Pictures as other counters answer them: a badge as SVG, a GIF of one pixel.

The text of a badge may be a visitor's. It is shown as plain text: without control characters and
those that reverse the direction of writing, escaped, and in a width of its own.
"""

import html
from dataclasses import dataclass
from functools import lru_cache
from string import printable
from typing import NamedTuple
from unicodedata import category, combining, east_asian_width

SVG = b"image/svg+xml"
GIF = b"image/gif"

# One transparent pixel.
PIXEL = bytes.fromhex(
    "474946383961 0100 0100 800000 000000 000000 21f904 01 0000 00 00"
    "2c 0000 0000 0100 0100 00 02 02 4401 00 3b"
)

# The names that badges have for colours; other words are CSS's own.
COLORS = {
    "brightgreen": "#4c1",
    "green": "#97ca00",
    "yellowgreen": "#a4a61d",
    "yellow": "#dfb317",
    "orange": "#fe7d37",
    "red": "#e05d44",
    "blue": "#007ec6",
    "grey": "#555",
    "gray": "#555",
    "lightgrey": "#9f9f9f",
    "lightgray": "#9f9f9f",
    "success": "#4c1",
    "important": "#fe7d37",
    "critical": "#e05d44",
    "informational": "#007ec6",
    "inactive": "#9f9f9f",
}
HEX_LENGTHS = (3, 4, 6, 8)


class Style(NamedTuple):
    """Lengths are pixels. `sheen` are the opacities of white at the top and of black below."""

    height: int = 20
    radius: int = 3
    sheen: tuple[float, float] | None = None
    font_size: int = 11
    spacing: int = 0
    is_loud: bool = False


STYLES = {
    "flat": Style(sheen=(0.1, 0.1)),
    "flat-square": Style(radius=0),
    "plastic": Style(height=18, radius=4, sheen=(0.5, 0.3)),
    "for-the-badge": Style(height=28, radius=0, font_size=10, spacing=1, is_loud=True),
}
# A style as well: of a badge that counts and shows nothing.
INVISIBLE = "pixel"

# About how wide a letter of Verdana is at 11 pixels.
USUAL_WIDTH, WIDE_WIDTH = 7.0, 11.5
WIDTHS = {
    **dict.fromkeys(printable, USUAL_WIDTH),
    **dict.fromkeys("ijlI|.,:;'!` ", 3.9),
    **dict.fromkeys('frtJ()[]{}/\\-"', 4.9),
    **dict.fromkeys("mMW@%", 10.8),
    **dict.fromkeys("wABCDEFGHKLNOPQRSTUVXYZ&#+<>=~", 8.0),
}
PADDING = 5
# Strangers choose looks.
MAX_FRAMES = 256


@dataclass(frozen=True, slots=True)
class Look:
    """How a badge looks, and what stands in its left half; colours as a request names them."""

    label: str = ""
    color: str = "brightgreen"
    label_color: str = "grey"
    style: str = "flat"


def plain(text: str) -> str:
    """A text in one line, without invisible characters: control characters, direction marks, those
    that Unicode reserves. XML allows most of these in no form."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    shown = [" " if character.isspace() else character for character in text]
    return " ".join(
        "".join(character for character in shown if category(character)[0] != "C").split()
    )


def width_of(text: str) -> float:
    return sum([WIDTHS.get(character) or _width(character) for character in text])


def _width(letter: str) -> float:
    """The width of a character that is not in WIDTHS."""
    if combining(letter) or category(letter) in ("Mn", "Me"):
        return 0
    if east_asian_width(letter) in "WF":
        return WIDE_WIDTH
    return USUAL_WIDTH


def paint(color: str) -> str:
    """What SVG calls a colour, of letters and digits with at most a # before them."""
    name = color.removeprefix("#").lower()
    if len(name) in HEX_LENGTHS and all(character in "0123456789abcdef" for character in name):
        return f"#{name}"
    return COLORS.get(name, name)


def badge(look: Look, value: str) -> bytes:
    """A badge as SVG, whose text alternative is its visible text."""
    if look.style == INVISIBLE:
        return b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
    style, value = STYLES[look.style], plain(value)
    shown = value.upper() if style.is_loud else value
    frame = _frame(look, _half(shown, style))
    return frame.replace(_TOLD, html.escape(value)).replace(_SHOWN, html.escape(shown)).encode()


# They stand for the value in a frame; `plain` leaves neither of them in a text.
_TOLD, _SHOWN = "\1", "\0"


@lru_cache(MAX_FRAMES)
def _frame(look: Look, right: int) -> str:
    """A badge without its value, whose half has this width: most views change only the value."""
    style, label = STYLES[look.style], plain(look.label)
    alt = html.escape(f"{label}: {_TOLD}" if label else _TOLD)
    if style.is_loud:
        label = label.upper()
    left = _half(label, style)
    size = f'height="{style.height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" {size} '
        f'viewBox="0 0 {left + right} {style.height}" role="img" aria-label="{alt}">'
        f"<title>{alt}</title>",
        _sheen(style),
        f'<clipPath id="r"><rect width="{left + right}" {size} rx="{style.radius}"/></clipPath>',
        f'<g clip-path="url(#r)"><rect width="{left}" {size} fill="{paint(look.label_color)}"/>',
        f'<rect x="{left}" width="{right}" {size} fill="{paint(look.color)}"/>',
        f'<rect width="{left + right}" {size} fill="url(#s)"/>' if style.sheen else "",
        '</g><g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" '
        f'font-size="{style.font_size}">',
        _text(label, left / 2, left, style),
        _text(_SHOWN if right else "", left + right / 2, right, style),
        "</g></svg>",
    ]
    return "".join(parts)


def _half(text: str, style: Style) -> int:
    """How wide the half of a badge with this text is."""
    if not text:
        return 0
    padding = PADDING * (2 if style.is_loud else 1)
    return round(width_of(text) + style.spacing * len(text)) + 2 * padding


def _sheen(style: Style) -> str:
    if style.sheen is None:
        return ""
    light, dark = style.sheen
    return (
        f'<linearGradient id="s" x2="0" y2="1"><stop stop-color="#fff" stop-opacity="{light}"/>'
        f'<stop offset="1" stop-opacity="{dark}"/></linearGradient>'
    )


def _text(text: str, middle: float, width: int, style: Style) -> str:
    if not text:
        return ""
    padding = PADDING * (2 if style.is_loud else 1)
    # It fits with any font.
    length = max(width - 2 * padding, 1)
    baseline = round(style.height / 2 + style.font_size * 0.36)
    adjust = "spacing" if style.spacing else "spacingAndGlyphs"
    return (
        f'<text x="{middle:g}" y="{baseline}" textLength="{length}" lengthAdjust="{adjust}">'
        f"{html.escape(text)}</text>"
    )
