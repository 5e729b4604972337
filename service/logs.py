"""What is logged: lines for people, or a JSON object a line for machines, with the request's id.

There is no line for each request: a proxy writes that, and /metrics counts them. What is logged is
what went wrong, what was slow, and what an operator should know.
"""

import contextvars
import logging
import re
import sys

# Of the request that is being answered, as its proxy calls it; empty where there is none.
request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")

TEXT = "%(levelname)s %(name)s: %(message)s"


def begin(form: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_named)
    if form == "json":
        # Here, since few need it.
        from pythonjsonlogger.orjson import OrjsonFormatter

        handler.setFormatter(
            OrjsonFormatter(
                ["timestamp", "levelname", "name", "message", "exc_info"],
                rename_fields={"levelname": "level", "name": "logger"},
                timestamp=True,
            )
        )
    else:
        handler.setFormatter(logging.Formatter(TEXT))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


def name_request(id: bytes) -> None:
    """Take over the id that a proxy gave a request, if it looks like one."""
    text = id.decode("latin-1")
    if re.fullmatch(r"[\w.:/+=-]{1,128}", text, re.ASCII):
        request_id.set(text)


def _named(record: logging.LogRecord) -> bool:
    if id := request_id.get():
        record.request_id = id
    return True
