"""The field of a request that is a person's name."""

from dataclasses import dataclass

from ..http.params import MAX_NICK, Form
from ..markup import shown_name
from .context import ParseContext
from .fields import FromSettings, Text


@dataclass(frozen=True, slots=True)
class Name(Text):
    """A name, as it is seen; one that shows nothing is blank."""

    limit: int | FromSettings = MAX_NICK

    def read(self, form: Form, context: ParseContext) -> str | None:
        written = Text.read(self, form, context)
        name = written and shown_name(written)
        if written and not name and self.required:
            form.wrong(self.name, self.required)
        return name
