"""The bodies of answers in both layouts.

The layout under /api wraps every answer in {errno, errmsg, data}. The older one, without prefix,
sends reads and counter changes bare, in shapes of its own; errors and the answer to a new comment
are wrapped there, too.
"""

import orjson

from ..errors import ServiceError
from .translations import translate


def enveloped(data: object) -> bytes:
    return envelope(orjson.dumps(data))


def envelope(json: bytes) -> bytes:
    return b'{"errno":0,"errmsg":"","data":%b}' % json


def bare(data: object) -> bytes:
    return orjson.dumps(data)


def failed(error: ServiceError, language: str) -> bytes:
    """`language` is a client's `lang` in lower case; an unknown one gets English."""
    if not error.has_words:
        return orjson.dumps({"errno": error.errno})
    errmsg = error.errmsg
    if isinstance(errmsg, str):
        errmsg = translate(errmsg, error.values, language)
    return orjson.dumps({"errno": error.errno, "errmsg": errmsg})
