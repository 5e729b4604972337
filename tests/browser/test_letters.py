"""Emails as letters, on the screens that they are read on."""

import pytest

from footfall.notify.comment_letters import owner_letter, reader_letter
from footfall.notify.mail_words import LANGUAGES, Words
from tests.unit.test_letters import LINKS, STOP, comment, news

from .conftest import NewVisitor
from .test_overview import violations

LONG = comment("Words that go on. " * 20 + f"https://example.com/{'x' * 200}", nick="N" * 60)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1024])
def test_everybody_can_read_a_letter_on_any_screen(
    new_visitor: NewVisitor, width: int, scheme: str, language: str
) -> None:
    visitor = new_visitor(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page, words = visitor.page, Words(language)
    for letter in (
        owner_letter(words, news(LONG, "waiting", parent=comment(nick="Tom")), LINKS),
        reader_letter(words, news(LONG, parent=comment()), STOP),
    ):
        page.set_content(letter.html)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert violations(page) == []
        is_dark = page.evaluate("getComputedStyle(document.body).backgroundColor < 'rgb(2'")
        assert is_dark == (scheme == "dark")
        assert page.evaluate("document.querySelector('.button').offsetHeight >= 44")
