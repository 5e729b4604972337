"""JSONP: the answer calls a function that the client names."""

import re
from functools import partial
from typing import Any

from ..table.context import ParseContext
from ..table.fields import Text

SCRIPT = b"text/javascript; charset=utf-8"
MAX_CALLBACK = 64
_CALLBACK = re.compile(r"[A-Za-z_$][A-Za-z0-9_.$]*")


def callback_field(name: str, doc: str, **more: Any) -> Text:
    """The name is written into a script, so it is nothing else."""
    return Text(name, doc, MAX_CALLBACK, check=partial(_check_name, name), **more)


def _check_name(name: str, text: str, context: ParseContext) -> str:
    is_name = _CALLBACK.fullmatch(text)
    return "" if is_name else f"{name} need the name of a function, of letters, digits, _, $ and ."
