"""The notifications of a site."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .rules.recipients import Recipients
from .store.outbox import Outbox


@dataclass(frozen=True, slots=True)
class Notifications:
    outbox: Outbox
    recipients: Recipients
    # Tests all channels (notifications/rules/trial.py), with an address for a reader's
    # email: the error of each channel by name, "" for none.
    try_out: Callable[[str], Awaitable[dict[str, str]]]
