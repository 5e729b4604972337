"""The token of a captcha in a request."""

from ...http.params import MAX_CAPTCHA
from ...site_settings import SiteSettings
from ...table.fields import Field, FieldValues, Text


def captcha_fields() -> tuple[Field, ...]:
    """The token of a captcha, in the field of the one that the site has."""

    def of(name: str, by: str) -> Field:
        doc = f"The token of {by}, where the site asks for it"
        return Text(
            name, doc, MAX_CAPTCHA, is_read=lambda context: context.settings.captcha_field == name
        )

    return of("turnstile", "Turnstile"), of("recaptchaV3", "reCAPTCHA v3")


def captcha_token(values: FieldValues, settings: SiteSettings) -> str:
    return values.get(settings.captcha_field) or ""
