"""The settings of notifications, of spam filters and of captchas.

A setting that Waline has is called the same here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast, get_args

from .environment import FromEnvironment
from .notify.mail import SERVICES, Kind, Way
from .setting_texts import (
    exact_address,
    host,
    line,
    mail_address,
    mail_addresses,
    optional,
    secret,
    web_address,
    word,
)
from .values import env, flag, number, one_of, timeout, words

_TEMPLATE = "in Nunjucks' language, with self, parent and site. Empty: ours"


def _site(text: str) -> str:
    name = optional(text).strip().lower()
    if name and name not in SERVICES:
        raise ValueError(f"say one of {', '.join(sorted(SERVICES))}, or SMTP_HOST and SMTP_PORT")
    return name


def _ways(text: str) -> Mapping[Kind, Way]:
    """Unnamed ones are sent now."""
    ways: dict[Kind, Way] = dict.fromkeys(get_args(Kind), "now")
    for each in words(text):
        kind, _, way = each.partition("=")
        if kind not in ways or way not in get_args(Way):
            raise ValueError("needs pending= and approved=, each now, digest or never")
        ways[kind] = cast(Way, way)
    return ways


def flag_or_nothing(text: str) -> bool | None:
    """None if empty."""
    return flag(text) if text.strip() else None


def _mail_template(is_html: bool) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.strip():
            # Imported here, since it is heavy, and few have templates of their own.
            from .notify.templates import body_of, subject_of

            (body_of if is_html else subject_of)(text)
        return text

    return parse


@dataclass(frozen=True)
class OutboxSettings(FromEnvironment):
    outbox_worker: bool = env(
        "OUTBOX_WORKER",
        "true",
        flag,
        "Send notifications from footfall serve; false: footfall worker sends them",
    )
    smtp_service: str = env(
        "SMTP_SERVICE", "", _site, "Email provider by name, such as Gmail or QQ: sets host and port"
    )
    smtp_host: str = env(
        "SMTP_HOST", "", host("SMTP_PORT"), "SMTP server; without it and SMTP_SERVICE, no emails"
    )
    smtp_port: int = env(
        "SMTP_PORT", "0", number(0, 65535), "Port of the SMTP server; 0: 465 or 587"
    )
    smtp_secure: bool = env(
        "SMTP_SECURE",
        "",
        flag,
        "Use TLS from the start, as on port 465; else STARTTLS if the server offers it",
    )
    smtp_helo: str = env(
        "SMTP_HELO",
        "",
        word,
        "Name by which this service introduces itself to it; empty: the host of SERVER_URL, else "
        "the domain of the sender",
    )
    smtp_user: str = env("SMTP_USER", "", line, "User name at the SMTP server")
    smtp_pass: str = env("SMTP_PASS", "", secret, "Password at the SMTP server", secret=True)
    sender_name: str = env("SENDER_NAME", "", line, "Sender name of emails; empty: SITE_NAME")
    sender_email: str = env(
        "SENDER_EMAIL", "", mail_address, "Sender address of emails; empty: SMTP_USER"
    )
    author_email: tuple[str, ...] = env(
        "AUTHOR_EMAIL",
        "",
        mail_addresses,
        "Site owner's address for emails about new comments; several separated by commas",
    )
    notify: Mapping[Kind, Way] = env(
        "NOTIFY",
        "pending=now,approved=now",
        _ways,
        "When to email AUTHOR_EMAIL about pending and approved comments: now, in a digest or never",
    )
    disable_author_notify: bool = env(
        "DISABLE_AUTHOR_NOTIFY", "false", flag, "Do not email AUTHOR_EMAIL about new comments"
    )
    mail_rate: int = env(
        "MAIL_RATE",
        "20",
        number(0, 1000),
        "Reply emails per address and hour; further ones are dropped. 0: no limit",
    )
    notify_every: int = env(
        "NOTIFY_EVERY",
        "10",
        number(0, 1440),
        "Minutes between emails to AUTHOR_EMAIL: further comments come in one digest. 0: an email"
        " for each",
    )
    verify_email: bool | None = env(
        "VERIFY_EMAIL",
        "",
        flag_or_nothing,
        "Confirm email addresses before accounts use them. Empty: if email and SERVER_URL are"
        " configured",
    )
    mail_language: str = env(
        "MAIL_LANGUAGE", "en", one_of("en", "de", "zh"), "Language of emails about comments"
    )
    mail_subject: str = env(
        "MAIL_SUBJECT",
        "",
        _mail_template(False),
        "Nunjucks template for the subject of emails to readers (self, parent, site). Empty: "
        "built-in",
    )
    mail_template: str = env(
        "MAIL_TEMPLATE",
        "",
        _mail_template(True),
        "Nunjucks template for emails to readers (self, parent, site). Empty: built-in",
    )
    mail_subject_admin: str = env(
        "MAIL_SUBJECT_ADMIN",
        "",
        _mail_template(False),
        "Nunjucks template for the subject of emails to AUTHOR_EMAIL (self, parent, site). "
        "Empty: built-in",
    )
    mail_template_admin: str = env(
        "MAIL_TEMPLATE_ADMIN",
        "",
        _mail_template(True),
        "Nunjucks template for emails to AUTHOR_EMAIL (self, parent, site). Empty: built-in",
    )
    webhook: str = env(
        "WEBHOOK",
        "",
        exact_address,
        "Address that receives a request for each new comment",
        secret=True,
    )
    webhook_secret: str = env(
        "WEBHOOK_SECRET", "", str, "Secret that signs these requests", secret=True
    )
    notify_urls: tuple[str, ...] = env(
        "NOTIFY_URLS",
        "",
        words,
        "Apprise URLs of chats and phones, separated by commas; needs the extra notify",
        secret=True,
    )
    tg_bot_token: str = env("TG_BOT_TOKEN", "", word, "Telegram: the bot's token", secret=True)
    tg_chat_id: str = env("TG_CHAT_ID", "", word, "Telegram: the chat")
    discord_webhook: str = env(
        "DISCORD_WEBHOOK", "", exact_address, "Discord: a channel's webhook", secret=True
    )
    lark_webhook: str = env(
        "LARK_WEBHOOK", "", exact_address, "Lark or Feishu: a bot's webhook", secret=True
    )
    sc_key: str = env("SC_KEY", "", word, "ServerChan: the key", secret=True)
    push_plus_key: str = env("PUSH_PLUS_KEY", "", word, "PushPlus: the token", secret=True)
    qywx_am: str = env(
        "QYWX_AM",
        "",
        line,
        "WeCom: company, secret, recipients and agent, separated by commas",
        secret=True,
    )
    qmsg_key: str = env("QMSG_KEY", "", word, "Qmsg, for messages to QQ: the key", secret=True)
    qq_id: str = env("QQ_ID", "", word, "Qmsg: QQ number that receives messages")
    qmsg_host: str = env(
        "QMSG_HOST", "https://qmsg.zendee.cn", web_address, "Qmsg: the address of its API"
    )

    akismet_key: str = env(
        "AKISMET_KEY",
        "",
        word,
        "Akismet API key: every comment is checked, corrections are reported; empty or false: off",
        secret=True,
    )
    akismet_url: str = env(
        "AKISMET_URL", "https://rest.akismet.com", web_address, "Address of the Akismet API"
    )
    judge_webhook: str = env(
        "JUDGE_WEBHOOK",
        "",
        exact_address,
        'Address that receives each comment like WEBHOOK and returns {"verdict": "spam"} or "ham"',
        secret=True,
    )
    judge_plugin: str = env(
        "JUDGE_PLUGIN",
        "",
        word,
        "Python function module:function that receives each comment as a dictionary and "
        "returns spam or ham",
    )
    judge_seconds: float = env(
        "JUDGE_SECONDS", "5", timeout, "Seconds that a call of JUDGE_PLUGIN may take"
    )

    @property
    def owner_email(self) -> str:
        """ "" if none."""
        return next(iter(self.author_email), "")

    @property
    def has_mail(self) -> bool:
        return bool(self.smtp_service or self.smtp_host)

    @property
    def means(self) -> tuple[str, ...]:
        """The channels that notify people of comments."""
        pushes = len(self.push_urls) + bool(self.qmsg_key)
        channels = {
            "mail": self.has_mail,
            "webhook": bool(self.webhook),
            "one chat" if pushes == 1 else f"{pushes} chats": bool(pushes),
        }
        return tuple(name for name, is_there in channels.items() if is_there)

    turnstile_secret: str = env(
        "TURNSTILE_SECRET",
        "",
        word,
        "Turnstile secret: comments and registrations then need a token",
        secret=True,
    )
    turnstile_key: str = env(
        "TURNSTILE_KEY", "", word, "Turnstile site key, for the registration page"
    )
    turnstile_url: str = env(
        "TURNSTILE_URL",
        "https://challenges.cloudflare.com/turnstile/v0/siteverify",
        web_address,
        "Address that verifies Turnstile tokens",
    )
    recaptcha_secret: str = env(
        "RECAPTCHA_V3_SECRET", "", word, "The same for reCAPTCHA v3", secret=True
    )
    recaptcha_key: str = env("RECAPTCHA_V3_KEY", "", word, "reCAPTCHA v3 site key")
    recaptcha_url: str = env(
        "RECAPTCHA_V3_URL",
        "https://www.recaptcha.net/recaptcha/api/siteverify",
        web_address,
        "Address that verifies reCAPTCHA tokens",
    )
    registration_work: bool = env(
        "REGISTRATION_WORK",
        "false",
        flag,
        "Browsers compute for a second before registration, instead of a captcha",
    )

    @property
    def spam_checkers(self) -> tuple[str, ...]:
        """The spam filters that check comments."""
        values = {
            "Akismet": self.akismet_key,
            "a web service": self.judge_webhook,
            "a plugin": self.judge_plugin,
        }
        return tuple(name for name, is_there in values.items() if is_there)

    @property
    def tells(self) -> bool:
        """Is there a channel or a spam filter? Else the outbox stays empty."""
        return bool(self.means or self.spam_checkers)

    @property
    def sends_itself(self) -> bool:
        """Does `footfall serve` send notifications?"""
        return self.tells and self.outbox_worker

    @property
    def push_urls(self) -> tuple[str, ...]:
        """NOTIFY_URLS, and those of Waline's own settings."""
        from .notify.push import urls_of

        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        return (*self.notify_urls, *urls_of(values))
