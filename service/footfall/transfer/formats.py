"""The table of all formats that can be imported; a file's format is guessed from its beginning."""

import re
from collections.abc import Callable
from typing import NamedTuple

from . import (
    artalk,
    commento,
    disqus,
    isso,
    open_kounter,
    remark42,
    tabular,
    twikoo,
    valine,
    waline,
    wordpress,
)
from .rows import ImportRows
from .source import Source


class Format(NamedTuple):
    """`signs` are expressions that all have to be found in a file's head."""

    name: str
    title: str
    read: Callable[[Source], ImportRows]
    signs: tuple[bytes, ...]


_JSON = rb"\A\s*(#.*\n)?\s*[\[{]"
# The first format whose signs are found counts, so the most certain ones come first.
FORMATS = (
    Format("isso", "Isso's database", isso.read, (rb"\ASQLite format 3\0",)),
    Format("disqus", "Disqus", disqus.read, (rb"\A\s*<", rb"<disqus\b")),
    Format("wordpress", "WordPress", wordpress.read, (rb"\A\s*<", rb"wordpress\.org/export/")),
    Format("waline", "Waline's archive", waline.read, (_JSON, rb'"type"\s*:\s*"waline"')),
    Format(
        "remark42",
        "Remark42",
        remark42.read,
        (
            _JSON,
            rb'\A\s*\{"version"\s*:|"locator"\s*:\s*\{',
            rb'"(users|posts|locator)"\s*:\s*[\[{n]',
        ),
    ),
    Format(
        "open-kounter",
        "Open Kounter",
        open_kounter.read,
        (rb"\A\s*\{", rb'"counters"\s*:\s*\{', rb'"time"\s*:'),
    ),
    Format("commento", "Commento", commento.read, (_JSON, rb'"comment(er)?Hex"\s*:')),
    Format("artalk", "Artalk's Artrans", artalk.read, (_JSON, rb'"page_key"\s*:')),
    Format(
        "isso-json",
        "Isso's generic JSON",
        isso.read_json,
        (_JSON, rb'"comments"\s*:\s*\[', rb'"remote_addr"\s*:'),
    ),
    Format(
        "twikoo",
        "Twikoo",
        twikoo.read,
        (_JSON, rb'"(master|uid|ipRegion|\$loki|href)"\s*:', rb'"created"\s*:'),
    ),
    Format(
        "valine",
        "Valine and LeanCloud",
        valine.read,
        (_JSON, rb'#filetype:JSON-streaming|"(ACL|isSpam|mailMd5|__type)"\s*:'),
    ),
    Format("twikoo", "Twikoo", twikoo.read, (_JSON, rb'"time"\s*:', rb'"created"\s*:')),
    Format("ndjson", "JSON with Waline's names", tabular.read_json, (_JSON,)),
    Format("csv", "a table", tabular.read_csv, (rb"\A[^\n]*[,;\t|]",)),
)


def guess(source: Source) -> Format | None:
    head = source.head()
    return next(
        (each for each in FORMATS if all(re.search(sign, head) for sign in each.signs)), None
    )


def named(name: str) -> Format | None:
    return next((each for each in FORMATS if each.name == name), None)
