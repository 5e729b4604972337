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
        """Its secret, its address, and its public key."""
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

    key_prefix: str = env(
        "KEY_PREFIX",
        "ff",
        prefix,
        "First part of every key, so that several sites can share a Redis",
    )
    counter_buckets: int = env(
        "COUNTER_BUCKETS",
        "65536",
        buckets,
        "Number of hashes for the counters of a new or restored data set",
    )
    counter_types: tuple[str, ...] = env(
        "COUNTER_TYPES", ",".join(COUNTERS), counters, "Counters that a page can have"
    )
    compat: tuple[str, ...] = env(
        "COMPAT",
        "",
        some_of(*PROTOCOLS),
        "Other counters' protocols to answer, separated by commas: leancloud, open-kounter, "
        "busuanzi (and Vercount), goatcounter, abacus (and CountAPI), badges",
    )
    leancloud_app_id: str = env(
        "LEANCLOUD_APP_ID",
        "",
        line,
        "The application ID that LeanCloud clients must send (X-LC-Id); empty: any",
    )
    leancloud_app_key: str = env(
        "LEANCLOUD_APP_KEY",
        "",
        line,
        "The key that LeanCloud clients must send or sign with; it is public. Empty: any",
    )
    paths: tuple[str, ...] = env(
        "PATHS",
        "",
        some_of(*RULES),
        "Rules for addresses of one page, separated by commas: host (without https://host), "
        "index (/a/index.html is /a/), slash (/a/ is /a), query (/a?b is /a), tracking "
        "(/a?fbclid=1 is /a; always on for data sets made since 0.2.0)",
    )
    counter_rate: float = env(
        "COUNTER_RATE",
        "100",
        rate,
        "Counter changes per second and address, with a burst of ten seconds; 0: no limit. "
        "Trusted proxies are exempt",
    )
    new_counter_rate: float = env(
        "NEW_COUNTER_RATE",
        "1",
        rate,
        "New counters per second and address, with a burst of 200; 0: no limit. Trusted "
        "proxies are exempt",
    )
    counter_limit: int = env(
        "COUNTER_LIMIT",
        "10000000",
        limit(10**12),
        "Capacity for counters in units of 100 bytes: one per counter, six more with "
        "statistics, more for long paths. Further new counters are rejected. 0: no limit",
    )
    site_pv_start: int = env(
        "SITE_PV_START",
        "0",
        limit(10**12),
        "Earlier views of the site, added to the site_pv of busuanzi and Vercount; not those "
        "of imported pages",
    )
    site_uv_start: int = env(
        "SITE_UV_START", "0", limit(10**12), "Earlier visitors, added to site_uv"
    )
    site_name: str = env("SITE_NAME", "", line, "Name of the site")
    site_url: str = env("SITE_URL", "", web_address, "Address of the site")
    server_url: str = env(
        "SERVER_URL", "", web_address, "Public address of Footfall; empty: taken from each request"
    )
    forum_url: str = env(
        "FORUM_URL", "", web_address, "Discussion forum linked on the demonstration page"
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
        "Seconds between two comments or edits from one address; 0 or empty: no limit",
    )
    comment_length: int = env(
        "COMMENT_LENGTH", "16384", number(1, MAX_COMMENT_LENGTH), "Maximum characters of a comment"
    )
    login: str = env("LOGIN", "", login, "force: comments need an account")
    registration: Registration = env(
        "REGISTRATION",
        "open",
        one_of("open", "invited", "closed"),
        "Who can register: open: anybody; invited: only the first person, who becomes "
        "administrator and invites others; closed: nobody, only footfall accounts add creates"
        " accounts",
    )
    setup_code: str = env(
        "SETUP_CODE",
        "",
        secret,
        "Code that the first administrator must enter to register",
        secret=True,
    )
    jwt_token: str = env(
        "JWT_TOKEN",
        "",
        str,
        "Secret that signs sessions; a change ends all of them. Empty: one stored in Redis",
        secret=True,
    )
    oauth_url: str = env(
        "OAUTH_URL", "", web_address, "Waline login service (GitHub and others); needs SERVER_URL"
    )
    oidc_issuer: str = env(
        "OIDC_ISSUER",
        "",
        issuer,
        "OpenID Connect issuer, exactly as it names itself; needs SERVER_URL and OIDC_CLIENT_ID",
    )
    oidc_client_id: str = env("OIDC_CLIENT_ID", "", line, "Client ID at that provider")
    oidc_client_secret: str = env(
        "OIDC_CLIENT_SECRET", "", secret, "Client secret; empty for a public client", secret=True
    )
    oidc_scopes: str = env("OIDC_SCOPES", "openid profile email", scopes, "Scopes to request")
    oidc_name: str = env(
        "OIDC_NAME", "OpenID Connect", filled, "Name of the provider on the login page"
    )
    session_days: int = env("SESSION_DAYS", "30", number(1, 3650), "Days until a session ends")
    comment_audit: bool = env(
        "COMMENT_AUDIT",
        "false",
        flag,
        "New comments are pending until an administrator approves them",
    )
    bin_days: int = env(
        "BIN_DAYS",
        "7",
        number(0, 365),
        "Deleted comments can be restored for so many days; 0: for a minute",
    )
    spam_days: int = env(
        "SPAM_DAYS",
        "30",
        number(0, 3650),
        "Delete spam so many days after it was written, a day after it was marked at the earliest;"
        " 0: keep it",
    )
    comment_limit: int | None = env(
        "COMMENT_LIMIT",
        "",
        bytes_or_default,
        "Memory for comments in Redis, in bytes; further ones are rejected. 0: no limit; empty: "
        "half of the memory that Redis may use",
    )
    held_days: int = env(
        "HELD_DAYS",
        "30",
        number(0, 3650),
        "Once comments take 90% of COMMENT_LIMIT, delete pending comments and spam so many days "
        "after they were written; 0: keep them",
    )
    trust_after: int = env(
        "TRUST_AFTER",
        "0",
        limit(1_000_000),
        "Approved comments after which an account's comments are no longer pending; 0: never",
    )
    max_links: int = env(
        "MAX_LINKS",
        "0",
        number(0, 1000),
        "Comments with more links to other hosts are pending; 0: no limit",
    )
    forbidden_words: Patterns | None = env(
        "FORBIDDEN_WORDS",
        "",
        patterns,
        "Regular expressions, separated by commas; matching comments are spam",
    )
    disallow_ip_list: tuple[Network, ...] = env(
        "DISALLOW_IP_LIST", "", networks, "Addresses and networks that cannot comment"
    )
    secure_domains: tuple[Domain, ...] = env(
        "SECURE_DOMAINS",
        "",
        domains,
        "Hosts, or /patterns/, of the sites whose pages can call Footfall; empty: all",
    )
    avatar_proxy: str = env(
        "AVATAR_PROXY",
        "",
        proxy_address,
        "Proxy for avatars, called as <it>?url=<address>; false: none, and pictures of "
        "accounts use IMAGE_PROXY",
    )
    gravatar_str: str = env(
        "GRAVATAR_STR",
        "",
        template,
        "Template of avatar addresses from nick, mail and link. Empty: QQ's picture for QQ "
        "numbers, else Libravatar's, which reveals the email's MD5; use the filter keyed "
        "instead of md5 to prevent that. none: no avatars or pictures of accounts",
    )
    avatar_key: str = env(
        "AVATAR_KEY",
        "",
        str,
        "HMAC secret of the filter keyed in GRAVATAR_STR: prevents guessing emails",
        secret=True,
    )
    image_proxy: str = env(
        "IMAGE_PROXY",
        "",
        proxy_address,
        "Proxy for pictures in comments, called as <it>?url=<address>",
    )
    disable_images: bool = env(
        "DISABLE_IMAGES",
        "false",
        flag,
        "Show only the alternative text of pictures in comments, and no pictures of accounts",
    )
    disable_useragent: bool = env(
        "DISABLE_USERAGENT", "false", flag, "Hide the browser and system of comments"
    )
    disable_region: bool = env("DISABLE_REGION", "false", flag, "Hide the region of comments")
    statistics: str = env(
        "STATISTICS", "visitors", one_of("off", "views", "visitors"), "Statistics to collect"
    )
    statistics_months: int = env(
        "STATISTICS_MONTHS",
        "25",
        number(1, 120),
        "Months of daily views to keep, in addition to the current one",
    )
    statistics_public: StatisticsPublic = env(
        "STATISTICS_PUBLIC",
        "totals",
        one_of(*get_args(StatisticsPublic)),
        "Public statistics: none; totals; top adds page lists; all",
    )
    timezone: ZoneInfo = env(
        "TIMEZONE", "UTC", time_zone, "Time zone of days and hours in statistics"
    )
    levels: tuple[int, ...] = env(
        "LEVELS", "", levels, "Approved comments needed for each level, ascending; false: no levels"
    )
