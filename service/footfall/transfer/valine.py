"""Classes of LeanCloud: Valine's comments in HTML, counters, and what Waline stored there.

They come as a list, {"results": […]}, or one object a line below a line that names the class.
"""

import re
from collections.abc import Iterable
from functools import partial
from html import unescape
from itertools import islice

from .fields import Record
from .json_rows import objects, rows
from .rows import CommentRow, ImportRow, ImportRows, Refusal
from .source import Source
from .values import html_block
from .waline import comment, counters, rows_of

# As LeanCloud's exports have it, and as older ones and `footfall import leancloud` write it:
# #filetype:JSON-streaming {"type":"Class","class":"Comment"}
# #filetype:JSON-streaming;version=1.0;class=Comment
HEAD = rb"\A#filetype:JSON-streaming"
_CLASS = re.compile(HEAD + rb"""[^\n]*\bclass["']?\s*[:=]\s*["']?(\w{1,64})""")
# Waline's class of accounts; LeanCloud's own start with an underscore.
_ACCOUNTS, _OWN = "Users", "_"


def read(source: Source) -> ImportRows:
    head = _CLASS.search(source.head(1024))
    name = head[1].decode() if head else ""
    if name.startswith(_OWN):
        why = f"is LeanCloud's own class {name}, which has neither comments nor counters"
        return iter([Refusal("comments", source.name, why) for _ in islice(objects(source), 1)])
    if name == _ACCOUNTS:
        return rows(source, partial(rows_of, source, "accounts"))
    return rows(source, partial(_rows, source))


def _rows(source: Source, where: str, record: Record) -> Iterable[ImportRow]:
    return [_comment(source, record)] if "comment" in record else counters(where, record)


def _comment(source: Source, record: Record) -> CommentRow:
    row = comment(source, record)
    # Only Waline's comments have a status, and they are Markdown.
    if record.get("status"):
        return row
    # Valine up to 1.4 stores what it has escaped; later ones have names without entities.
    nick, mail, link = unescape(row.nick), unescape(row.mail), unescape(row.link)
    text = html_block(row.text)
    return row._replace(text=text, is_html=True, nick=nick, mail=mail, link=link)
