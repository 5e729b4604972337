"""The table of operations: a row for each, declared where its function is."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from starlette.routing import compile_path

from ..http.envelope import Envelope
from ..http.params import RawRequest
from ..http.response import JSON_TYPE, NO_STORE, SANDBOX
from ..http.response import Headers as Lines
from ..model import PUBLIC, Caller, Viewer
from ..permissions import AccountRules
from .answers import Answered
from .context import ParseContext, Served
from .fast import FastRequest
from .fields import Reader
from .prefixes import WALINE_PREFIXES, Prefix
from .schemas import AnswerSchema
from .variants import Variant, usual
from .who import Who

Noun = TypeVar("Noun")
Parsed = TypeVar("Parsed")
Run = Callable[[Noun, Parsed, Caller], Awaitable[Answered]]
Fast = Callable[[Noun, Parsed], FastRequest | None]
READING = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Row:
    """One operation, in the API variant of each of its prefixes.

    A variable in `path`, such as `{page:path}`, is a field of that name. `run` and `fast` get the
    `noun`, a field of the site, or the whole site for "". `route` is its name in metrics.
    `fields` are those that it reads, and `who` the permitted callers, unless a shape of the request
    overrides it. `answer` describes the response. `run` returns plain data, an answer with more
    (answers.py), or a finished Reply or Response. `fast` turns a parsed request into one that can
    be answered without ASGI, for visitors who are not logged in; if it returns none, and for
    others, `run` answers. Without `run`, `fast` answers everybody. `type` is the value of the
    query's `type` that selects this row, None for any other value. `envelope` chooses among those
    of an API variant. `admits_all`: SECURE_DOMAINS does not apply, as for browsers sent by another
    service, and for feed readers. `is_picture`: it is served without a referring page, as to
    GitHub's proxy. `is_upload`: the body is a file, and comes in pieces. `is_unsafe`: a GET that
    changes something, such as a count; then a HEAD does nothing, and no response is cached.
    `is_endless`: it is sent until its client disconnects.
    """

    route: str
    method: str
    path: str
    fields: Reader[Any]
    who: Who
    answer: AnswerSchema
    run: Run[Any, Any] | None = None
    envelope: Callable[[Variant], Envelope] = usual
    type: str | None = None
    admits_all: bool = False
    is_picture: bool = False
    is_upload: bool = False
    is_unsafe: bool = False
    is_endless: bool = False
    fast: Fast[Any, Any] | None = None
    prefixes: Sequence[Prefix] = WALINE_PREFIXES
    noun: str = field(kw_only=True)

    def parse(
        self,
        request: RawRequest,
        context: ParseContext,
        rules: AccountRules,
        viewer: Viewer = PUBLIC,
    ) -> Any:
        """What `run` gets. Raises BadRequest, FieldTooLong, and errors of permission: nothing is
        parsed for other callers."""
        shape = self.fields.shape_of(request)
        who = shape.who or self.who
        if who.is_first:
            who.require(viewer, rules)
            return shape(request, context)
        parsed = shape(request, context)
        who.require(viewer, rules)
        return parsed

    @property
    def variables(self) -> Collection[str]:
        """The names of the variable parts of its path."""
        return compile_path(self.path)[2].keys()

    @property
    def template(self) -> str:
        """The path, with these names alone in braces."""
        return compile_path(self.path)[1]

    def fast_request(self, site: Served, parsed: Any) -> FastRequest | None:
        fast = self.fast(site.noun(self.noun), parsed) if self.fast else None
        is_change = fast is not None and fast.is_change
        assert not is_change or self.method not in READING or self.is_unsafe, f"{self.route} counts"
        return fast

    def headers(self, variant: Variant) -> Lines:
        """The headers of all its responses, errors included."""
        headers = variant.headers
        if self.is_unsafe and NO_STORE not in headers:
            headers = (*headers, NO_STORE)
        return headers if self.answer.type == JSON_TYPE else (*headers, SANDBOX)


def asking(row: Row) -> Sequence[Who]:
    """The permissions of each shape of a request."""
    return [shape.who or row.who for shape in row.fields.shapes]


class Declared(list[Row], Generic[Noun]):
    """The rows of a module, in the order of their functions: each is declared by a decorator.

    operation = Declared[Accounts]("accounts")

    @operation("ban_list", "GET", "/ban", LIST, MODERATOR, BANS)
    async def list_bans(accounts: Accounts, parsed: Listing, caller: Caller) -> JsonObject:
    """

    def __init__(self, noun: str, *prefixes: Prefix) -> None:
        """`noun`: a field of the site. `prefixes`: in place of Waline's."""
        self._own: dict[str, Any] = {"noun": noun, "prefixes": prefixes or WALINE_PREFIXES}

    def __call__(
        self,
        route: str,
        method: str,
        path: str,
        fields: Reader[Parsed],
        who: Who,
        answer: AnswerSchema,
        *,
        fast: Fast[Noun, Parsed] | None = None,
        **options: Any,
    ) -> Callable[[Run[Noun, Parsed]], Run[Noun, Parsed]]:
        """`options` are further fields of a row."""

        def declare(run: Run[Noun, Parsed]) -> Run[Noun, Parsed]:
            row = Row(
                route, method, path, fields, who, answer, run, fast=fast, **(self._own | options)
            )
            self.append(row)
            return run

        return declare
