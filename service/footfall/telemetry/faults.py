"""What other services answer that only the operator can mend: a warning of each kind a minute."""

import logging
from time import monotonic

log = logging.getLogger(__name__)

LINE_SECONDS = 60.0
# Kinds that are remembered, and characters of one, which the other side may have chosen.
MAX_KINDS, MAX_CHARACTERS = 32, 100


class Faults:
    def __init__(self, place: str) -> None:
        """`place` is where the service is named, such as a setting."""
        self._place = place
        # Kind -> when the log had it last.
        self._told: dict[str, float] = {}

    def tell(self, kind: object, advice: str) -> None:
        """Log what the service answered, and what to do."""
        text = "".join(each if each.isprintable() else " " for each in str(kind)[:MAX_CHARACTERS])
        now = monotonic()
        if now < self._told.get(text, -LINE_SECONDS) + LINE_SECONDS:
            return
        if len(self._told) >= MAX_KINDS:
            self._told.clear()
        self._told[text] = now
        log.warning("%s answers %s: %s", self._place, text, advice)
