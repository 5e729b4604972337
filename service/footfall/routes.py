"""The route table: every operation, each under its prefixes."""

from collections.abc import Collection, Iterator, Sequence

from starlette.routing import Route

from . import compat as compat_rows
from .accounts.api import accounts, bans, invitations, links, oauth, session
from .comments.api import (
    authors,
    closings,
    comments,
    feeds,
    live,
    moderation,
    page_moves,
    queue,
    ranking,
    recent,
    reports,
    search,
)
from .compat import leancloud
from .counting import api as counters
from .http.policy import Policy
from .notifications.api import outbox
from .owner import admin, database, importing
from .owner import bin as owner_bin
from .owner import bulk as owner_bulk
from .owner import groups as owner_groups
from .owner import queue as owner_queue
from .owner import replies as owner_replies
from .site import Site
from .statistics import api as statistics
from .statistics import pages_api
from .table.endpoint import Resource
from .table.operations import Operations, by_prefix
from .table.rows import Row

TABLE = (
    *counters.operation,
    *comments.operation,
    *recent.operation,
    *feeds.operation,
    *live.operation,
    *queue.operation,
    *moderation.operation,
    *reports.operation,
    *search.operation,
    *session.operation,
    *links.operation,
    *ranking.operation,
    *accounts.operation,
    *database.operation,
    *oauth.operation,
    *authors.operation,
    *bans.operation,
    *invitations.operation,
    *statistics.operation,
    *pages_api.operation,
    *pages_api.of_ui,
    *owner_queue.operation,
    *owner_groups.operation,
    *owner_bulk.operation,
    *owner_bin.operation,
    *owner_replies.operation,
    *admin.of_site,
    *admin.of_comments,
    *admin.of_accounts,
    *page_moves.operation,
    *closings.operation,
    *outbox.operation,
    *importing.operation,
)
# Path -> what to do instead of a method that it does not have. Waline's admin pages would import a
# file by emptying each table and sending its rows one by one.
INSTEAD = {
    "/db": "Nothing is imported by single rows here: upload the file at /ui, under "
    '"Import and export", or run `footfall import FILE`'
}

# What may follow a path.
FORMS = ("/", ".html", "/{id}", "/{id}/")


def api_routes(site: Site, policy: Policy) -> Iterator[Route]:
    variable, others, served = list[Route](), list[Route](), site.served
    for prefix, paths in operations(site.settings.compat).items():
        for path, rows in paths.items():
            url, instead = f"{prefix.path}{path}", INSTEAD.get(path)
            route = Route(url, Resource(rows, served, policy, prefix.variant, instead))
            if "{" in path:
                variable.append(route)
            else:
                yield route
            if prefix.longer:
                resource = Resource(rows, served, policy, prefix.longer, instead)
                others += [Route(f"{url}{form}", resource) for form in FORMS]
    # After all exact paths, since routes are tried in turn.
    yield from variable
    yield from others
    # A protocol with errors of its own also answers its unknown routes; LeanCloud's even where it
    # is off, since Fluid shows the number 1 for any other error.
    for prefix in dict.fromkeys((*operations(site.settings.compat), leancloud.PREFIX)):
        if prefix.path and not prefix.longer:
            yield Route(
                f"{prefix.path}/{{rest:path}}", Resource({}, served, policy, prefix.variant)
            )


def table(compat: Collection[str]) -> Sequence[Row]:
    """The operations of a site that speaks these protocols in addition to Waline's."""
    return (*TABLE, *compat_rows.rows_of(compat))


def operations(compat: Collection[str]) -> Operations:
    return by_prefix(table(compat))
