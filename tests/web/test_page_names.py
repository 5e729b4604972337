"""One page is one page, in whichever spelling a client names it."""

from footfall.pages import RULES
from footfall.process.process import now_ms
from tests.conftest import Site, Sites

ON = ("fake",)

ENCODED, DECODED = "/2020/%E4%BD%A0%E5%A5%BD/", "/2020/你好/"


async def test_both_spellings_of_a_page_have_one_counter(site: Site) -> None:
    assert await site.count(ENCODED) == 1
    assert await site.count(DECODED, type="reaction0") == 1
    assert await site.count(DECODED) == 2
    assert await site.get("/article", path=ENCODED) == 2
    both = await site.get("/api/article", path=f"{ENCODED},{DECODED}", type="time,reaction0")
    assert both["data"] == [{"time": 2, "reaction0": 1}] * 2
    many = await site.send("POST", "/article", {"paths": [ENCODED, DECODED]})
    assert many == [2, 2]


async def test_both_spellings_of_a_page_have_the_same_comments(site: Site) -> None:
    await site.post("One", url=ENCODED)
    await site.post("Two", url=DECODED)
    for path in (ENCODED, DECODED):
        assert (await site.page(path))["count"] == 2
        assert await site.get("/api/comment", type="count", url=path) == await site.get(
            "/api/comment", type="count", url=DECODED
        )
        feed = await site.http.get("/api/comment/rss", params={"path": path})
        assert feed.text.count("<item>") == 2


async def test_both_spellings_of_a_page_have_the_same_days(make_site: Sites) -> None:
    site = await make_site(STATISTICS_PUBLIC="all")
    site.clock.now = now_ms()
    await site.count(ENCODED)
    await site.count(DECODED)
    for path in (ENCODED, DECODED):
        found = (await site.get("/api/statistics", path=path))["data"]
        assert found["total"] == 2, path


async def test_words_of_tracking_make_no_page(make_site: Sites) -> None:
    """The same in every protocol: forty readers from elsewhere are forty views of one page."""
    site = await make_site(COMPAT="goatcounter,leancloud,open-kounter")
    words = ("fbclid=1", "utm_source=x&utm_medium=y", "gclid=2", "ref=hn", "from=singlemessage")
    for number, word in enumerate(words, 1):
        assert await site.count(f"/tea/?{word}") == 2 * number - 1
        await site.http.get("/count", params={"p": f"/tea/?{word}"})
        await site.count(f"/tea/?page=2&{word}")
    assert await site.get("/article", path="/tea/?ref=a,/tea/") == [2 * len(words)] * 2
    assert await site.get("/article", path="/tea/?page=2") == len(words)
    asked = {"target": "/tea/?gclid=7"}
    found = (await site.http.get("/api/counter", params=asked)).json()
    assert found["data"]["time"] == 2 * len(words)
    where = {"where": '{"url":"/tea/?nsukey=1"}'}
    (found,) = (await site.http.get("/1.1/classes/Counter", params=where)).json()["results"]
    assert found["time"] == 2 * len(words)
    await site.post("Good.", url="/tea/?mc_cid=9")
    assert (await site.page("/tea/"))["count"] == 1


async def test_what_cannot_be_decoded_is_a_page_of_its_own(site: Site) -> None:
    for path in ("/100%", "/%E4%BD", "/a%2Fb", "/a/b", "/%25", "/%2525"):
        assert await site.count(path) == 1, path
    assert await site.get("/article", path="/%2525") == 1


async def test_rules_join_addresses_of_a_page(make_site: Sites) -> None:
    site = await make_site(PATHS=",".join(RULES))
    for path in ("/a", "/a/", "/a/index.html", "https://blog.example/a/", "/a/?b=1", "/a?ref=c"):
        await site.count(path)
    assert await site.get("/article", path="/a") == 6
    plain = await make_site()
    assert await plain.get("/article", path="/a/") == 0
