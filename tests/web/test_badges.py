"""Badges that count: our own, and those of hits.sh, seeyoufarm and komarev."""

from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from footfall.model import NO_VIEWS
from tests.conftest import Site, Sites

# A protocol is a codec, and asks the store for what others ask.
ON = ("fake",)

SVG = "{http://www.w3.org/2000/svg}"
CAMO = {"user-agent": "github-camo (4f9a1b2c)"}


@pytest.fixture
async def site(make_site: Sites) -> Site:
    return await make_site(COMPAT="badges")


async def views(site: Site, path: str = "/a") -> Any:
    """What is counted; names of projects and profiles are not pages."""
    type = "time" if path.startswith("/") else NO_VIEWS
    return await site.get("/article", path=path, type=type)


def read(answer: httpx.Response) -> ElementTree.Element:
    """The picture, as a strict reader of XML has it."""
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["access-control-allow-origin"] == "*"
    return ElementTree.fromstring(answer.content)


async def told(site: Site, url: str, **headers: str) -> str:
    """The title of a badge, which says all that it shows."""
    answer = await site.http.get(url, headers=headers)
    assert answer.status_code == 200, answer.text
    return read(answer).findtext(f"{SVG}title") or ""


async def refused(site: Site, url: str) -> tuple[int, str]:
    answer = await site.http.get(url)
    label, _, words = (read(answer).findtext(f"{SVG}title") or "").partition(": ")
    assert label == "error"
    return answer.status_code, words


# Our own.


async def test_a_badge_counts_the_pages_one_counter(site: Site) -> None:
    assert await told(site, "/badge/a.svg") == "views: 1"
    assert await site.count("/a") == 2
    assert await told(site, "/badge//a.svg") == "views: 3"
    assert await told(site, "/badge/a.svg?count=false") == "views: 3"
    assert await told(site, "/badge/.svg") == "views: 1"
    assert await views(site, "/") == 1


async def test_a_number_may_start_higher_and_be_short(site: Site) -> None:
    shown = {
        "": "views: 1",
        "base=999": "views: 1000",
        "base=999&abbreviated=true": "views: 1K",
        "base=12344&abbreviated=true": "views: 12.3K",
        "base=999998&abbreviated=true": "views: 999.9K",
        "base=2499999&abbreviated=true": "views: 2.5M",
        "base=999999999999&abbreviated=true": "views: 1000B",
        "base=-5": "views: 1",
        "abbreviated=true": "views: 1",
    }
    await told(site, "/badge/a.svg")
    for query, expected in shown.items():
        assert await told(site, f"/badge/a.svg?count=false&{query}") == expected
    assert await views(site) == 1


@pytest.mark.parametrize("style", ["flat", "flat-square", "plastic", "for-the-badge"])
async def test_a_badge_has_two_halves_in_which_its_texts_fit(site: Site, style: str) -> None:
    url = f"/badge/a.svg?style={style}&label=page views&color=fE7D37&labelColor=blue"
    picture = read(await site.http.get(url))
    assert picture.get("aria-label") == picture.findtext(f"{SVG}title") == "page views: 1"
    assert picture.get("role") == "img"
    halves = [each for each in picture.iter(f"{SVG}rect") if each.get("fill", "")[:1] == "#"]
    assert [halve.get("fill") for halve in halves] == ["#007ec6", "#fe7d37"]
    texts = [*picture.iter(f"{SVG}text")]
    words = ["PAGE VIEWS", "1"] if style == "for-the-badge" else ["page views", "1"]
    assert [each.text for each in texts] == words
    widths = [float(halve.get("width", 0)) for halve in halves]
    assert sum(widths) == float(picture.get("width", 0))
    for text, width in zip(texts, widths, strict=True):
        assert 0 < float(text.get("textLength", 0)) < width


ATTACKS = (
    "</text><script>alert(1)</script>",
    '"/><image href="https://evil.example/x"/>',
    "' onload='alert(1)",
    "]]><!-- --><![CDATA[",
    "<!ENTITY x SYSTEM 'file:///etc/passwd'>&x;",
    "&#x3c;script&#x3e;",
    "&amp;&lt;",
    "<?xml version='1.0'?>",
    "javascript:alert(1)",
    "\x00\x01\x08\x0b\x1f\x7f\x80\x9f",
    "\u202eetad\u2066x\u2069\u200f\u061c",
    "\ufffe\uffff\U0001fffe\ufeff",
    "a\r\nset-cookie: x=y\r\n\r\n",
    "\u2028\u2029\x85",
    "👩‍👩‍👧‍👦🏳️‍🌈🇩🇪👍🏽",
    "Z̵̢̛a̷͔͝l̴̰̈g̸̝̈́ȯ̵̱",
    "مرحبا שלום 你好 नमस्ते",
    "%s%(x)s{0}\\u003c",
    "\U000e0041\U000e007f",
)


@pytest.mark.parametrize("style", ["flat", "for-the-badge"])
@pytest.mark.parametrize("text", ATTACKS, ids=ascii)
async def test_a_label_is_text_and_nothing_else(site: Site, text: str, style: str) -> None:
    label = text[:64]
    answer = await site.http.get("/badge/a.svg", params={"label": label, "style": style})
    picture = read(answer)
    plain = await site.http.get("/badge/a.svg", params={"label": "x", "style": style})
    # Nothing is in it that is not in any badge.
    tags = [each.tag for each in read(plain).iter()]
    assert [each.tag for each in picture.iter()] in (tags, tags[:-1])
    attributes = {name for each in read(plain).iter() for name in each.attrib}
    assert {name for each in picture.iter() for name in each.attrib} <= attributes
    shown = "".join(picture.itertext())
    assert not any(ord(each) < 32 or 0x202A <= ord(each) <= 0x2069 for each in shown)
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "set-cookie" not in answer.headers


async def test_what_is_escaped_is_shown_as_it_was_sent(site: Site) -> None:
    label = "<b>&amp;'\"</b>"
    answer = await site.http.get("/badge/a.svg", params={"label": label})
    assert next(read(answer).iter(f"{SVG}text")).text == label


async def test_bytes_that_are_no_text_are_no_error(site: Site) -> None:
    for broken in ("%FF%FE", "%ED%A0%80", "%C0%AE", "%E4%BD", "%", "%zz", "%00"):
        read(await site.http.get(f"/badge/a.svg?label={broken}"))
        assert (await site.http.get(f"/badge/{broken}.svg")).status_code == 200


@pytest.mark.parametrize(
    "color",
    [
        "url(#x)",
        '"',
        "red;x",
        "#",
        "##fff",
        "ab",
        "a" * 21,
        "red blue",
        "rgb(1,2,3)",
        "é" * 3,
        "１２３",
        "&#35;",
        "fff\n",
        "\u202efff",
        "%23fff",
    ],
)
async def test_a_colour_is_a_word_or_digits(site: Site, color: str) -> None:
    for name in ("color", "labelColor"):
        answer = await site.http.get("/badge/a.svg", params={name: color})
        assert answer.status_code == 400
        assert (read(answer).findtext(f"{SVG}title") or "").startswith(f"error: {name} ")
    assert await views(site) == 0


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("label=" + "x" * 65, "label should be at most 64 characters long"),
        ("label=a&label=b", "label need a string"),
        ("style=round", 'style need in an array of ["flat"'),
        ("style=pixel", 'style need in an array of ["flat"'),
        ("base=1e9", "base need an integer"),
        ("base=" + "9" * 5000, "base need an integer"),
        ("base=٣", "base need an integer"),
        ("abbreviated=maybe", 'abbreviated need in an array of ["true"'),
        ("count=no", 'count need in an array of ["true"'),
        ("&".join(f"x{n}=" for n in range(1001)), "query should be at most"),
    ],
    ids=lambda text: text[:20],
)
async def test_what_is_wrong_is_said_on_the_badge(site: Site, query: str, words: str) -> None:
    status, said = await refused(site, f"/badge/a.svg?{query}")
    assert (status, said[: len(words)]) == (400, words)
    assert await views(site) == 0


async def test_a_page_is_no_longer_than_any(site: Site) -> None:
    assert (await refused(site, f"/badge/{'a' * 2049}.svg"))[0] == 400
    assert (await refused(site, f"/api/count/incr/badge.svg?url={'a' * 2049}"))[0] == 400
    assert (await refused(site, "/badge/a.svg?label=" + "x" * 17_000))[0] == 431


# Those of others.


async def test_hits_counts_a_name_of_its_own(site: Site) -> None:
    assert await told(site, "/github.com/user/repository.svg") == "hits: 1"
    url = "/github.com/user/repository.svg?view=total&label=seen&extraCount=41&logo=github"
    assert await told(site, url) == "seen: 43"
    assert await views(site, "github.com/user/repository") == 2


async def test_what_starts_with_no_host_is_no_badge(site: Site) -> None:
    for url in ("/user/repository.svg", "/ui/favicon.svg", "/a.svg", "/.svg", "/github.com.svg"):
        answer = await site.http.get(url)
        assert "hits" not in answer.text, url
    assert (await site.http.get("/github.com/x.png")).status_code == 404


async def test_seeyoufarm_counts_and_keeps(site: Site) -> None:
    page = "url=https%3A%2F%2Fgithub.com%2Fuser%2Frepository"
    more = (
        "title=visits&title_bg=%23555555&count_bg=%2379C83D&edge_flat=true&icon=&icon_color=%23E7"
    )
    assert await told(site, f"/api/count/incr/badge.svg?{page}&{more}") == "visits: 1"
    assert await told(site, f"/api/count/keep/badge.svg?{page}") == "hits: 1"
    kept = await site.http.get(f"/api/count/keep/badge.svg?{page}")
    known = {"if-none-match": kept.headers["etag"]}
    again = await site.http.get(f"/api/count/keep/badge.svg?{page}", headers=known)
    assert again.status_code == 304
    assert await views(site, "https://github.com/user/repository") == 1
    assert await refused(site, "/api/count/incr/badge.svg") == (400, "url can not be blank")


async def test_a_site_may_count_a_whole_address_as_its_path(make_site: Sites) -> None:
    site = await make_site(COMPAT="badges", PATHS="host,slash")
    url = "/api/count/incr/badge.svg?url=https://blog.example/a/"
    assert await told(site, url) == "hits: 1"
    assert await views(site, "/a") == 1


@pytest.mark.parametrize(
    "path",
    [
        "/badge/a.svg",
        "/git.example/a.svg",
        "/api/count/incr/badge.svg?url=/a",
        "/ghpvc/?username=ann",
        "/hit/site/key/shield",
        "/counter/a.svg",
    ],
)
async def test_a_readme_may_show_a_picture_and_another_site_may_not(
    make_site: Sites, path: str
) -> None:
    site = await make_site(COMPAT="badges,abacus,goatcounter", SECURE_DOMAINS="blog.example")
    for headers, status in (
        (CAMO, 200),
        ({"referer": "https://blog.example/a"}, 200),
        ({"referer": "https://evil.example/"}, 403),
        ({"origin": "https://evil.example"}, 403),
    ):
        assert (await site.http.get(path, headers=headers)).status_code == status, headers
    for counting in ("/hit/site/key", "/count?p=/a"):
        assert (await site.http.get(counting, headers=CAMO)).status_code == 403


async def test_a_profile_counts_what_githubs_proxy_asks_for(site: Site) -> None:
    url = "/ghpvc/?username=Bob-1"
    assert await told(site, url) == "Profile views: 0"
    assert await told(site, url, **CAMO) == "Profile views: 1"
    assert await told(site, url, **{"user-agent": "x github-camo"}) == "Profile views: 1"
    assert await told(site, f"{url}&base=1000&abbreviated=true&label=seen") == "seen: 1K"
    assert await views(site, "ghpvc/Bob-1") == 1


async def test_a_profiles_badge_may_be_invisible(site: Site) -> None:
    picture = read(await site.http.get("/ghpvc/?username=bob&style=pixel", headers=CAMO))
    assert ([*picture], picture.get("width")) == ([], "1")
    assert await views(site, "ghpvc/bob") == 1


# Limits.
