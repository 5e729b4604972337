"""The route table: every operation, each under its prefixes."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from starlette.routing import BaseRoute, Route

from ..counting import api as counters
from ..domain.site import Site
from ..http.policy import Policy
from ..statistics import api as statistics
from . import (
    accounts,
    admin,
    authors,
    bans,
    comments,
    database,
    importing,
    moderation,
    oauth,
    outbox,
    owner_rows,
    page_moves,
    queue,
    recent,
    schemas,
    session,
)
from . import compat as compat_rows
from .compat import leancloud
from .dialects import content
from .endpoint import Resource, Row
from .fields import NOTHING
from .prefixes import UI, Prefix
from .who import (
    ADMINISTRATOR,
    ANYBODY,
    AUTHOR,
    COMMENTER,
    EDITOR,
    MEMBER,
    PERSON,
    PUBLIC_SERIES,
    PUBLIC_TOP,
    PUBLIC_TOTALS,
    QUIET_ADMINISTRATOR,
)

TABLE = (
    Row(
        "article_read",
        "GET",
        "/article",
        counters.READ,
        ANYBODY,
        schemas.READ,
        envelope=content,
        fast=counters.read,
    ),
    Row(
        "article_change",
        "POST",
        "/article",
        counters.CHANGE,
        ANYBODY,
        schemas.READ,
        counters.change,
        envelope=content,
        fast=counters.add,
    ),
    Row(
        "comment_page",
        "GET",
        "/comment",
        comments.LIST,
        ANYBODY,
        schemas.PAGE,
        comments.list_,
        envelope=content,
        fast=comments.page,
    ),
    Row(
        "comment_count",
        "GET",
        "/comment",
        comments.COUNT,
        ANYBODY,
        schemas.COUNT,
        comments.count,
        envelope=content,
        type="count",
        fast=comments.fast_count,
    ),
    Row(
        "comment_recent",
        "GET",
        "/comment",
        recent.RECENT,
        ANYBODY,
        schemas.RECENT,
        recent.recent,
        envelope=content,
        type="recent",
        fast=recent.fast_recent,
    ),
    Row(
        "comment_queue",
        "GET",
        "/comment",
        queue.QUEUE,
        ADMINISTRATOR,
        schemas.QUEUE,
        queue.queue,
        envelope=content,
        type="list",
    ),
    Row(
        "comment_post",
        "POST",
        "/comment",
        comments.DRAFT,
        COMMENTER,
        schemas.COMMENT,
        comments.post,
    ),
    Row(
        "comment_edit", "PUT", "/comment", moderation.EDIT, EDITOR, schemas.EDITED, moderation.edit
    ),
    Row(
        "comment_delete",
        "DELETE",
        "/comment",
        moderation.DELETE,
        AUTHOR,
        schemas.DELETED,
        moderation.delete,
    ),
    Row(
        "token_second_factor",
        "GET",
        "/token/2fa",
        session.SECOND_FACTOR,
        PERSON,
        schemas.SECOND_FACTOR,
        session.second_factor,
    ),
    Row(
        "token_second_factor_new",
        "POST",
        "/token/2fa",
        session.NEW_SECOND_FACTOR,
        PERSON,
        schemas.RECOVERY,
        session.add_second_factor,
    ),
    Row(
        "session_list",
        "GET",
        "/token/sessions",
        NOTHING,
        PERSON,
        schemas.SESSIONS,
        session.sessions,
    ),
    Row(
        "session_end",
        "DELETE",
        "/token/sessions",
        session.SESSION,
        PERSON,
        schemas.DONE,
        session.end_sessions,
    ),
    Row(
        "user_password",
        "PUT",
        "/user/password",
        accounts.LOST_PASSWORD,
        ANYBODY,
        schemas.DONE,
        accounts.lost_password,
    ),
    Row(
        "user_challenge",
        "GET",
        "/user/challenge",
        NOTHING,
        ANYBODY,
        schemas.CHALLENGE,
        accounts.challenge,
    ),
    Row("token", "GET", "/token", NOTHING, ANYBODY, schemas.WHO, session.show),
    Row("token_log_in", "POST", "/token", session.LOG_IN, ANYBODY, schemas.PROFILE, session.log_in),
    Row("token_log_out", "DELETE", "/token", NOTHING, ANYBODY, schemas.DONE, session.log_out),
    Row("database_export", "GET", "/db", NOTHING, ADMINISTRATOR, schemas.ARCHIVE, database.export),
    Row(
        "oauth",
        "GET",
        "/oauth",
        oauth.STEP,
        ANYBODY,
        schemas.REDIRECT,
        oauth.oauth,
        is_navigation=True,
        is_unsafe=True,
    ),
    Row("oauth_add", "POST", "/oauth", oauth.ADDITION, MEMBER, schemas.ADDRESS, oauth.add),
    Row(
        "user_verify",
        "GET",
        "/verification",
        accounts.VERIFICATION,
        ANYBODY,
        schemas.REDIRECT,
        accounts.lead,
    ),
    Row(
        "user_confirm",
        "PUT",
        "/verification",
        accounts.CONFIRMATION,
        ANYBODY,
        schemas.DONE,
        accounts.confirm,
    ),
    Row("user_list", "GET", "/user", accounts.LIST, ANYBODY, schemas.USERS, accounts.list_),
    Row(
        "user_register",
        "POST",
        "/user",
        accounts.APPLICANT,
        ANYBODY,
        schemas.REGISTERED,
        accounts.register,
    ),
    Row("user_edit", "PUT", "/user", accounts.EDIT, MEMBER, schemas.REGISTERED, accounts.edit),
    Row(
        "user_ban", "DELETE", "/user", accounts.BAN, QUIET_ADMINISTRATOR, schemas.DONE, accounts.ban
    ),
    Row("author", "GET", "/author", authors.WANTED, ADMINISTRATOR, schemas.AUTHOR, authors.show),
    Row(
        "author_anonymize",
        "PUT",
        "/author",
        authors.WANTED,
        ADMINISTRATOR,
        schemas.ERASED,
        authors.anonymize,
    ),
    Row(
        "author_delete",
        "DELETE",
        "/author",
        authors.WANTED,
        ADMINISTRATOR,
        schemas.ERASED,
        authors.delete,
    ),
    Row("ban_list", "GET", "/ban", bans.LIST, ADMINISTRATOR, schemas.BANS, bans.list_),
    Row("ban_add", "POST", "/ban", bans.NEW_BAN, ADMINISTRATOR, schemas.BAN, bans.add),
    Row("ban_lift", "DELETE", "/ban", bans.VALUE, ADMINISTRATOR, schemas.LIFTED, bans.lift),
    Row(
        "statistics_read",
        "GET",
        "/statistics",
        statistics.SERIES,
        PUBLIC_SERIES,
        schemas.VIEWS,
        statistics.series,
    ),
    Row(
        "statistics_csv",
        "GET",
        "/statistics.csv",
        statistics.SERIES,
        PUBLIC_SERIES,
        schemas.VIEWS_CSV,
        statistics.csv_of_series,
    ),
    Row(
        "statistics_top",
        "GET",
        "/statistics/top",
        statistics.TOP,
        PUBLIC_TOP,
        schemas.TOP,
        statistics.top,
    ),
    Row(
        "statistics_totals",
        "GET",
        "/statistics/totals",
        NOTHING,
        PUBLIC_TOTALS,
        schemas.TOTALS,
        statistics.totals,
    ),
    Row(
        "statistics_erase",
        "DELETE",
        "/statistics",
        statistics.PAGE,
        ADMINISTRATOR,
        schemas.ERASED_PAGE,
        statistics.erase,
    ),
    Row(
        "statistics_people",
        "PUT",
        "/statistics/people",
        statistics.AS_PEOPLE,
        ADMINISTRATOR,
        schemas.AS_PEOPLE,
        statistics.count_as_people,
    ),
    # For the pages of administrators alone.
    *owner_rows.ROWS,
    Row(
        "counter_search",
        "GET",
        "/counters",
        admin.SEARCH,
        ADMINISTRATOR,
        schemas.COUNTERS,
        admin.counters,
        prefixes=(UI,),
    ),
    Row(
        "counter_correct",
        "PUT",
        "/counters",
        admin.CORRECTION,
        ADMINISTRATOR,
        schemas.NUMBER_OF,
        admin.correct,
        prefixes=(UI,),
    ),
    Row(
        "page_move",
        "POST",
        "/pages/move",
        page_moves.MOVE,
        ADMINISTRATOR,
        schemas.PAGE_MOVE,
        page_moves.move,
        prefixes=(UI,),
    ),
    Row(
        "log_read", "GET", "/log", admin.LOG, ADMINISTRATOR, schemas.LOG, admin.log, prefixes=(UI,)
    ),
    Row(
        "outbox_read",
        "GET",
        "/outbox",
        NOTHING,
        ADMINISTRATOR,
        schemas.OUTBOX,
        outbox.read,
        prefixes=(UI,),
    ),
    Row(
        "outbox_retry",
        "PUT",
        "/outbox",
        outbox.ENTRIES,
        ADMINISTRATOR,
        schemas.NUMBER_OF,
        outbox.retry,
        prefixes=(UI,),
    ),
    Row(
        "outbox_drop",
        "DELETE",
        "/outbox",
        outbox.ENTRIES,
        ADMINISTRATOR,
        schemas.NUMBER_OF,
        outbox.drop,
        prefixes=(UI,),
    ),
    Row(
        "outbox_try",
        "POST",
        "/outbox",
        outbox.READER,
        ADMINISTRATOR,
        schemas.TOLD,
        outbox.try_out,
        prefixes=(UI,),
    ),
    Row(
        "import",
        "POST",
        "/import",
        importing.UPLOAD,
        ADMINISTRATOR,
        schemas.LINES,
        importing.import_,
        is_upload=True,
        prefixes=(UI,),
    ),
    Row(
        "settings_read",
        "GET",
        "/settings",
        NOTHING,
        ADMINISTRATOR,
        schemas.SETTINGS,
        admin.settings,
        prefixes=(UI,),
    ),
    Row(
        "state_read",
        "GET",
        "/state",
        NOTHING,
        ADMINISTRATOR,
        schemas.STATE,
        admin.state,
        prefixes=(UI,),
    ),
)
# Path -> what to do instead of a method that it does not have. Waline's admin pages would import a
# file by emptying each table and sending its rows one by one.
INSTEAD = {
    "/db": "Nothing is imported by single rows here: upload the file at /ui, under "
    '"Import and export", or run `footfall import FILE`'
}

# What may stand behind a path.
FORMS = ("/", ".html", "/{id}", "/{id}/")


def api_routes(site: Site, policy: Policy) -> Iterator[BaseRoute]:
    variable, others = list[BaseRoute](), list[BaseRoute]()
    for prefix, paths in operations(site.settings.compat).items():
        for path, rows in paths.items():
            url, instead = f"{prefix.path}{path}", INSTEAD.get(path)
            route = Route(url, Resource(rows, site, policy, prefix.dialect, instead))
            if "{" in path:
                variable.append(route)
            else:
                yield route
            if prefix.longer:
                resource = Resource(rows, site, policy, prefix.longer, instead)
                others += [Route(f"{url}{form}", resource) for form in FORMS]
    # Behind all exact paths, since routes are tried in turn.
    yield from variable
    yield from others
    # A protocol of its own refuses what it does not have, too; LeanCloud's also where it is not
    # spoken, since a theme of Fluid's would show the number 1 for any other refusal.
    for prefix in dict.fromkeys((*operations(site.settings.compat), leancloud.PREFIX)):
        if prefix.path and not prefix.longer:
            yield Route(f"{prefix.path}/{{rest:path}}", Resource({}, site, policy, prefix.dialect))


def table(compat: Collection[str]) -> Sequence[Row]:
    """The operations of a site that speaks these protocols besides Waline's."""
    return (*TABLE, *compat_rows.rows_of(compat))


def operations(compat: Collection[str]) -> Mapping[Prefix, Mapping[str, Mapping[str, list[Row]]]]:
    """The same by prefix, path and method."""
    found: defaultdict[Prefix, defaultdict[str, defaultdict[str, list[Row]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for row in table(compat):
        for prefix in row.prefixes:
            found[prefix][row.path][row.method].append(row)
    return found
