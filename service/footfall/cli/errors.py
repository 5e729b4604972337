"""Errors of commands as sentences."""

import contextlib
from collections.abc import Iterator

import click

from ..config import BadSettings
from ..driver.private_server import CannotStart
from ..driver.replies import ErrorReply, sentence
from ..driver.safety import Unsafe
from ..driver.scheme import WrongScheme
from ..driver.url import advised
from ..errors import StoreUnavailable
from ..store import Mismatch


@contextlib.contextmanager
def errors_as_messages() -> Iterator[None]:
    """Errors that an operator can correct are printed as a sentence, without a traceback."""
    try:
        yield
    except (BadSettings, CannotStart, Mismatch, Unsafe, WrongScheme, OSError) as error:
        raise click.ClickException(str(error)) from error
    except (StoreUnavailable, ErrorReply) as error:
        raise click.ClickException(advised(sentence(error))) from error
