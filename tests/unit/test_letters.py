"""What emails say and how, in each language and in both forms."""

import re
from collections.abc import Mapping
from email.message import EmailMessage
from html import unescape
from string import Formatter
from typing import Any

import orjson
import pytest

from footfall.model import Comment, Status
from footfall.notify.comment_letters import (
    News,
    OwnerLinks,
    Unsubscribing,
    Wave,
    digest_letter,
    owner_letter,
    reader_letter,
)
from footfall.notify.letter import Letter
from footfall.notify.mail import MAIL
from footfall.notify.mail_words import LANGUAGES, WORDS, Words
from footfall.notify.notification import Notification, letter_html

EN = Words()
LINKS = OwnerLinks("https://t.example/ui/queue", "https://t.example/y", "https://t.example/n")
STOP = Unsubscribing(True, "https://t.example/u?token=1", "https://t.example/u?token=2")


def comment(text: str = "Hello", **fields: Any) -> Comment:
    known: dict[str, Any] = {"nick": "Ann", "mail": "ann@example.com", **fields}
    path = known.pop("path", "/a")
    return Comment("i" * 32, path, 1, f"<p>{text}</p>", text, **known)


def test_links_of_a_comment_lead_where_they_lead_on_its_page() -> None:
    html = (
        '<a href="/b">b</a> <a href="c?d&amp;e">c</a> <img src="p.png" alt="p"> <a href="//[">d</a>'
    )
    about = Comment("i" * 32, "/posts/one/", 1, html, "text")
    whole = letter_html(about, "https://blog.example")
    assert re.findall('href="(.+?)"', whole) == [
        "https://blog.example/b",
        "https://blog.example/posts/one/c?d&amp;e",
        "https://blog.example/posts/one/p.png",
        "//[",
    ]
    # Without SITE_URL nobody knows where.
    assert 'href="/b"' in letter_html(about, "")


def news(about: Comment, status: Status = "approved", **fields: Any) -> Notification:
    known: dict[str, Any] = {
        "parent": None,
        "was": "",
        "now": status,
        "by": "author",
        "site_name": "My Blog",
        "site_url": "https://blog.example",
        **fields,
    }
    return Notification(about, status, **known)


def letters(words: Words) -> list[Letter]:
    reply = news(comment("Yes"), parent=comment("Is it?", nick="Tom"))
    return [
        owner_letter(words, news(comment(), "waiting"), LINKS),
        owner_letter(words, reply, LINKS),
        reader_letter(words, reply, STOP),
        digest_letter(
            words,
            News(
                7,
                3,
                [comment()],
                [Wave("host", "a.example", 5)],
                "My Blog",
                "https://b.example",
                LINKS.queue,
                {},
            ),
        ),
    ]


def tables() -> dict[str, Mapping[str, Any]]:
    return {name: orjson.loads((WORDS / f"{name}.json").read_bytes()) for name in LANGUAGES}


def test_all_languages_say_the_same_with_the_same_values() -> None:
    english, *others = tables().values()

    def values(text: Any) -> set[str]:
        texts = text.values() if isinstance(text, dict) else [text]
        return {name for each in texts for _, name, _, _ in Formatter().parse(each) if name}

    for other in others:
        assert english.keys() == other.keys()
        assert {name for name in english if values(english[name]) != values(other[name])} == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_both_forms_of_a_letter_say_the_same(language: str) -> None:
    for letter in letters(Words(language)):
        visible = re.sub(r"<style>.*?</style>|<title>.*?</title>", "", letter.html, flags=re.DOTALL)
        shown = unescape(re.sub("<[^>]+>", "\n", visible))
        addresses = re.findall('href="([^"]+)"', letter.html)
        for line in letter.text.splitlines():
            words, _, address = line.partition(": http")
            assert words.lstrip("> ").strip("- ") in shown
            assert not address or unescape(f"http{address}") in map(unescape, addresses)
        assert letter.text.count(": http") == len(addresses)


def test_a_letter_says_that_a_comment_is_pending_and_whose_answer_it_is() -> None:
    letter = owner_letter(EN, news(comment("Yes"), "waiting", parent=comment(nick="Tom")), LINKS)
    assert letter.subject == "My Blog: Ann commented; it is pending"
    assert letter.text.startswith(
        "Ann commented on /a. The comment is pending until you approve it.\n\n> Yes\n\n"
        "It replies to Tom:\n\n> Hello\n\n"
        "Review in the queue: https://t.example/ui/queue\n"
        "Approve: https://t.example/y\n"
        "Mark as spam: https://t.example/n\n"
        "Open the page: https://blog.example/a\n\n-- \n"
    )


def test_only_what_everybody_sees_is_linked_to_and_has_html() -> None:
    spam = comment('<a href="https://casino.example">Win</a>')
    waiting = owner_letter(EN, news(spam, "waiting"), LINKS)
    assert 'href="https://casino.example"' not in waiting.html
    assert "#iiii" not in waiting.html + waiting.text
    approved = owner_letter(EN, news(spam), LINKS)
    assert 'href="https://casino.example"' in approved.html
    assert f"https://blog.example/a#{'i' * 32}" in approved.text
    assert "Approve" not in approved.text
    # Of a reply to a comment that is held by now, that one is text, too.
    reply = reader_letter(EN, news(comment(), parent=spam, parent_status="waiting"), STOP)
    assert 'href="https://casino.example"' not in reply.html


@pytest.mark.parametrize("site_url", ["", "https://blog.example"])
def test_a_letter_without_addresses_has_no_links(site_url: str) -> None:
    reply = news(comment(), parent=comment(), site_url=site_url, site_name="")
    for letter in (
        owner_letter(EN, reply, None),
        reader_letter(EN, reply, Unsubscribing(may_get=True)),
        digest_letter(EN, News(1, 0, [], [], "", site_url, "", {})),
    ):
        assert ("href" in letter.html) == bool(site_url)
        assert "Your site" in letter.text


def test_a_page_is_named_by_its_title_if_that_is_known() -> None:
    title = "On <gardens>\n\u202ehttps://evil.example"
    notified = news(comment(), parent=comment("Is it?"), page_title=title)
    (sample,) = [comment()]
    digest = News(1, 0, [sample], [], "Blog", "", "", {sample.path: title})
    shown = "On <gardens> %E2%80%AEhttps:/evil.example (/a)"
    assert f"commented on {shown}:" in owner_letter(EN, notified, LINKS).text
    assert f"you wrote on {shown}:" in reader_letter(EN, notified, STOP).text
    assert f" on {shown}:" in digest_letter(EN, digest).text
    assert "On &lt;gardens&gt;" in owner_letter(EN, notified, LINKS).html
    untitled = news(comment())
    assert "commented on /a:" in owner_letter(EN, untitled, LINKS).text


def test_strangers_words_change_nothing_but_words() -> None:
    evil = comment("</blockquote><script>", nick="\r\nBcc: x@example.com <b>&amp;", path="/<i>")
    message = EmailMessage(MAIL)
    letter = owner_letter(EN, news(evil, "waiting", site_name='"<My>" \n Blog' * 50), LINKS)
    letter.fill(message)
    assert "Bcc" not in message
    assert len(message["Subject"]) == 200
    html = letter.html.partition("</style>")[2]
    assert not re.search("<(script|b|i|My)>", html)
    assert html.count("</blockquote>") == 1


def test_a_digest_tells_of_what_it_does_not_quote() -> None:
    long = comment("word " * 100)
    letter = digest_letter(EN, News(1234, 1, [long], [], "Blog", "", "", {}))
    assert letter.subject == "Blog: 1,234 new comments"
    assert "1 comment is pending" in letter.text
    assert "… and 1,233 more." in letter.text
    assert len(max(letter.text.splitlines(), key=len)) < 220
