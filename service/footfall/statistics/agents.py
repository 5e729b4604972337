"""Which views are by people, and the classes of the others, by user agent.

A class is for statistics alone. Crawlers with a browser's user agent are not detected, and nobody
is rejected for theirs.

The patterns are those of crawler-user-agents, where each crawler has tags. A few of them match
browsers, too, and are replaced here.
"""

from functools import cache, lru_cache

from ..patterns import PatternSet

# No pattern has to look farther: the last mark of a known crawler ends after 211 bytes.
MAX_AGENT_BYTES = 256
# With the longest user agents, they are 2 MB.
MAX_CACHED_AGENTS = 4_096
# Of Sec-Purpose, which has two words.
MAX_PURPOSE_BYTES = 100

PEOPLE = ""
NO_USER_AGENT = "no-user-agent"
WEBDRIVER = "webdriver"
PREFETCH = "prefetch"
# A bot by its own user agent that the list does not know.
OTHER_BOT = "other-bot"
# The tags of the list. A crawler with several gets the first: its operator precedes its purpose,
# and that its software.
TAGS = (
    "ai-crawler",
    "search-engine",
    "social-preview",
    "feed-reader",
    "archiver",
    "academic",
    "advertising",
    "seo",
    "monitoring",
    "scanner",
    "browser-automation",
    "http-library",
)
# Of visits by the site's own people, by their addresses (IGNORE_ADDRESSES).
OWN = "own"
CLASSES = (*TAGS, OTHER_BOT, NO_USER_AGENT, WEBDRIVER, PREFETCH, OWN)

# Patterns of the list that match browsers -> what only the crawler has; "" for none.
REPLACED = {
    # The build of Android 15 on most phones of OPPO, OnePlus and realme.
    r"AP3A\.240617\.008": "",
    # A browser for one site, and editors in which people read.
    "Fluid": "",
    r"Code\/1\.": "",
    r"Trae\/": "",
    # Sogou's browser, Viber's on phones.
    "Sogou": r"Sogou [A-Za-z ]*[Ss]pider",
    "Viber": r"^Viber",
    # Telephones: ViewSonic, HTC Butterfly, DESAY TS1008, Fever_Plus_J, Expanse, Odin.
    "Sonic": r"\bSonic\/|RankSonic",
    "Butterfly": r"Butterfly\/1",
    r"008\/": r"(?:^| )008\/",
    "Fever": r"Fever\/",
    "Expanse": "Expanse, a Palo Alto",
    "Odin;": "compatible; Odin;",
}
# Words that bots use and browsers do not. There are phones called Cubot and M bot.
DECLARED = (
    r"(?:[^u]|[^Cc]u|^)[Bb]ot(?:[\/;:,)(]|$)",
    r"(?i)crawl(?:er|ing)\b",
    r"[Ss]pider(?:[\/;)]|$)",
    r"(?i)scraper\b",
    r"\+ ?https?:\/\/",
    r"(?i)[a-z]@[a-z0-9-]+\.[a-z]",
)


def class_of_view(
    user_agent: bytes | str, *, purpose: bytes = b"", is_automated: bool = False
) -> str:
    """One of CLASSES, or PEOPLE.

    `purpose` is the header Sec-Purpose or its predecessor Purpose; `is_automated` is what a page's
    script reported of navigator.webdriver. The user agent takes precedence.
    """
    name = class_of(user_agent)
    if name:
        return name
    if is_automated:
        return WEBDRIVER
    return PREFETCH if purpose and is_ahead(purpose) else PEOPLE


def class_of(user_agent: bytes | str) -> str:
    """The class by the user agent alone. The first call loads the list, unless load has."""
    if isinstance(user_agent, str):
        user_agent = user_agent[:MAX_AGENT_BYTES].encode(errors="replace")
    return _class_of(user_agent[:MAX_AGENT_BYTES])


def load() -> None:
    """Load the list; in a thread, where nothing has to wait for it."""
    _patterns()


def is_ahead(purpose: bytes) -> bool:
    """Does a browser prefetch the page?"""
    purposes = purpose[:MAX_PURPOSE_BYTES].lower().replace(b",", b";").split(b";")
    return any(word.strip() in (b"prefetch", b"prerender") for word in purposes)


@lru_cache(maxsize=MAX_CACHED_AGENTS)
def _class_of(agent: bytes) -> str:
    if not agent.strip():
        return NO_USER_AGENT
    patterns, ranks = _patterns()
    matching = patterns.found(agent)
    return CLASSES[min(ranks[index] for index in matching)] if matching else PEOPLE


@cache
def _patterns() -> tuple[PatternSet, dict[str, int]]:
    """All patterns, and for each the place of its class among CLASSES."""
    # Loaded by the first view that is classed: services without statistics need none of it.
    from crawleruseragents import CRAWLER_USER_AGENTS_DATA

    ranks = dict.fromkeys(DECLARED, CLASSES.index(OTHER_BOT))
    for crawler in CRAWLER_USER_AGENTS_DATA:
        pattern = crawler["pattern"]
        if pattern := REPLACED.get(pattern, pattern):
            ranks[pattern] = _rank(crawler.get("tags", ()))
    return PatternSet(ranks), ranks


def _rank(tags: list[str]) -> int:
    """A newer list may have tags that are not known here."""
    return min((TAGS.index(tag) for tag in tags if tag in TAGS), default=CLASSES.index(OTHER_BOT))
