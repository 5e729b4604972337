from typing import Any

import pytest

from footfall.comments.store.moderation import Actor
from footfall.errors import Duplicate
from tests.conftest import ADMIN, BOB, EVE, Site, Sites

CHROME = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/120.0.0.0 Safari/537.36"
)
A_MINUTE = 60_000


async def test_a_posted_comment_is_answered_in_full(site: Site) -> None:
    posted = await site.post("hello **you**", link="https://ann.example", ua=CHROME)
    assert posted == {
        "objectId": posted["objectId"],
        "url": "/p",
        "comment": "<p>hello <strong>you</strong></p>\n",
        "orig": "hello **you**",
        "nick": "Ann",
        "link": "https://ann.example",
        "avatar": "https://seccdn.libravatar.org/avatar/257c57037d384ae37ea27a07e8a01665",
        "browser": "Chrome120.0",
        "os": "Linux",
        "status": "approved",
        "like": 0,
        "time": 1_700_000_000_001,
    }


async def test_a_root_has_no_key_that_clients_take_for_a_reply(site: Site) -> None:
    posted = await site.post("root")
    (listed,) = (await site.page())["data"]
    assert {"pid", "rid"} & (posted.keys() | listed.keys()) == set()


async def test_fields_that_were_not_sent_are_not_in_the_answer(site: Site) -> None:
    answer = await site.send("POST", "/api/comment", {"comment": "bare", "url": "/p"})
    assert {"nick", "link", "mail", "pid", "rid"} & answer["data"].keys() == set()


async def test_only_the_older_variant_dates_comments_as_text(site: Site) -> None:
    draft = {"comment": "hello", "url": "/p", "nick": "Ann", "mail": "ann@example.com"}
    posted = (await site.send("POST", "/comment", draft))["data"]
    assert posted["insertedAt"] == "2023-11-14T22:13:20.001Z"
    (listed,) = (await site.get("/comment", path="/p"))["data"]
    assert listed["insertedAt"] == "2023-11-14T22:13:20.001Z"
    (recent,) = await site.get("/comment", type="recent")
    assert recent["insertedAt"] == "2023-11-14T22:13:20.001Z"
    assert "insertedAt" not in (await site.page())["data"][0]


async def test_a_reply_in_the_older_variant_mentions_the_author_it_replies_to(site: Site) -> None:
    root = await site.post("root")
    id = root["objectId"]
    draft = {"comment": "reply", "url": "/p", "nick": "Ed", "pid": id, "rid": id, "at": "Ann"}
    posted = (await site.send("POST", "/comment", draft))["data"]
    assert posted["orig"] == f"[@Ann](#{id}): reply"
    assert posted["comment"] == f'<p><a href="#{id}">@Ann</a>: reply</p>\n'


async def test_a_reply_names_the_author_it_replies_to(site: Site) -> None:
    root = await site.post("root", nick="Ann", link="https://ann.example")
    await site.reply(root, "reply", nick="Ed")
    (listed,) = (await site.page())["data"]
    assert listed["children"][0]["reply_user"] == {
        "nick": "Ann",
        "link": "https://ann.example",
        "avatar": root["avatar"],
    }


@pytest.mark.parametrize("order", ["insertedAt_desc", "insertedAt_asc", "like_desc"])
async def test_roots_come_in_the_order_asked_for(site: Site, order: str) -> None:
    ids = [(await site.post(text))["objectId"] for text in "abcd"]
    for id, likes in zip(ids, (1, 0, 3, 1), strict=True):
        for _ in range(likes):
            await site.send("PUT", f"/comment/{id}", {"like": True})
    expected = {
        "insertedAt_desc": ["d", "c", "b", "a"],
        "insertedAt_asc": ["a", "b", "c", "d"],
        "like_desc": ["c", "d", "a", "b"],
    }
    assert await site.texts(sortBy=order) == expected[order]
    bare = await site.get("/comment", path="/p", sortBy=order)
    assert [root["orig"] for root in bare["data"]] == expected[order]


@pytest.mark.cluster
async def test_pages_have_some_of_the_roots_and_count_all_comments(site: Site) -> None:
    roots = [await site.post(f"root {n}") for n in range(5)]
    await site.reply(roots[0], "reply")
    page = await site.page(pageSize=2, page=3)
    assert {name: page[name] for name in ("page", "totalPages", "pageSize", "count")} == {
        "page": 3,
        "totalPages": 3,
        "pageSize": 2,
        "count": 6,
    }
    assert [root["orig"] for root in page["data"]] == ["root 0"]
    assert (await site.page(page=99))["data"] == []


@pytest.mark.parametrize(
    ("params", "errmsg"),
    [
        ({}, {"path": "path can not be blank"}),
        ({"path": ""}, {"path": "path can not be blank"}),
        ({"path": ["/a", "/b"]}, {"path": "path need a string"}),
        ({"path": "/a", "page": "abc"}, {"page": "page need an integer under your options"}),
        ({"path": "/a", "page": "1e1"}, {"page": "page need an integer under your options"}),
        ({"path": "/a", "page": "9" * 20}, {"page": "page need an integer under your options"}),
        (
            {"path": "/a", "pageSize": "101"},
            {"pageSize": "pageSize need an integer under your options"},
        ),
        (
            {"path": "/a", "sortBy": "like_asc"},
            {
                "sortBy": "sortBy need in an array of "
                '["insertedAt_desc","insertedAt_asc","like_desc"]'
            },
        ),
        (
            {"path": "/a", "page": "x", "pageSize": "x"},
            {
                "page": "page need an integer under your options",
                "pageSize": "pageSize need an integer under your options",
            },
        ),
        ({"type": "recent", "count": "51"}, {"count": "count need an integer under your options"}),
        ({"type": "recent", "count": "x"}, {"count": "count need an integer under your options"}),
        ({"type": "count", "url": "," * 200}, {"url": "url should be at most 200 paths"}),
    ],
)
async def test_a_malformed_query_names_every_field(
    site: Site, params: dict[str, Any], errmsg: dict[str, str]
) -> None:
    for path in ("/api/comment", "/comment"):
        assert await site.get(path, **params) == {"errno": 1001, "errmsg": errmsg}


async def test_counts_keep_their_order_and_shape(site: Site) -> None:
    await site.post("one")
    await site.post("two")
    await site.post("elsewhere", url="/q")
    questions = {"/p": ([2], 2), "/q,/p,/none,/q": ([1, 2, 0, 1], [1, 2, 0, 1]), "": (3, 3)}
    for url, (api, bare) in questions.items():
        assert (await site.get("/api/comment", type="count", url=url))["data"] == api
        assert await site.get("/comment", type="count", url=url) == bare
    assert (await site.get("/api/comment?type=count&url=/p&url=/q"))["data"] == [2, 1]


async def test_a_count_takes_the_path_in_the_older_variant_only(site: Site) -> None:
    await site.post("one")
    await site.post("elsewhere", url="/q")
    assert await site.get("/comment", type="count", path="/p") == 1
    assert await site.get("/comment", type="count", path="/p", url="/none") == 0
    assert (await site.get("/api/comment", type="count", path="/p"))["data"] == 2


async def test_recent_comments_are_the_sites_newest_with_their_paths(site: Site) -> None:
    for n in range(12):
        await site.post(str(n), url=f"/{n}")
    recent = (await site.get("/api/comment", type="recent", count=3))["data"]
    assert [(each["orig"], each["url"]) for each in recent] == [
        ("11", "/11"),
        ("10", "/10"),
        ("9", "/9"),
    ]
    for count in ("", "0", "-1"):
        assert len((await site.get("/api/comment", type="recent", count=count))["data"]) == 10


async def test_anybody_can_like_and_take_a_like_back(site: Site) -> None:
    id = (await site.post("hello"))["objectId"]
    liked = await site.send("PUT", f"/api/comment/{id}", {"like": True})
    assert (liked["data"]["like"], liked["data"]["objectId"]) == (1, id)
    for expected in (0, 0):
        unliked = await site.send("PUT", f"/comment/{id}", {"like": False})
        assert unliked["data"]["like"] == expected


@pytest.mark.parametrize(
    ("fields", "errmsg"),
    [
        ({"comment": ""}, {"comment": "comment can not be blank"}),
        (
            {"comment": None, "url": ""},
            {"comment": "comment can not be blank", "url": "url need an URL under your options"},
        ),
        ({"comment": 5}, {"comment": "comment need a string"}),
        ({"nick": "x" * 129, "link": {}}, {"link": "link need a string"}),
        ({"at": ["x"], "pid": {}}, {"pid": "pid need a string", "at": "at need a string"}),
    ],
)
async def test_a_malformed_comment_names_every_field(
    site: Site, fields: Any, errmsg: dict[str, str]
) -> None:
    draft = {"comment": "hello", "url": "/p", **fields}
    answer = await site.send("POST", "/api/comment", draft)
    assert answer == {"errno": 1001, "errmsg": errmsg}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"comment": "x" * 16_385}, "Your comment is too long (maximum 16384 characters)"),
        ({"nick": "x" * 129}, "Your name is too long (maximum 128 characters)"),
        ({"mail": "x" * 255}, "Your email address is too long (maximum 254 characters)"),
        ({"link": "x" * 2049}, "The address of your website is too long (maximum 2048 characters)"),
        ({"ua": "x" * 1025}, "Your browser's user agent is too long (maximum 1024 characters)"),
        ({"url": "/" * 2049}, "The address of this page is too long (maximum 2048 characters)"),
        ({"at": "x" * 129}, "The name you are replying to is too long (maximum 128 characters)"),
        ({"url": '/a"b'}, "Comments cannot be stored for a page with this address"),
        ({"pid": "0" * 32}, "The comment you are replying to does not exist"),
    ],
)
async def test_errors_that_readers_cause_are_sentences(
    site: Site, fields: Any, sentence: str
) -> None:
    draft = {"comment": "hello", "url": "/p", **fields}
    for path in ("/api/comment", "/comment"):
        answer = await site.send("POST", path, draft)
        assert answer == {"errno": 1000, "errmsg": sentence}
    assert (await site.page())["count"] == 0


async def test_the_length_of_comments_is_a_setting(make_site: Sites) -> None:
    site = await make_site(COMMENT_LENGTH="5")
    await site.post("\N{GRINNING FACE}" * 5)
    draft = {"comment": "sixsix", "url": "/p"}
    for language, sentence in (
        ("en-US", "Your comment is too long (maximum 5 characters)"),
        ("zh-CN", "评论太长，最多 5 个字符"),
        ("zh-TW", "留言太長，最多 5 個字元"),
    ):
        answer = await site.send("POST", f"/api/comment?lang={language}", draft)
        assert answer == {"errno": 1000, "errmsg": sentence}


@pytest.mark.parametrize("body", ["form", "multipart"])
async def test_the_longest_possible_comment_fits_into_every_kind_of_body(
    make_site: Sites, body: str
) -> None:
    site = await make_site(COMMENT_LENGTH="20000")
    fields = {"comment": "\N{GRINNING FACE}" * 20_000, "url": "/p"}
    sent: Any = (
        {"data": fields}
        if body == "form"
        else {"files": {name: (None, value) for name, value in fields.items()}}
    )
    answer = (await site.http.post("/api/comment", **sent)).json()
    assert answer["data"]["orig"] == fields["comment"]


async def test_the_same_text_by_the_same_author_is_refused(site: Site) -> None:
    await site.post("hello")
    site.clock.now += A_MINUTE
    draft = {"comment": "hello", "url": "/p", "nick": "Ann", "mail": "ann@example.com"}
    assert await site.send("POST", "/api/comment", draft) == {
        "errno": 1000,
        "errmsg": Duplicate.text,
    }
    answer = await site.send("POST", "/api/comment?lang=zh-CN", draft)
    assert answer["errmsg"].startswith("发送的内容之前已经发过")
    for other in ({"nick": "Ed"}, {"url": "/q"}, {"link": "https://ann.example"}):
        assert (await site.send("POST", "/api/comment", draft | other))["errno"] == 0


async def test_administrators_are_shown_a_blank_mail_as_it_was_sent(site: Site) -> None:
    for text, fields in (("blank", {"mail": ""}), ("none", {"mail": None})):
        draft = {"comment": text, "url": "/p", "nick": "Ann", **fields}
        await site.send("POST", "/api/comment", draft)
    await site.settled()
    for listed in (await site.page(by=ADMIN), await site.get("/comment", type="list", by=ADMIN)):
        assert {each["orig"]: each["mail"] for each in listed["data"]} == {
            "blank": "",
            "none": None,
        }


async def test_an_address_posts_once_in_a_window(make_site: Sites) -> None:
    site = await make_site(IPQPS="60")
    draft = {"comment": "1", "url": "/p", "nick": "Ann"}

    async def post(text: str, address: str, **fields: Any) -> Any:
        response = await site.http.post(
            "/api/comment",
            json=draft | {"comment": text} | fields,
            headers={"x-forwarded-for": address},
        )
        return response.json().get("errmsg")

    assert await post("1", "192.0.2.1") == ""
    assert (await post("2", "192.0.2.1")).startswith("Comment too fast! ")
    assert (await post("2", "192.0.2.1", url="/q")).startswith("Comment too fast! ")
    site.clock.now += A_MINUTE
    assert await post("1", "192.0.2.1") == Duplicate.text
    assert await post("2", "192.0.2.2") == ""
    # One household has a whole /64 of IPv6 addresses.
    assert await post("3", "2001:db8:1:1::1") == ""
    assert (await post("4", "2001:db8:1:1::2")).startswith("Comment too fast! ")
    assert await post("5", "2001:db8:1:2::1") == ""


async def test_a_refused_comment_starts_no_cooldown(make_site: Sites) -> None:
    site = await make_site(IPQPS="60")
    await site.post("hello")
    site.clock.now += A_MINUTE
    headers = {"x-forwarded-for": "192.0.2.9"}
    draft = {"comment": "hello", "url": "/p", "nick": "Ann", "mail": "ann@example.com"}
    refused = await site.http.post("/api/comment", json=draft, headers=headers)
    assert refused.json()["errmsg"] == Duplicate.text
    taken = await site.http.post("/api/comment", json=draft | {"nick": "Ed"}, headers=headers)
    assert taken.json()["errno"] == 0


async def test_an_administrator_is_exempt_but_starts_a_cooldown(make_site: Sites) -> None:
    site = await make_site(IPQPS="60", FORBIDDEN_WORDS="spam", COMMENT_AUDIT="true")
    for _ in range(2):
        assert (await site.post("spam", by=ADMIN))["status"] == "approved"
    draft = {"comment": "hello", "url": "/p", "nick": "Ann"}
    assert ((await site.send("POST", "/api/comment", draft))["errmsg"]).startswith(
        "Comment too fast! "
    )


BLANK = (
    "   ",
    "\n\n",
    "\u3000",
    "\u200b\u200b",
    "\u2800",
    "\u3164",
    "\xad",
    "<!-- x -->",
    "<script>x</script>",
    "<b></b>",
    "<p>\u200b</p>",
    "&nbsp;",
    "&#8203;",
    "[](x)",
    "- ",
    "> ",
    "<img>",
    "[a]: https://a.example",
)


@pytest.mark.parametrize("text", BLANK)
async def test_a_comment_of_which_nothing_is_seen_is_refused(site: Site, text: str) -> None:
    refused = {"errno": 1001, "errmsg": {"comment": "comment can not be blank"}}
    own = (await site.post("seen", by=BOB))["objectId"]
    body = {"comment": text, "url": "/p"}
    for by in (None, BOB, ADMIN):
        assert await site.send("POST", "/api/comment", body, by=by) == refused
    for by in (BOB, ADMIN):
        edit = {"comment": text}
        assert await site.send("PUT", f"/api/comment/{own}", edit, by=by) == refused
    assert await site.texts() == ["seen"]


@pytest.mark.parametrize(
    "text", ["![](https://a.example/x.png)", "---", "$x$", "`a`", "\u2764\ufe0f", "<hr>", "\u0301"]
)
async def test_a_comment_need_not_have_letters(site: Site, text: str) -> None:
    assert await site.post(text)


@pytest.mark.parametrize(
    "text",
    [
        "ca**si**no",
        "c&#97;sino",
        "[cas](x)ino",
        "ca<b></b>sino",
        "\u8d4c<!-- -->\u535a",
        "\u8d4c\u200b\u535a",
        "\u8d4c\u3164\u535a",
        "cas\u034fino",
        "cas\ufe0fino",
        "cas\U000e0041ino",
        "\uff43\uff41\uff53\uff49\uff4e\uff4f",
    ],
)
async def test_a_forbidden_word_is_what_readers_see(make_site: Sites, text: str) -> None:
    site = await make_site(FORBIDDEN_WORDS="casino,\u8d4c\u535a")
    await site.post(text)
    assert await site.texts() == []


async def test_a_forbidden_word_makes_spam_that_nobody_but_administrators_see(
    make_site: Sites,
) -> None:
    site = await make_site(FORBIDDEN_WORDS="spamword, b.d ,词")
    for text in ("a SPAMWORD inside", "a bad thing", "一个词"):
        assert (await site.post(text))["status"] == "spam"
    assert (await site.post("fine"))["status"] == "approved"
    assert await site.texts() == ["fine"]
    assert len(await site.texts(by=ADMIN)) == 4


async def test_a_waiting_comment_is_hidden_from_the_public_everywhere(make_site: Sites) -> None:
    site = await make_site(COMMENT_AUDIT="true")
    assert (await site.post("waiting", by=BOB))["status"] == "waiting"
    for viewer, seen in ((None, 0), (EVE, 0), (BOB, 1)):
        page = await site.page(by=viewer)
        assert (len(page["data"]), page["count"]) == (seen, seen)
        for url in ("/p", ""):
            count = await site.get("/comment", by=viewer, type="count", url=url)
            assert count == seen
        recent = await site.get("/comment", by=viewer, type="recent")
        assert len(recent) == seen
    # As in Waline, an administrator sees it in the list but not in the counts.
    assert len((await site.page(by=ADMIN))["data"]) == 1
    assert await site.get("/comment", by=ADMIN, type="count", url="/p") == 0


@pytest.mark.cluster
async def test_an_approved_comment_appears_everywhere(make_site: Sites) -> None:
    site = await make_site(COMMENT_AUDIT="true")
    id = (await site.post("waiting"))["objectId"]
    answer = await site.send("PUT", f"/api/comment/{id}", {"status": "approved"}, by=ADMIN)
    assert answer["data"]["status"] == "approved"
    assert await site.texts() == ["waiting"]
    assert await site.get("/comment", type="count") == 1
    assert len(await site.get("/comment", type="recent")) == 1
    await site.send("PUT", f"/api/comment/{id}", {"status": "spam"}, by=ADMIN)
    assert await site.texts() == []
    assert await site.get("/comment", type="count") == 0


async def test_an_address_on_the_list_may_not_comment(make_site: Sites) -> None:
    site = await make_site(DISALLOW_IP_LIST="192.0.2.0/24, 198.51.100.7")
    draft = {"comment": "hello", "url": "/p"}
    for address in ("192.0.2.77", "198.51.100.7", "::ffff:192.0.2.1"):
        response = await site.http.post(
            "/api/comment", json=draft, headers={"x-forwarded-for": address}
        )
        assert (response.status_code, response.json()["errno"]) == (403, 403)
    assert (await site.send("POST", "/api/comment", draft))["errno"] == 0


async def test_levels_rise_with_an_authors_approved_comments(make_site: Sites) -> None:
    site = await make_site(LEVELS="0,2,3")
    for n, level in enumerate((0, 1, 2, 2)):
        await site.post(str(n))
        assert (await site.page())["data"][0]["level"] == level
    await site.post("by another", mail="ed@example.com")
    assert (await site.page())["data"][0]["level"] == 0
    await site.post("by nobody", mail="")
    assert (await site.page())["data"][0]["level"] == 0


async def test_a_comment_counts_for_the_author_whose_mail_it_has(make_site: Sites) -> None:
    site = await make_site(LEVELS="0,2")
    first, *_ = [await site.post(text) for text in "ab"]
    await site.post("c", mail="ed@example.com")
    for mail, levels in (("ed@example.com", [1, 0, 1]), (" Ann@example.com", [0, 1, 1])):
        change = {"mail": mail}
        await site.send("PUT", f"/api/comment/{first['objectId']}", change, by=ADMIN)
        assert [each["level"] for each in (await site.page())["data"]] == levels
        numbers = [each["count"] for each in (await site.get("/api/user"))["data"]]
        assert numbers == [2, 1]


async def test_browser_and_region_can_be_switched_off(make_site: Sites) -> None:
    site = await make_site(DISABLE_USERAGENT="true", DISABLE_REGION="true")
    posted = await site.post("hello", ua=CHROME)
    assert {"browser", "os", "addr"} & posted.keys() == set()


async def test_a_link_that_would_run_a_script_is_dropped(site: Site) -> None:
    posted = await site.post("hello", link="javascript:alert(1)")
    assert posted["link"] == ""


# Waline's answers in each of its languages, and in those that it does not have.
DUPLICATE = {
    "zh-CN": "发送的内容之前已经发过",
    "zh-TW": "發送的內容之前已經發過",
    "en": "Duplicate Content",
    "en-US": "Duplicate Content",
    "": "Duplicate Content",
    "xx": "Duplicate Content",
    "es": "Duplicate Content",
    "it": "Contenuto duplicato",
    "it-IT": "Contenuto duplicato",
    "jp": "重複した内容が送信されました",
    "jp-JP": "重複した内容が送信されました",
    "ko": "중복된 내용",
    "ko-KR": "중복된 내용",
    "de": "Doppelter Inhalt gesendet",
    "fr": "Contenu dupliqué envoyé",
    "fr-FR": "Contenu dupliqué envoyé",
    "ru": "Дублированное содержание",
    "ru-RU": "Дублированное содержание",
    "vi": "Nội dung trùng lặp đã được gửi",
    "vi-VN": "Nội dung trùng lặp đã được gửi",
    "pt-BR": "Conteúdo duplicado enviado",
    # Some languages that it does not have.
    "de-AT": "Doppelter Inhalt gesendet",
    "ja": "重複した内容が送信されました",
    "zh-HK": "發送的內容之前已經發過",
    "zh": "发送的内容之前已经发过",
}


async def test_each_language_has_the_references_words(make_site: Sites) -> None:
    site = await make_site(IPQPS="60")
    await site.post("hello")
    site.clock.now += A_MINUTE
    draft = {"comment": "hello", "url": "/p", "nick": "Ann", "mail": "ann@example.com"}
    for language, expected in DUPLICATE.items():
        answer = await site.send("POST", f"/api/comment?lang={language}", draft)
        assert answer["errmsg"].startswith(expected)
        assert answer["errmsg"] != expected
        # The first words of this one are the same in every language.
        answer = await site.send("POST", f"/comment?lang={language}", draft | {"comment": "2"})
        assert (answer["errmsg"]).startswith("Comment too fast! ")


async def test_an_index_that_is_a_step_behind_shows_no_held_comments(site: Site) -> None:
    posted = await site.post("soon spam")
    await site.post("fine", by=BOB)
    (shown,) = await site.store.comments.by_ids([posted["objectId"]])
    # The page knows of the hold, and the site's index does not.
    await site.store.moderation.moderate(shown, "spam", 1, Actor("moderator"))
    assert [each["orig"] for each in await site.get("/comment", type="recent")] == ["fine"]


async def test_an_id_may_have_an_extension_or_a_slash(site: Site) -> None:
    id = (await site.post("hello"))["objectId"]
    for n, target in enumerate((f"{id}.html", f"{id}/", f"?id={id}"), 1):
        answer = await site.send("PUT", f"/api/comment/{target}", {"like": True})
        assert answer["data"]["like"] == n


async def test_when_too_many_comments_wait_to_be_rendered_nothing_is_stored(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await make_site(IPQPS="60")
    monkeypatch.setattr(site.service.process.pools.rendering, "capacity", 0)
    draft = {"comment": "hello", "url": "/p", "nick": "Ann", "mail": "ann@example.com"}
    response = await site.http.post("/api/comment", json=draft)
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    monkeypatch.undo()
    # Its author may try again at once.
    assert (await site.send("POST", "/api/comment", draft))["errno"] == 0


async def test_the_refusal_of_a_fast_comment_says_when_to_come_back(make_site: Sites) -> None:
    site = await make_site(IPQPS="60")
    await site.post("hello")
    response = await site.http.post("/api/comment", json={"comment": "again", "url": "/p"})
    assert 50 < int(response.headers["retry-after"]) <= 60
