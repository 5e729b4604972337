"""Who sends a scenario's requests: their browsers' headers and, behind a proxy, their addresses.

A counter of views gets a different block of headers in every request: another page, another
browser, another language.
"""

from random import Random

from .scenarios import Headers

Header = tuple[str, str]

_CHROME = "Mozilla/5.0 ({}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 {}Safari/537.36"
_SYSTEMS = {
    "Windows": "Windows NT 10.0; Win64; x64",
    "macOS": "Macintosh; Intel Mac OS X 10_15_7",
    "Linux": "X11; Linux x86_64",
    "Android": "Linux; Android 10; K",
}
_LANGUAGES = (
    "en-US,en;q=0.9",
    "de-DE,de;q=0.9,en;q=0.8",
    "zh-CN,zh;q=0.9",
    "fr-FR,fr;q=0.9,en;q=0.7",
    "es-ES,es;q=0.9",
    "ja-JP,ja;q=0.9,en-US;q=0.8",
    "pt-BR,pt;q=0.9,en;q=0.6",
    "it-IT",
)
SITE = "https://blog.example"
# Visitors who come again and again. A worker remembers more of them.
KNOWN_VISITORS = 2_048
# Of four requests one is by somebody who was never there before.
NEW_EVERY = 4

# The place for the address of a visitor, which wrk.lua makes again for each request: one of 16.8
# million, since a busy site's next view almost never comes from where the last did.
ADDRESS_MARK = "\x02"


def headers_of(kind: Headers, n: int, random: Random, page: str) -> list[Header]:
    """Those of the n-th request, for this page.

    `plain` are none. `browser` are of a visitor who comes directly, `proxied` of another one each
    time, `known` of somebody who comes often; `quarter-new` are of these, but each fourth time of
    another one.
    """
    if kind == "plain":
        return []
    is_known = kind == "known" or (kind == "quarter-new" and n % NEW_EVERY != 0)
    if is_known:
        return known_visitor(random.randrange(KNOWN_VISITORS), page)
    headers = browser_headers(random, page)
    if kind != "browser":
        headers.append(("X-Forwarded-For", ADDRESS_MARK))
    return headers


def known_visitor(number: int, page: str) -> list[Header]:
    """Always the same browser at the same address, which is none of those that are made again."""
    address = f"12.0.{number // 256}.{number % 256}"
    return [*browser_headers(Random(number), page), ("X-Forwarded-For", address)]


def browser_headers(random: Random, page: str) -> list[Header]:
    """13 headers as Chrome sends them; with Host and those of a body, 16. One contains a MARK."""
    system = random.choice(tuple(_SYSTEMS))
    version = random.randrange(109, 143)
    is_mobile = system == "Android"
    brands = ("Chromium", version), ("Google Chrome", version), ("Not?A_Brand", 24)
    agent = _CHROME.format(_SYSTEMS[system], version, "Mobile " if is_mobile else "")
    return [
        ("Connection", "keep-alive"),
        ("sec-ch-ua-platform", f'"{system}"'),
        ("User-Agent", agent),
        ("sec-ch-ua", ", ".join(f'"{name}";v="{number}"' for name, number in brands)),
        ("sec-ch-ua-mobile", "?1" if is_mobile else "?0"),
        ("Accept", "*/*"),
        ("Origin", SITE),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "cors"),
        ("Sec-Fetch-Dest", "empty"),
        ("Referer", f"{SITE}{page}?visit=\x01"),
        ("Accept-Encoding", "gzip, deflate, br, zstd"),
        ("Accept-Language", random.choice(_LANGUAGES)),
    ]
