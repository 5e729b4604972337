"""The demonstration page where no script runs: the server shows the comments and takes the form."""

import re
from html import unescape

import httpx
import pytest

from footfall.owner.demo import PATH
from tests.conftest import Site, Sites

FORM = {"url": PATH, "comment": "Hello *there*", "nick": "Bea", "mail": "bea@example.com"}


def plain(answer: httpx.Response) -> str:
    """What is there for a browser without scripts, as one line."""
    parts = re.findall(r"<noscript>(.*?)</noscript>", answer.text, re.DOTALL)
    return re.sub(r"\s+", " ", " ".join(parts))


async def test_a_comment_by_the_form_is_stored_and_shown(site: Site) -> None:
    sent = await site.http.post("/?lng=de", data=FORM)
    assert (sent.status_code, sent.headers["location"]) == (
        303,
        "?lng=de&stored=approved#comments-title",
    )
    answer = await site.http.get(sent.headers["location"].partition("#")[0])
    assert '<html lang="de"' in answer.text
    assert "Dein Kommentar ist veröffentlicht" in plain(answer)
    assert '<span class="nick">Bea</span>' in plain(answer)
    assert "Hello <em>there</em>" in plain(answer)


async def test_replies_stand_below_what_they_answer(site: Site) -> None:
    root = await site.post("a question", url=PATH)
    await site.reply(root, "an answer", url=PATH)
    shown = plain(await site.http.get("/"))
    assert re.search(r"a question.*<ol class=\"replies\">.*an answer.*</ol>", shown)


async def test_older_comments_are_a_link_away(site: Site) -> None:
    for number in range(11):
        await site.post(f"number {number:02}", url=PATH)
    first = plain(await site.http.get("/?lng=zh"))
    assert "number 10" in first
    assert "number 00" not in first
    (older,) = re.findall(r'href="(\?[^"]*)#comments-title"', first)
    assert "number 00" in plain(await site.http.get("/" + unescape(older)))


@pytest.mark.parametrize("page", ["0", "-1", "x", "99999", "9" * 5000, "²", "1&page=2"])
async def test_a_page_that_there_is_not_is_a_page(site: Site, page: str) -> None:
    assert (await site.http.get(f"/?page={page}")).status_code == 200


async def test_what_was_refused_stays_in_the_form_with_the_reason(site: Site) -> None:
    long = {**FORM, "comment": "</textarea><script>", "nick": "n" * 200, "link": '"><b>'}
    answer = await site.http.post("/", data=long)
    assert answer.status_code == 400
    shown = plain(answer)
    assert "Your name is too long" in shown
    assert "&lt;/textarea&gt;&lt;script&gt;</textarea>" in shown
    assert 'value="&#34;&gt;&lt;b&gt;"' in shown
    empty = await site.http.post("/?lng=zh", data={**FORM, "comment": ""})
    assert empty.status_code == 400
    assert '<html lang="zh-Hans"' in empty.text


@pytest.mark.parametrize(
    ("type", "body"),
    [
        ("application/x-www-form-urlencoded", b"a&" * 450_000),
        ("application/x-www-form-urlencoded", b"a&" * 2_000),
        ("application/x-www-form-urlencoded", b"comment=a&comment=b"),
        ("application/x-www-form-urlencoded", b"url=/a&comment=&nick=%ED%A0%80"),
        ("application/json", b"[1]"),
        ("image/png", b"\x89PNG"),
    ],
    ids=["large", "many", "twice", "surrogate", "list", "picture"],
)
async def test_what_is_no_such_form_is_refused_by_a_page(
    site: Site, type: str, body: bytes
) -> None:
    answer = await site.http.post("/", content=body, headers={"content-type": type})
    assert 400 <= answer.status_code < 500
    assert re.search(r'<p class="form-error" role="alert">[^<]+</p>', plain(answer))


@pytest.mark.parametrize("language", ["%ED%A0%80", "%ff", "x" * 3000, "a%0d%0aset-cookie:b"])
async def test_only_a_language_that_there_is_goes_on(site: Site, language: str) -> None:
    sent = await site.http.post(f"/?lng={language}", data=FORM)
    assert sent.headers["location"] == "?lng=en&stored=approved#comments-title"


async def test_a_comment_that_is_held_is_said_to_wait(make_site: Sites) -> None:
    site = await make_site(COMMENT_AUDIT="true")
    sent = await site.http.post("/", data=FORM)
    answer = await site.http.get("/" + sent.headers["location"].partition("#")[0])
    assert "is waiting for approval" in plain(answer)
    assert "Hello" not in plain(answer)


async def test_another_site_cannot_send_the_form(make_site: Sites) -> None:
    site = await make_site(SECURE_DOMAINS="blog.example")
    answer = await site.http.post("/", data=FORM, headers={"origin": "https://evil.example"})
    assert answer.status_code == 403
    # Who comes by a link from anywhere reads.
    reader = await site.http.get("/", headers={"referer": "https://evil.example/"})
    assert "No comments yet" in plain(reader)


async def test_where_comments_need_an_account_there_is_no_form(make_site: Sites) -> None:
    shown = plain(await (await make_site(LOGIN="force")).http.get("/"))
    assert "Comments here need an account" in shown
    assert "<form" not in shown


@pytest.mark.parametrize(("registration", "is_told"), [("open", True), ("closed", False)])
async def test_while_nobody_is_the_administrator_the_page_leads_there(
    make_site: Sites, registration: str, is_told: bool
) -> None:
    site = make_site.without_accounts(REGISTRATION=registration)
    assert ('<a href="ui/register">' in (await site.http.get("/")).text) is is_told
    person = {"display_name": "Mara", "email": "mara@example.com", "password": "an old garden"}
    await site.send("POST", "/api/user", person)
    assert '<a href="ui/register">' not in (await site.http.get("/")).text


async def test_an_unchanged_page_is_not_sent_again(site: Site) -> None:
    await site.post("hello", url=PATH)
    etag = (await site.http.get("/")).headers["etag"]
    assert (await site.http.get("/", headers={"if-none-match": etag})).status_code == 304


async def test_a_redis_that_is_away_is_said_where_the_comments_would_be(site: Site) -> None:
    await site.store.redis.close()
    answer = await site.http.get("/")
    assert answer.status_code == 200
    assert "comments could not be loaded" in plain(answer)
