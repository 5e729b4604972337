"""The ASGI application of a service."""

from collections.abc import Collection
from mmap import mmap

from starlette.routing import Router
from starlette.types import ASGIApp

from . import __version__, routes
from .accounts.noun import Accounts
from .config import Settings
from .http.policy import Policy
from .monitoring.health import Health, health_routes
from .monitoring.metrics import metrics_route
from .netaddr import Proxies
from .notifications.rules.decisions import Decisions
from .owner.account_pages import account_routes
from .owner.demo import API as COMMENTS
from .owner.demo import Demo
from .owner.description import description_route
from .owner.files import page_routes
from .owner.link_pages import link_routes
from .owner.pages import NoPage
from .site import Site
from .table import middleware
from .table.sending import not_found
from .telemetry.metrics import Metrics

DAY_SECONDS = 86_400


def create_metrics(
    compat: Collection[str] = (), memory: mmap | None = None, row: int = 0
) -> Metrics:
    """Metrics for a site that speaks these protocols in addition to Waline's."""
    names = [*(row.route for row in routes.table(compat)), *middleware.ROUTES]
    return Metrics(memory, row, routes=names)


def policy_of(settings: Settings) -> Policy:
    return Policy(
        Proxies.of(settings.trusted_proxies, settings.client_address_header),
        settings.secure_domains,
        settings.max_connections,
        settings.slow_seconds,
        settings.server_url,
        settings.site_url,
        settings.statistics == "visitors",
        settings.session_days * DAY_SECONDS,
    )


def health_of(settings: Settings, site: Site) -> Health:
    return Health(site, __version__, is_strict=settings.guard == "refuse")


def page_values(settings: Settings, accounts: Accounts) -> dict[str, str]:
    """Values of settings that the HTML pages show. `most_read` is the attribute that makes a list
    show the most read pages, if SITE_URL is set and these lists are public."""
    is_known = settings.statistics != "off" and accounts.rules.shows("top")
    return {
        "site_name": settings.title,
        "site_url": settings.site_url,
        "forum_url": settings.forum_url,
        "login": settings.login,
        "takes_reports": "yes" if settings.report_after else "",
        "has_search": "yes" if settings.search else "",
        "most_read": "data-footfall-top" if settings.site_url and is_known else "",
    }


def create_app(
    settings: Settings, site: Site, health: Health | None = None, *, is_traced: bool = False
) -> ASGIApp:
    """The ASGI application. It neither opens nor closes the service's store."""
    policy, values = policy_of(settings), page_values(settings, site.accounts)
    health = health or health_of(settings, site)
    # A Router alone: Starlette's application would add two layers of error handling to each
    # request, and table/endpoint.py and table/middleware.py handle all errors.
    operations = [*routes.api_routes(site, policy)]
    apis = {route.path: route.app for route in operations}
    comments, zone = apis.get(COMMENTS, not_found), site.statistics.reports.calendar.zone
    demo = Demo(site.accounts, zone, policy, values, comments) if settings.demo else None
    router = Router(
        [
            *operations,
            *page_routes(site.settings.compat, demo),
            *account_routes(policy, values, site, apis),
            *health_routes(health),
            metrics_route(site, __version__),
            description_route(site, routes.operations(site.settings.compat), __version__),
            *link_routes(
                site.notifications.recipients,
                Decisions(site.comments, settings),
                site.settings.title,
                zone,
            ),
        ],
        redirect_slashes=False,
        default=NoPage(site, values, not_found),
    )
    app = middleware.CountedRequests(router, site.process, policy.slow_seconds)
    if not is_traced:
        return app
    from .tracing.spans import TracedRequests

    return TracedRequests(app, policy)
