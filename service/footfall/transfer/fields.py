"""Fields of a record, each read as its type: a value is accepted, changed or left out, and losses
are noted for the report."""

from collections.abc import Iterator, Mapping
from datetime import UTC, timezone
from html import unescape
from typing import Any, TypeVar

from ..model import Standing
from .values import moment, text, truth, whole

T = TypeVar("T")
Record = Mapping[str, Any]


class Fields:
    """The fields of one record; of several names for the same field, the first non-empty one
    counts. `zone` is for dates without one."""

    def __init__(self, record: Record, zone: timezone = UTC) -> None:
        self._record = record
        self._zone = zone
        # A dict, since it has an order and each only once.
        self._notes = dict[str, None]()

    @property
    def notes(self) -> tuple[str, ...]:
        """What became of values that are not what their fields are for."""
        return tuple(self._notes)

    def text(self, *names: str) -> str:
        name, value = self._value(names)
        value_text = text(value)
        if value is not None and value_text is None:
            self.note(f"has a {name} that is not text: it is left out")
        elif isinstance(value, str) and value_text != value:
            self.note(f"has a {name} with characters that no text may contain: they are left out")
        return value_text or ""

    def escaped(self, *names: str) -> str:
        """A text that the other system has stored as HTML: without its entities."""
        return unescape(self.text(*names))

    def number(self, *names: str) -> int:
        """A whole number; 0 for anything else."""
        name, value = self._value(names)
        number = whole(value)
        if value is not None and number is None:
            self.note(f"has a {name} that is not a whole number: it is taken as 0")
        return number or 0

    def truth(self, *names: str) -> bool:
        name, value = self._value(names)
        flag = truth(value)
        if flag is None:
            self.note(f"has a {name} that is neither yes nor no: it is taken as no")
        return bool(flag)

    def standing(self, name: str, if_yes: Standing, if_no: Standing = "approved") -> Standing:
        """The status by a yes or no; what is neither publishes nothing."""
        flag = truth(self._value((name,))[1])
        if flag is None:
            self.note(f"has a {name} that is neither yes nor no: it waits")
            return "waiting" if "approved" in (if_yes, if_no) else if_no
        return if_yes if flag else if_no

    def moment(self, *names: str) -> int | None:
        """A time in ms; an invalid one is reported if a date is needed."""
        return moment(self._value(names)[1], self._zone)

    def choice(self, name: str, meanings: Mapping[str, T], otherwise: T) -> T:
        """What a word means, in any case; `otherwise` for one without a meaning."""
        written = self.text(name).strip().lower()
        if written and written not in meanings:
            self.note(f"has a {name} that is not known: it is taken as {otherwise}")
        return meanings.get(written, otherwise)

    def note(self, sentence: str) -> None:
        self._notes[sentence] = None

    def _value(self, names: tuple[str, ...]) -> tuple[str, Any]:
        return next(self._said(names), (names[0], None))

    def _said(self, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        values = ((name, self._record.get(name)) for name in names)
        return ((name, value) for name, value in values if value is not None and value != "")
