"""The settings of one site, as config.py has those of a process."""

from dataclasses import dataclass
from typing import get_args
from zoneinfo import ZoneInfo

from .model import COUNTERS, NO_VIEWS, PROTOCOLS, Registration, StatisticsPublic
from .netaddr import Network
from .outbox_settings import OutboxSettings
from .pages import RULES
from .patterns import Domain, Patterns
from .values import (
    buckets,
    counters,
    domains,
    env,
    filled,
    flag,
    issuer,
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
    web_address,
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
    def known_counter_types(self) -> tuple[str, ...]:
        """Without another protocol a type that is unknown is refused as Waline does."""
        return self.every_counter_type if self.compat else self.counter_types

    @property
    def every_counter_type(self) -> tuple[str, ...]:
        """With that of what is no page, which other protocols count."""
        return tuple(dict.fromkeys((*self.counter_types, NO_VIEWS)))

    key_prefix: str = env(
        "KEY_PREFIX", "ff", prefix, "First word of every key, so that several sites share a Redis"
    )
    counter_buckets: int = env(
        "COUNTER_BUCKETS",
        "65536",
        buckets,
        "Hashes that counters of a new data set are spread over; a restored one is new",
    )
    counter_types: tuple[str, ...] = env(
        "COUNTER_TYPES", ",".join(COUNTERS), counters, "Counters that a page may have"
    )
    compat: tuple[str, ...] = env(
        "COMPAT",
        "",
        some_of(*PROTOCOLS),
        "Other counters' protocols that are answered, between commas: "
        "leancloud, open-kounter, busuanzi (and Vercount), goatcounter, abacus (and CountAPI), "
        "badges. Empty: none",
    )
    leancloud_app_id: str = env(
        "LEANCLOUD_APP_ID",
        "",
        str,
        "The application that LeanCloud's clients have to name (X-LC-Id); empty: any",
    )
    leancloud_app_key: str = env(
        "LEANCLOUD_APP_KEY",
        "",
        str,
        "Its key, which they have to send or to sign with. It stands in the site's pages, so it is "
        "no secret and protects nothing. Empty: any",
    )
    paths: tuple[str, ...] = env(
        "PATHS",
        "",
        some_of(*RULES),
        "Rules by which two addresses are one page, between commas: host (without https://host), "
        "index (/a/index.html is /a/), slash (/a/ is /a), query (/a?b is /a), and tracking "
        "(/a?fbclid=1 is /a), which data sets made since 0.2.0 have in any case. Empty: none",
    )
    counter_rate: float = env(
        "COUNTER_RATE",
        "100",
        rate,
        "Changes of counters a second from one address, saved up for ten seconds; 0: no limit. "
        "TRUSTED_PROXIES themselves have none",
    )
    new_counter_rate: float = env(
        "NEW_COUNTER_RATE",
        "1",
        rate,
        "New counters a second from one address, 200 saved up; it can still change others. 0: no "
        "limit. TRUSTED_PROXIES themselves have none",
    )
    counter_limit: int = env(
        "COUNTER_LIMIT",
        "10000000",
        limit(10**12),
        "What all counters may take, in units of 100 bytes: one each, six more with statistics, "
        "and more for long paths; when it is reached, new counters are refused. 0: no limit",
    )
    site_pv_start: int = env(
        "SITE_PV_START",
        "0",
        limit(10**12),
        "Views of the site that another counter had, besides those of pages that were imported: "
        "busuanzi's and Vercount's site_pv begin with them",
    )
    site_uv_start: int = env(
        "SITE_UV_START", "0", limit(10**12), "Its visitors, with which site_uv begins"
    )
    site_name: str = env("SITE_NAME", "", str, "Name of the site, shown on the demonstration page")
    site_url: str = env("SITE_URL", "", web_address, "Address of the site")
    server_url: str = env(
        "SERVER_URL",
        "",
        web_address,
        "Address of this service as browsers see it; empty: taken from each request",
    )
    forum_url: str = env(
        "FORUM_URL", "", web_address, "Discussion forum that the demonstration page points to"
    )
    demo: bool = env(
        "DEMO",
        "true",
        flag,
        "Show the demonstration page at / and /api; count.js and top.js are always served",
    )
    ipqps: float = env(
        "IPQPS",
        "60",
        seconds,
        "Seconds between two comments, or edits, from one address; 0 or empty: no limit",
    )
    comment_length: int = env(
        "COMMENT_LENGTH",
        "16384",
        number(1, MAX_COMMENT_LENGTH),
        "Characters that a comment may have",
    )
    login: str = env(
        "LOGIN", "", login, "force: nobody comments without an account. Empty: anybody does"
    )
    registration: Registration = env(
        "REGISTRATION",
        "open",
        one_of("open", "invited", "closed"),
        "open: anybody can make an account; invited: only the first person can, who then is the "
        "administrator and adds others; closed: only `footfall accounts add` makes accounts",
    )
    setup_code: str = env(
        "SETUP_CODE", "", str, "What the first administrator has to know to register", secret=True
    )
    jwt_token: str = env(
        "JWT_TOKEN",
        "",
        str,
        "Secret that log-ins are signed with; changing it ends them all. Empty: one that is kept "
        "in Redis",
        secret=True,
    )
    oauth_url: str = env(
        "OAUTH_URL",
        "",
        web_address,
        "A service of Waline's kind, through which people log in by others. It needs SERVER_URL",
    )
    oidc_issuer: str = env(
        "OIDC_ISSUER",
        "",
        issuer,
        "An OpenID Connect provider to log in by, exactly as it names itself. It needs SERVER_URL "
        "and OIDC_CLIENT_ID",
    )
    oidc_client_id: str = env("OIDC_CLIENT_ID", "", str, "Name of this service at that provider")
    oidc_client_secret: str = env(
        "OIDC_CLIENT_SECRET", "", str, "Secret of that client; empty for a public one", secret=True
    )
    oidc_scopes: str = env(
        "OIDC_SCOPES", "openid profile email", scopes, "What that provider is asked for"
    )
    oidc_name: str = env(
        "OIDC_NAME", "OpenID Connect", filled, "What that provider is called on the log-in page"
    )
    session_days: int = env("SESSION_DAYS", "30", number(1, 3650), "Days that a log-in lasts")
    comment_audit: bool = env(
        "COMMENT_AUDIT", "false", flag, "New comments wait for an administrator's approval"
    )
    trust_after: int = env(
        "TRUST_AFTER",
        "0",
        limit(1_000_000),
        "Approved comments after which an account's new ones no longer wait; 0: they always do",
    )
    max_links: int = env(
        "MAX_LINKS",
        "0",
        number(0, 1000),
        "Comments with more links to any host than this wait for an administrator's approval; 0: "
        "no limit",
    )
    forbidden_words: Patterns | None = env(
        "FORBIDDEN_WORDS",
        "",
        patterns,
        "Regular expressions, separated by commas; a comment that matches one is held as spam",
    )
    disallow_ip_list: tuple[Network, ...] = env(
        "DISALLOW_IP_LIST", "", networks, "Addresses and networks that may not comment"
    )
    secure_domains: tuple[Domain, ...] = env(
        "SECURE_DOMAINS",
        "",
        domains,
        "Host names, or /patterns/, of the sites whose pages may call this service; empty: all",
    )
    avatar_proxy: str = env(
        "AVATAR_PROXY",
        "",
        proxy_address,
        "Service that avatars are shown through, called as <it>?url=<address>; false: none, but "
        "pictures that accounts have chosen come through IMAGE_PROXY",
    )
    gravatar_str: str = env(
        "GRAVATAR_STR",
        "",
        template,
        "Template of an avatar's address, from nick, mail and link. Empty: QQ's picture where nick "
        "or mail is a QQ number, else Libravatar's, which publishes the MD5 of the mail; the "
        "filter keyed, in place of md5, does not. none: no avatars, nor pictures of accounts",
    )
    avatar_key: str = env(
        "AVATAR_KEY",
        "",
        str,
        "Secret of the filter keyed in GRAVATAR_STR, an HMAC: without it nobody can test guessed "
        "mails",
        secret=True,
    )
    image_proxy: str = env(
        "IMAGE_PROXY",
        "",
        proxy_address,
        "Service that pictures in comments are shown through, called as <it>?url=<address>",
    )
    disable_images: bool = env(
        "DISABLE_IMAGES",
        "false",
        flag,
        "Show only the alternative text of pictures in comments, and no pictures of accounts",
    )
    disable_useragent: bool = env(
        "DISABLE_USERAGENT", "false", flag, "Do not show the browser and system of a comment"
    )
    disable_region: bool = env(
        "DISABLE_REGION", "false", flag, "Do not show the region of a comment"
    )
    statistics: str = env(
        "STATISTICS",
        "visitors",
        one_of("off", "views", "visitors"),
        "What is kept of when and by whom pages are viewed",
    )
    statistics_months: int = env(
        "STATISTICS_MONTHS",
        "25",
        number(1, 120),
        "Months for which the views of each day are kept, besides the current one",
    )
    statistics_public: StatisticsPublic = env(
        "STATISTICS_PUBLIC",
        "totals",
        one_of(*get_args(StatisticsPublic)),
        "What of the statistics is for everybody: totals; lists, too; all",
    )
    timezone: ZoneInfo = env(
        "TIMEZONE", "UTC", time_zone, "Time zone of the days and hours in statistics"
    )
    levels: tuple[int, ...] = env(
        "LEVELS", "", levels, "Approved comments needed for each level, rising; false: no levels"
    )
