"""Other services that `footfall doctor` asks about a token or code that is valid nowhere: they tell
whether they know this service. Nothing is stored there."""

from collections.abc import Awaitable

from ..app import providers_of
from ..config import BadSettings, Settings
from ..errors import ServiceError
from ..notify.notification import NotDelivered
from ..notify.spam_checkers import Akismet
from ..outside.captcha import Verifier

# The field of requests that has the token, of the setting that names who verifies it.
CAPTCHAS = {"TURNSTILE_URL": "turnstile", "RECAPTCHA_V3_URL": "recaptchaV3"}


async def fault(name: str, settings: Settings) -> str | None:
    """What is wrong with the service of this setting, in use and reachable; "" if it knows us, None
    if it is not asked."""
    try:
        asked = _asked(name, settings)
        return await asked if asked else None
    except (BadSettings, NotDelivered, ServiceError) as error:
        return str(error)


def _asked(name: str, settings: Settings) -> Awaitable[str] | None:
    # Of two captchas only one is in use.
    if name in CAPTCHAS and CAPTCHAS[name] == settings.captcha_field:
        return Verifier(settings.captcha_field, *settings.captcha_service).fault()
    if name == "AKISMET_URL":
        return Akismet(settings.akismet_key, settings.akismet_url).fault(settings.site_url)
    return providers_of(settings).fault(name)
