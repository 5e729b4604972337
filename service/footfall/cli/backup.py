"""`footfall backup` and `footfall restore`: between a file or a pipe and a data set."""

import asyncio
import contextlib
import fcntl
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import IO, BinaryIO, cast

from .. import __version__
from ..config import Settings
from ..data.store import Store
from ..driver.replies import ErrorReply, sentence
from ..errors import StoreUnavailable
from ..maintenance.archive import Damaged, Totals
from ..maintenance.backup import backup
from ..maintenance.compare import compare
from ..maintenance.page_walk import Complain
from ..maintenance.restore import NotEmpty, restore, verify
from ..maintenance.unsent import unsent
from ..model import OnProgress
from ..plurals import number_of
from ..process.process import now_ms
from ..stores import data_set
from .console import printable
from .dataset import existing, target

# How many damaged things and differences are listed; all are counted.
MAX_LISTED = 20
# The ending of a backup's file until it is complete.
PART = ".part"


class CommandFailed(Exception):
    """The command failed; the message is for its user."""


class NotTried(CommandFailed):
    """The command failed before anything was tried: no backup has failed."""


@contextlib.asynccontextmanager
async def _noting_failure(store: Store, say: Callable[[str], None]) -> AsyncIterator[None]:
    try:
        yield
    except asyncio.CancelledError:
        await _note(store, "it was interrupted", say=say)
        raise
    except (CommandFailed, StoreUnavailable, ErrorReply) as error:
        if not isinstance(error, NotTried):
            why = str(error) if isinstance(error, CommandFailed) else sentence(error)
            await _note(store, why, say=say)
        raise


async def back_up(
    settings: Settings,
    place: str,
    *,
    keep: int | None,
    has_secrets: bool,
    on_progress: OnProgress,
    say: Callable[[str], None],
) -> int:
    """Write a backup, print its contents, and note in Redis if it is complete; returns the number
    of damaged entries left out. In a directory, `keep` is how many of the newest stay.

    Raises CommandFailed.
    """
    left_out = 0

    def complain(text: str) -> None:
        nonlocal left_out
        left_out += 1
        if left_out <= MAX_LISTED:
            say(f"left out, since it is damaged: {text}")

    async with existing(settings) as store:
        async with _noting_failure(store, say):
            name = _name_at(place, settings.key_prefix, keep)
            totals, length_bytes, left_behind = await _written(
                store, name, has_secrets=has_secrets, on_progress=on_progress, complain=complain
            )
        _say_rest(left_out, say)
        why = f"{left_out:,} damaged entries were left out" if left_out else ""
        await _note(store, why, length_bytes, say=say)
    if left_behind:
        say(
            f"{number_of(left_behind, 'notification')} not sent yet, and not in the backup: "
            "let the service send them before"
        )
    say(f"{totals} in {_written_to(name)}")
    if keep:
        _forget(place, settings.key_prefix, 0 if left_out else keep, say)
    return left_out


async def _written(
    store: Store, name: str, *, has_secrets: bool, on_progress: OnProgress, complain: Complain
) -> tuple[Totals, int, int]:
    """What a backup contains, its bytes, and how many notifications are not in it."""
    about = {
        "by": __version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "born": store.data_set_id.decode(),
    }
    data, started = data_set(store), await store.moves.started()
    if await store.moves.under_way():
        raise CommandFailed("a page is being moved and would be missing: wait until that is done")
    with failing(_written_to(name)), target_file(name) as file:
        totals, length_bytes = await backup(
            data,
            file,
            has_secrets=has_secrets,
            about=about,
            on_progress=on_progress,
            complain=complain,
        )
        if await store.moves.started() != started:
            raise CommandFailed(
                "a page was moved meanwhile, and parts of it may be missing: try again"
            )
        left_behind = await unsent(data, is_told=store.outbox.is_on)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            os.fsync(file.fileno())
    return totals, length_bytes, left_behind


def _written_to(name: str) -> str:
    return "the standard output" if name == "-" else name


async def _note(
    store: Store, error: str, length_bytes: int = 0, *, say: Callable[[str], None]
) -> None:
    """Note a backup's result for the metrics; if that fails, the backup is still good."""
    try:
        if error:
            await store.backups.failed(now_ms(), error)
        else:
            await store.backups.succeeded(now_ms(), length_bytes)
    except (StoreUnavailable, ErrorReply) as refused:
        say(f"/metrics does not know of this backup: {sentence(refused)}")


def _name_at(place: str, prefix: str, keep: int | None) -> str:
    """The file of a backup that is made now: `place`, or one in it; names sort by age."""
    if os.path.isdir(place):
        return os.path.join(place, f"footfall-{prefix}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.gz")
    if keep:
        raise CommandFailed(f"--keep needs a directory, and {place} is not one")
    return place


def _forget(directory: str, prefix: str, keep: int, say: Callable[[str], None]) -> None:
    """Remove backups of the same data set from a directory, except the newest; none if `keep` is 0,
    as the newest one is not whole. Raises OSError.

    It also removes parts that killed backups have left, if they are older than the newest backup: a
    slow backup that still runs has its part locked.
    """
    if not keep:
        say("older backups are kept, as this one is incomplete")
        return
    pattern = re.compile(rf"footfall-{re.escape(prefix)}-[0-9]{{8}}T[0-9]{{6}}Z\.gz({PART})?")
    names = sorted(name for name in os.listdir(directory) if pattern.fullmatch(name))
    whole = [name for name in names if not name.endswith(PART)]
    parts = [name for name in names if name.endswith(PART) and whole and name < whole[-1]]
    for name in parts + whole[:-keep]:
        file = os.path.join(directory, name)
        if name in parts and _is_being_written(file):
            say(f"kept {file}, as another backup still writes it")
            continue
        os.unlink(file)
        why = "no backup was made of it" if name in parts else f"{keep} newer ones are there"
        say(f"removed {file}, as {why}")


def _is_being_written(part: str) -> bool:
    """Does a backup that runs have this part locked? Where files have no locks, it may be so."""
    with open(part, "rb") as file:
        return not _lock(file)


def _lock(file: IO[bytes]) -> bool:
    """Lock a file as long as it is open; False if another process has the lock, or locks are not
    supported."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def failing(name: str) -> Iterator[None]:
    """Raises CommandFailed where a file cannot be written."""
    try:
        yield
    except FileExistsError as error:
        raise NotTried(f"{name} is there already; name another file") from error
    except OSError as error:
        raise CommandFailed(f"{name} cannot be written: {error.strerror}") from error


@contextlib.contextmanager
def target_file(name: str) -> Iterator[BinaryIO]:
    """A new file, or the standard output for "-"; nothing of it is left if it fails."""
    if name != "-":
        is_device = os.path.exists(name) and not os.path.isfile(name)
        if os.path.isfile(name):
            raise FileExistsError(name)
        # A part of a backup is useless, and must not be mistaken for a complete one.
        part = name if is_device else name + PART
        with open(part, "wb", opener=_for_its_owner) as file:
            _lock(file)
            try:
                yield cast(BinaryIO, file)
            except BaseException:
                if not is_device:
                    os.unlink(part)
                raise
        if not is_device:
            os.rename(part, name)
    elif sys.stdout.isatty():
        raise NotTried("name a FILE, or pipe the output: a terminal cannot show it")
    else:
        # Not sys.stdout itself, which would fail a second time at exit if the pipe was closed.
        with open(sys.stdout.fileno(), "wb", closefd=False) as file:
            yield file


def _say_rest(number: int, say: Callable[[str], None]) -> None:
    if number > MAX_LISTED:
        say(f"and {number - MAX_LISTED:,} more")


def _for_its_owner(name: str, flags: int) -> int:
    # A backup contains IP and email addresses.
    return os.open(name, flags, 0o600)


def read_back(name: str, *, on_progress: OnProgress, say: Callable[[str], None]) -> None:
    """Read a backup to its end as a restore would, and print its contents. Raises CommandFailed."""
    with opened(name) as file, whole(name):
        totals, strays, header = verify(file, on_progress=on_progress)
    about = {name: printable(str(header.get(name, "?"))[:64]) for name in ("made", "by", "prefix")}
    if strays:
        say(f"a restore leaves out {len(strays):,} replies without their thread")
    say(
        f"{totals} in {_read_from(name)}, whole and unchanged; made {about['made']} "
        f"by Footfall {about['by']}, of KEY_PREFIX {about['prefix']}"
    )


async def put_back(
    settings: Settings, name: str, *, mode: str, on_progress: OnProgress, say: Callable[[str], None]
) -> int:
    """Restore or compare a backup, and print the result; returns the number of differences.

    `mode` is "restore", "replace" or "compare". Raises CommandFailed.
    """
    shown = _read_from(name)
    differences = 0
    with opened(name) as given, kept(given) as file, whole(name):
        if mode == "compare":
            async with existing(settings) as store:
                async for text in compare(data_set(store), file, on_progress=on_progress):
                    differences += 1
                    if differences <= MAX_LISTED:
                        say(text)
            _say_rest(differences, say)
            if not differences:
                say(f"nothing differs from {shown}")
            return differences
        async with target(settings) as store:
            totals = await restore(
                data_set(store),
                file,
                reopen=partial(store.open, is_being_restored=True),
                replaces=mode == "replace",
                on_progress=on_progress,
                say=say,
            )
    say(f"{totals} restored from {shown}")
    return 0


def _read_from(name: str) -> str:
    return "the standard input" if name == "-" else name


@contextlib.contextmanager
def whole(name: str) -> Iterator[None]:
    """Raises CommandFailed for a file that cannot be restored, or not here."""
    try:
        yield
    except Damaged as error:
        raise CommandFailed(f"{_read_from(name)} is not a complete backup: {error}") from error
    except NotEmpty as error:
        raise CommandFailed(str(error)) from error


@contextlib.contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    if name == "-" and sys.stdin.isatty():
        raise CommandFailed("name a FILE, or pipe one in")
    with contextlib.ExitStack() as stack:
        given = sys.stdin.fileno() if name == "-" else name
        try:
            file = stack.enter_context(open(given, "rb", closefd=name != "-"))
        except OSError as error:
            raise CommandFailed(f"{name} cannot be read: {error.strerror}") from error
        yield cast(BinaryIO, file)


@contextlib.contextmanager
def kept(file: BinaryIO) -> Iterator[BinaryIO]:
    """A file that can be read more than once: a pipe is copied."""
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        yield file
        return
    with contextlib.ExitStack() as stack:
        try:
            copy = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(file, copy)
        except OSError as error:
            raise CommandFailed(
                f"the piped backup cannot be stored for verification: {error.strerror}; set TMPDIR "
                "to a directory with more space, or name a FILE instead of the pipe"
            ) from error
        yield cast(BinaryIO, copy)
