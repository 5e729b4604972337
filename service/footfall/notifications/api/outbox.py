"""The outbox: queued and failed notifications, and a test."""

from dataclasses import asdict, dataclass, replace

from ...accounts.rules.mails import is_mail
from ...errors import BadRequest
from ...http.params import MAX_MAIL
from ...model import Caller, iso
from ...table import schemas
from ...table.answers import JsonObject
from ...table.context import ParseContext
from ...table.fields import NO_FIELDS, Text, Texts, copied
from ...table.prefixes import UI
from ...table.rows import Declared
from ...table.schemas import DATE, FLAG, NUMBER, TEXT, AnswerSchema, list_of, map_of, object_of
from ...table.who import ADMINISTRATOR
from ..noun import Notifications

operation = Declared[Notifications]("notifications", UI)

MAX_SHOWN = 100
MAX_ENTRY_CHARACTERS = 40


OUTBOX_ANSWER = AnswerSchema(
    object_of(
        isOn=FLAG,
        waiting=NUMBER,
        later=NUMBER,
        undelivered=NUMBER,
        gathered=NUMBER,
        since_ms=NUMBER,
        data=list_of(
            object_of(
                entry=TEXT,
                time=DATE,
                error=TEXT,
                kind=TEXT,
                id=TEXT,
                was=TEXT,
                now=TEXT,
                by=TEXT,
                version=NUMBER,
                attempts=NUMBER,
                is_judged=FLAG,
                seen=TEXT,
                met=TEXT,
            )
        ),
    )
)


@operation("outbox_read", "GET", "/outbox", NO_FIELDS, ADMINISTRATOR, OUTBOX_ANSWER)
async def read(notifications: Notifications, _: None, caller: Caller) -> JsonObject:
    outbox = notifications.outbox
    depth, given_up = await outbox.depth(), await outbox.undelivered(MAX_SHOWN)
    return {
        "isOn": outbox.is_on,
        **depth._asdict(),
        "data": [
            {"entry": event.id, "time": iso(event.at), "error": event.error, **asdict(event.task)}
            for event in given_up
        ],
    }


@dataclass(frozen=True, slots=True)
class Entries:
    """Ids of failed notifications."""

    ids: tuple[str, ...]


def _is_id(text: object) -> bool:
    is_short = isinstance(text, str) and 0 < len(text) <= MAX_ENTRY_CHARACTERS
    return is_short and str(text).replace("-", "", 1).isdecimal()


def _check_ids(ids: object) -> None:
    if not isinstance(ids, list) or not 0 < len(ids) <= MAX_SHOWN or not all(map(_is_id, ids)):
        raise BadRequest({"ids": f"ids need 1 to {MAX_SHOWN} entries of the outbox"})


ENTRIES = copied(
    Entries, (Texts("ids", "Entries of the outbox", MAX_SHOWN, MAX_ENTRY_CHARACTERS, _check_ids),)
)


@operation("outbox_retry", "PUT", "/outbox", ENTRIES, ADMINISTRATOR, schemas.NUMBER_OF)
async def retry(notifications: Notifications, parsed: Entries, caller: Caller) -> JsonObject:
    """How many are tried once more."""
    undelivered = await notifications.outbox.undelivered(MAX_SHOWN, parsed.ids)
    done = [
        await notifications.outbox.again(event, replace(event.task, attempts=0))
        for event in undelivered
    ]
    notifications.outbox.arrived.set()
    return {"count": sum(done)}


@operation("outbox_drop", "DELETE", "/outbox", ENTRIES, ADMINISTRATOR, schemas.NUMBER_OF)
async def drop(notifications: Notifications, parsed: Entries, caller: Caller) -> JsonObject:
    """How many were forgotten."""
    return {"count": await notifications.outbox.drop(parsed.ids)}


def _check_mail(to: str, context: ParseContext) -> str:
    return "" if is_mail(to) else "to need an email under your options"


READER = copied(str, (Text("to", "Recipient; without, the owner", MAX_MAIL, check=_check_mail),))


TOLD_ANSWER = AnswerSchema(map_of(TEXT))


@operation("outbox_try", "POST", "/outbox", READER, ADMINISTRATOR, TOLD_ANSWER)
async def try_out(notifications: Notifications, to: str, caller: Caller) -> JsonObject:
    """By the name of each channel, why it failed; "" if it did not."""
    return await notifications.try_out(to)
