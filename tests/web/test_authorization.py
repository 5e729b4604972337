"""Who may do what: every cell of docs/authorization.md is tried, and every route has a row."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import jwt
import pytest

from footfall import routes
from footfall.accounts.rules import banning
from footfall.accounts.rules.changes import Changes, edit_account
from footfall.accounts.rules.sessions import Sessions
from footfall.compat import rows_of
from footfall.errors import ServiceError
from footfall.model import PROTOCOLS, PUBLIC, Account, Caller, Credentials, Role, Viewer
from footfall.permissions import AccountRules
from footfall.routes import TABLE
from footfall.table.fast_requests import FastRequests
from footfall.table.rows import asking
from footfall.table.who import ANYBODY, Who
from tests.conftest import Site, Sites
from tests.support.accounts import save_account
from tests.support.admin_ui import AdminPage

# Who may do what does not depend on the server.
ON = ("valkey",)

DOCUMENT = Path(__file__).parents[2] / "docs/authorization.md"
COLUMNS = ("anybody", "author", "guest", "banned", "moderator", "administrator")
LIKE_ANYBODY = ("unverified", "bad token", "ended token")
CALLERS = COLUMNS + LIKE_ANYBODY
ROOT = Account("root", "administrator", "Root", "root@example.com")
CONSOLE = Caller(Viewer(ROOT))
DRAFT = {"comment": "hello", "url": "/p", "nick": "Ann"}


@dataclass
class Scene:
    """A site with an approved and a held comment of one author, and somebody who sends a request.

    The unverified, the banned and the holder of an ended token are that author, so that one sees
    which rights are left then.
    """

    site: Site
    token: str
    own: str = ""
    held: str = ""
    ids: dict[str, str] = field(default_factory=dict)


async def token_of(site: Site, account: Account, lasts_ms: int = 10_000_000) -> str:
    """The token of a session that was started while it was still allowed."""
    stored = await site.store.accounts.by_id(account.id)
    assert stored is not None
    sessions = Sessions(site.store.accounts, site.clock, lasts_ms=lasts_ms)
    return await sessions.start(stored, Credentials("x"))


async def scene_of(site: Site, caller: str, number: int) -> Scene:
    """Make a scene; the author, and everybody else, is a new person each time."""
    roles: dict[str, Role] = {
        "author": "guest",
        "guest": "guest",
        "moderator": "moderator",
        "boss": "administrator",
    }
    people = {
        name: Account(f"{name}{number}", role, name.title(), f"{name}{number}@example.com")
        for name, role in roles.items()
    }
    for account in (ROOT, *people.values()):
        await save_account(site.store, account)
    author = await token_of(site, people["author"])
    posted = [
        await site.send("POST", "/api/comment", {**DRAFT, "comment": f"{n}"}, by=author)
        for n in range(2)
    ]
    own, held = (each["data"]["objectId"] for each in posted)
    boss = await token_of(site, people["boss"])
    await site.send("PUT", f"/api/comment/{own}", {"status": "approved"}, by=boss)
    ids = {name: account.id for name, account in people.items()}
    tokens = {"anybody": "", "author": author, "administrator": boss, "bad token": ""}
    match caller:
        case "guest" | "moderator":
            tokens[caller] = await token_of(site, people[caller])
        case "unverified":
            tokens[caller] = author
            await edit_account(site.service.accounts, ids["author"], Changes(role="unverified"))
        case "banned":
            tokens[caller] = author
            await banning.ban(site.service.accounts, ids["author"], CONSOLE)
        case "bad token":
            claims = jwt.decode(author, options={"verify_signature": False})
            tokens[caller] = jwt.encode(claims, "0" * 32, "HS256")
        case "ended token":
            tokens[caller] = await token_of(site, people["author"], lasts_ms=1)
    await site.settled()
    return Scene(site, tokens[caller], own, held, ids)


# The requests, and the word for each answer.

Ask = Callable[[Scene], Awaitable[str]]


def told(answer: Any) -> str:
    """`yes`, or the errno; `nothing` if there is nothing for this caller."""
    if not isinstance(answer, dict) or "errno" not in answer:
        return "yes"
    if answer["errno"]:
        return str(answer["errno"])
    return "yes"


def asks(method: str, path: str, body: Any = None) -> Ask:
    """Names in braces are the scene's ids."""

    async def ask(scene: Scene) -> str:
        values = {"own": scene.own, "held": scene.held, **scene.ids}
        response = await scene.site.http.request(
            method, _filled(path, values), json=_filled(body, values), headers=_as(scene)
        )
        is_json = "json" in response.headers["content-type"]
        return told(response.json()) if is_json and response.content else "yes"

    return ask


async def exports(scene: Scene) -> str:
    """fakeredis cannot be exported as a whole, but callers without the right are refused before
    that."""
    answer = (await scene.site.http.get("/api/db", headers=_as(scene))).json()
    return "yes" if answer["errno"] == 503 else told(answer)


def _filled(text: Any, values: dict[str, str]) -> Any:
    if isinstance(text, str):
        return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], text)
    if isinstance(text, dict):
        return {name: _filled(each, values) for name, each in text.items()}
    return [_filled(each, values) for each in text] if isinstance(text, list) else text


def _as(scene: Scene) -> dict[str, str]:
    return {"authorization": f"Bearer {scene.token}"} if scene.token else {}


async def data_of(scene: Scene, path: str) -> Any:
    response = await scene.site.http.get(f"/api{path}", headers=_as(scene))
    answer = response.json()
    return answer["data"] if answer["errno"] == 0 else answer


def admin_page(method: str, path: str, body: Any = None) -> Ask:
    """A request of the service's own pages, with a cookie; nobody else can send it."""

    async def ask(scene: Scene) -> str:
        page = AdminPage(scene.site)
        page.cookie = f"footfall={scene.token}"
        answer = told(await page(method, path, body))
        assert await asks(method, f"/api/{path}", body)(scene) == "404"
        return answer

    return ask


def sees(path: str, shown: Callable[[Any], Any], words: dict[Any, str]) -> Ask:
    """A word for which comments are seen."""

    async def ask(scene: Scene) -> str:
        data = await data_of(scene, path.format(**scene.ids))
        if isinstance(data, dict) and data.get("errno"):
            return str(data["errno"])
        return words[shown(data)]

    return ask


def _secrets(data: Any) -> tuple[int, bool]:
    return len(data), "mail" in data[0]


async def sees_feed(scene: Scene) -> str:
    feed = await scene.site.http.get("/api/comment/rss?path=/p&format=json", headers=_as(scene))
    return {1: "public", 2: "own"}[len(feed.json()["items"])]


async def post(scene: Scene) -> str:
    """`nameless` if the comment belongs to no account."""
    draft = {**DRAFT, "comment": "new"}
    answer = await scene.site.send("POST", "/api/comment", draft, by=scene.token or None)
    if answer["errno"]:
        return str(answer["errno"])
    return "yes" if "user_id" in answer["data"] else "nameless"


async def edit_of_what_is_gone(scene: Scene) -> str:
    path = f"/api/comment/{'0' * 32}"
    return told(await scene.site.send("PUT", path, {"comment": "x"}, by=scene.token or None))


async def undo(scene: Scene) -> str:
    boss = await token_of(scene.site, Account(scene.ids["boss"], "administrator", "", ""))
    done = await scene.site.send("DELETE", "/api/comment", {"ids": [scene.own]}, by=boss)
    fields = {"undo": done["data"]["undo"]}
    answer = told(await scene.site.send("PUT", "/api/comment", fields, by=scene.token or None))
    await scene.site.send("PUT", "/api/comment", fields, by=boss)
    return answer


async def promotion_of_oneself(scene: Scene) -> str:
    """`yes` if the type has changed."""
    await scene.site.send("PUT", "/api/user", {"type": "administrator"}, by=scene.token or None)
    stored = await scene.site.store.accounts.by_id(scene.ids["author"])
    assert stored is not None
    return "yes" if stored.account.role == "administrator" else "no"


SEES = {(1, False): "public", (2, False): "own", (2, True): "all"}
ROWS: dict[tuple[str, str], Ask] = {
    ("article_read", ""): asks("GET", "/api/article?path=/p"),
    ("article_change", ""): asks("POST", "/api/article", {"path": "/p"}),
    ("comment_page", ""): sees("/comment?path=/p", lambda data: _secrets(data["data"]), SEES),
    ("comment_count", ""): sees(
        "/comment?type=count&url=/p", lambda data: data[0], {1: "public", 2: "own"}
    ),
    ("comment_recent", ""): sees(
        "/comment?type=recent", _secrets, {**SEES, (1, True): "public, and emails"}
    ),
    ("feed", ""): sees_feed,
    ("live", ""): asks("HEAD", "/api/live?path=/p"),
    ("comment_queue", ""): asks("GET", "/api/comment?type=list"),
    ("comment_queue", "`owner=mine`"): asks("GET", "/api/comment?type=list&owner=mine"),
    ("comment_post", ""): post,
    ("comment_edit", "a like"): asks("PUT", "/api/comment/{own}", {"like": True}),
    ("comment_search", "without `SEARCH`"): asks("GET", "/api/comment?type=search&q=x"),
    ("comment_report", "without `REPORT_AFTER`"): asks("POST", "/api/report", {"id": "{own}"}),
    ("comment_edit", "the author's text"): asks("PUT", "/api/comment/{own}", {"comment": "x"}),
    ("comment_edit", "a missing comment"): edit_of_what_is_gone,
    ("comment_edit", "several"): asks("PUT", "/api/comment", {"ids": ["{own}"], "status": "spam"}),
    ("comment_edit", "undo"): undo,
    ("comment_delete", "the author's"): asks("DELETE", "/api/comment/{own}"),
    ("comment_delete", "several"): asks("DELETE", "/api/comment", {"ids": ["{own}"]}),
    ("token", ""): sees("/token", bool, {True: "yes", False: "nobody"}),
    ("token_log_in", "a wrong password"): asks(
        "POST", "/api/token", {"email": "{author}@example.com", "password": "guess"}
    ),
    ("token_log_out", ""): asks("DELETE", "/api/token"),
    ("session_list", ""): asks("GET", "/api/token/sessions"),
    ("session_end", ""): asks("DELETE", "/api/token/sessions"),
    ("user_edit", "the author's password, without a proof"): asks(
        "PUT", "/api/user/{author}", {"password": "an old gate"}
    ),
    ("token_second_factor", ""): asks("GET", "/api/token/2fa"),
    ("token_second_factor", "`email=`"): asks("GET", "/api/token/2fa?email=author@example.com"),
    ("token_second_factor_new", "a wrong code"): asks(
        "POST", "/api/token/2fa", {"secret": "A" * 32, "code": "000000"}
    ),
    ("oauth", "an unknown service"): asks("GET", "/api/oauth?type=github"),
    ("oauth_add", "an unknown service"): asks(
        "POST", "/api/oauth", {"type": "github", "redirect": "http://site.test/"}
    ),
    ("user_challenge", ""): asks("GET", "/api/user/challenge"),
    ("user_register", ""): asks(
        "POST",
        "/api/user",
        {"display_name": "New", "email": "new{author}@example.com", "password": "an old gate"},
    ),
    ("database_export", ""): exports,
    ("user_list", ""): sees(
        "/user", lambda data: isinstance(data, dict), {False: "public", True: "all"}
    ),
    ("user_edit", "one's own"): asks("PUT", "/api/user", {"display_name": "Other"}),
    ("user_edit", "the author's"): asks("PUT", "/api/user/{author}", {"display_name": "Other"}),
    ("user_edit", "one's own type"): promotion_of_oneself,
    ("user_ban", ""): asks("DELETE", "/api/user/{author}"),
    ("user_password", "an invalid link"): asks(
        "PUT", "/api/user/password", {"token": "x", "password": "an old gate"}
    ),
    ("user_verify", "an invalid link"): asks("GET", "/api/verification?token=x"),
    ("user_confirm", "an invalid link"): asks(
        "PUT", "/api/verification", {"token": "x", "password": "an old gate"}
    ),
    ("ban_list", ""): asks("GET", "/api/ban"),
    ("ban_add", ""): asks("POST", "/api/ban", {"value": "198.51.100.7"}),
    ("ban_lift", ""): asks("DELETE", "/api/ban", {"value": "198.51.100.7"}),
    ("statistics_read", ""): asks("GET", "/api/statistics"),
    ("statistics_csv", ""): asks("GET", "/api/statistics.csv"),
    ("statistics_top", ""): asks("GET", "/api/statistics/top"),
    ("statistics_pages", ""): asks("GET", "/api/statistics/pages"),
    ("statistics_source", ""): asks("GET", "/api/statistics/source?host=news.example"),
    ("statistics_pages_csv", ""): asks("GET", "/api/statistics/pages.csv"),
    ("statistics_totals", ""): asks("GET", "/api/statistics/totals"),
    ("statistics_erase", ""): asks("DELETE", "/api/statistics?path=/a"),
    ("statistics_people", ""): asks(
        "PUT", "/api/statistics/people", {"class": "seo", "as_people": True}
    ),
    ("queue_read", ""): admin_page("GET", "queue"),
    ("queue_read", "`owner=mine`"): admin_page("GET", "queue?owner=mine"),
    ("queue_news", ""): admin_page("GET", "queue/new"),
    ("statistics_titles", ""): admin_page("GET", "pages/titles?path=/a"),
    ("queue_groups", ""): admin_page("GET", "queue/groups"),
    ("queue_actions", ""): admin_page("GET", "queue/actions"),
    ("bin_read", ""): admin_page("GET", "queue/bin"),
    ("bin_restore", ""): admin_page("PUT", "queue/bin", {"ids": ["{own}"]}),
    ("bin_remove", ""): admin_page("DELETE", "queue/bin", {"ids": ["{own}"]}),
    ("queue_bulk", ""): admin_page("POST", "queue/bulk", {"do": "spam", "ids": ["{own}"]}),
    ("queue_bulk_read", "an unknown name"): admin_page("GET", "queue/bulk?name=x"),
    ("queue_bulk_undo", "an unknown name"): admin_page("PUT", "queue/bulk", {"name": "x"}),
    ("queue_reply", "to a missing comment"): admin_page(
        "POST", "queue/reply", {"pid": "x", "comment": "x"}
    ),
    ("queue_preview", ""): admin_page("POST", "queue/preview", {"comment": "x"}),
    ("counter_search", ""): admin_page("GET", "counters"),
    ("counter_correct", ""): admin_page(
        "PUT", "counters", {"path": "/new", "type": "time", "from": 0, "to": 1, "reason": "x"}
    ),
    ("page_move", ""): admin_page("POST", "pages/move", {"path": "/new", "to": "/newer"}),
    ("user_invite", ""): admin_page("POST", "invitation", {"email": "new@example.com"}),
    ("closing_list", ""): admin_page("GET", "pages/closed"),
    ("closing_change", ""): admin_page("PUT", "pages/closed", {"path": "/new", "days": 0}),
    ("import", ""): admin_page("POST", "import", []),
    ("outbox_read", ""): admin_page("GET", "outbox"),
    ("outbox_retry", ""): admin_page("PUT", "outbox", {"ids": ["1-1"]}),
    ("outbox_drop", ""): admin_page("DELETE", "outbox", {"ids": ["1-1"]}),
    ("outbox_try", ""): admin_page("POST", "outbox", {}),
    ("log_read", ""): admin_page("GET", "log"),
    ("settings_read", ""): admin_page("GET", "settings"),
    ("state_read", ""): admin_page("GET", "state"),
    ("author", ""): asks("GET", "/api/author?who={author}"),
    ("author_anonymize", ""): asks("PUT", "/api/author", {"who": "{author}"}),
    ("author_delete", ""): asks("DELETE", "/api/author", {"who": "{author}"}),
}


def documented() -> dict[tuple[str, str], dict[str, str]]:
    """The word of the document for each caller, by route and what is asked of it."""
    found = {}
    for operations, cells in re.findall(
        r"^\| (`.+?) \| (.+) \|$", DOCUMENT.read_text(), re.MULTILINE
    ):
        words = dict(zip(COLUMNS, cells.split(" | "), strict=True))
        words |= dict.fromkeys(LIKE_ANYBODY, words["anybody"])
        for route, what in re.findall(r"`(\w+)`(?: \(([^)]+)\))?", operations):
            assert (route, what) not in found
            found[route, what] = words
    return found


def test_every_route_has_a_row_and_every_row_a_test() -> None:
    assert documented().keys() == ROWS.keys()
    assert {row.route for row in TABLE} == {route for route, _ in ROWS}
    assert f"\n| Operations | {' | '.join(COLUMNS)} |\n" in DOCUMENT.read_text()


def refusals(who: Who) -> dict[str, str]:
    """What each caller is told who may not ask at all."""
    known = {
        "author": Viewer(Account("author", "guest", "", "")),
        "guest": Viewer(Account("guest", "guest", "", "")),
        "moderator": Viewer(Account("moderator", "moderator", "", "")),
        "administrator": CONSOLE.viewer,
    }
    found = {}
    for caller in CALLERS:
        try:
            who.require(known.get(caller, PUBLIC), AccountRules())
        except ServiceError as error:
            found[caller] = str(error.errno)
    return found


def test_the_document_says_whom_the_endpoint_refuses() -> None:
    """Of each row that only some may ask for, whatever becomes of it behind that."""
    by_route = {row.route: row for row in TABLE}
    assert documented()
    for (route, what), told in documented().items():
        # A row may say what came of it, and not what was answered.
        assert any(
            all(told[caller] in (errno, "no") for caller, errno in refusals(who).items())
            for who in asking(by_route[route])
        ), (route, what)


async def test_the_fast_path_leaves_what_not_anybody_may_ask_for_to_the_endpoint(
    site: Site,
) -> None:
    """It knows nobody, and runs an operation without asking again."""
    requests = FastRequests(site.service.served, routes.operations(site.service.settings.compat))
    assert requests[b"GET", b"/api/comment?type=recent", b""] is not None
    for row in TABLE:
        if any(refusals(who) for who in asking(row)):
            url = f"/api{row.path}?type={row.type or ''}&path=/p".encode()
            body = b"{}" if row.method == "POST" else b""
            assert requests[row.method.encode(), url, body] is None, row.route


def test_all_of_other_counters_protocols_is_for_anybody() -> None:
    assert {row.who for row in rows_of(PROTOCOLS)} == {ANYBODY}


@pytest.mark.parametrize(
    "url",
    [
        "/1.1/classes/Counter?where=%7B%22url%22:%22/p%22%7D",
        "/api/counter?target=/p",
        "/api/v2/log?url=https://blog.example/p",
        "/counter/p.json",
        "/info/site/likes",
        "/badge/p.svg?count=false",
    ],
)
async def test_other_counters_protocols_answer_everybody_alike(make_site: Sites, url: str) -> None:
    site = await make_site(COMPAT=",".join(PROTOCOLS))
    answers = set()
    for number, caller in enumerate(("anybody", "author", "administrator", "bad token")):
        scene = await scene_of(site, caller, number)
        answer = await site.http.get(url, headers=_as(scene))
        answers.add((answer.status_code, answer.content))
        await site.settled()
    assert len(answers) == 1
    assert answers.pop()[0] in (200, 404)


@pytest.mark.parametrize("caller", CALLERS)
async def test_who_may_do_what(make_site: Sites, caller: str) -> None:
    site, numbers = make_site.without_accounts(COMMENT_AUDIT="true"), count()
    methods = {row.route: row.method for row in TABLE}
    scene: Scene | None = None
    answers = dict[tuple[str, str], str]()
    for row, ask in ROWS.items():
        scene = scene or await scene_of(site, caller, next(numbers))
        answers[row] = await ask(scene)
        await site.settled()
        if methods[row[0]] != "GET" and answers[row] not in ("401", "403", "404"):
            # Something may have changed: the next row gets new people, and a page of their own.
            boss = await token_of(site, Account(scene.ids["boss"], "administrator", "", ""))
            rest = await site.get("/api/comment?type=list&pageSize=100", by=boss)
            ids = [each["objectId"] for each in rest["data"]["data"]]
            await site.send("DELETE", "/api/comment", {"ids": ids}, by=boss)
            scene = None
    assert answers == {row: told[caller] for row, told in documented().items()}
