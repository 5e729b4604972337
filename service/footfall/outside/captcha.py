"""Verifiers of captchas: Turnstile's and reCAPTCHA's, which have the same API."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..errors import CaptchaUnavailable, ProviderUnavailable
from ..telemetry.faults import Faults

# What they answer if this service's own part is wrong, and no visitor can pass.
OUR_FAULTS = {"missing-input-secret", "invalid-input-secret", "bad-request"}
ADVICE = "nobody can pass the captcha; check its secret"
DUMMY = "footfall-doctor"
# reCAPTCHA's scores go from 0 for a robot to 1; its makers advise half of that.
LEAST_SCORE = 0.5


@dataclasses.dataclass(frozen=True, slots=True)
class Verifier:
    """`field` is the field of requests that has the token, by the clients' names for it; `key` is
    the captcha's public one, "" if it is not set."""

    field: str
    secret: str
    url: str
    key: str = ""
    _faults: Faults = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_faults", Faults(self.url))

    async def is_passed(self, token: str, address: str) -> bool:
        """Is this captcha token valid? Raises CaptchaUnavailable, also if the verifier answers
        something that is no verdict on the token."""
        answer = await self._answer(token, address)
        if answer.get("success") is not True:
            if fault := _fault_of(answer):
                self._faults.tell(fault, ADVICE)
                raise CaptchaUnavailable()
            return False
        score = answer.get("score", 1)
        return isinstance(score, (int, float)) and score >= LEAST_SCORE

    async def fault(self) -> str:
        """What it says of this service, about a token that is none; "" if it knows the secret.
        Raises CaptchaUnavailable."""
        code = _fault_of(await self._answer(DUMMY, ""))
        return f"it answers {code}: {ADVICE}" if code else ""

    async def _answer(self, token: str, address: str) -> Mapping[str, Any]:
        from .fetch import post_form  # imported with the first comment that needs a captcha

        fields = {"secret": self.secret, "response": token, "remoteip": address}
        try:
            status, answer = await post_form(self.url, fields)
        except ProviderUnavailable as error:
            self._faults.tell("nothing", "nobody can pass the captcha")
            raise CaptchaUnavailable() from error
        if not isinstance(answer, dict):
            self._faults.tell(f"status {status} without a verdict", "nobody can pass the captcha")
            raise CaptchaUnavailable()
        return answer


def _fault_of(answer: Mapping[str, Any]) -> str:
    """The code of a fault that is this service's own; "" if it is the visitor's."""
    codes = answer.get("error-codes")
    named = {code for code in codes if isinstance(code, str)} if isinstance(codes, list) else ()
    return min(OUR_FAULTS.intersection(named), default="")
