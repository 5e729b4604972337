"""When an email about a week is sent, and to whom."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from email.message import EmailMessage

from ...notify.mail import MAIL, Smtp, address_of
from ...notify.mail_words import Words
from ...notify.weekly_letter import Week, weekly_letter
from ...tasks import Task
from ..store.outbox import Outbox

# On the Monday after, in the site's time zone.
AT_HOUR = 7


class WeeklyMail:
    """`week_of` tells of the week that starts with this Monday, such as 20261123; it raises
    StoreUnavailable, and ErrorReply for damage."""

    def __init__(
        self,
        outbox: Outbox,
        smtp: Smtp,
        words: Words,
        to: Sequence[str],
        zone: tzinfo,
        week_of: Callable[[int], Awaitable[Week]],
    ) -> None:
        self._outbox = outbox
        self._smtp = smtp
        self._words = words
        self._to = to
        self._zone = zone
        self._week_of = week_of

    async def start(self, now_ms: int) -> None:
        """Queue the emails about the last week, if it is time and nobody has. Raises
        StoreUnavailable."""
        await self._outbox.start_weekly(last_week(now_ms, self._zone), len(self._to))

    async def send(self, task: Task) -> bool:
        """False if there is no such recipient any longer. Raises NotDelivered, StoreUnavailable."""
        if int(task.id) >= len(self._to):
            return False
        message = EmailMessage(MAIL)
        message["To"] = address_of(self._to[int(task.id)])
        weekly_letter(self._words, await self._week_of(task.version)).fill(message)
        await self._smtp.send(message, task.name)
        return True


def last_week(now_ms: int, zone: tzinfo) -> int:
    """The Monday of the last week of which it is time to tell, such as 20261123."""
    now = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(zone)
    told = (now - timedelta(hours=AT_HOUR)).date()
    monday = told - timedelta(days=told.weekday() + 7)
    return monday.year * 10_000 + monday.month * 100 + monday.day
