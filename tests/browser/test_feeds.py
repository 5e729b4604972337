"""The feeds in a browser, whose parser says what is wrong with a document."""

import httpx
import pytest

from tests.support.serving import Serving

from .visitor import Visitor

# What would end a CDATA section, an element or a document, if it were not escaped.
HOSTILE = "]]> </description> <script>alert(1)</script> & &amp; \x00 \ufffe \U0001f600"


@pytest.mark.parametrize(
    ("format", "root", "items"), [("rss", "rss", "item"), ("atom", "feed", "entry")]
)
def test_a_feed_of_hostile_comments_is_a_document(
    service: Serving, visitor: Visitor, path: str, format: str, root: str, items: str
) -> None:
    for n in range(3):
        draft = {"comment": f"{n} {HOSTILE}", "url": path, "nick": "Ann & <Bob>"}
        httpx.post(f"{service.url}/api/comment", json=draft).raise_for_status()
    visitor.open(f"{service.url}/api/comment/rss?path={path}&format={format}")
    # Chromium's own page for XML has the document, or what is wrong with it, in this element.
    # Chromium shows a feed's source, so its own parser is asked what that means.
    found = visitor.page.evaluate(
        """items => {
            const source = document.body.innerText;
            const feed = new DOMParser().parseFromString(source, "application/xml");
            const count = name => feed.getElementsByTagName(name).length;
            return [feed.documentElement.nodeName, count("parsererror"), count(items)];
        }""",
        items,
    )
    assert found == [root, 0, 3]
