"""The pages at /ui: log in, register, set a password, confirm an email, and those that need a
login.

A login is handed to the page that asked for it: the one that opened this page, or that it returns
to. opener.py decides which that may be, so that no other site gets a token by opening this page. A
token that a client wrote into the address is removed before anything is shown.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote_to_bytes

import orjson
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ..accounts.noun import Accounts
from ..http.page_words import LOCALES
from ..http.params import MAX_LINK, parse_query
from ..http.policy import Policy
from ..http.response import PRIVATE, Headers, Response
from ..outside.targets import origin_of
from ..site import Site
from ..table.sending import send_answer
from . import bundle, captcha_page, overview_page, source_page, statistics_files, statistics_page
from . import forms as owner_forms
from .files import TYPES, UI, Content, Page, filled, static
from .forms import OwnerForm
from .opener import opener_of
from .pages import Make, OwnerPage
from .public_page import PublicPage
from .within import FirstAnswers

# Such a page is never in a frame, and sends no Referer. Pictures of comments are not shown.
RULES = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"same-origin"),
)
# Where one chooses a picture of oneself, it is shown from wherever it is.
PROFILE = tuple((name, value.replace(b"img-src", b"img-src http: https:")) for name, value in RULES)
# A redirect from an address that must not be stored.
NOWHERE_KEPT = ((b"cache-control", b"no-store"), (b"referrer-policy", b"no-referrer"))
PAGES = UI / "admin"
SHEETS = (UI / "demo.css", PAGES / "admin.css")
# Beside the pages' own; the demonstration's sheet is theirs, too.
SHARED = ("comment_view.js", "demo.css", "favicon.svg")
# How long the first reader of such a page may wait for the names of login services.
LIST_SECONDS = 0.5
# The page's module of the same name checks permissions.
PAGE_NAMES = (
    "accounts",
    "authors",
    "bans",
    "counters",
    "log",
    "moving",
    "outbox",
    "profile",
    "queue",
    "settings",
    "state",
)
# Names of pages in Waline, to which clients and bookmarks link -> ours.
RENAMED = {"user": "accounts", "migration": "moving"}


class Template:
    """A page as an ASGI application, with the values of this request."""

    def __init__(
        self,
        name: str,
        policy: Policy,
        values: Mapping[str, str],
        site: Site,
        rules: Headers = RULES,
        more: FirstAnswers | None = None,
    ) -> None:
        self._template = (PAGES / name).read_text(encoding="utf-8")
        self._rules = rules
        self._more = more
        if "{{captcha}}" in self._template:
            self._rules = captcha_page.permitting(RULES, site.accounts.captcha)
        self._policy = policy
        self._values = values
        self._site = site
        self._providers = site.accounts.providers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        rest = without_token(scope["query_string"])
        if rest != scope["query_string"]:
            # Relative, since a proxy may have taken a prefix off the path.
            path = "./" + scope["path"].rpartition("/")[2]
            return await send_answer(send, _moved(path, rest))
        query = parse_query(scope["query_string"][:MAX_LINK])
        named = str(query.get("for", ""))
        opener = opener_of(scope, self._policy, self._providers.targets, named)
        back = str(query.get("redirect", ""))
        values = {
            **self._values,
            "captcha": captcha_page.described(self._site.accounts.captcha),
            **opener.values,
            "return": back if opener.origin and origin_of(back) == opener.origin else "",
            **await self._registration(),
            "mails": "true" if self._site.accounts.mails.are_sent else "",
            "services": await self._services(opener.origin or opener.refused),
            **(await self._more(scope) if self._more else {}),
        }
        body = filled(self._template, values)
        answer = Response(200, body, common=(*PRIVATE, *self._rules), type=TYPES[".html"])
        await send_answer(send, answer, has_body=scope["method"] != "HEAD")

    async def _registration(self) -> dict[str, str]:
        """Would a registration here create the administrator, does that need a code, and is
        registration open at all? "" is no."""
        if "{{vacant}}" not in self._template:
            return {}
        rules = self._site.accounts.rules
        vacant = await is_vacant(self._site.accounts)
        facts = {
            "vacant": vacant,
            "setup": vacant and bool(rules.setup_code),
            "open": vacant or rules.registration == "open",
        }
        return {name: "true" if is_true else "" for name, is_true in facts.items()}

    async def _services(self, opener: str) -> str:
        """The login services and their names, in JSON.

        None, for a page that the settings do not name: on return from another service, the reader
        would be asked about that service's page.
        """
        if opener and not self._providers.targets.may_be_told(opener):
            return "{}"
        names = await self._providers.names(LIST_SECONDS)
        return orjson.dumps({name: self._providers.label(name) for name in names}).decode()


async def is_vacant(accounts: Accounts) -> bool:
    """Would a registration now create the administrator? Raises StoreUnavailable."""
    return accounts.rules.registration != "closed" and await accounts.store.lacks_administrator()


def without_token(query: bytes) -> bytes:
    """The query without a login's token: clients open the profile with one, and addresses are
    stored in histories and logs."""
    fields = query.split(b"&")
    return b"&".join(
        field for field in fields if unquote_to_bytes(field.split(b"=")[0]) != b"token"
    )


def _modules() -> Iterator[Path]:
    """The scripts that the admin page's own script may load."""
    alone = ("api.js", "bars.js", "confirm.js", "first_view.js", "forgot.js", "live.js", "login.js")
    yield UI / "comment_view.js"
    yield from (path for path in PAGES.glob("*.js") if path.name not in alone)


def _moved(path: str, query: bytes) -> Response:
    address = path.encode() + (b"?" + query if query else b"")
    return Response(307, b"", [(b"location", address), *NOWHERE_KEPT])


def leading_to(path: str) -> ASGIApp:
    """A redirect, with the query, to an address that is relative to the request's."""

    async def lead(scope: Scope, receive: Receive, send: Send) -> None:
        await send_answer(send, _moved(path, without_token(scope["query_string"])))

    return lead


# What this server makes for administrators.
MADE: Mapping[str, Make] = {
    "": overview_page.show,
    "live": overview_page.show_live,
    "statistics": statistics_page.show,
    "source": source_page.show,
    "statistics.csv": statistics_files.show,
}
FORMS: Mapping[str, owner_forms.Act] = {
    "people": owner_forms.count_as_people,
    "note": owner_forms.note,
    "share": owner_forms.share,
    "logout": owner_forms.log_out,
}


def account_routes(
    policy: Policy, values: Mapping[str, str], site: Site, apis: Mapping[str, ASGIApp]
) -> Iterator[BaseRoute]:
    """`apis` are the API's applications, by their paths."""
    log_in = Template("login.html", policy, values, site)
    bundles = {
        "script": ("main", ".js", bundle.script(sorted(_modules()), "main.js")),
        "sheet": ("admin", ".css", b"".join(each.read_bytes() for each in SHEETS)),
        **{name: (name, ".json", (PAGES / f"{name}.json").read_bytes()) for name in LOCALES},
    }
    names = {name: bundle.named(*parts) for name, parts in bundles.items()}
    tables = {language: names[language] for language in LOCALES}
    of_admin = {**values, **names, "tables": orjson.dumps(tables).decode()}
    first = FirstAnswers(apis, policy, tables)
    pages = Template("admin.html", policy, of_admin, site, more=first)
    profile = Template("admin.html", policy, of_admin, site, PROFILE, first)
    for name, (_, ending, content) in bundles.items():
        joined = Content(content, ending, bundle.FOR_EVER)
        yield Route(f"/ui/static/{names[name]}", Page(joined, "static"))
    # The page's links are relative to the folder.
    yield Route("/ui", Page(leading_to("ui/")))
    for old, name in RENAMED.items():
        yield Route(f"/ui/{old}", Page(leading_to(f"./{name}")))
    for name in PAGE_NAMES:
        yield Route(f"/ui/{name}", Page(profile if name == "profile" else pages))
    for name, make in MADE.items():
        yield Route(f"/ui/{name}", Page(OwnerPage(name, make, site, policy, values, pages)))
    for name, act in FORMS.items():
        yield Route(f"/ui/{name}", OwnerForm(act, site, policy, values))
    yield Route("/statistics", Page(PublicPage(site, policy, values)))
    yield Route("/ui/login", Page(log_in))
    yield Route("/ui/register", Page(log_in))
    yield Route("/ui/forgot", Page(Template("forgot.html", policy, values, site)))
    yield Route("/ui/confirm", Page(Template("confirm.html", policy, values, site)))
    # Of this path alone: below it are the operations of these pages.
    yield Route("/ui/api", Page(static("admin/api.html", extra=RULES)))
    files = [f"admin/{path.name}" for path in PAGES.iterdir() if path.suffix != ".html"]
    for file in (*SHARED, *files):
        yield Route(f"/ui/static/{Path(file).name}", Page(static(file), "static"))
