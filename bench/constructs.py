"""Comments that make the most of each construct of Markdown: the most expensive ones that are
known.

Each is as long as the longest comment that is accepted by default. Tests hold their HTML to its
bounds, and `bench.scripts` compares their costs with stored ones.
"""

import sys
import time
from collections.abc import Callable
from types import FrameType

from footfall.render.markdown import render

LENGTH = 16_384


def _fill(unit: str, length: int = LENGTH) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def _times(unit: str, after: str, length: int = LENGTH) -> str:
    """A prefix, and the text repeated after it."""
    return unit + _fill(after, length - len(unit))


_HALF = LENGTH // 2
_LONG = "x" * (_HALF - 32)
_WIDE = "|" + "a|" * 100 + "\n|" + "-|" * 100 + "\n"
_WIDER = "|" + "a|" * 1_000 + "\n|" + "-:|" * 1_000 + "\n"
_FORMATS = "<b><i><u><s><tt>" * 50
_FORMULA = 998

CONSTRUCTS: dict[str, str] = {
    # Links and pictures.
    "references to one link": _times(f"[a]: /{_LONG}\n\n", "[a]"),
    "references to one title": _times(f'[a]: /x "{_LONG}"\n\n', "[a]"),
    "references to one picture": _times(f"[a]: /{_LONG}\n\n", "![a]"),
    "definitions": _fill("[a]: b\n"),
    "links": _fill("[](a)"),
    "links to be encoded": _fill('[](<"字">)'),
    "pictures": _fill("![](a)"),
    "addresses in brackets": _fill("<a:b>"),
    "bare addresses": _fill("a.com ", 8_000),
    "bare addresses without end": _fill("+www.", 8_000),
    "bare mail addresses": _fill("a@b.c ", 8_000),
    "open brackets": _fill("["),
    "open pictures": _fill("!["),
    "open links": _fill("[a](b"),
    # Blocks.
    "a table of empty cells": _times(_WIDE, "a\n"),
    "a wider table": _times(_WIDER, "a\n"),
    "tables": _fill("a|b\n-|-\n1\n\n"),
    "tables without end": _fill("a|b\n-|-\n"),
    "deep quotes": _fill("> " * 20 + "a\n\n"),
    "deep lists": _fill("".join("  " * depth + "- a\n" for depth in range(20))),
    "quotes in lists": _fill("- > - > - > - > - > a\n\n"),
    "list items": _fill("-\n"),
    "numbered items": _fill("1. a\n"),
    "headings": _fill("#\n"),
    "headings underlined": _fill("a\n-\n\n"),
    "rules": _fill("***\n"),
    "paragraphs": _fill("a\n\n"),
    "line breaks": _fill("a\n"),
    "hard line breaks": _fill("a\\\n"),
    "blocks of code": _fill("    a\n\nb\n"),
    # Texts.
    "emphasis": _fill("*a*_b_"),
    "open emphasis": _fill("*a **b "),
    "strikethrough": _fill("~~a~~"),
    "sub- and superscript": _fill("~a~^b^"),
    "code": _fill("`a`"),
    "open code": _fill("`a``b```"),
    "ampersands": _fill("&"),
    "angle brackets": _fill("<"),
    "quotation marks": _fill('"a" ', 8_000),
    "entities": _fill("&hellip;"),
    "spaces that do not break": _fill("\xa0"),
    "control characters": _fill("\0"),
    "typography": _fill("(c)...--"),
    "shortcodes": _fill(":+1: "),
    "shortcodes without end": _fill(":a"),
    # Formulas.
    "formulas": _fill("$x$ "),
    "letters in another hand": _fill("$\\mathcal{" + "A" * 900 + "}$\n\n"),
    "a name that is drawn": _fill("$" + "\\LaTeX" * 160 + "$\n\n"),
    "roots in roots": _fill("$" + "\\sqrt " * 160 + "x$\n\n"),
    "a matrix": _fill("$$\\begin{matrix}" + "&" * 900 + "\\end{matrix}$$\n\n"),
    "an array with lines": _fill(
        "$$\\begin{array}{" + "c|" * 200 + "}" + "a&" * 200 + "\\\\" * 50 + "\\end{array}$$\n\n"
    ),
    "primes": _fill("$" + "x'" * (_FORMULA // 2) + "$\n\n"),
    "open formulas": _fill("$$\n"),
    # Listings.
    "a listing of signs": "```js\n" + _fill("1+" * 100 + "\n", 2_400) + "\n```\n",
    "a listing of line ends": "```cpp\n" + "\n" * 2_480 + "\n```\n",
    "a listing of blank lines": "```cpp\nif" + _fill("\n" * 99 + "a", 2_480) + "\n```\n",
    "a listing of blanks": "```ini\n" + _fill(" " * 249 + ":", 2_480) + "\n```\n",
    "a listing of words": "```java\nif\n" + _fill("a\n", 2_480) + "```\n",
    "a listing of brackets": "```md\n" + _fill("[\n\n", 2_480) + "```\n",
    "listings": _fill("```py\n1+1+1+1\n```\n"),
    "empty listings": _fill("```\n"),
    # HTML.
    "tags": _fill("<b>"),
    "closed tags": _fill("<b>x</b>"),
    "closed tags in a block": "<div>" + _fill("<span>x</span>", LENGTH - 20) + "</div>",
    "deep blocks": "<div>" * (LENGTH // 11) + "</div>" * (LENGTH // 11),
    "ends in comments": "<div>" + _fill("<b><!--</b>-->", _HALF) + _fill("<p>x</p>", _HALF - 8),
    "closed tags around paragraphs": "<div><p>"
    + "".join(f"<b title={n}>" for n in range(250))
    + _fill("<p>x</p>", _HALF)
    + "</b>" * 250,
    "tags opened again": _times(_FORMATS, "\n\nx"),
    "tags opened again in a list": _times(_FORMATS, "\n- x"),
    "a long link opened again": _times(f'<a href="/{_LONG}">\n\n', "x\n\n"),
    "classes opened again": _times(
        "".join(f'<code class="language-{"x" * 30}{n}">' for n in range(100)), "\n\nx"
    ),
    "quotes in an attribute": "<abbr title='" + _fill('"', LENGTH - 20) + "'>a",
    "cells without a table": _fill("<table><td>"),
    "open comments": _fill("<!--"),
    "open declarations": _fill("<![CDATA["),
    "a picture in the text": '<img src="data:image/png;base64,' + "A" * (LENGTH - 40) + '">',
}

TRIES = 3


def figures() -> dict[str, dict[str, float]]:
    """For each construct: functions called, microseconds (the least of a few runs) and bytes of
    HTML for a byte of text."""
    return {f"rendering {name}": _of_a_byte(text) for name, text in CONSTRUCTS.items()}


def _of_a_byte(text: str) -> dict[str, float]:
    length, least = len(text.encode()), float("inf")
    for _ in range(TRIES):
        start = time.process_time()
        html = render(text)
        least = min(least, time.process_time() - start)
    return {
        "calls_a_byte": round(calls(lambda: render(text), 1) / length, 3),
        "us_a_byte": round(least * 1e6 / length, 3),
        "bytes_a_byte": round(len(html.encode()) / length, 3),
    }


def calls(work: Callable[[], object], times: int = 100) -> float:
    """How many functions of Python and C it calls, on average once it is warm."""
    count = 0

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    work()
    sys.setprofile(called)
    try:
        for _ in range(times):
            work()
    finally:
        sys.setprofile(None)
    # The last one ends this.
    return round((count - 1) / times, 2)
