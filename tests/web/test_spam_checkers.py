"""Spam filters: a comment waits until they were asked, and they are told what moderators
correct."""

import asyncio
import threading
from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest

from footfall.app import create_delivery
from footfall.comments.rules import spam_check
from footfall.config import BadSettings, Settings
from footfall.notifications.rules.delivery import Delivery
from footfall.notify import spam_checkers
from tests.conftest import ADMIN, BOB, Site, Sites
from tests.support.receivers import Receiver, receiver
from tests.web.test_outbox import settle


@pytest.fixture(scope="module")
def akismet() -> Any:
    with receiver() as found:
        yield found


@pytest.fixture(autouse=True)
def fresh(akismet: Receiver) -> None:
    akismet.came.clear()
    akismet.headers.clear()
    akismet.answer = lambda path, body: (200, b"true" if b"viagra" in body else b"false")


async def judged(make_site: Sites, akismet: Receiver, **more: str) -> tuple[Site, Delivery]:
    make_site.store.outbox.is_on = True
    environ = {
        "AKISMET_KEY": "key",
        "AKISMET_URL": akismet.url,
        "SITE_URL": "https://blog.example",
        **more,
    }
    site = await make_site(**environ)
    return site, create_delivery(Settings.from_env(environ), site.service)


def asked(akismet: Receiver) -> list[str]:
    return [path.rpartition("/")[2] for path, _, _ in akismet.came]


async def status(site: Site, posted: Any) -> str:
    found = (await site.get("/api/comment", by=ADMIN, type="list"))["data"]["data"]
    return str(next(each["status"] for each in found if each["objectId"] == posted["objectId"]))


async def test_a_comment_waits_for_the_verdict(make_site: Sites, akismet: Receiver) -> None:
    site, delivery = await judged(make_site, akismet)
    ham, spam = await site.post("hello"), await site.post("buy viagra")
    assert ham["status"] == "waiting"
    assert await site.texts() == []
    await settle(site, delivery)
    assert await site.texts() == ["hello"]
    assert await status(site, spam) == "spam"
    form = parse_qs(akismet.came[0][2].decode())
    assert form["api_key"] == ["key"]
    assert form["blog"] == ["https://blog.example"]
    assert form["user_ip"] == ["127.0.0.1"]
    assert form["comment_author"] == ["Ann"]


async def test_the_log_has_what_filters_did_between_what_moderators_did(
    make_site: Sites, akismet: Receiver
) -> None:
    site, delivery = await judged(make_site, akismet)
    spam = await site.post("buy viagra")
    await settle(site, delivery)
    await site.send("PUT", f"/comment/{spam['objectId']}", {"status": "approved"}, by=ADMIN)
    await site.post("hello")
    await settle(site, delivery)
    entries = await site.store.log.newest(9)
    told = [(each.fields["door"], each.fields["now"]) for each in entries]
    assert told == [("filter", "approved"), ("api", "approved"), ("filter", "spam")]
    assert await site.store.log.newest(1, entries[0].id) == entries[1:2]
    assert await site.store.log.newest(9, entries[1].id) == entries[2:]


async def test_nobody_is_told_before_the_verdict_and_once_after_it(
    make_site: Sites, akismet: Receiver
) -> None:
    site, delivery = await judged(make_site, akismet, WEBHOOK=f"{akismet.url}/hook")
    await site.post("hello")
    await site.post("buy viagra")
    await settle(site, delivery)
    await settle(site, delivery)
    assert sorted(asked(akismet)) == ["comment-check", "comment-check", "hook"]
    assert asked(akismet)[-1] == "hook"


async def test_administrators_and_known_authors_wait_for_nobody(
    make_site: Sites, akismet: Receiver
) -> None:
    site, delivery = await judged(make_site, akismet, TRUST_AFTER="1")
    await site.post("mine", by=ADMIN)
    await site.post("first", by=BOB)
    await settle(site, delivery)
    posted = await site.post("second", by=BOB)
    assert posted["status"] == "approved"
    assert asked(akismet) == ["comment-check"]


async def test_what_waits_for_approval_goes_on_waiting_unless_it_is_spam(
    make_site: Sites, akismet: Receiver
) -> None:
    site, delivery = await judged(
        make_site, akismet, COMMENT_AUDIT="true", WEBHOOK=f"{akismet.url}/hook"
    )
    ham, spam = await site.post("hello"), await site.post("buy viagra")
    await settle(site, delivery)
    assert (await status(site, ham), await status(site, spam)) == ("waiting", "spam")
    assert asked(akismet).count("hook") == 1


ALERT = {"x-akismet-alert-code": "30001", "x-akismet-alert-msg": "Your limit is used up"}
# An answer, its headers, and what is said of it.
NO_VERDICTS: tuple[tuple[tuple[int, bytes], dict[str, str], str], ...] = (
    ((200, b"invalid"), {}, "neither true nor false: invalid"),
    ((200, b"invalid"), {"x-akismet-debug-help": "No blog"}, "neither true nor false: No blog"),
    ((200, b""), {}, "neither true nor false"),
    ((200, b"True"), {}, "neither true nor false: True"),
    ((200, b"false!"), {}, "neither true nor false: false!"),
    ((200, b'{"spam": false}'), {}, "neither true nor false"),
    ((200, b"<html>Log in</html>"), {}, "neither true nor false: <html>"),
    ((200, b"\xff" * 100_000), {}, "neither true nor false"),
    ((200, b"false"), ALERT, "alert 30001 Your limit is used up"),
    ((500, b""), {}, "status 500"),
    ((429, b"slow down"), {}, "status 429: slow down"),
    ((302, b""), {"location": "/"}, "status 302"),
)
NO_JUDGEMENTS = (
    *(b"", b"true", b"null", b"[]", b'{"verdict": null}', b'{"verdict": "HAM"}'),
    *(
        b'{"verdict": ["ham"]}',
        b'{"verdict": "ham."}',
        b'{"answer": "ham"}',
        b'```json\n{"verdict"',
    ),
    *(b"I think that this is ham.", b'{"verdict": {"is": "ham"}}'),
)


@pytest.mark.parametrize(("answer", "headers", "said"), NO_VERDICTS)
async def test_what_is_no_verdict_of_akismet_publishes_nothing_and_is_said(
    make_site: Sites,
    akismet: Receiver,
    answer: tuple[int, bytes],
    headers: dict[str, str],
    said: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    site, delivery = await judged(make_site, akismet)
    akismet.answer, akismet.headers = lambda path, body: answer, headers
    posted = await site.post("hello")
    await settle(site, delivery)
    assert await status(site, posted) == "waiting"
    (line,) = (each.message for each in caplog.records if "akismet: " in each.message)
    assert f"akismet: {said}" in line


@pytest.mark.parametrize("answer", NO_JUDGEMENTS)
async def test_what_is_no_verdict_of_a_web_service_publishes_nothing_and_is_said(
    make_site: Sites, akismet: Receiver, answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """As a language model may answer."""
    akismet.answer = lambda path, body: (200, answer)
    url = f"{akismet.url}/judge"
    site, delivery = await judged(make_site, akismet, AKISMET_KEY="false", JUDGE_WEBHOOK=url)
    posted = await site.post("hello")
    await settle(site, delivery)
    assert await status(site, posted) == "waiting"
    (line,) = (each.message for each in caplog.records if "webhook: " in each.message)
    assert "a verdict is spam or ham, and not " in line


async def test_spam_is_spam_also_with_an_alert(make_site: Sites, akismet: Receiver) -> None:
    site, delivery = await judged(make_site, akismet)
    akismet.headers = ALERT
    posted = await site.post("viagra")
    await settle(site, delivery)
    assert await status(site, posted) == "spam"


async def test_while_a_judge_is_away_comments_wait_and_then_somebody_is_told(
    make_site: Sites, akismet: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spam_check, "MAX_ATTEMPTS", 2)
    site, delivery = await judged(make_site, akismet, WEBHOOK=f"{akismet.url}/hook")
    akismet.answer = lambda path, body: (200, b"") if path == "/hook" else (500, b"")
    posted = await site.post("hello")
    await settle(site, delivery)
    assert (await site.store.outbox.depth())[:3] == (0, 1, 0)
    assert asked(akismet) == ["comment-check"]
    await site.store.outbox.wake(site.clock() + 60_000)
    await settle(site, delivery)
    assert await status(site, posted) == "waiting"
    (given_up,) = await site.store.outbox.undelivered(10)
    assert given_up.error.startswith("akismet: ")
    assert asked(akismet) == ["comment-check", "comment-check", "hook"]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [({}, "approved"), ({"MAX_LINKS": "1"}, "waiting"), ({"COMMENT_AUDIT": "true"}, "waiting")],
)
async def test_without_judges_the_sites_own_rules_decide_of_what_waits_for_them(
    make_site: Sites, akismet: Receiver, rules: dict[str, str], expected: str
) -> None:
    site, delivery = await judged(make_site, akismet)
    akismet.answer = lambda path, body: (200 if path == "/hook" else 500, b"")
    posted = await site.post("https://a.example and https://b.example")
    await settle(site, delivery)
    hook = {"AKISMET_KEY": "false", "WEBHOOK": f"{akismet.url}/hook"}
    site, delivery = await judged(make_site, akismet, **hook, **rules)
    assert not delivery.spam_checkers
    await site.store.outbox.wake(site.clock() + 60_000)
    for _ in range(2):
        await settle(site, delivery)
    assert await status(site, posted) == expected
    assert asked(akismet) == ["comment-check", "hook"]


async def test_a_moderator_who_is_faster_decides(make_site: Sites, akismet: Receiver) -> None:
    site, delivery = await judged(make_site, akismet)
    posted = await site.post("buy viagra")
    await site.send("PUT", f"/comment/{posted['objectId']}", {"status": "approved"}, by=ADMIN)
    await settle(site, delivery)
    assert await status(site, posted) == "approved"


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_a_comment_that_was_put_back_is_judged_as_if_nothing_had_happened(
    make_site: Sites, akismet: Receiver, method: str
) -> None:
    """Its spam filter was unreachable, and somebody deleted it, or marked it as spam, and undid
    that."""
    site, delivery = await judged(make_site, akismet)
    akismet.answer = lambda path, body: (500, b"")
    posted = await site.post("hello")
    await settle(site, delivery)
    fields = {"ids": [posted["objectId"]]} | ({"status": "spam"} if method == "PUT" else {})
    done = await site.send(method, "/comment", fields, by=ADMIN)
    akismet.answer = lambda path, body: (200, b"false")
    await site.store.outbox.wake(site.clock() + 61_000)
    await settle(site, delivery)
    await site.send("PUT", "/comment", {"undo": done["data"]["undo"]}, by=ADMIN)
    assert await status(site, posted) == "waiting"
    await site.store.outbox.wake(site.clock() + 122_000)
    await settle(site, delivery)
    assert await status(site, posted) == "approved"


async def test_what_moderators_correct_is_told_to_akismet(
    make_site: Sites, akismet: Receiver
) -> None:
    site, delivery = await judged(make_site, akismet)
    ham, spam = await site.post("hello"), await site.post("buy viagra")
    await settle(site, delivery)
    akismet.came.clear()
    await site.send("PUT", f"/comment/{ham['objectId']}", {"status": "spam"}, by=ADMIN)
    await site.send("PUT", f"/comment/{spam['objectId']}", {"status": "approved"}, by=ADMIN)
    await settle(site, delivery)
    assert sorted(asked(akismet)) == ["submit-ham", "submit-spam"]


async def test_an_author_who_changes_the_words_is_judged_anew(
    make_site: Sites, akismet: Receiver
) -> None:
    site, delivery = await judged(make_site, akismet)
    posted = await site.post("hello", by=BOB)
    await settle(site, delivery)
    assert await status(site, posted) == "approved"
    await site.send("PUT", f"/comment/{posted['objectId']}", {"comment": "buy viagra"}, by=BOB)
    assert await site.texts() == []
    await settle(site, delivery)
    assert await status(site, posted) == "spam"


async def test_nobody_is_told_again_of_a_comment_whose_author_changes_it(
    make_site: Sites, akismet: Receiver
) -> None:
    site, delivery = await judged(make_site, akismet, WEBHOOK=f"{akismet.url}/hook")
    posted = await site.post("hello", by=BOB)
    await settle(site, delivery)
    for text in ("hello there", "hello you"):
        await site.send("PUT", f"/comment/{posted['objectId']}", {"comment": text}, by=BOB)
        await settle(site, delivery)
    assert await status(site, posted) == "approved"
    assert asked(akismet).count("hook") == 1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [({"verdict": "spam"}, "spam"), ({"verdict": "ham"}, "approved"), ({"verdict": 1}, "waiting")],
)
async def test_a_web_service_judges(
    make_site: Sites, akismet: Receiver, answer: Any, expected: str
) -> None:
    akismet.answer = lambda path, body: (200, orjson.dumps(answer))
    url = f"{akismet.url}/judge"
    site, delivery = await judged(make_site, akismet, AKISMET_KEY="false", JUDGE_WEBHOOK=url)
    posted = await site.post("hello")
    await settle(site, delivery)
    assert await status(site, posted) == expected
    sent = orjson.loads(akismet.came[0][2])
    assert (sent["type"], sent["data"]["comment"]["rawComment"]) == ("judge", "hello")


def no_shouting(comment: Any) -> str:
    return "spam" if comment["rawComment"].isupper() else "ham"


async def later(comment: Any) -> str:
    return no_shouting(comment)


@pytest.mark.parametrize("name", ["no_shouting", "later"])
async def test_a_function_judges(make_site: Sites, akismet: Receiver, name: str) -> None:
    plugin = f"{__name__}:{name}"
    site, delivery = await judged(make_site, akismet, AKISMET_KEY="", JUDGE_PLUGIN=plugin)
    loud, quiet = await site.post("BUY NOW"), await site.post("hello")
    await settle(site, delivery)
    assert (await status(site, loud), await status(site, quiet)) == ("spam", "approved")


_may_go_on = threading.Event()


def stuck(comment: Any) -> str:
    _may_go_on.wait(60)
    return "ham"


def broken(comment: Any) -> str:
    raise SystemExit("no such model")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("stuck", "has not answered within 0.1 seconds (JUDGE_SECONDS)"),
        ("broken", "SystemExit('no such model')"),
    ],
)
async def test_a_function_that_hangs_or_fails_delays_nobody_and_is_named(
    make_site: Sites,
    akismet: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
    reason: str,
) -> None:
    """Who: somebody else's code. What: computes for half a minute, in which no view is counted, or
    ends the process. Instead: it has a thread, some seconds, and four calls at a time."""
    monkeypatch.setattr(spam_checkers, "MAX_RUNNING", 2)
    plugin = f"{__name__}:{name}"
    site, delivery = await judged(
        make_site, akismet, AKISMET_KEY="", JUDGE_PLUGIN=plugin, JUDGE_SECONDS="0.1"
    )
    posted = [await site.post(f"hello {n}") for n in range(3)]
    try:
        await settle(site, delivery)
        assert {await status(site, each) for each in posted} == {"waiting"}
        assert plugin in caplog.text
        assert reason in caplog.text
        if name == "stuck":
            assert f"2 calls of JUDGE_PLUGIN {plugin} have not ended" in caplog.text
    finally:
        _may_go_on.set()


@pytest.mark.parametrize("place", ["nowhere:f", "json:nothing", "json", "json:__name__"])
async def test_a_function_that_is_not_there_stops_the_start(site: Site, place: str) -> None:
    with pytest.raises(BadSettings, match="JUDGE_PLUGIN"):
        create_delivery(Settings.from_env({"JUDGE_PLUGIN": place}), site.service)


async def test_comments_with_many_links_wait(make_site: Sites) -> None:
    site = await make_site(MAX_LINKS="2")
    two = await site.post("[a](https://a.example) and https://b.example")
    three = await site.post("[a](https://a.example) https://b.example https://c.example")
    assert (two["status"], three["status"]) == ("approved", "waiting")


async def test_a_verdict_is_about_the_text_that_was_sent(
    make_site: Sites, akismet: Receiver
) -> None:
    """The author edits while the filter thinks: the new text is not public before it is judged."""
    site, delivery = await judged(make_site, akismet, IPQPS="0")
    posted = await site.post("harmless", by=BOB)
    loop = asyncio.get_running_loop()

    async def edit() -> None:
        path = f"/api/comment/{posted['objectId']}"
        await site.send("PUT", path, {"comment": "buy viagra"}, by=BOB)

    def thinks(path: str, body: bytes) -> tuple[int, bytes]:
        if b"harmless" in body:
            asyncio.run_coroutine_threadsafe(edit(), loop).result(60)
        return 200, b"true" if b"viagra" in body else b"false"

    akismet.answer = thinks
    await settle(site, delivery)
    assert await site.texts() == []
    assert await status(site, posted) == "spam"
    assert len(asked(akismet)) == 2
