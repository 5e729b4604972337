"""The channels that the settings name."""

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from ...notify import templates
from ...notify.language_model import LanguageModel, ModelJudge, Verdicts
from ...notify.mail import (
    SERVICES,
    Behind,
    Composer,
    LinksOf,
    MailProvider,
    OwnerMail,
    ReaderMail,
    Recipients,
    Security,
    Smtp,
    address_of,
    ascii_domain,
)
from ...notify.mail_words import Words
from ...notify.notification import Channel
from ...notify.push import Push
from ...notify.qmsg import Qmsg
from ...notify.spam_checkers import Akismet, PluginJudge, SpamChecker, WebJudge
from ...notify.webhook import Webhook
from ...outbox_settings import OutboxSettings

TLS_PORT = 465
SUBMISSION_PORT = 587


def channels_of(
    settings: OutboxSettings,
    site_name: str,
    server_url: str,
    recipients: Recipients,
    links_of: LinksOf,
    behind: Behind,
) -> list[Channel]:
    """Emails are composed by `behind`, in the background, and the owner's have links. Raises
    ValueError, which names the invalid setting."""
    mails = _mails(settings, site_name, server_url, recipients, links_of, behind)
    return [*mails, *_others(settings)]


def spam_checkers_of(settings: OutboxSettings, verdicts: Verdicts) -> list[SpamChecker]:
    """`verdicts` are those of a language model. Raises ValueError, which names the setting that is
    wrong."""
    checkers: list[SpamChecker] = []
    if settings.akismet_key:
        checkers.append(Akismet(settings.akismet_key, settings.akismet_url))
    if settings.judge_webhook:
        checkers.append(WebJudge(settings.judge_webhook, settings.webhook_secret))
    if settings.judge_plugin:
        try:
            checkers.append(PluginJudge(settings.judge_plugin, settings.judge_seconds))
        except ValueError as error:
            raise ValueError(f"JUDGE_PLUGIN: {error}") from None
    if settings.model_url:
        checkers.append(ModelJudge(model_of(settings), verdicts))
    return checkers


def model_of(settings: OutboxSettings) -> LanguageModel:
    """Raises ValueError."""
    if not settings.model_url:
        raise ValueError("MODEL_URL: names no language model")
    if not settings.model_name:
        raise ValueError("MODEL_NAME: needs the name of a model that MODEL_URL has")
    return LanguageModel(
        settings.model_url, settings.model_key, settings.model_name, settings.model_prompt
    )


def smtp_of(settings: OutboxSettings, site_name: str, server_url: str) -> Smtp:
    """Raises ValueError."""
    sender = settings.sender_email or settings.smtp_user
    try:
        address = address_of(sender, settings.sender_name or site_name)
    except ValueError:
        address = None
    if address is None or not address.domain:
        raise ValueError("SENDER_EMAIL: needs the sender address of emails")
    helo = settings.smtp_helo or _host_of(server_url) or address.domain
    return Smtp(_place(settings), settings.smtp_user, settings.smtp_pass, address, helo)


def _host_of(server_url: str) -> str:
    """As EHLO has it: an IP address is a literal (RFC 5321, section 4.1.3)."""
    host = urlsplit(server_url).hostname or ""
    with suppress(ValueError):
        address = ip_address(host)
        return f"[IPv6:{address}]" if address.version == 6 else f"[{address}]"
    with suppress(ValueError):
        return ascii_domain(host)
    return ""


def _place(settings: OutboxSettings) -> MailProvider:
    if not settings.smtp_host:
        return SERVICES[settings.smtp_service]
    security: Security = (
        "tls" if settings.smtp_secure or settings.smtp_port == TLS_PORT else "starttls"
    )
    default = TLS_PORT if settings.smtp_secure else SUBMISSION_PORT
    return MailProvider(settings.smtp_host, settings.smtp_port or default, security)


def _mails(
    settings: OutboxSettings,
    site_name: str,
    server_url: str,
    recipients: Recipients,
    links_of: LinksOf,
    behind: Behind,
) -> Iterator[Channel]:
    if not settings.has_mail:
        return
    smtp = smtp_of(settings, site_name, server_url)

    def composer(subject: str, body: str) -> Composer:
        return Composer(
            Words(settings.mail_language),
            templates.subject_of(subject) if subject else None,
            templates.body_of(body) if body else None,
            behind,
        )

    owners = () if settings.disable_author_notify else settings.author_email
    if owners:
        yield OwnerMail(
            smtp,
            composer(settings.mail_subject_admin, settings.mail_template_admin),
            owners,
            settings.notify,
            recipients,
            links_of,
        )
    yield ReaderMail(
        smtp, composer(settings.mail_subject, settings.mail_template), owners, recipients
    )


def _others(settings: OutboxSettings) -> Iterator[Channel]:
    if settings.akismet_key:
        yield Akismet(settings.akismet_key, settings.akismet_url)
    if settings.webhook:
        yield Webhook(settings.webhook, settings.webhook_secret)
    if settings.qmsg_key:
        yield Qmsg(settings.qmsg_host, settings.qmsg_key, settings.qq_id)
    urls = settings.push_urls
    for number, url in enumerate(urls, 1):
        try:
            yield Push(url)
        except ValueError as error:
            # The URL has secrets, so it is not shown.
            raise ValueError(f"NOTIFY_URLS, {number} of {len(urls)}: {error}") from None
