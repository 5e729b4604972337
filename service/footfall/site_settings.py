"""The settings of one site, as config.py has those of a process."""

from dataclasses import dataclass
from typing import get_args
from zoneinfo import ZoneInfo

from .model import COUNTERS, NO_VIEWS, PROTOCOLS, Registration, StatisticsPublic
from .netaddr import Network
from .outbox_settings import OutboxSettings
from .pages import RULES
from .patterns import Domain, Patterns
from .permissions import AccountRules
from .setting_texts import filled, issuer, line, secret, web_address
from .values import (
    buckets,
    bytes_or_default,
    counters,
    domains,
    env,
    flag,
    levels,
    limit,
    login,
    networks,
    number,
    one_of,
    patterns,
    prefix,
    proxy_address,
    rate,
    scopes,
    seconds,
    some_of,
    template,
    time_zone,
)

# In characters: the worst text of this length takes a second to render, and fits into a body.
MAX_COMMENT_LENGTH = 65_536


@dataclass(frozen=True)
class SiteSettings(OutboxSettings):
    """What belongs to one site."""

    @property
    def title(self) -> str:
        return self.site_name or "Footfall"

    @property
    def captcha_field(self) -> str:
        """The field of a request that has the captcha's token; "" without a captcha."""
        if self.turnstile_secret:
            return "turnstile"
        return "recaptchaV3" if self.recaptcha_secret else ""

    @property
    def captcha_service(self) -> tuple[str, str, str]:
        """The captcha's secret, its address, and its public key."""
        if self.turnstile_secret:
            return self.turnstile_secret, self.turnstile_url, self.turnstile_key
        return self.recaptcha_secret, self.recaptcha_url, self.recaptcha_key

    @property
    def account_rules(self) -> AccountRules:
        return AccountRules(
            self.registration, self.setup_code, self.login == "force", self.statistics_public
        )

    @property
    def known_counter_types(self) -> tuple[str, ...]:
        """Without another protocol, unknown types are rejected, as in Waline."""
        return self.every_counter_type if self.compat else self.counter_types

    @property
    def every_counter_type(self) -> tuple[str, ...]:
        """Including the type of counters that are not pages, which other protocols count."""
        return tuple(dict.fromkeys((*self.counter_types, NO_VIEWS)))

    key_prefix: str = env("ff", prefix)
    counter_buckets: int = env("65536", buckets)
    counter_types: tuple[str, ...] = env(",".join(COUNTERS), counters)
    compat: tuple[str, ...] = env("", some_of(*PROTOCOLS))
    leancloud_app_id: str = env("", line)
    leancloud_app_key: str = env("", line)
    paths: tuple[str, ...] = env("", some_of(*RULES))
    counter_rate: float = env("100", rate)
    new_counter_rate: float = env("1", rate)
    counter_limit: int = env("10000000", limit(10**12))
    site_pv_start: int = env("0", limit(10**12))
    site_uv_start: int = env("0", limit(10**12))
    site_name: str = env("", line)
    site_url: str = env("", web_address)
    server_url: str = env("", web_address)
    forum_url: str = env("", web_address)
    demo: bool = env("true", flag)
    ipqps: float = env("60", seconds)
    comment_length: int = env("16384", number(1, MAX_COMMENT_LENGTH))
    login: str = env("", login)
    registration: Registration = env("open", one_of("open", "invited", "closed"))
    setup_code: str = env("", secret, secret=True)
    jwt_token: str = env("", str, secret=True)
    oauth_url: str = env("", web_address)
    oidc_issuer: str = env("", issuer)
    oidc_client_id: str = env("", line)
    oidc_client_secret: str = env("", secret, secret=True)
    oidc_scopes: str = env("openid profile email", scopes)
    oidc_name: str = env("OpenID Connect", filled)
    session_days: int = env("30", number(1, 3650))
    comment_audit: bool = env("false", flag)
    bin_days: int = env("7", number(0, 365))
    spam_days: int = env("30", number(0, 3650))
    comment_limit: int | None = env("", bytes_or_default)
    held_days: int = env("30", number(0, 3650))
    trust_after: int = env("0", limit(1_000_000))
    report_after: int = env("0", number(0, 1000))
    search: bool = env("false", flag)
    max_links: int = env("0", number(0, 1000))
    forbidden_words: Patterns | None = env("", patterns)
    disallow_ip_list: tuple[Network, ...] = env("", networks)
    secure_domains: tuple[Domain, ...] = env("", domains)
    avatar_proxy: str = env("", proxy_address)
    gravatar_str: str = env("", template)
    avatar_key: str = env("", str, secret=True)
    image_proxy: str = env("", proxy_address)
    disable_images: bool = env("false", flag)
    disable_useragent: bool = env("false", flag)
    disable_region: bool = env("false", flag)
    statistics: str = env("visitors", one_of("off", "views", "visitors"))
    statistics_months: int = env("25", number(1, 120))
    statistics_people: bool = env("true", flag)
    ignore_addresses: tuple[Network, ...] = env("", networks)
    titles: bool = env("true", flag)
    statistics_public: StatisticsPublic = env("totals", one_of(*get_args(StatisticsPublic)))
    timezone: ZoneInfo = env("UTC", time_zone)
    levels: tuple[int, ...] = env("", levels)
