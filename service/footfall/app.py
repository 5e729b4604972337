"""Puts everything together: settings -> Redis -> store -> service; asgi.py adds the routes.

Only cli/, server/ and tests import this module; all others get what they need as arguments.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache, partial

from . import __version__
from .config import BadSettings, Settings
from .domain import trial_news
from .domain.account_mails import AccountMails, Sender
from .domain.bans import KnownBans
from .domain.captcha import Captcha
from .domain.delivery import Delivery
from .domain.devices import Devices
from .domain.importer import Importer
from .domain.rate_limit import RateLimits
from .domain.recipients import Recipients
from .domain.renderer import Renderer
from .domain.rules import AccountRules, Rules
from .domain.service import About, Service, now_ms, nowhere
from .domain.sessions import Sessions
from .driver.batch import Batch
from .driver.client import Wrap, connect, unwrapped
from .driver.keys import digest
from .driver.private_server import CannotStart, private_server, url_of
from .driver.stats import CommandStats
from .driver.url import parse_redis_url
from .maintenance.dataset import DataSet
from .model import Durability, Viewer
from .netaddr import Networks
from .notify.channels import channels_of, judges_of, smtp_of
from .outside.captcha import Verifier
from .outside.oauth import OAuthServices
from .outside.oidc import Client, OpenIdConnect
from .outside.providers import Providers
from .outside.targets import Targets
from .render.avatar import Avatar, compile_avatar, is_none
from .render.pictures import Pictures
from .render.region import open_regions
from .render.view import DisplayOptions
from .store import Store
from .store.imports import Imports
from .telemetry.metrics import Metrics

DAY_MS = 86_400_000


def open_store(
    settings: Settings, url: str, metrics: Metrics | None = None, *, is_traced: bool = False
) -> Store:
    """The store on the Redis at `url`; nothing is sent yet. Raises BadSettings."""
    durability = durability_of(settings)
    wrap: Wrap = unwrapped
    batch: type[Batch] = Batch
    if is_traced:
        # Imported here and below, because OpenTelemetry is optional.
        from .tracing.spans import TracedBatch, TracedSender

        wrap, batch = TracedSender, TracedBatch
    try:
        redis = connect(
            settings.redis_access if url == settings.redis_url else url,
            settings.redis_timeout,
            durability,
            asks_replicas=settings.read_from_replicas,
            stats=CommandStats(metrics or Metrics(), settings.slow_seconds),
            wrap=wrap,
        )
    except ValueError as error:
        raise BadSettings(f"REDIS_URL: {error}") from error
    store = Store(
        redis,
        prefix=settings.key_prefix,
        buckets=settings.counter_buckets,
        durability=durability,
        counter_limit=settings.counter_limit,
        trials=settings.trials,
        tells=settings.tells,
        batch=batch,
    )
    if url == url_of(settings.data_dir):
        store.safety.data_dir = settings.data_dir.absolute()
    return store


def own_redis(settings: Settings) -> str:
    """REDIS_URL without its credentials, to be shown. Raises BadSettings."""
    try:
        return f"REDIS_URL {parse_redis_url(settings.redis_url).shown}"
    except ValueError as error:
        raise BadSettings(f"REDIS_URL: {error}") from error


@asynccontextmanager
async def redis_of(settings: Settings) -> AsyncIterator[tuple[str, str]]:
    """(URL, description) of the Redis in the settings; a private one runs during the block.

    Raises BadSettings, CannotStart, InUse.
    """
    if settings.redis_url:
        yield settings.redis_url, own_redis(settings)
        return
    durability = durability_of(settings)
    if durability.replicas:
        raise CannotStart(
            f"DURABILITY={durability}: the private server has no replicas; give a REDIS_URL"
        )
    server = private_server(settings.data_dir, settings.redis_server, durability)
    async with server as (url, version):
        yield url, f"private {version} in {settings.data_dir.absolute()}"


def data_set(store: Store) -> DataSet:
    return DataSet(
        store.redis,
        store.keys,
        store.comments,
        store.bans,
        store.journal,
        store.mending,
        store.format,
    )


def durability_of(settings: Settings) -> Durability:
    """DURABILITY, or its default: `fsync` with the private server, `everysec` with REDIS_URL."""
    return settings.durability or Durability("everysec" if settings.redis_url else "fsync")


def create_service(
    settings: Settings,
    store: Store,
    *,
    metrics: Metrics | None = None,
    clock: Callable[[], int] = now_ms,
    viewer_of: Callable[[str], Awaitable[Viewer]] | None = None,
) -> Service:
    """`viewer_of` is who else may say whose token it is. `metrics` need the routes of the
    application that the service is for (asgi.create_metrics), if it is for one."""
    sessions = _sessions_of(settings, store, clock)
    metrics = metrics or Metrics()
    return _of_nouns(store)(
        recipients=_recipients_of(settings, store, clock),
        account_mails=_account_mails_of(settings, store, metrics),
        tries_out=partial(_try_out, settings),
        captcha=_captcha_of(settings, store),
        bans=KnownBans(store.bans, clock, Networks(settings.trusted_proxies), store.background),
        rules=_rules_of(settings),
        display=_display_of(settings),
        counter_types=settings.counter_types,
        salt=_salt_of(settings, store),
        rate_limits=_rate_limits_of(settings),
        region_of=open_regions(settings.ip2region_db) if settings.ip2region_db else nowhere,
        metrics=metrics,
        renderer=Renderer(Pictures(settings.image_proxy, not settings.disable_images)),
        clock=clock,
        sessions=sessions,
        devices=Devices(store.accounts, clock),
        viewer_of=viewer_of or sessions.viewer,
        account_rules=account_rules_of(settings),
        site_name=settings.site_name or "Footfall",
        providers=_providers_of(settings),
        about=About(__version__, settings.shown()),
        export=_export_of(store, clock),
        importer=cache(partial(_importer_of, store)),
    )


def _importer_of(store: Store) -> Importer:
    # Loaded here, as the export is.
    from .transfer.importer import StoringImporter

    return StoringImporter(Imports(store.redis, store.scripts, store.keys))


def _export_of(store: Store, clock: Callable[[], int]) -> Callable[[], AsyncGenerator[bytes]]:
    def export() -> AsyncGenerator[bytes]:
        # Loaded here, since next to nobody asks for it.
        from .transfer.export import TABLES, Export, archive

        warn = logging.getLogger(__name__).warning
        damaged = partial(warn, "left out of an export, since it is damaged: %s")
        rows = Export(data_set(store), store.accounts, damaged).rows
        return archive(rows, TABLES, clock())

    return export


def _providers_of(settings: Settings) -> Providers:
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


def _of_nouns(store: Store) -> Callable[..., Service]:
    """What makes a service of the nouns in this store and of all else that it needs."""
    return partial(
        Service,
        counters=store.counters,
        counter_walk=store.counter_walk,
        quota=store.quota,
        trials=store.trials,
        comments=store.comments,
        moderation=store.moderation,
        deletions=store.deletions,
        journal=store.journal,
        background=store.background,
        undo_records=store.undo_records,
        recent=store.recent,
        site_index=store.site,
        accounts=store.accounts,
        log=store.log,
        backups=store.backups,
        outbox=store.outbox,
        cooldown=store.cooldown,
        safety=store.safety,
        scale=store.scale,
        trouble=store.trouble,
        waiting=store.waiting,
    )


def create_delivery(settings: Settings, service: Service) -> Delivery:
    """The worker behind the requests, with a channel for each that the settings name.

    Raises BadSettings.
    """
    try:
        channels = channels_of(
            settings, service.site_name, service.recipients, service.renderer.run_behind
        )
        judges = judges_of(settings)
    except ValueError as error:
        raise BadSettings(str(error)) from None
    return Delivery(service, channels, judges, site_url=settings.site_url)


async def _try_out(settings: Settings, service: Service, to: str) -> dict[str, str]:
    return await trial_news.tell(service, create_delivery(settings, service), to)


def _recipients_of(settings: Settings, store: Store, clock: Callable[[], int]) -> Recipients:
    return Recipients(
        store.unsubscribed,
        store.cooldown,
        store.accounts,
        clock,
        an_hour=settings.mail_rate,
        owner_an_hour=settings.owner_mail_rate,
        address=settings.server_url,
    )


def _account_mails_of(settings: Settings, store: Store, metrics: Metrics) -> AccountMails:
    """Mails lead to SERVER_URL alone: a Host that a request names may be anybody's."""
    sender = None
    if settings.has_mail and settings.server_url:
        name = settings.site_name or "Footfall"
        try:
            smtp = smtp_of(settings, name)
        except ValueError as error:
            raise BadSettings(str(error)) from None
        sender = Sender(smtp, settings.server_url, name, settings.site_url)
    elif settings.verify_email:
        raise BadSettings("VERIFY_EMAIL: needs SMTP_HOST or SMTP_SERVICE, and SERVER_URL")
    confirms = sender is not None and settings.verify_email is not False
    return AccountMails(store.background, store.cooldown, metrics, sender, confirms=confirms)


def _captcha_of(settings: Settings, store: Store) -> Captcha:
    verifier = None
    if settings.turnstile_secret:
        verifier = Verifier(
            "turnstile", settings.turnstile_secret, settings.turnstile_url, settings.turnstile_key
        )
    elif settings.recaptcha_secret:
        verifier = Verifier(
            "recaptchaV3", settings.recaptcha_secret, settings.recaptcha_url, settings.recaptcha_key
        )
    return Captcha(verifier, store.accounts, store.cooldown, wants_work=settings.registration_work)


def _salt_of(settings: Settings, store: Store) -> Callable[[], bytes]:
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


def _sessions_of(settings: Settings, store: Store, clock: Callable[[], int]) -> Sessions:
    lasts_ms = settings.session_days * DAY_MS
    return Sessions(store.accounts, clock, lasts_ms=lasts_ms, key=settings.jwt_token)


def account_rules_of(settings: Settings) -> AccountRules:
    return AccountRules(settings.registration, settings.setup_code, settings.login == "force")


def _rate_limits_of(settings: Settings) -> RateLimits:
    exempt = Networks(settings.trusted_proxies)
    return RateLimits(settings.counter_rate, settings.new_counter_rate, exempt)


def _rules_of(settings: Settings) -> Rules:
    return Rules(
        window_ms=round(settings.ipqps * 1000),
        comment_length=settings.comment_length,
        is_audited=settings.comment_audit,
        is_judged=bool(settings.judges),
        max_links=settings.max_links,
        trust_after=settings.trust_after,
        forbidden=settings.forbidden_words,
        disallowed=Networks(settings.disallow_ip_list),
    )


def _display_of(settings: Settings) -> DisplayOptions:
    return DisplayOptions(
        avatar=_avatar_of(settings),
        pictures=_portraits_of(settings),
        levels=settings.levels,
        shows_agent=not settings.disable_useragent,
        shows_region=not settings.disable_region,
    )


def _portraits_of(settings: Settings) -> Pictures:
    """Accounts name addresses of their own: they are pictures as those in comments, too."""
    are_shown = not (settings.disable_images or is_none(settings.gravatar_str))
    return Pictures(settings.avatar_proxy or settings.image_proxy, are_shown)


def _avatar_of(settings: Settings) -> Avatar:
    try:
        return compile_avatar(settings.gravatar_str, settings.avatar_proxy, settings.avatar_key)
    except ValueError as error:
        raise BadSettings(f"GRAVATAR_STR={settings.gravatar_str!r}: {error}") from None
