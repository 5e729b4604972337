"""Passwords and codes: made, compared, and renewed, never on the event loop.

New ones are argon2id by OWASP's second recommendation (19 MiB, two passes, one lane), so that eight
log-ins at once do not take a sidecar's memory. Imported ones may be bcrypt or phpass (`$P$`), and
become argon2id at the next log-in.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from ..errors import Busy

if TYPE_CHECKING:
    from passlib.context import CryptContext

T = TypeVar("T")

MIN_PASSWORD_CHARACTERS = 5
MAX_PASSWORD_CHARACTERS = 256
# bcrypt's authors and every implementation since leave out what comes behind.
BCRYPT_BYTES = 72
MEMORY_KIB = 19 * 1024
PASSES = 2
# Passwords that are compared at the same moment, and that may wait for it.
THREADS = 2
MAX_WAITING_PASSWORDS = 32


class Passwords:
    """Hashes passwords in threads of its own, and so many at once."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "passwords")
        self._waiting = 0

    async def hash(self, password: str) -> str:
        """Raises Busy."""
        return await self._run(partial(_hash, password))

    async def verify(self, password: str, stored: str) -> tuple[bool, str]:
        """Is it this one? And another hash that shall take its place, or "". Raises Busy.

        Against no hash it takes as long as against one, and is wrong.
        """
        return await self._run(partial(_verify, password, stored))

    async def _run(self, work: Callable[[], T]) -> T:
        if self._waiting >= MAX_WAITING_PASSWORDS:
            raise Busy()
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1


@cache
def _context() -> "CryptContext":
    # Here, since a service that nobody logs in to does without its megabytes.
    from passlib.context import CryptContext

    return CryptContext(
        schemes=["argon2", "bcrypt", "phpass"],
        deprecated=["bcrypt", "phpass"],
        argon2__type="ID",
        argon2__memory_cost=MEMORY_KIB,
        argon2__time_cost=PASSES,
        argon2__parallelism=1,
    )


@cache
def _nobodys() -> str:
    """What is compared where there is no account, so that it takes as long."""
    return _hash("nobody's password")


def _hash(password: str) -> str:
    made: str = _context().hash(password)
    return made


def _verify(password: str, stored: str) -> tuple[bool, str]:
    scheme = _context().identify(stored) if stored else None
    if scheme is None:
        _context().verify(password, _nobodys())
        return False, ""
    if scheme == "argon2":
        is_right, renewed = _context().verify_and_update(password, stored)
        return is_right, renewed or ""
    # These do not know the character NUL, and end there.
    known = password.encode().partition(b"\0")[0]
    is_right = _context().verify(known[:BCRYPT_BYTES] if scheme == "bcrypt" else known, stored)
    # A wrong one takes as long as any other: nobody learns whose account was imported.
    return (True, _hash(password)) if is_right else (_context().verify(password, _nobodys()), "")
