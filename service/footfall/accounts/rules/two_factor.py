"""Two-factor authentication: time-based codes (RFC 6238) and recovery codes, each valid once."""

import hmac
import secrets
from dataclasses import replace
from hashlib import sha256

import pyotp

from ...model import Credentials

STEP_SECONDS = 30
CODE_DIGITS = 6
# Steps before and after the current one whose codes are accepted: phones' clocks differ.
TOLERATED_STEPS = 1
RECOVERY_CODES = 10
# Letters and digits that cannot be mistaken for each other: 10 of these 31 are 49 bits.
RECOVERY_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
RECOVERY_CHARACTERS = 10


def new_secret() -> str:
    """32 characters of base 32: 160 bits, as RFC 4226 recommends."""
    return pyotp.random_base32()


def otpauth_url(secret: str, mail: str, site: str) -> str:
    """What an authenticator reads from a QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=mail, issuer_name=site)


def step_of(secret: str, code: str, now_ms: int) -> int:
    """The number of the step with this code; 0 if it is none of the current ones.

    An invalid or short secret has no codes.
    """
    try:
        codes = pyotp.HOTP(secret)
    except ValueError:
        return 0
    present = now_ms // 1000 // STEP_SECONDS
    for step in range(present - TOLERATED_STEPS, present + TOLERATED_STEPS + 1):
        if hmac.compare_digest(codes.at(step).encode(), code.encode()):
            return step
    return 0


def spent(credentials: Credentials, code: str, now_ms: int) -> Credentials | None:
    """The credentials with this code used up; None if it is invalid or used."""
    code = code.replace(" ", "").lower()
    if code.isdigit():
        step = step_of(credentials.totp, code, now_ms)
        return replace(credentials, step=step) if step > credentials.step else None
    digest = _digest(code)
    if digest not in credentials.recovery:
        return None
    left = tuple(code for code in credentials.recovery if code != digest)
    return replace(credentials, recovery=left)


def left_after(credentials: Credentials, code: str, now_ms: int) -> Credentials | None:
    """The credentials after a login; None if it needs a code, and this is not one."""
    return spent(credentials, code, now_ms) if credentials.totp else credentials


def new_recovery_codes() -> tuple[list[str], tuple[str, ...]]:
    """Codes to be shown once, and their stored hashes."""
    codes = [
        "".join(secrets.choice(RECOVERY_ALPHABET) for _ in range(RECOVERY_CHARACTERS))
        for _ in range(RECOVERY_CODES)
    ]
    # A code of digits alone would be taken for one of an authenticator.
    codes = [code[:-1] + "x" if code.isdigit() else code for code in codes]
    return codes, tuple(map(_digest, codes))


def _digest(code: str) -> str:
    # They are as random as they are long, so nothing slower is needed.
    return sha256(code.encode()).hexdigest()[:32]
