"""Twikoo's comments, in HTML, and its counters, from any of its databases."""

import json

from .json_rows import objects
from .rows import Refusal, Rows
from .source import Source
from .values import html_block, moment, number, truth
from .waline import comment, counters


def read(source: Source) -> Rows:
    for found in objects(source):
        if isinstance(found, Refusal):
            yield found
            continue
        where, record = found
        if "comment" not in record:
            count = {"url": record.get("url"), "time": record.get("time")}
            yield from counters(where, count)
            continue
        row = comment(where, record, source)
        yield row._replace(
            text=html_block(row.text),
            at=moment(record.get("created"), source.zone),
            status="spam" if truth(record.get("isSpam")) else "approved",
            likes=number(_votes(record.get("ups", record.get("like")))),
            is_pinned=truth(record.get("top")),
            account="",
            is_html=True,
        )


def _votes(value: object) -> object:
    """A list of voters, which some databases keep as JSON in a text."""
    if isinstance(value, str) and value.startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            return 0
    return value
