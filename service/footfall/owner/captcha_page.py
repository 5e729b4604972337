"""The captcha on the registration page: the only script of another site there.

It is loaded if a captcha and its key are set; the page may load it, and its content, from the
captcha's own origins alone.
"""

from dataclasses import dataclass
from urllib.parse import quote

import orjson

from ..accounts.rules.captcha import Captcha
from ..http.response import Headers
from ..outside.targets import origin_of


@dataclass(frozen=True, slots=True)
class Widget:
    """A captcha's script, and the further origins that it loads from."""

    script: str
    others: tuple[str, ...] = ()


# By the field of requests that has the token. Turnstile is shown, reCAPTCHA is not, and its script
# has the key in its address.
WIDGETS = {
    "turnstile": Widget("https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit"),
    "recaptchaV3": Widget(
        "https://www.recaptcha.net/recaptcha/api.js?render=",
        ("https://www.gstatic.com", "https://www.gstatic.cn"),
    ),
}


def described(captcha: Captcha) -> str:
    """What the page has to know of the captcha, as JSON: {} without one, no `key` without a key."""
    if captcha.verifier is None:
        return "{}"
    field, key = captcha.field, captcha.verifier.key
    script = WIDGETS[field].script
    if script.endswith("="):
        script += quote(key, safe="")
    return orjson.dumps({"field": field, "key": key, "script": script}).decode()


def permitting(headers: Headers, captcha: Captcha) -> Headers:
    """A page's headers, with which it may load the captcha as well."""
    if captcha.verifier is None or not captcha.verifier.key:
        return headers
    widget = WIDGETS[captcha.field]
    origins = " ".join((origin_of(widget.script), *widget.others))
    (name, policy), *others = headers
    rules = [rule.strip() for rule in policy.decode().split(";")]
    named = ("script-src", "connect-src")
    rules = [f"{rule} {origins}" if rule.startswith(named) else rule for rule in rules]
    return [(name, "; ".join([*rules, f"frame-src {origins}"]).encode()), *others]
