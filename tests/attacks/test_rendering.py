"""Comments that are made to be expensive: in bytes of HTML for every reader, or in time of the
server.
"""

import time

from bench.constructs import CONSTRUCTS, LENGTH
from footfall.render.allowance import most_bytes
from footfall.render.markdown import render
from footfall.render.pictures import Pictures

# Several times what the slowest of them takes; each took longer, or for ever, at some time.
SECONDS = 1.5


def _is_bounded(text: str) -> bool:
    start = time.process_time()
    html = render(text)
    took = time.process_time() - start
    return len(html.encode()) <= most_bytes(text) and took < SECONDS


def test_one_definition_and_thousands_of_references() -> None:
    """Who: an author. What: defines a link of 8,000 characters once and refers to it in thousands
    of brackets, so that 16 kB of text would be 10 MB of HTML for every reader. Instead: a few are
    links, the others are plain text, and the HTML is within its limit."""
    text = CONSTRUCTS["references to one link"]
    assert _is_bounded(text)
    assert render(text).count("a</a>") > 0


def test_a_table_of_cells_that_nobody_wrote() -> None:
    """Who: an author. What: writes a table of a hundred columns and rows of two characters, which
    would be filled up with empty cells: 2 kB of text would be 1.6 MB and take a second. Instead: a
    table with more than a thousand cells stays plain text."""
    text = CONSTRUCTS["a table of empty cells"]
    assert _is_bounded(text)
    assert "<td>" not in render(text)


def test_tags_that_a_parser_opens_again() -> None:
    """Who: an author. What: leaves formatting tags open, with a long address in one of them, and
    begins thousands of paragraphs, in each of which an HTML parser opens all of them again.
    Instead: the tags are shown as text as soon as that could add a megabyte."""
    for name in ("tags opened again", "a long link opened again", "classes opened again"):
        assert _is_bounded(CONSTRUCTS[name]), name


def test_a_word_that_may_begin_a_link_everywhere() -> None:
    """Who: an author. What: writes +www. a thousand times without a space, so that the search for
    bare links begins again at each, and runs to the end: 3 s for half a comment. Instead: links are
    searched for word by word, and not in a word that could begin so many."""
    assert _is_bounded(CONSTRUCTS["bare addresses without end"])


def test_brackets_that_never_close() -> None:
    """Who: an author. What: opens ten thousand brackets, for each of which the parser searches the
    end. Instead: after it has searched some hundred thousand characters, further brackets are text.
    """
    for name in ("open brackets", "open pictures", "open links"):
        assert _is_bounded(CONSTRUCTS[name]), name


def test_formulas_and_listings_that_are_mostly_markup() -> None:
    """Who: an author. What: writes formulas and code in which every character needs its own tag,
    which makes them up to sixty times as long. Instead: what would be too long in total is shown as
    it was written."""
    for name in ("a name that is drawn", "letters in another hand", "a listing of signs"):
        assert _is_bounded(CONSTRUCTS[name]), name


def test_listings_that_take_the_square_of_their_length() -> None:
    """Who: an author. What: sends listings full of what a lexer reads again and again. Instead: the
    sum of the squares of all listings' lengths is bounded, and further ones are not highlighted."""
    listing = "```cpp\nif" + ("\n" * 99 + "a") * 24 + "\n```\n"
    assert _is_bounded(listing * 6)
    assert render(listing * 6).count("token keyword") == 1


def test_listings_in_which_a_lexer_reads_ahead() -> None:
    """Who: an author. What: sends a short listing of one long line, or of hardly anything but white
    space, in each place of which an expression of the lexer reads on to the end: 2,500 blanks and
    colons took INI's 5 s, in which nothing else was answered. Instead: it is not highlighted, since
    code has no such lines; nor does Java's read on through any number of words."""
    for name in ("a listing of blanks", "a listing of line ends"):
        assert _is_bounded(CONSTRUCTS[name]), name
        assert "token" not in render(CONSTRUCTS[name]), name
    for name in ("a listing of words", "a listing of blank lines"):
        assert _is_bounded(CONSTRUCTS[name]), name
        assert "token keyword" in render(CONSTRUCTS[name]), name


def test_signs_that_grow_when_they_are_escaped() -> None:
    """Who: an author. What: sends nothing but characters that HTML writes with five letters, in
    text and in attributes. Instead: six times its bytes is the limit, and no escaped text needs
    more."""
    assert all(_is_bounded(sign * LENGTH) for sign in "&<>\"'\n\xa0\0")
    assert _is_bounded(CONSTRUCTS["quotes in an attribute"])


def test_a_picture_that_is_a_document() -> None:
    """Who: an author. What: gives an SVG, a page or a script as the data of a picture, plain,
    encoded, or with the type of a picture that is allowed. Instead: only img keeps a data address,
    and only base64 of four types of pictures."""
    payloads = (
        "data:image/svg+xml;base64,PHN2Zz4=",
        "data:image/svg+xml,<svg onload=alert(1)>",
        "data:text/html;base64,PHNjcmlwdD4=",
        "data:image/png,<script>alert(1)</script>",
        "data:image/png;base64,AAAA,<svg>",
        "data:image/png;charset=utf-8;base64,AAAA",
        "Data:image/png;base64,AAAA",
        "data&colon;text/html;base64,AAAA",
    )
    for payload in payloads:
        html = render(f"<img src='{payload}'> <a href='{payload}'>x</a> [x]({payload})")
        assert 'src="' not in html, payload
        assert 'href="' not in html, payload
    allowed = "data:image/png;base64,AAAA"
    html = render(f"<a href='{allowed}'>x</a><video src='{allowed}'></video>")
    assert allowed not in html


def test_a_picture_past_the_proxy() -> None:
    """Who: an author who wants to know who reads a page. What: writes the address of a picture so
    that the proxy's rule takes it for the site's own, and browsers for another site's. Instead:
    whatever a browser reads as another host is loaded through the proxy."""
    proxy = "https://proxy.example/"
    for spelling in ("//", "\\\\", "/\\", "/\t/", "\n//", "https:", "hT\ntps:///"):
        address = f"{spelling}evil.example/a"
        html = render(f'<img src="{address}">', Pictures(proxy))
        assert f'src="{proxy}?url=http' in html.lower(), spelling
        assert 'src="/' not in html, spelling


def test_a_picture_that_says_it_is_the_proxy() -> None:
    """Who: the same author. What: writes an address that begins with the proxy's, contains it, or
    has it for a user's name, so that it counts as one of the proxy. Instead: the addresses' origins
    and paths are compared, and what could be read in two ways is somewhere else."""
    proxy = "https://proxy.example"
    for address in (
        f"{proxy}.evil.example/a",
        f"{proxy}@evil.example/",
        f"{proxy}:a@evil.example/",
        f"https://evil.example\\@{proxy[8:]}/",
        f"https://evil.example/{proxy}",
        f"{proxy}\\a",
    ):
        html = render(f'<img src="{address}">', Pictures(proxy))
        assert f'src="{proxy}?url=https%3A%2F%2F' in html, address


def test_the_look_of_the_page_for_code() -> None:
    """Who: an author. What: gives code the classes of a page's own boxes, or another theme's
    background, in HTML. Instead: a block of code has no class, as the reference renders it, and its
    code the language's and the tokens' alone."""
    html = render('<pre class="language-js highlight alert"><code class="language-js btn">a</code>')
    assert html == '<pre><code class="language-js">a</code></pre>'
    assert render("```js\nif\n```") == (
        '<pre><code class="language-js"><span class="token keyword">if</span>\n</code></pre>\n'
    )


def test_the_look_of_the_page_for_a_picture() -> None:
    """Who: an author. What: gives a picture the classes of the page's own buttons and notices.
    Instead: only the three classes of the clients' emoji stay, which make a picture small."""
    html = render('a <img class="wl-emoji btn wl-btn primary" src="/a">')
    assert html == '<p>a <img class="wl-emoji" src="/a"></p>\n'
