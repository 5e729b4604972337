"""Errors of commands as sentences."""

import contextlib
from collections.abc import Callable, Iterator

import click

from ..config import BadSettings
from ..data.store import Mismatch
from ..driver.private_server import CannotStart
from ..driver.replies import ErrorReply, sentence
from ..driver.safety import Unsafe
from ..driver.scheme import WrongScheme
from ..driver.url import advised
from ..errors import StoreUnavailable
from .console import aside


@contextlib.contextmanager
def errors_as_messages() -> Iterator[None]:
    """Errors that an operator can correct are printed as a sentence, without a traceback."""
    try:
        yield
    except (BadSettings, CannotStart, Mismatch, Unsafe, WrongScheme, OSError) as error:
        raise click.ClickException(str(error)) from error
    except (StoreUnavailable, ErrorReply) as error:
        raise click.ClickException(advised(sentence(error))) from error


@contextlib.contextmanager
def import_errors_as_messages() -> Iterator[None]:
    """Errors as messages, for imports, which may be interrupted and run again."""
    try:
        with errors_as_messages():
            yield
    except KeyboardInterrupt:
        aside("Interrupted: what was stored stays; run it again for the rest")
        raise SystemExit(130) from None


@contextlib.contextmanager
def saying_so_far(shown: contextlib.ExitStack, stored: Callable[[], str]) -> Iterator[None]:
    """At an interruption, what is known to be `stored`, once what is `shown` has been taken away:
    what was on its way may be stored, too."""
    try:
        yield
    except KeyboardInterrupt:
        shown.close()
        aside(f"known to be stored: {stored()}")
        raise
