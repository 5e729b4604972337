"""All settings: name in the environment, default, parser and meaning. They are read once at start.

The names are the reference server's wherever it has one, so that its env files can be used here.
Only app.py, cli/ and server/ see Settings; other modules get the values that they need.
"""

from collections.abc import Iterator
from dataclasses import Field, dataclass
from pathlib import Path
from typing import Any, get_args
from zoneinfo import ZoneInfo

from .environment import BadSettings as BadSettings
from .environment import FromEnvironment
from .model import COUNTERS, NO_VIEWS, PROTOCOLS, Durability, Registration, StatisticsPublic
from .netaddr import Network
from .outbox_settings import OutboxSettings
from .pages import RULES
from .patterns import Domain, Patterns
from .values import (
    buckets,
    counters,
    directory,
    domains,
    durability,
    env,
    filled,
    flag,
    host_or_address,
    issuer,
    level,
    levels,
    limit,
    login,
    mode,
    networks,
    number,
    one_of,
    optional,
    patterns,
    prefix,
    proxy_address,
    rate,
    redis_url,
    region_file,
    scopes,
    seconds,
    some_of,
    template,
    time_zone,
    timeout,
    web_address,
)

# In characters: the worst text of this length takes a second to render, and fits into a body.
MAX_COMMENT_LENGTH = 65_536


@dataclass(frozen=True)
class ProcessSettings(FromEnvironment):
    """What holds for the whole process: where it listens, its Redis, what it logs."""

    host: str = env("HOST", "127.0.0.1", host_or_address, "Address to listen on")
    port: int = env("PORT", "8360", number(0, 65535), "Port to listen on; 0 lets the kernel choose")
    uds: str = env(
        "UDS", "", optional, "Path of a UNIX socket to listen on, instead of an address and a port"
    )
    uds_mode: int = env("UDS_MODE", "660", mode, "Who may connect to that socket, as for chmod")
    workers: int = env("WORKERS", "1", number(1, 64), "Processes that share the port")
    max_connections: int = env(
        "MAX_CONNECTIONS",
        "10000",
        number(1, 1_000_000),
        "Connections that one worker takes; more get 503 and Retry-After",
    )
    drain_seconds: float = env(
        "DRAIN_SECONDS",
        "0",
        seconds,
        "Seconds after SIGTERM in which /readyz says 503 and requests are still taken",
    )
    log_format: str = env(
        "LOG_FORMAT", "text", one_of("text", "json"), "Log lines for people, or JSON objects"
    )
    log_level: str = env(
        "LOG_LEVEL",
        "warning",
        level,
        "What is logged: error, warning or info, each with what is before it",
    )
    access_log: bool = env(
        "ACCESS_LOG", "false", flag, "Write a line for each request to the standard output"
    )
    slow_seconds: float = env(
        "SLOW_SECONDS",
        "0.25",
        seconds,
        "Answers of Redis and requests that take longer are logged, one a second at most; 0: none",
    )
    data_dir: Path = env("DATA_DIR", "data", directory, "Where the private Redis keeps its data")
    redis_url: str = env(
        "REDIS_URL",
        "",
        redis_url,
        "A Redis of your own: redis://, rediss://, unix://, redis+sentinel:// or "
        "rediss+sentinel://; add ?cluster=true for a Redis Cluster. "
        "Empty: a private one is started in DATA_DIR",
        secret=True,
    )
    redis_password: str = env(
        "REDIS_PASSWORD",
        "",
        str,
        "Password at that Redis, in place of the one in REDIS_URL",
        secret=True,
    )
    redis_server: str = env(
        "REDIS_SERVER",
        "",
        optional,
        "Program to start as the private Redis; empty: the Valkey that came with the package",
    )
    redis_timeout: float = env(
        "REDIS_TIMEOUT", "1.5", timeout, "Seconds to wait for Redis before answering 503"
    )
    read_from_replicas: bool = env(
        "READ_FROM_REPLICAS",
        "false",
        flag,
        "On a Redis Cluster, ask replicas: counts and pages may be some milliseconds old",
    )
    redis_wait: float = env(
        "REDIS_WAIT", "60", seconds, "Seconds to wait at the start for a Redis that comes later"
    )
    durability: Durability | None = env(
        "DURABILITY",
        "",
        durability,
        "How safe a change is before it is acknowledged: memory, everysec, fsync, or replica:N. "
        "Empty: fsync with the private server, everysec with REDIS_URL",
    )
    guard: str = env(
        "GUARD",
        "refuse",
        one_of("refuse", "warn"),
        "What to do with a Redis that cannot keep what it is given: do not start, or start and "
        "warn",
    )
    trusted_proxies: tuple[Network, ...] = env(
        "TRUSTED_PROXIES", "127.0.0.0/8,::1", networks, "Networks whose X-Forwarded-For is believed"
    )
    ip2region_db: str = env(
        "IP2REGION_DB", "", region_file, "An ip2region .xdb file; empty: no regions"
    )

    def redis_access(self, anew: bool) -> tuple[str, str]:
        """(REDIS_URL, REDIS_PASSWORD), read anew from their files or as they were at the start.

        Raises ValueError, which names the file that cannot be read anew.
        """
        url, password = self.redis_url, self.redis_password
        if not anew:
            return url, password
        return self.given.now("REDIS_URL", url), self.given.now("REDIS_PASSWORD", password)


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


@dataclass(frozen=True)
class Settings(SiteSettings, ProcessSettings):
    """All settings of a process and of its site."""

    @classmethod
    def settings(cls) -> Iterator["Field[Any]"]:
        # Those of notifications come last.
        inherited = OutboxSettings.__annotations__
        return iter(sorted(super().settings(), key=lambda each: each.name in inherited))
