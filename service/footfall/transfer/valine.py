"""Valine's comments and counters, as LeanCloud exports them: a list, {"results": […]}, or one
object a line; comments in HTML."""

from .json_rows import objects
from .rows import Refusal, Rows
from .source import Source
from .values import html_block, truth
from .waline import comment, counters


def read(source: Source) -> Rows:
    for found in objects(source):
        if isinstance(found, Refusal):
            yield found
            continue
        where, record = found
        if "comment" not in record:
            yield from counters(where, record)
            continue
        row = comment(where, record, source)
        status = "spam" if truth(record.get("isSpam")) else row.status
        yield row._replace(text=html_block(row.text), status=status, is_html=True)
