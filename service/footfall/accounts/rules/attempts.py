"""Rate limits of authentication attempts, by address and by account.

Only failures cost, and a failure is also what others kept from being compared. An attempt takes its
tokens before that, so that concurrent attempts count like consecutive ones, and gets them back on
success.

Nobody can use up the attempts of others. So requests that a page of another site may have caused
count separately, and a caller known to an account (accounts/rules/devices.py) needs no token of
strangers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...driver.script_calls import Rate
from ...errors import TooManyAttempts
from ...limits.buckets import Bucket, TokenBuckets, of_client
from ...model import Caller
from ...netaddr import limit_key

# The second number at once, then one every 30 seconds. An address has fewer than all strangers of
# an account together, so that no address can use up theirs.
ADDRESS_RATE = Rate(1 / 30, 20)
ACCOUNT_RATE = Rate(1 / 30, 100)
# Of a browser that an account knows, wherever it is, and of an address that it knows.
KNOWN_RATE = Rate(1 / 30, 20)
# Queries before each login, which prove nothing: whether a code is needed. The limit per address is
# so high that its logins never wait for it. And started logins by other services.
QUESTION_RATE = Rate(1 / 10, 60)
# Captchas' tokens that failed.
PROOF_RATE = Rate(1 / 10, 60)
# Of a school that registers in one lesson; thereafter twelve an hour, so no robot makes thousands.
REGISTRATION_RATE = Rate(1 / 300, 60)
# Emails that a stranger can cause: password resets, and others for an account.
MAILING_RATE = Rate(1 / 300, 20)
# Changes of the own account, each of which is shown on all pages where it wrote.
PROFILE_RATE = Rate(1 / 30, 60)
# Successful logins to one account, which otherwise cost nothing: each occupies a hashing thread.
SUCCESS_RATE = Rate(1 / 10, 60)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The buckets of which it has taken a token each."""

    buckets: TokenBuckets
    taken: Sequence[Bucket]

    def succeeded(self, id: str) -> None:
        """Return the tokens of a successful attempt, unless this account has too many of these. It
        does not wait."""

        def counted(waits: list[int] | Exception) -> None:
            if waits == [0]:
                self.give_back()

        self.buckets.take([Bucket(f"success {id}", SUCCESS_RATE)], 1, counted)

    def give_back(self) -> None:
        """Return the tokens of what cost nothing but its proof."""
        self.buckets.give_back(self.taken)

    def with_also(self, other: "Attempt") -> "Attempt":
        """Both as one."""
        return Attempt(self.buckets, [*self.taken, *other.taken])


async def attempt(
    tokens: TokenBuckets, caller: Caller, what: str = "", known_as: str = ""
) -> Attempt:
    """Count an attempt for this address and at this account, or at a part of it.

    `known_as` is the caller's name there if the account knows them, and stands for `what`. Raises
    TooManyAttempts.
    """
    buckets = _of_address(caller, "attempt ", ADDRESS_RATE)
    if known_as:
        buckets.append(Bucket(known_as, KNOWN_RATE))
    elif what:
        buckets.append(Bucket(f"account {what}", ACCOUNT_RATE))
    return await _taken(tokens, buckets)


async def attempt_of_browser(tokens: TokenBuckets, known_as: str) -> Attempt:
    """Count an attempt of a browser that the account knows, wherever it is.

    Raises TooManyAttempts.
    """
    return await _taken(tokens, [Bucket(known_as, KNOWN_RATE)])


async def ask(tokens: TokenBuckets, caller: Caller) -> None:
    """Count a query by an address before it proves anything. Raises TooManyAttempts."""
    await _taken(tokens, _of_address(caller, "question ", QUESTION_RATE))


async def start(tokens: TokenBuckets, caller: Caller) -> None:
    """Count a login by another service that an address starts. Raises TooManyAttempts."""
    await _taken(tokens, _of_address(caller, "begin ", QUESTION_RATE))


async def apply(tokens: TokenBuckets, caller: Caller, *, is_guessing: bool) -> None:
    """Count a registration, which may have guessed the setup code. Raises TooManyAttempts."""
    buckets = _of_address(caller, "registration ", REGISTRATION_RATE)
    if is_guessing:
        buckets += _of_address(caller, "setup ", ADDRESS_RATE)
    await _taken(tokens, buckets)


async def prove(tokens: TokenBuckets, caller: Caller) -> Attempt:
    """Count a captcha's token that an address sends. Raises TooManyAttempts."""
    return await _taken(tokens, _of_address(caller, "captcha ", PROOF_RATE))


async def mail(tokens: TokenBuckets, caller: Caller) -> None:
    """Count a request that sends an email to any address. Raises TooManyAttempts."""
    await _taken(tokens, _of_address(caller, "mail ", MAILING_RATE))


async def edit(tokens: TokenBuckets, caller: Caller) -> None:
    """Count a change of the own account, by this login: who has found one of an account's tokens
    uses up no other's. Raises TooManyAttempts."""
    await _taken(tokens, [Bucket(f"profile {caller.viewer.session}", PROFILE_RATE)])


def _of_address(caller: Caller, purpose: str, rate: Rate) -> list[Bucket]:
    """None where the address is not known."""
    if caller.is_sent_elsewhere:
        purpose = f"elsewhere {purpose}"
    return of_client(limit_key(caller.address), rate, purpose) if caller.address else []


async def _taken(tokens: TokenBuckets, buckets: Sequence[Bucket]) -> Attempt:
    if wait_ms := await tokens.retry_after(buckets):
        raise TooManyAttempts(wait_ms)
    return Attempt(tokens, buckets)
