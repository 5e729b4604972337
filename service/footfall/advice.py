"""Warnings about settings that are valid one by one, but have no effect or a dangerous one.

A setting has no effect if it is misspelt, if only Waline has it, or if another
setting overrides it. Without a warning its operator would not notice.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from urllib.parse import urlsplit

from .config import Settings
from .environment import SUFFIX, is_service_link
from .patterns import Patterns
from .unsupported_settings import OTHERS, PROTECTING, unknown

# How similar two names must be, from 0 to 1; REDIS_TLS_URL and REDIS_URL are 0.82.
MIN_SIMILARITY = 0.85
# Shorter names, such as HOST, are similar to too many others.
MIN_NAME_CHARACTERS = 6
# Variables that Kubernetes and Docker add, named after services and links.
_LINK = re.compile(r".*_(SERVICE_(HOST|PORT.*)|PORT(_\d+_(TCP|UDP).*)?)")


def advice(settings: Settings, environ: Mapping[str, str]) -> Iterator[str]:
    """A line for each warning."""
    # An empty value is not set.
    environ = {name: text for name, text in environ.items() if text.strip()}
    yield from _misspelt(environ)
    for name, *_ in settings.table({}):
        if is_service_link(name, environ.get(name, "")):
            yield (
                f"{name} is a service link of Kubernetes, not a setting, and does nothing: "
                "enableServiceLinks: false in the pod removes it"
            )
    if names := unknown(environ):
        yield f"these settings of Waline do nothing here: {', '.join(names)}"
    yield from _overruled(settings, environ)
    yield from _without_effect(settings)
    yield from _of_a_protocol_that_is_not_spoken(settings)
    yield from _dangerous(settings)


def _misspelt(environ: Mapping[str, str]) -> Iterator[str]:
    names = [*(name for name, *_ in Settings().table({})), *PROTECTING]
    allowed = [*names, *(f"{name}{SUFFIX}" for name in names)]
    for name in sorted(environ.keys() - allowed - OTHERS):
        if len(name) < MIN_NAME_CHARACTERS or _LINK.fullmatch(name):
            continue
        wanted = name.upper() if name.upper() in allowed else ""
        nearest = (
            [wanted] if wanted else get_close_matches(name.upper(), allowed, 1, MIN_SIMILARITY)
        )
        if nearest and (wanted or nearest[0] not in environ):
            yield f"{name} is not a setting and does nothing. Did you mean {nearest[0]}?"


def _overruled(settings: Settings, environ: Mapping[str, str]) -> Iterator[str]:
    if settings.uds:
        for name in {"HOST", "PORT"} & environ.keys():
            yield f"{name} does nothing: UDS is set, and only that socket listens"
    elif "UDS_MODE" in environ:
        yield "UDS_MODE does nothing without UDS"
    if settings.redis_url:
        if settings.redis_server:
            yield "REDIS_SERVER does nothing: REDIS_URL is set, so no private server is started"
        if "DATA_DIR" in environ and _holds_something(settings):
            yield (
                f"REDIS_URL is set, so the data in DATA_DIR ({settings.data_dir}) is not served: "
                "move it with footfall backup and restore"
            )
    elif settings.redis_password:
        yield "REDIS_PASSWORD does nothing without REDIS_URL: a private server needs none"
    if settings.read_from_replicas and "cluster=true" not in settings.redis_url:
        yield "READ_FROM_REPLICAS does nothing without a Redis Cluster: ?cluster=true in REDIS_URL"


def _holds_something(settings: Settings) -> bool:
    try:
        return any(settings.data_dir.iterdir())
    except OSError:
        return False


def _without_effect(settings: Settings) -> Iterator[str]:
    if settings.ip2region_db and settings.disable_region:
        yield "DISABLE_REGION hides the regions of IP2REGION_DB"
    if settings.disable_images and settings.image_proxy:
        yield "IMAGE_PROXY does nothing: DISABLE_IMAGES is set, so there are no pictures"
    if settings.avatar_key and "keyed" not in settings.gravatar_str:
        yield "AVATAR_KEY does nothing: no filter named keyed is in GRAVATAR_STR"
    if settings.registration != "closed":
        yield from _captcha_without_key(settings)
    if settings.has_mail and not settings.server_url:
        yield (
            "without SERVER_URL no emails go to accounts: addresses are not confirmed, and "
            "passwords cannot be reset by email"
        )
    if settings.ignore_addresses and settings.statistics != "visitors":
        yield "IGNORE_ADDRESSES does nothing without STATISTICS=visitors"
    if settings.setup_code and settings.registration == "closed":
        yield "SETUP_CODE does nothing: REGISTRATION=closed allows no registration"


def _of_a_protocol_that_is_not_spoken(settings: Settings) -> Iterator[str]:
    if "leancloud" in settings.compat:
        return
    if settings.leancloud_app_id:
        yield "LEANCLOUD_APP_ID does nothing without COMPAT=leancloud"
    if settings.leancloud_app_key:
        yield "LEANCLOUD_APP_KEY does nothing without COMPAT=leancloud"


def _captcha_without_key(settings: Settings) -> Iterator[str]:
    if settings.turnstile_secret:
        name, key = "TURNSTILE_KEY", settings.turnstile_key
    else:
        name, key = "RECAPTCHA_V3_KEY", settings.recaptcha_key
    if not key and (settings.turnstile_secret or settings.recaptcha_secret):
        yield f"without {name} the captcha at /ui/register fails, so nobody can register there"


def _dangerous(settings: Settings) -> Iterator[str]:
    if any(network.prefixlen == 0 for network in settings.trusted_proxies):
        yield (
            "TRUSTED_PROXIES contains all addresses: clients can choose their address and bypass "
            "all rate limits"
        )
    for domain in settings.secure_domains:
        for source in domain.sources if isinstance(domain, Patterns) else ():
            if not (source.endswith("$") and source.startswith(("^", "(^", "(?:^", r"\."))):
                yield (
                    f"SECURE_DOMAINS: the pattern /{source}/ matches parts of host names, so also "
                    r"such hosts of strangers: write it as /(^|\.)example\.com$/"
                )
    host = urlsplit(settings.site_url).hostname
    if host and settings.secure_domains and not _is_among(host, settings):
        yield f"SECURE_DOMAINS leaves out {host}, the host of SITE_URL: its pages are rejected"


def _is_among(host: str, settings: Settings) -> bool:
    return any(
        domain.search(host) if isinstance(domain, Patterns) else domain == host
        for domain in settings.secure_domains
    )
