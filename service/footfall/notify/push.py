"""Messages to phones and chats, by the library Apprise, which knows a hundred services."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import quote

import orjson

from .notification import NotDelivered, Notification

# How much of a comment a message has: services cut off longer messages, at different lengths.
MAX_CHARACTERS = 1000
# -P: no module is taken from the working directory.
SENDER = (sys.executable, "-P", "-m", f"{__package__}.push_process")
HOW_TO_GET_IT = "Apprise is not installed: pip install 'footfall[notify]'"


class Push:
    """Sends to the service of one URL, as Apprise's documentation writes it."""

    def __init__(self, url: str) -> None:
        """Raises ValueError for a URL that Apprise cannot use, or if it is not installed."""
        try:
            import apprise
        except ImportError:
            raise ValueError(HOW_TO_GET_IT) from None
        if not apprise.Apprise().add(url):
            raise ValueError("Apprise cannot use it")
        self._url = url
        # A process at a time for each URL, of some 50 MB.
        self._turn = asyncio.Lock()
        # A name of tasks that stays the same for the same URL; the URL itself contains secrets.
        self.name = f"push-{sha256(url.encode()).hexdigest()[:8]}"

    def wants(self, notification: Notification) -> bool:
        return notification.is_for_owner

    async def send(self, notification: Notification) -> None:
        async with self._turn:
            # Its tracebacks would show the URL, and are not lines of our log.
            process = await asyncio.create_subprocess_exec(
                *SENDER, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
            )
            try:
                said, _ = await process.communicate(
                    orjson.dumps([self._url, *message_of(notification)])
                )
            finally:
                if process.returncode is None:
                    # It was waited for long enough.
                    process.kill()
                    await process.communicate()
        if process.returncode:
            raise NotDelivered(said.decode(errors="replace").strip() or "it was rejected")


def message_of(notification: Notification) -> tuple[str, str]:
    """Title and body of a message to an owner."""
    nick, source = notification.about.nick or "Somebody", notification.about.source
    title = f"{notification.site_name or 'Footfall'}: {nick} commented"
    if notification.now == "waiting":
        title += ", and waits for approval"
    return title, f"{source[:MAX_CHARACTERS]}\n\n{notification.post_url}"


def urls_of(settings: Mapping[str, str]) -> list[str]:
    """Apprise's URLs for Waline's own settings, by their names in lower case."""
    urls = []
    if settings["tg_bot_token"] and settings["tg_chat_id"]:
        urls.append(f"tgram://{_part(settings['tg_bot_token'])}/{_part(settings['tg_chat_id'])}/")
    for name, scheme in (("sc_key", "schan"), ("push_plus_key", "pushplus")):
        if settings[name]:
            urls.append(f"{scheme}://{_part(settings[name])}")
    if settings["discord_webhook"]:
        urls.append(settings["discord_webhook"])
    if settings["lark_webhook"]:
        host, _, token = settings["lark_webhook"].rpartition("/")
        urls.append(f"{'feishu' if 'feishu' in host else 'lark'}://{_part(token)}")
    if settings["qywx_am"]:
        company, secret, to, agent, *_ = [*settings["qywx_am"].split(","), "", "", ""]
        urls.append(f"wechat://{_part(company)}:{_part(secret)}@{_part(agent)}/{_part(to)}")
    return urls


def _part(text: str) -> str:
    return quote(text.strip(), safe=":@")
