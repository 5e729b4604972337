"""Verifiers of captchas: Turnstile's and reCAPTCHA's, which have the same API."""

from dataclasses import dataclass

# reCAPTCHA's scores go from 0 for a robot to 1; its makers advise half of that.
LEAST_SCORE = 0.5


@dataclass(frozen=True, slots=True)
class Verifier:
    """`field` is the field of requests that has the token, by the clients' names for it; `key` is
    the captcha's public one, "" if it is not set."""

    field: str
    secret: str
    url: str
    key: str = ""

    async def is_passed(self, token: str, address: str) -> bool:
        """Is this captcha token valid? Raises ProviderUnavailable."""
        from .fetch import post_form  # imported with the first comment that needs a captcha

        answer = await post_form(
            self.url, {"secret": self.secret, "response": token, "remoteip": address}
        )
        if not isinstance(answer, dict) or answer.get("success") is not True:
            return False
        score = answer.get("score", 1)
        return isinstance(score, (int, float)) and score >= LEAST_SCORE
