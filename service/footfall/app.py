"""Build a site from its settings and a store (stores.py); asgi.py adds the routes.

Only cli/, server/ and tests import this module; others get what they need as arguments.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import tzinfo
from functools import cache, partial
from urllib.parse import urlsplit

from . import __version__
from .accounts.noun import Accounts
from .accounts.rules.account_mails import AccountMails, Sender
from .accounts.rules.bans import KnownBans
from .accounts.rules.captcha import Captcha
from .accounts.rules.devices import Devices
from .accounts.rules.lookalikes import Lookalikes
from .accounts.rules.sessions import Sessions
from .comments.noun import Comments
from .comments.rules import refresh
from .comments.rules.admission import Rules
from .comments.rules.importer import Importer
from .comments.rules.live import LivePages
from .comments.rules.room import CommentRoom
from .comments.store.reports import ReportStore
from .comments.store.verdicts import VerdictStore
from .config import BadSettings
from .counting.clients import Clients
from .counting.limits import RateLimits
from .counting.rules import Counting
from .counting.unknown_proxies import UnknownProxies
from .data.imports import Imports
from .data.store import Store
from .driver.script_calls import Rate
from .hosts import host_name
from .ids import digest
from .limits.pool import Pool
from .model import Viewer
from .netaddr import Networks
from .notifications.noun import Notifications
from .notifications.rules import trial
from .notifications.rules.channels import channels_of, smtp_of, spam_checkers_of
from .notifications.rules.decisions import Decisions
from .notifications.rules.delivery import Delivery
from .notifications.rules.recipients import Recipients
from .notifications.rules.weekly import WeeklyMail
from .notifications.store.digest import Digest
from .notifications.store.outbox import Outbox
from .notify.mail_words import Words
from .notify.weekly_letter import Week
from .outside.captcha import Verifier
from .outside.oauth import OAuthServices
from .outside.oidc import Client, OpenIdConnect
from .outside.providers import Providers
from .outside.targets import Targets
from .owner.weekly import week_of
from .pages import PageNames
from .permissions import AccountRules
from .process.process import Process
from .render.avatar import Avatar, compile_avatar, is_none
from .render.pictures import Pictures
from .render.view import DisplayOptions
from .site import Data, Site
from .site_settings import SiteSettings
from .statistics.calendar import Calendar, datable
from .statistics.keeper import Keeper
from .statistics.live_views import LiveViews
from .statistics.moments import Moments
from .statistics.noun import Statistics
from .statistics.reports import Reports
from .statistics.titles import Titles
from .statistics.totals import KnownTotals
from .statistics.views_ever import ViewsEver
from .stores import data_set

DAY_MS, MINUTE_MS = 86_400_000, 60_000


def create_site(
    settings: SiteSettings,
    process: Process,
    store: Store,
    *,
    viewer_of: Callable[[str], Awaitable[Viewer]] | None = None,
) -> Site:
    """`viewer_of` can recognise tokens in place of the account's own."""
    accounts = _accounts_of(settings, process, store, viewer_of)
    counting = _counting_of(settings, process, store)
    comments = _comments_of(settings, process, store, accounts, counting)
    accounts.followers.append(partial(refresh.start, comments))
    return Site(
        process=process,
        settings=settings,
        counting=counting,
        statistics=_statistics_of(settings, process, store, accounts.rules),
        comments=comments,
        accounts=accounts,
        notifications=_notifications_of(settings, comments, store),
        data=Data(
            store.scale,
            store.waiting,
            store.backups,
            store.floods,
            _export_of(store, process.clock),
            cache(partial(_importer_of, store)),
        ),
    )


def _comments_of(
    settings: SiteSettings, process: Process, store: Store, accounts: Accounts, counting: Counting
) -> Comments:
    return Comments(
        process=process,
        accounts=accounts,
        counting=counting,
        store=store.comments,
        live_pages=LivePages(counting.counters, store.comments, process),
        moderation=store.moderation,
        deletions=store.deletions,
        moves=store.moves,
        journal=store.journal,
        actions=store.actions,
        bin=store.bin,
        forwards=store.forwards,
        recent=store.recent,
        index=store.site,
        reports=ReportStore(store.redis, store.keys),
        verdicts=VerdictStore(store.redis, store.keys, process.clock, settings.model_daily),
        move_unsubscribed=store.unsubscribed.move,
        forget_undelivered=store.outbox.forget,
        views=store.views,
        log=accounts.log,
        buckets=store.buckets,
        rules=_rules_of(settings),
        room=CommentRoom(
            store.scale.comments, process.safety.facts, store.buckets, settings.comment_limit
        ),
        display=accounts.display,
        pictures=Pictures(settings.image_proxy, not settings.disable_images),
        salt=_salt_of(settings, store),
    )


def _accounts_of(
    settings: SiteSettings,
    process: Process,
    store: Store,
    viewer_of: Callable[[str], Awaitable[Viewer]] | None,
) -> Accounts:
    lasts_ms = settings.session_days * DAY_MS
    sessions = Sessions(store.accounts, process.clock, lasts_ms=lasts_ms, key=settings.jwt_token)
    return Accounts(
        process,
        store.accounts,
        settings.account_rules,
        KnownBans(store.bans, process.clock, process.proxies.trusted, process.background),
        sessions,
        Devices(store.accounts, store.places, process.clock),
        _account_mails_of(settings, store, process),
        _captcha_of(settings, store, process.pools.captchas),
        Lookalikes(store.accounts, process.clock),
        store.buckets,
        store.log,
        providers_of(settings),
        _display_of(settings),
        own_hosts(settings),
        viewer_of or sessions.viewer,
    )


def _notifications_of(settings: SiteSettings, comments: Comments, store: Store) -> Notifications:
    if settings.weekly_mail and not (settings.has_mail and settings.statistics != "off"):
        raise BadSettings("WEEKLY_MAIL: needs SMTP_HOST or SMTP_SERVICE, and statistics")
    recipients = Recipients(
        store.unsubscribed,
        store.buckets,
        store.accounts,
        Digest(store.redis, store.scripts, store.keys, settings.notify_every * MINUTE_MS),
        comments.process.clock,
        an_hour=settings.mail_rate,
        address=settings.server_url,
    )

    async def try_out(to: str) -> dict[str, str]:
        return await trial.tell(_delivery_of(settings, comments, store.outbox, recipients), to)

    return Notifications(store.outbox, recipients, try_out)


def _counting_of(settings: SiteSettings, process: Process, store: Store) -> Counting:
    proxies = process.proxies
    limits = RateLimits(settings.counter_rate, settings.new_counter_rate, proxies.trusted)
    store.new_counters.limits = limits
    unknown_proxies = UnknownProxies(proxies)
    tells = settings.statistics == "visitors"
    return Counting(
        store.counters,
        store.counter_walk,
        store.numbers,
        store.quota,
        limits,
        store.buckets,
        Clients(
            limits,
            proxies,
            unknown_proxies,
            tells_visitors=tells,
            own=Networks(settings.ignore_addresses) if settings.ignore_addresses else None,
        ),
        settings.known_counter_types,
        PageNames(settings.paths).of,
        own_hosts(settings),
        process.background,
        unknown_proxies,
    )


def _statistics_of(
    settings: SiteSettings, process: Process, store: Store, rules: AccountRules
) -> Statistics:
    calendar, months = Calendar(settings.timezone), settings.statistics_months
    views, clock, dated = (store.views, store.site_views), process.clock, datable(process.clock)
    reports = Reports(*views, calendar, dated, months, kept=settings.statistics)
    salts = store.moment.salts if isinstance(store.moment, Moments) else None
    keeper = Keeper(store.site_views, reports, dated, months, salts)
    close = partial(store.views.close_hours, months)
    ever = ViewsEver(store.views_ever, clock, close, is_dated=reports.is_on)
    before = settings.site_pv_start, settings.site_uv_start
    known = KnownTotals(ever, reports, rules, clock, before)
    site_url = settings.site_url if settings.titles else ""
    titles = Titles(store.site_views, site_url, process.background.start, clock)
    live = LiveViews(*views, reports.most_read, clock)
    return Statistics(
        reports,
        store.site_views,
        keeper,
        ever,
        known,
        titles,
        live,
        process.pools.statistics,
        store.site.total,
    )


def own_hosts(settings: SiteSettings) -> frozenset[str]:
    """Hosts that are not sources of views."""
    return frozenset({host_name(urlsplit(settings.site_url).hostname or "")} - {""})


def _importer_of(store: Store) -> Importer[Comments]:
    from .transfer.importer import StoringImporter  # Here, as the export is.

    return StoringImporter(Imports(store.redis, store.scripts, store.keys, store.moment))


def _export_of(store: Store, clock: Callable[[], int]) -> Callable[[], AsyncGenerator[bytes]]:
    def export() -> AsyncGenerator[bytes]:
        # Imported here, since it is rarely used.
        from .transfer.export import TABLES, Export, archive

        warn = logging.getLogger(__name__).warning
        damaged = partial(warn, "left out of an export, since it is damaged: %s")
        rows = Export(data_set(store), store.accounts, damaged).rows
        return archive(rows, TABLES, clock())

    return export


def providers_of(settings: SiteSettings) -> Providers:
    by_connect = settings.oidc_issuer and settings.oidc_client_id
    for name, value in (("OAUTH_URL", settings.oauth_url), ("OIDC_ISSUER", settings.oidc_issuer)):
        if value and not settings.server_url:
            raise BadSettings(f"{name}: say in SERVER_URL where people come back to")
    if settings.oidc_issuer and not by_connect:
        raise BadSettings("OIDC_ISSUER: say in OIDC_CLIENT_ID what it knows this service by")
    client = Client(
        settings.oidc_issuer,
        settings.oidc_client_id,
        settings.oidc_client_secret,
        settings.oidc_scopes,
    )
    return Providers(
        Targets(settings.server_url, settings.site_url, settings.secure_domains),
        OAuthServices(settings.oauth_url) if settings.oauth_url else None,
        OpenIdConnect(client) if by_connect else None,
        settings.oidc_name,
    )


def create_delivery(settings: SiteSettings, site: Site) -> Delivery:
    """The background worker, with a channel for each in the settings. Raises BadSettings."""
    notifications = site.notifications
    zone, url = site.statistics.reports.calendar.zone, settings.server_url
    weekly = _weekly_of(
        settings, notifications.outbox, zone, lambda monday: week_of(site, monday, url)
    )
    outbox, recipients, titles = (
        notifications.outbox,
        notifications.recipients,
        site.statistics.titles,
    )
    return _delivery_of(settings, site.comments, outbox, recipients, weekly, titles)


def _weekly_of(
    settings: SiteSettings, outbox: Outbox, zone: tzinfo, week_of: Callable[[int], Awaitable[Week]]
) -> WeeklyMail | None:
    """Raises BadSettings."""
    if not settings.weekly_mail:
        return None
    try:
        smtp = smtp_of(settings, settings.title, settings.server_url)
    except ValueError as error:
        raise BadSettings(str(error)) from None
    return WeeklyMail(
        outbox, smtp, Words(settings.mail_language), settings.weekly_mail, zone, week_of
    )


def _delivery_of(
    settings: SiteSettings,
    comments: Comments,
    outbox: Outbox,
    recipients: Recipients,
    weekly: WeeklyMail | None = None,
    titles: Titles | None = None,
) -> Delivery:
    try:
        channels = channels_of(
            settings,
            settings.title,
            settings.server_url,
            recipients,
            Decisions(comments, settings).links,
            comments.process.renderer.run_behind,
        )
        spam_checkers = spam_checkers_of(settings, comments.verdicts)
    except ValueError as error:
        raise BadSettings(str(error)) from None
    return Delivery(
        comments,
        outbox,
        recipients,
        channels,
        spam_checkers,
        weekly,
        title=settings.title,
        site_url=settings.site_url,
        titles=titles,
    )


def _account_mails_of(settings: SiteSettings, store: Store, process: Process) -> AccountMails:
    """Links in emails lead to SERVER_URL only: clients choose the Host of a request."""
    sender = None
    if settings.has_mail and settings.server_url:
        name = settings.title
        try:
            smtp = smtp_of(settings, name, settings.server_url)
        except ValueError as error:
            raise BadSettings(str(error)) from None
        sender = Sender(smtp, settings.server_url, name, settings.site_url)
    elif settings.verify_email:
        raise BadSettings("VERIFY_EMAIL: needs SMTP_HOST or SMTP_SERVICE, and SERVER_URL")
    confirms = sender is not None and settings.verify_email is not False
    return AccountMails(process, store.buckets, sender, confirms=confirms)


def _captcha_of(settings: SiteSettings, store: Store, pool: Pool) -> Captcha:
    field = settings.captcha_field
    verifier = Verifier(field, *settings.captcha_service) if field else None
    return Captcha(
        verifier, store.accounts, store.buckets, pool, wants_work=settings.registration_work
    )


def _salt_of(settings: SiteSettings, store: Store) -> Callable[[], bytes]:
    shown = (
        __version__,
        settings.disable_useragent,
        settings.disable_region,
        settings.gravatar_str,
        settings.avatar_key,
        settings.avatar_proxy,
        settings.image_proxy,
        settings.disable_images,
    )
    options = digest(repr(shown))[:4].encode()
    return lambda: store.data_set_id + options


def _rules_of(settings: SiteSettings) -> Rules:
    return Rules(
        cooldown=Rate(1 / settings.ipqps, 1) if settings.ipqps else None,
        comment_length=settings.comment_length,
        is_audited=settings.comment_audit,
        is_filtered=bool(settings.spam_checkers),
        max_links=settings.max_links,
        trust_after=settings.trust_after,
        report_after=settings.report_after,
        readers_search=settings.search,
        spam_days=settings.spam_days,
        held_days=settings.held_days,
        forbidden=settings.forbidden_words,
        disallowed=Networks(settings.disallow_ip_list),
    )


def _display_of(settings: SiteSettings) -> DisplayOptions:
    return DisplayOptions(
        avatar=_avatar_of(settings),
        pictures=_portraits_of(settings),
        levels=settings.levels,
        shows_agent=not settings.disable_useragent,
        shows_region=not settings.disable_region,
    )


def _portraits_of(settings: SiteSettings) -> Pictures:
    # Accounts name addresses of their own: they are pictures as those in comments, too.
    are_shown = not (settings.disable_images or is_none(settings.gravatar_str))
    return Pictures(settings.avatar_proxy or settings.image_proxy, are_shown)


def _avatar_of(settings: SiteSettings) -> Avatar:
    try:
        return compile_avatar(settings.gravatar_str, settings.avatar_proxy, settings.avatar_key)
    except ValueError as error:
        raise BadSettings(f"GRAVATAR_STR={settings.gravatar_str!r}: {error}") from None
