"""The table of all formats that can be imported; a file's format is guessed from its start."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import orjson

from . import (
    artalk,
    comentario,
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
from .report import ImportReport
from .rows import ImportRows, Refusal
from .source import Damaged, Source


class Format(NamedTuple):
    """`signs` are expressions that all have to be found in a file's head. In a format that
    `has_keys`, a page's name is what clients send: also a whole address stays as it is."""

    name: str
    title: str
    read: Callable[[Source], ImportRows]
    signs: tuple[bytes, ...]
    has_keys: bool = False

    @property
    def is_table(self) -> bool:
        """Has it columns that the user may name?"""
        return self.read in (tabular.read_csv, tabular.read_json)


# A line of comment may precede it.
_JSON = rb"\A(#.*\n\s*)?[\[{]"
_SQLITE = rb"\ASQLite format 3\0"
# The first format whose signs are found counts, so the most certain ones come first.
FORMATS = (
    Format(
        "waline-sqlite",
        "Waline's database",
        waline.read_database,
        (_SQLITE, rb"CREATE TABLE [^()]{0,40}Comment\b"),
        has_keys=True,
    ),
    Format("isso", "Isso's database", isso.read, (_SQLITE,)),
    # Says itself what it is, also of a class without objects.
    Format("valine", "Valine and LeanCloud", valine.read, (valine.HEAD,), has_keys=True),
    Format("disqus", "Disqus", disqus.read, (rb"\A<", rb"<disqus\b")),
    Format("wordpress", "WordPress", wordpress.read, (rb"\A<", rb"wordpress\.org/export/")),
    Format(
        "waline", "Waline's archive", waline.read, (_JSON, rb'"type"\s*:\s*"waline"'), has_keys=True
    ),
    Format(
        "remark42",
        "Remark42",
        remark42.read,
        (_JSON, rb'\A\{"version"\s*:|"locator"\s*:\s*\{', rb'"(users|posts|locator)"\s*:\s*[\[{n]'),
    ),
    Format(
        "open-kounter",
        "Open Kounter",
        open_kounter.read,
        (rb"\A\{", rb'"counters"\s*:\s*\{', rb'"time"\s*:'),
    ),
    Format(
        "comentario",
        "Comentario",
        comentario.read,
        (rb"\A\{", rb'"pages"\s*:\s*\[', rb'"(pageId|domainId)"\s*:'),
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
        (_JSON, rb'"(ACL|isSpam|mailMd5|__type)"\s*:'),
        has_keys=True,
    ),
    Format("twikoo", "Twikoo", twikoo.read, (_JSON, rb'"time"\s*:', rb'"created"\s*:')),
    Format(
        "footfall",
        "Footfall's export",
        tabular.read_json,
        (rb'\A\{"table":"(Comment|Counter|Users)","objectId":"[0-9a-v]{16,32}"',),
        has_keys=True,
    ),
    Format("ndjson", "JSON with Waline's names", tabular.read_json, (_JSON,)),
    Format("csv", "a table", tabular.read_csv, (rb"\A[^\n]*[,;\t|]",)),
)


# What is none of these: its name, what to do, and its signs.
_BY_COMMAND = "use `footfall import {}`"
_ELSEWHERE = (
    ("GoatCounter's export", _BY_COMMAND.format("goatcounter"), rb"\A[12]?Path,Title,Event,"),
    (
        "GoatCounter's export",
        _BY_COMMAND.format("goatcounter"),
        rb'\A\{[^{}\n]*"goatcounter_version"\s*:',
    ),
    ("a web server's log", _BY_COMMAND.format("access-log"), rb'\A[^\n"\[]*\[[^\]\n"]{26}\] "'),
    (
        "Artalk's database",
        "export it with `artalk export`, and import that file",
        _SQLITE + rb"(?s:.*)\bpage_key\b",
    ),
    ("a web page", "was it saved before logging in?", rb"(?i)\A(<!doctype html|<html)\b"),
)
# What servers answer instead of an export.
MAX_ERROR_CHARACTERS = 200
_ERRORS = ("errmsg", "error", "message", "msg", "detail")


class Unknown(Exception):
    """A file has an unknown format."""


def chosen(
    files: Sequence[Source], report: ImportReport, name: str = ""
) -> tuple[Format, list[Source]]:
    """The format of the files, by its name if given, and the files of it; others are rejected in
    the report. Raises Unknown, Damaged."""
    for each in () if name else files:
        _require_here(each)
    chosen = [(file, named(name) if name else guess(file)) for file in files]
    formats = {of.name: of for _, of in chosen if of}
    if not formats:
        raise Unknown
    if len(formats) > 1:
        raise Damaged(f"it has files of {' and '.join(sorted(formats))}: import them one by one")
    for source, of in chosen:
        if of is None:
            report.count("comments", "read")
            report.refuse(Refusal("comments", source.name, "has an unknown format"))
    (format,) = formats.values()
    together = [source for source, of in chosen if of]
    for source in together:
        source.together = together
    return format, together


def _require_here(source: Source) -> None:
    head = source.head().lstrip()
    for title, advice, sign in _ELSEWHERE:
        if re.search(sign, head):
            raise Damaged(f"it is {title}: {advice}")
    if said := not source.columns and _error_in(head):
        raise Damaged(f"it is an error message, not an export: {said}")


def _error_in(head: bytes) -> str:
    """What an object says that is an error and nothing else."""
    try:
        said = orjson.loads(head)
    except ValueError:
        return ""
    if not isinstance(said, dict) or {"url", "path", "comment", "data"} & said.keys():
        return ""
    texts = [text for name in _ERRORS if isinstance(text := said.get(name), str)]
    return next(filter(None, texts), "")[:MAX_ERROR_CHARACTERS]


def guess(source: Source) -> Format | None:
    head = source.head().lstrip()
    fitting = [of for of in FORMATS if all(re.search(sign, head) for sign in of.signs)]
    # A file whose columns are named is a table, also if it looks like another system's.
    named = [of for of in fitting if of.is_table] if source.columns else []
    return next(iter(named or fitting), None)


def named(name: str) -> Format | None:
    return next((format for format in FORMATS if format.name == name), None)
