"""Comments that are made to be expensive: in bytes of HTML for every reader, or in time of the
server.
"""

from bench.constructs import CONSTRUCTS, LENGTH
from footfall.render.allowance import most_bytes
from footfall.render.markdown import render


def _is_bounded(text: str) -> bool:
    return len(render(text).encode()) <= most_bytes(text)


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


def test_the_look_of_the_page_for_code() -> None:
    """Who: an author. What: gives code the classes of a page's own boxes, or another theme's
    background, in HTML. Instead: a block of code has no class, as Waline renders it, and its
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
