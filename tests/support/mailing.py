"""A site that sends emails, and what has come."""

import asyncio
import re
from email.message import EmailMessage

from footfall.notifications.rules.delivery import Delivery
from tests.conftest import Site

from .logging_in import HERE
from .receivers import MailServer


def settings_of(server: MailServer) -> dict[str, str]:
    return {
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": str(server.port),
        "SENDER_EMAIL": "site@example.com",
        "SERVER_URL": HERE,
        "SITE_URL": "https://blog.example",
        "SITE_NAME": "The Blog",
    }


def text_of(mail: EmailMessage, kind: str = "plain") -> str:
    body = mail.get_body((kind,))
    assert body is not None
    return str(body.get_content())


def link_in(mail: EmailMessage) -> str:
    """The address of a page of ours with a token."""
    match = re.search(r"\S+/ui/\S+#\S+", text_of(mail))
    assert match, text_of(mail)
    return match[0]


def token_in(mail: EmailMessage) -> str:
    return link_in(mail).partition("#")[2]


async def mailed(site: Site, server: MailServer) -> list[tuple[str, EmailMessage]]:
    """What has come since this was asked last, when all that is to be sent was sent."""
    await site.settled()
    came, server.came = server.came, []
    return came


async def run(delivery: Delivery) -> None:
    """Deliver all that is due."""
    await delivery._outbox.start()
    while await delivery.step() or delivery._running:
        await asyncio.gather(*delivery._running)
