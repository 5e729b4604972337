"""Forms on the owner's pages: which bots count as people, and a logout.

A form without a script sends no CSRF header. So a change needs the browser's statement that a page
of this service sent it, and the cookie is not sent with forms of another site (http/csrf.py).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import Any

from starlette.types import Receive, Scope, Send

from ..errors import BadRequest, NotFound, StoreUnavailable, WrongMethod
from ..http.body import read_body
from ..http.client import Headers, headers_of
from ..http.csrf import SESSION_COOKIE, check_origin, set_cookie
from ..http.policy import Policy
from ..http.response import Headers as Lines
from ..http.response import Response
from ..model import Viewer
from ..site import Site
from ..statistics.agents import CLASSES
from ..statistics.api import day_of, is_day
from ..statistics.site_store import MAX_NOTES
from ..table.sending import failure, send_answer
from .pages import HTML, RULES, Asked, asked_of, away, viewer_of

# Of the word in a link, which nobody can guess.
SHARED_BYTES = 18
# Characters of a note on a day.
MAX_NOTE = 200


@dataclass(frozen=True, slots=True)
class Form:
    """The fields, and the viewer; `end_cookie` are headers that delete the cookie."""

    site: Site
    viewer: Viewer
    fields: Mapping[str, Any]
    end_cookie: Lines


# Returns the name of the page of ours that it leads to, with a #place, and further headers.
Act = Callable[[Form], Awaitable[tuple[str, Lines]]]


class OwnerForm:
    """What a form is sent to, as an ASGI application."""

    def __init__(self, act: Act, site: Site, policy: Policy, values: Mapping[str, str]) -> None:
        self._act = act
        self._site = site
        self._policy = policy
        self._values = values

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["counted_as"] = "page"
        headers = headers_of(scope["headers"])
        asked = asked_of(scope, headers, self._site, self._values)
        try:
            answer = await self._answer(scope, headers, receive, asked)
        except StoreUnavailable as error:
            scope["refused"] = type(error).__name__
            answer = await away(asked, "")
        except Exception as error:
            answer = failure(scope, error, "", f"{scope['method']} {scope['path']}").under(RULES)
        await send_answer(send, answer, has_body=scope["method"] != "HEAD")

    async def _answer(
        self, scope: Scope, headers: Headers, receive: Receive, asked: Asked
    ) -> Response:
        """Raises ServiceError."""
        if scope["method"] != "POST":
            raise WrongMethod("POST")
        check_origin("POST", headers, scope, self._policy)
        address, extra = await self._act(await self._form(scope, headers, receive))
        name, sign, place = address.partition("#")
        location = (b"location", f"{asked.link(name)}{sign}{place}".encode())
        return Response(303, b"", [location, *extra], RULES, type=HTML)

    async def _form(self, scope: Scope, headers: Headers, receive: Receive) -> Form:
        fields = await read_body("POST", headers, receive, {}, comment_length=0)
        viewer = await viewer_of(scope, headers, self._site.accounts, self._policy)
        end = set_cookie(SESSION_COOKIE, "", headers, scope, self._policy)
        return Form(self._site, viewer, fields if isinstance(fields, dict) else {}, end)


async def count_as_people(form: Form) -> tuple[str, Lines]:
    """Count a class of bots, named by `class`, as people if `as` is `people`, else as bots, past
    views included.

    Raises NotFound for an unknown class.
    """
    if not form.viewer.is_administrator:
        return "login", ()
    name = form.fields.get("class")
    if name not in CLASSES:
        raise NotFound("class need a class of bots")
    is_people = form.fields.get("as") == "people"
    await form.site.statistics.reports.count_as_people(name, is_people=is_people)
    return "#bots", ()


async def note(form: Form) -> tuple[str, Lines]:
    """Note `text` on a `day`, or remove the note if it is blank. Raises BadRequest, NotFound."""
    if not form.viewer.is_administrator:
        return "login", ()
    day, text = form.fields.get("day"), form.fields.get("text")
    if not isinstance(day, str) or not is_day(day):
        raise BadRequest({"day": "day need a day such as 2026-11-23"})
    if not isinstance(text, str) or len(text) > MAX_NOTE:
        raise BadRequest({"text": f"text should be at most {MAX_NOTE} characters long"})
    if not await form.site.statistics.site_views.note(day_of(day), " ".join(text.split())):
        raise BadRequest({"day": f"there are {MAX_NOTES} notes"})
    return "statistics#notes", ()


async def share(form: Form) -> tuple[str, Lines]:
    """Make a link to the statistics if `as` is `link`, in place of an earlier one, else withdraw
    it."""
    if not form.viewer.is_administrator:
        return "login", ()
    word = token_urlsafe(SHARED_BYTES) if form.fields.get("as") == "link" else ""
    await form.site.statistics.site_views.share(word)
    return "statistics#share", ()


async def log_out(form: Form) -> tuple[str, Lines]:
    await form.site.accounts.sessions.end(form.viewer)
    return "login", form.end_cookie
