"""Verifiers of captchas: Turnstile's and reCAPTCHA's, which have the same API."""

import dataclasses
import logging
from collections.abc import Mapping
from time import monotonic
from typing import Any

log = logging.getLogger(__name__)

# What they answer if this service's own part is wrong, and no visitor can pass.
OUR_FAULTS = {"missing-input-secret", "invalid-input-secret", "bad-request"}
# Between two lines of the log about that.
LINE_SECONDS = 60.0
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
    # Code of a fault -> when the log had it last.
    _told: dict[str, float] = dataclasses.field(default_factory=dict, compare=False)

    async def is_passed(self, token: str, address: str) -> bool:
        """Is this captcha token valid? Raises ProviderUnavailable."""
        from .fetch import post_form  # imported with the first comment that needs a captcha

        answer = await post_form(
            self.url, {"secret": self.secret, "response": token, "remoteip": address}
        )
        if not isinstance(answer, dict):
            return False
        if answer.get("success") is not True:
            self._note_faults(answer)
            return False
        score = answer.get("score", 1)
        return isinstance(score, (int, float)) and score >= LEAST_SCORE

    def _note_faults(self, answer: Mapping[str, Any]) -> None:
        codes = answer.get("error-codes")
        named = {code for code in codes if isinstance(code, str)} if isinstance(codes, list) else ()
        for code in OUR_FAULTS.intersection(named):
            now = monotonic()
            if now >= self._told.get(code, -LINE_SECONDS) + LINE_SECONDS:
                self._told[code] = now
                log.warning(
                    "nobody can pass the captcha: %s answers %s; check its secret", self.url, code
                )
