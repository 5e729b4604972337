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
    outbox_worker: bool = env("true", flag)
    smtp_service: str = env("", _site)
    smtp_host: str = env("", host("SMTP_PORT"))
    smtp_port: int = env("0", number(0, 65535))
    smtp_secure: bool = env("", flag)
    smtp_helo: str = env("", word)
    smtp_user: str = env("", line)
    smtp_pass: str = env("", secret, secret=True)
    sender_name: str = env("", line)
    sender_email: str = env("", mail_address)
    author_email: tuple[str, ...] = env("", mail_addresses)
    weekly_mail: tuple[str, ...] = env("", mail_addresses)
    notify: Mapping[Kind, Way] = env("pending=now,approved=now", _ways)
    disable_author_notify: bool = env("false", flag)
    mail_rate: int = env("20", number(0, 1000))
    notify_every: int = env("10", number(0, 1440))
    verify_email: bool | None = env("", flag_or_nothing)
    mail_language: str = env("en", one_of("en", "de", "zh"))
    mail_subject: str = env("", _mail_template(False))
    mail_template: str = env("", _mail_template(True))
    mail_subject_admin: str = env("", _mail_template(False))
    mail_template_admin: str = env("", _mail_template(True))
    webhook: str = env("", exact_address, secret=True)
    webhook_secret: str = env("", str, secret=True)
    notify_urls: tuple[str, ...] = env("", words, secret=True)
    tg_bot_token: str = env("", word, secret=True)
    tg_chat_id: str = env("", word)
    discord_webhook: str = env("", exact_address, secret=True)
    lark_webhook: str = env("", exact_address, secret=True)
    sc_key: str = env("", word, secret=True)
    push_plus_key: str = env("", word, secret=True)
    qywx_am: str = env("", line, secret=True)
    qmsg_key: str = env("", word, secret=True)
    qq_id: str = env("", word)
    qmsg_host: str = env("https://qmsg.zendee.cn", web_address)

    akismet_key: str = env("", word, secret=True)
    akismet_url: str = env("https://rest.akismet.com", web_address)
    judge_webhook: str = env("", exact_address, secret=True)
    judge_plugin: str = env("", word)
    judge_seconds: float = env("5", timeout)
    model_url: str = env("", web_address)
    model_key: str = env("", word, secret=True)
    model_name: str = env("", line)
    model_prompt: str = env("", str)
    model_daily: int = env("500", number(0, 1_000_000))

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

    turnstile_secret: str = env("", word, secret=True)
    turnstile_key: str = env("", word)
    turnstile_url: str = env(
        "https://challenges.cloudflare.com/turnstile/v0/siteverify", web_address
    )
    recaptcha_secret: str = env("", word, secret=True, name="RECAPTCHA_V3_SECRET")
    recaptcha_key: str = env("", word, name="RECAPTCHA_V3_KEY")
    recaptcha_url: str = env(
        "https://www.recaptcha.net/recaptcha/api/siteverify", web_address, name="RECAPTCHA_V3_URL"
    )
    registration_work: bool = env("false", flag)

    @property
    def spam_checkers(self) -> tuple[str, ...]:
        """The spam filters that check comments."""
        values = {
            "Akismet": self.akismet_key,
            "a web service": self.judge_webhook,
            "a plugin": self.judge_plugin,
            "a language model": self.model_url,
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
