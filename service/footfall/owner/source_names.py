"""Names by which people know the hosts that lead to a site."""

import re

# The last parts of a host -> its name.
NAMES = {
    "baidu.com": "Baidu",
    "bing.com": "Bing",
    "bsky.app": "Bluesky",
    "chatgpt.com": "ChatGPT",
    "claude.ai": "Claude",
    "duckduckgo.com": "DuckDuckGo",
    "ecosia.org": "Ecosia",
    "facebook.com": "Facebook",
    "feedly.com": "Feedly",
    "github.com": "GitHub",
    "hn.algolia.com": "Hacker News",
    "instagram.com": "Instagram",
    "kagi.com": "Kagi",
    "linkedin.com": "LinkedIn",
    "lnkd.in": "LinkedIn",
    "lobste.rs": "Lobsters",
    "news.ycombinator.com": "Hacker News",
    "perplexity.ai": "Perplexity",
    "qwant.com": "Qwant",
    "reddit.com": "Reddit",
    "so.com": "360",
    "sogou.com": "Sogou",
    "stackoverflow.com": "Stack Overflow",
    "startpage.com": "Startpage",
    "t.co": "X",
    "t.me": "Telegram",
    "threads.net": "Threads",
    "twitter.com": "X",
    "v2ex.com": "V2EX",
    "weibo.com": "Weibo",
    "wikipedia.org": "Wikipedia",
    "x.com": "X",
    "youtube.com": "YouTube",
    "zhihu.com": "Zhihu",
    # Applications on Android.
    "com.google.android.gm": "Gmail",
    "com.google.android.googlequicksearchbox": "Google",
    "org.telegram.messenger": "Telegram",
    # Large instances; others are known by their hosts.
    **dict.fromkeys(
        (
            "chaos.social",
            "fosstodon.org",
            "hachyderm.io",
            "infosec.exchange",
            "mas.to",
            "mastodon.online",
            "mastodon.social",
            "mastodon.world",
            "mstdn.jp",
            "mstdn.social",
            "social.tchncs.de",
        ),
        "Mastodon",
    ),
}
# Both have a host in each country.
_NATIONAL = re.compile(r"(?:.*\.)?(google|yandex)\.(?:com?\.)?[a-z]{2,3}")


def name_of(host: str) -> str:
    """Such as "Hacker News"; "" for a host that is known by no other name."""
    if match := _NATIONAL.fullmatch(host):
        return match[1].capitalize()
    parts = host.split(".")
    ends = (".".join(parts[at:]) for at in range(len(parts)))
    return next((NAMES[end] for end in ends if end in NAMES), "")
