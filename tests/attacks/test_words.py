"""Words that are spelled so that people read them and rules do not."""

import re
from typing import Any

import pytest

from footfall.render.reading import texts_of
from tests.conftest import ADMIN, Site, Sites

ON = ("valkey",)

SPELLINGS = {
    "an entity": {"comment": "the cas&#105;no"},
    "a comment of HTML": {"comment": "the cas<!-- -->ino"},
    "bold": {"comment": "the ca**si**no"},
    "a tag": {"comment": "the ca<b>si</b>no"},
    "full width": {"comment": "the \uff43\uff41\uff53\uff49\uff4e\uff4f"},
    "soft hyphens": {"comment": "the ca\xadsi\u200bno"},
    "mathematical letters": {"comment": "the \U0001d41c\U0001d41a\U0001d42cino"},
    "the name": {"nick": "casino"},
    "the name in full width": {"nick": "\uff23asino"},
    "the author's link": {"link": "https://%63asino.example"},
    "a link": {"comment": "[hello](https://x.example/%63asino)"},
    "as it is": {"comment": "the Casino"},
}
HONEST = {
    "comment": "cas\n\nino, a <b>cas</b> <i>ino</i>",
    "nick": "Ino",
    "link": "https://x.example",
}


async def status_of(site: Site, fields: dict[str, str]) -> Any:
    draft = {"comment": "hello", "url": "/p", "nick": "Ann", **fields}
    answer = await site.send("POST", "/api/comment", draft)
    return answer["data"]["status"]


@pytest.mark.parametrize("by", ["FORBIDDEN_WORDS", "a ban"])
@pytest.mark.parametrize("fields", SPELLINGS.values(), ids=SPELLINGS)
async def test_a_word_is_found_where_people_read_it(
    make_site: Sites, by: str, fields: dict[str, str]
) -> None:
    """Who: a spammer who knows the rules. What: spells a word so that it is not found in the
    source. Instead: what readers see is searched, too."""
    site = await make_site(**({by: "casino"} if by.isupper() else {}))
    if not by.isupper():
        banned = await site.send("POST", "/api/ban", {"value": '"casino"'}, by=ADMIN)
        assert banned["errno"] == 0, banned
    # As in Waline, FORBIDDEN_WORDS are those of comments alone.
    is_of_names = by.isupper() and "comment" not in fields
    assert await status_of(site, fields) == ("approved" if is_of_names else "spam")
    assert await status_of(site, HONEST) == "approved"


def test_the_longest_text_is_read_in_a_moment() -> None:
    """Who: a spammer. What: writes characters that become eighteen others each, or a text that is
    all the beginnings of tags. Instead: that is still read in linear time."""
    long = "\ufdfa" * 16_384
    assert sum(map(len, texts_of(long, f"<p>{long}</p>"))) < 20 * len(long)
    assert re.search(r"\w", texts_of("<" * 16_384, "&lt;" * 16_384)[0]) is None
