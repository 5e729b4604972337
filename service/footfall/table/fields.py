"""The fields of requests: what each operation reads, from where, within which bounds, and what for.

An operation's row declares its fields. These declarations read them, and describe them in
/openapi.json with the values of the site's settings.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from ..errors import BadRequest
from ..http.params import MAX_PATH, MAX_PATHS, Form, RawRequest, Values
from ..site_settings import SiteSettings
from .context import ParseContext
from .who import Who

Source = Literal["query", "body", "either"]
Schema = dict[str, Any]
FieldValues = Mapping[str, Any]
Parsed = TypeVar("Parsed", covariant=True)


class FromSettings(NamedTuple):
    """A bound, or the values of a choice, that a setting decides."""

    of: Callable[[SiteSettings], Any]


COMMENT_LENGTH = FromSettings(lambda settings: settings.comment_length)
COUNTER_TYPES = FromSettings(lambda settings: settings.known_counter_types)


def of_settings(value: Any, context: ParseContext) -> Any:
    return value.of(context.settings) if isinstance(value, FromSettings) else value


@dataclass(frozen=True, slots=True)
class Field:
    """One field; `required` is the error if it is blank, "" if it may be.

    `is_read` tells at which sites it has a meaning.
    """

    name: str
    doc: str
    required: str = field(default="", kw_only=True)
    is_read: Callable[[ParseContext], bool] | None = field(default=None, kw_only=True)

    @property
    def is_required(self) -> bool:
        return bool(self.required)

    def read(self, form: Form, context: ParseContext) -> Any:
        raise NotImplementedError

    def schema(self, context: ParseContext) -> Schema:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Text(Field):
    """`default` is the value if nothing was sent; `check` returns the problem of a text, or "".

    `least` is only documented: a `check` enforces it, with its own message.
    """

    limit: int | FromSettings
    default: str | None = ""
    check: Callable[[str, ParseContext], str] | None = None
    least: int = 0

    def read(self, form: Form, context: ParseContext) -> str | None:
        limit = of_settings(self.limit, context)
        value = form.text(self.name, limit, required=self.required)
        if value and self.check and (problem := self.check(value, context)):
            form.wrong(self.name, problem)
        return self.default if value is None else value

    def schema(self, context: ParseContext) -> Schema:
        least = {"minLength": max(self.least, 1)} if self.required else {}
        return {"type": "string", **least, "maxLength": of_settings(self.limit, context)}


@dataclass(frozen=True, slots=True)
class PagePath(Text):
    """The page, by the path by which it is counted."""

    limit: int | FromSettings = MAX_PATH

    def read(self, form: Form, context: ParseContext) -> str | None:
        # A class with slots is made again by its decorator, which super() does not know.
        path = Text.read(self, form, context)
        return context.page_of(path) if path else path


@dataclass(frozen=True, slots=True)
class Integer(Field):
    """Digits; blank, zero and negative ones mean the default."""

    default: int
    most: int

    def read(self, form: Form, context: ParseContext) -> int:
        return form.integer(self.name, self.default, self.most)

    def schema(self, context: ParseContext) -> Schema:
        default = {"default": self.default} if self.default else {}
        return {"type": "integer", "minimum": 1, "maximum": self.most, **default}


@dataclass(frozen=True, slots=True)
class Count(Field):
    """A number in JSON, which has to be sent."""

    most: int

    @property
    def is_required(self) -> bool:
        return True

    def read(self, form: Form, context: ParseContext) -> int:
        return form.count(self.name, self.most)

    def schema(self, context: ParseContext) -> Schema:
        return {"type": "integer", "minimum": 0, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class Choice(Field):
    """One of these words; blank means the default, unless `is_word`, which rejects it."""

    default: str
    allowed: Collection[str] | FromSettings
    is_word: bool = False

    def read(self, form: Form, context: ParseContext) -> str:
        choose = form.word if self.is_word else form.choice
        return choose(self.name, self.default, of_settings(self.allowed, context))

    def schema(self, context: ParseContext) -> Schema:
        default = {"default": self.default} if self.default else {}
        return {"type": "string", "enum": [*of_settings(self.allowed, context)], **default}


@dataclass(frozen=True, slots=True)
class Words(Field):
    """Some of these words, between commas or in a list."""

    default: str
    allowed: Collection[str] | FromSettings

    def read(self, form: Form, context: ParseContext) -> list[str]:
        return form.words(self.name, self.default, of_settings(self.allowed, context))

    def schema(self, context: ParseContext) -> Schema:
        allowed = [*of_settings(self.allowed, context)]
        schema = {"type": "string", "enum": allowed}
        return {"type": "array", "items": schema, "minItems": 1, "maxItems": len(allowed)}


@dataclass(frozen=True, slots=True)
class Paths(Field):
    """Names of pages; None if none was sent."""

    def read(self, form: Form, context: ParseContext) -> list[str] | None:
        if form.value(self.name) is None:
            return None
        return [*map(context.page_of, form.paths(self.name))]

    def schema(self, context: ParseContext) -> Schema:
        path = {"type": "string", "maxLength": MAX_PATH}
        return {"type": "array", "items": path, "maxItems": MAX_PATHS}


@dataclass(frozen=True, slots=True)
class Texts(Field):
    """A list of texts in JSON; None if none was sent. `check` raises BadRequest."""

    most: int
    limit: int
    check: Callable[[Any], None]

    @property
    def is_required(self) -> bool:
        return True

    def read(self, form: Form, context: ParseContext) -> tuple[str, ...]:
        value = form.value(self.name)
        self.check(value)
        return tuple(value)

    def schema(self, context: ParseContext) -> Schema:
        text = {"type": "string", "maxLength": self.limit}
        return {"type": "array", "items": text, "maxItems": self.most}


@dataclass(frozen=True, slots=True)
class Flag(Field):
    """True or false, which many clients write as 1 or 0; None if it was not sent."""

    def read(self, form: Form, context: ParseContext) -> bool | None:
        value = form.value(self.name)
        if value not in (None, 0, 1):
            form.wrong(self.name, f"{self.name} need true or false")
        return None if value is None else bool(value)

    def schema(self, context: ParseContext) -> Schema:
        return {"enum": [True, False, 1, 0]}


@dataclass(frozen=True, slots=True)
class Given(Field):
    """A value that is passed on as it was sent; `of` is its schema."""

    of: Mapping[str, Any]

    def read(self, form: Form, context: ParseContext) -> Any:
        return form.value(self.name)

    def schema(self, context: ParseContext) -> Schema:
        return {**self.of}


# Of a Given that means something only if it is true.
ONLY_TRUE = {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Fields(Generic[Parsed]):
    """The fields of a request of one shape, and the form made of their values.

    `when` selects the requests of this shape, if there are several. `before` checks everything
    else, `check` several fields together; both raise, or return the form. `id` describes the id
    after the path, "" if the path has none. `who` are the permitted callers, if they differ from
    the operation's other shapes.
    """

    make: Callable[[FieldValues, RawRequest, ParseContext], Parsed]
    fields: Sequence[Field] = ()
    source: Source = "body"
    who: Who | None = None
    id: str = ""
    needs_id: bool = False
    is_readers: bool = False
    when: Callable[[RawRequest], bool] | None = None
    before: Callable[[RawRequest], None] | None = None
    check: Callable[[Form, FieldValues], None] | None = None

    @property
    def shapes(self) -> Sequence["Fields[Parsed]"]:
        return (self,)

    def shape_of(self, request: RawRequest) -> "Fields[Parsed]":
        return self

    def __call__(self, request: RawRequest, context: ParseContext) -> Parsed:
        """Raises BadRequest and FieldTooLong."""
        if self.before:
            self.before(request)
        return self.make(self.read(self._values(request), context), request, context)

    def read(self, values: Values, context: ParseContext) -> FieldValues:
        """Name -> value of each field. Raises BadRequest and FieldTooLong."""
        if not self.fields:
            return {}
        form = Form(values, is_readers=self.is_readers)
        found = {
            field.name: field.read(form, context)
            for field in self.fields
            if field.is_read is None or field.is_read(context)
        }
        if self.check:
            self.check(form, found)
        form.done()
        return found

    def _values(self, request: RawRequest) -> Values:
        values = request.query
        if self.source != "query":
            values = request.fields or (request.query if self.source == "either" else {})
        return {**values, **request.variables} if request.variables else values


@dataclass(frozen=True, slots=True)
class Deferred(Fields[Parsed]):
    """Fields that the operation validates by `read`, since the caller's role decides which
    count."""

    def __call__(self, request: RawRequest, context: ParseContext) -> Parsed:
        return self.make({}, request, context)


@dataclass(frozen=True, slots=True)
class ListOf(Generic[Parsed]):
    """A body that is a list of 1 to `most` objects with these fields.

    `name` is the name of the list, and `each` of an item. Errors name a field as `<index>.<field>`.
    """

    make: Callable[[Sequence[FieldValues], RawRequest, ParseContext], Parsed]
    object: Fields[Any]
    name: str
    each: str
    most: int
    who: Who | None = None

    @staticmethod
    def when(request: RawRequest) -> bool:
        return isinstance(request.body, list)

    def __call__(self, request: RawRequest, context: ParseContext) -> Parsed:
        if not 0 < len(request.body) <= self.most:
            raise BadRequest({self.name: f"{self.name} need a list of 1 to {self.most}"})
        found = []
        for i, values in enumerate(request.body):
            if not isinstance(values, Mapping):
                raise BadRequest({str(i): f"each {self.each} need an object"})
            try:
                found.append(self.object.read(values, context))
            except BadRequest as error:
                named = {f"{i}.{name}": text for name, text in error.fields.items()}
                raise BadRequest(named) from None
        return self.make(found, request, context)


@dataclass(frozen=True, slots=True)
class Shapes(Generic[Parsed]):
    """A request of one of several shapes: the first whose `when` holds, or the last one."""

    shapes: Sequence[Fields[Parsed] | ListOf[Parsed]]

    def __call__(self, request: RawRequest, context: ParseContext) -> Parsed:
        return self.shape_of(request)(request, context)

    def shape_of(self, request: RawRequest) -> Fields[Parsed] | ListOf[Parsed]:
        for shape in self.shapes:
            if shape.when is None or shape.when(request):
                return shape
        return self.shapes[-1]


Reader = Fields[Parsed] | Shapes[Parsed]


def copied(
    form: Callable[..., Parsed], fields: Sequence[Field], source: Source = "body", **options: Any
) -> Fields[Parsed]:
    """Fields of a form that has their values as they are, in their order."""

    def make(values: FieldValues, request: RawRequest, context: ParseContext) -> Parsed:
        return form(*(values[field.name] for field in fields))

    return Fields(make, fields, source, **options)


def _nothing(values: FieldValues, request: RawRequest, context: ParseContext) -> None:
    """It depends on the caller only."""


NO_FIELDS = Fields(_nothing)
