"""Settings of notifications that cannot be used are named before anything is started."""

import pytest

from footfall.app import create_delivery
from footfall.config import BadSettings, Settings
from footfall.notifications.rules.channels import smtp_of
from footfall.notify.mail import MailProvider
from footfall.stores import open_process, open_store
from tests.support.sites import site_of


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"SMTP_SERVICE": "nobody"}, "say one of 126, 163"),
        ({"MAIL_TEMPLATE": "{{ self.nick"}, "the template cannot be read"),
        ({"MAIL_SUBJECT": "{{ other }}"}, "'other' is none of self, parent and site"),
        ({"SENDER_EMAIL": "nobody"}, "needs an email address"),
        ({"WEBHOOK": "ftp://x"}, "must start with http"),
        ({"NOTIFY_URLS": "nonsense://secret"}, "NOTIFY_URLS, 1 of 1: Apprise cannot use it"),
        ({"SMTP_HOST": "mail.example"}, "SENDER_EMAIL: needs the sender address of emails"),
        ({"SMTP_HOST": "x", "SMTP_USER": "ann"}, "SENDER_EMAIL: needs the sender address"),
        ({"SMTP_HOST": "x", "SMTP_USER": "a@b@c"}, "SENDER_EMAIL: needs the sender address"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(environ: dict[str, str], said: str) -> None:
    # Whichever of the three steps finds it.
    with pytest.raises(BadSettings) as failure:  # noqa: PT012
        settings = Settings.from_env(environ)
        store = open_store(settings, open_process(settings, "redis://127.0.0.1"))
        create_delivery(settings, site_of(settings, store))
    assert said in str(failure.value)
    assert "secret" not in str(failure.value)


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({"SMTP_SERVICE": "QQ"}, MailProvider("smtp.qq.com", 465, "tls")),
        ({"SMTP_HOST": "m"}, MailProvider("m", 587, "starttls")),
        ({"SMTP_HOST": "m", "SMTP_SECURE": "true"}, MailProvider("m", 465, "tls")),
        ({"SMTP_HOST": "m", "SMTP_PORT": "465"}, MailProvider("m", 465, "tls")),
        ({"SMTP_HOST": "m", "SMTP_PORT": "25"}, MailProvider("m", 25, "starttls")),
    ],
)
def test_a_mail_server_is_found_by_its_settings(
    environ: dict[str, str], place: MailProvider
) -> None:
    settings = Settings.from_env({"SMTP_USER": "ann@example.com", **environ})
    smtp = smtp_of(settings, "Demo", "")
    assert (smtp.place, str(smtp.sender)) == (place, "Demo <ann@example.com>")


def test_the_references_own_settings_name_chats() -> None:
    settings = Settings.from_env(
        {
            "TG_BOT_TOKEN": "123:abc",
            "TG_CHAT_ID": "42",
            "SC_KEY": "SCT1",
            "PUSH_PLUS_KEY": "pp",
            "DISCORD_WEBHOOK": "https://discord.com/api/webhooks/1/x",
            "LARK_WEBHOOK": "https://open.feishu.cn/open-apis/bot/v2/hook/ab-cd",
            "QYWX_AM": "company,secret,ann,1000002",
            "NOTIFY_URLS": "ntfy://topic",
            "QMSG_KEY": "k",
        }
    )
    assert settings.push_urls == (
        "ntfy://topic",
        "tgram://123:abc/42/",
        "schan://SCT1",
        "pushplus://pp",
        "https://discord.com/api/webhooks/1/x",
        "feishu://ab-cd",
        "wechat://company:secret@1000002/ann",
    )
    assert settings.means == ("8 chats",)


def test_nobody_is_told_by_default() -> None:
    assert not Settings.from_env({}).tells
