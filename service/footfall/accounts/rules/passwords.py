"""Passwords and codes: created, compared, and renewed, never on the event loop.

New hashes are argon2id by OWASP's second recommendation (19 MiB, two passes, one lane), so that
eight concurrent logins do not take a sidecar's memory. Imported ones may be bcrypt or phpass, and
become argon2id at the next login. The strength of a password is checked when it is set, never at
login.
"""

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from ...errors import BadRequest
from ...limits.clients import PoolClient
from ...limits.pool import Pool
from . import phpass
from .mails import canonical

if TYPE_CHECKING:
    from argon2 import PasswordHasher

T = TypeVar("T")

MIN_PASSWORD_CHARACTERS = 8
MAX_PASSWORD_CHARACTERS = 256
TOO_SHORT = f"password should be at least {MIN_PASSWORD_CHARACTERS} characters long"
IS_MAIL = "password should not be your email address, nor its first part"
IS_COMMON = "password is one of those that most people use, and is guessed first: choose another"
# The most common passwords of sufficient length: this many are rejected.
MOST_USED = 10_000
# bcrypt's authors and every implementation since leave out what follows.
BCRYPT_BYTES = 72
# From 2⁴ rounds, bcrypt's fewest, to 2¹⁴: more would keep a thread busy for seconds.
BCRYPT_HASH = re.compile(r"\$2[aby]\$(0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}")
MEMORY_KIB = 19 * 1024
PASSES = 2


class Passwords:
    """Hashes passwords in its own threads, when it is a client's turn."""

    def __init__(self, pool: Pool) -> None:
        self._threads = ThreadPoolExecutor(pool.at_once, "passwords")
        self._pool = pool

    async def hash(self, password: str, mail: str, client: PoolClient) -> str:
        """The hash of a new password of the account with this email.

        Raises BadRequest with the problem, TooManyAtOnce, Busy.
        """
        return await self._run(partial(_hash_new, password, mail), client)

    async def verify(self, password: str, stored: str, client: PoolClient) -> tuple[bool, str]:
        """Is it this one? And another hash that shall take its place, or "".

        Against no hash it takes as long as against one, and is wrong. Raises TooManyAtOnce, Busy.
        """
        return await self._run(partial(_verify, password, stored), client)

    async def _run(self, work: Callable[[], T], client: PoolClient) -> T:
        async with self._pool.turn(client):
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)


@cache
def _argon2() -> "PasswordHasher":
    # Imported here, since a service without logins saves its megabytes.
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=1)


@cache
def _nobodys() -> str:
    """Compared if there is no account, so that it takes equally long."""
    return _hash("nobody's password")


@cache
def _most_used() -> frozenset[str]:
    """In lower case, as the list has them."""
    # Here, since only setting a password needs the list.
    from zxcvbn.frequency_lists import FREQUENCY_LISTS

    long_enough = (
        word for word in FREQUENCY_LISTS["passwords"] if len(word) >= MIN_PASSWORD_CHARACTERS
    )
    return frozenset(islice(long_enough, MOST_USED))


def weakness(password: str, mail: str) -> str:
    """The problem of a new password of the account with this email, or ""."""
    if len(password) < MIN_PASSWORD_CHARACTERS:
        return TOO_SHORT
    compared, address = canonical(password), canonical(mail)
    if compared in (address, address.rpartition("@")[0]):
        return IS_MAIL
    return IS_COMMON if compared in _most_used() else ""


def _hash_new(password: str, mail: str) -> str:
    if wrong := weakness(password, mail):
        raise BadRequest({"password": wrong})
    return _hash(password)


def _hash(password: str) -> str:
    return _argon2().hash(password)


def _verify(password: str, stored: str) -> tuple[bool, str]:
    if stored.startswith("$argon2"):
        is_right = _is_argon2(password, stored)
        is_renewed = is_right and _argon2().check_needs_rehash(stored)
        return is_right, _hash(password) if is_renewed else ""
    if _is_imported(password, stored):
        return True, _hash(password)
    # A wrong one takes as long as any other: timing does not reveal imported accounts.
    _is_argon2(password, _nobodys())
    return False, ""


def _is_argon2(password: str, stored: str) -> bool:
    from argon2.exceptions import VerificationError

    try:
        return _argon2().verify(stored, password)
    except (VerificationError, ValueError):
        # Another one's, or no hash at all.
        return False


def _is_imported(password: str, stored: str) -> bool:
    # These do not know the character NUL, and end there.
    compared = password.encode().partition(b"\0")[0]
    if not BCRYPT_HASH.fullmatch(stored):
        return phpass.verify(compared, stored)
    import bcrypt

    with suppress(ValueError):  # A salt that bcrypt does not make.
        return bcrypt.checkpw(compared[:BCRYPT_BYTES], stored.encode())
    return False
