"""Proof against robots: a captcha's token, or some work of the browser.

With a captcha configured, comments and registrations need its token. Without one, registrations may
need work: browsers search for a number by which a digest starts with zeros, a second for a person,
and expensive for a robot. Administrators are exempt.
"""

import secrets
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ...driver.script_calls import Rate
from ...errors import CaptchaFailed
from ...limits.buckets import Bucket, TokenBuckets
from ...limits.clients import pool_client_of
from ...limits.pool import Pool
from ...model import Caller
from ...outside.captcha import Verifier
from ..store.accounts import AccountStore
from . import attempts

# 65,536 digests on average.
WORK_PREFIX = "0000"
WORK_SECONDS = 600
# Of one solution, which could otherwise be used a thousand times.
ONCE = Rate(1 / WORK_SECONDS, 1)


@dataclass(frozen=True, slots=True)
class Proof:
    """What came with a request: a captcha's token, or a piece of work; "" for what did not."""

    token: str = ""
    work: str = ""


class Captcha:
    """`verifier` is None where no captcha is configured; with `wants_work` registration needs a
    proof then, too."""

    def __init__(
        self,
        verifier: Verifier | None,
        accounts: AccountStore,
        buckets: TokenBuckets,
        pool: Pool,
        *,
        wants_work: bool = False,
    ) -> None:
        self.verifier = verifier
        self._accounts = accounts
        self._buckets = buckets
        self._pool = pool
        self._wants_work = wants_work

    @property
    def field(self) -> str:
        """The field of a request that has the captcha's token; "" without a captcha."""
        return self.verifier.field if self.verifier else ""

    async def require_for_comment(self, proof: Proof, caller: Caller) -> None:
        """Raises TooManyAttempts, CaptchaFailed, CaptchaUnavailable, TooManyAtOnce, Busy."""
        if self.verifier and not caller.viewer.is_moderator:
            await self._require_token(self.verifier, proof, caller)

    async def require_for_registration(self, proof: Proof, caller: Caller) -> None:
        """Raises TooManyAttempts, CaptchaFailed, CaptchaUnavailable, TooManyAtOnce, Busy,
        StoreUnavailable."""
        if caller.viewer.is_moderator:
            return
        if self.verifier:
            await self._require_token(self.verifier, proof, caller)
        elif self._wants_work:
            await self._require_work(proof.work)

    async def challenge(self) -> dict[str, Any] | None:
        """The work for a browser before a registration; None if none is needed."""
        if self.verifier or not self._wants_work:
            return None
        import altcha  # imported on first use

        made = altcha.create_challenge(
            "SHA-256",
            1,
            key_prefix=WORK_PREFIX,
            expires_at=int(time.time()) + WORK_SECONDS,
            hmac_secret=await self._key(),
        )
        return dict(made.to_dict())

    async def _require_token(self, verifier: Verifier, proof: Proof, caller: Caller) -> None:
        """A failure costs its address a token."""
        made = await attempts.prove(self._buckets, caller)
        if not proof.token:
            raise CaptchaFailed()
        async with self._pool.turn(pool_client_of(caller)):
            is_passed = await verifier.is_passed(proof.token, caller.address)
        if not is_passed:
            raise CaptchaFailed()
        made.give_back()

    async def _require_work(self, work: str) -> None:
        import altcha

        result = altcha.verify_solution(work, await self._key())
        if not result.verified:
            raise CaptchaFailed()
        nonce = altcha.Payload.from_base64(work).challenge.parameters.nonce
        if await self._buckets.retry_after([Bucket(f"work {nonce}", ONCE)]):
            raise CaptchaFailed()

    async def _key(self) -> bytes:
        key = await self._accounts.signing_key(secrets.token_hex(32))
        return sha256(b"footfall work\0" + key.encode()).digest()
