"""The bodies of answers: what stands around the data, and what is said of an error."""

from typing import NamedTuple

import orjson

from ..errors import ServiceError
from .translations import translate


class Envelope(NamedTuple):
    """What stands before and behind the JSON of an answer's data."""

    before: bytes = b""
    after: bytes = b""

    def around(self, json: bytes) -> bytes:
        return self.before + json + self.after

    def body(self, data: object) -> bytes:
        return self.around(orjson.dumps(data))


# The reference server's.
ENVELOPE = Envelope(b'{"errno":0,"errmsg":"","data":', b"}")
NO_ENVELOPE = Envelope()


def failed(error: ServiceError, language: str) -> bytes:
    """`language` is a client's `lang` in lower case; an unknown one gets English."""
    if not error.has_words:
        return orjson.dumps({"errno": error.errno})
    errmsg = error.errmsg
    if isinstance(errmsg, str):
        errmsg = translate(errmsg, error.values, language)
    return orjson.dumps({"errno": error.errno, "errmsg": errmsg})
