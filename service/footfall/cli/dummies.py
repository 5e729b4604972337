"""Other services that `footfall doctor` asks about a token or code that is valid nowhere: they tell
whether they know this service. Nothing is stored there."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from ..app import providers_of
from ..config import BadSettings, Settings
from ..errors import ServiceError
from ..notify.notification import Failed

if TYPE_CHECKING:
    from ..outside.captcha import Verifier

DUMMY = "footfall-doctor"


async def fault(name: str, settings: Settings) -> str | None:
    """What is wrong with the service of this setting, in use and reachable; "" if it knows us, None
    if it is not asked."""
    try:
        asked = _asked(name, settings)
        return await asked if asked else None
    except (BadSettings, Failed, ServiceError) as error:
        return str(error)


def _asked(name: str, settings: Settings) -> Awaitable[str] | None:
    if name in ("TURNSTILE_URL", "RECAPTCHA_V3_URL"):
        from ..outside.captcha import Verifier

        return _captcha(Verifier(settings.captcha_field, *settings.captcha_service))
    if name == "AKISMET_URL":
        from ..notify.spam_checkers import Akismet

        return Akismet(settings.akismet_key, settings.akismet_url).fault(settings.site_url)
    return providers_of(settings).fault(name)


async def _captcha(verifier: "Verifier") -> str:
    from ..outside.captcha import ADVICE, fault_of

    code = fault_of(await verifier.ask(DUMMY))
    return f"it answers {code}: {ADVICE}" if code else ""
