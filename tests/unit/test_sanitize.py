"""Which HTML and which addresses survive; properties/test_sanitizer tries arbitrary input."""

import pytest

from footfall.markup import safe_link as link
from footfall.render.sanitize import clean

REL = 'target="_blank" rel="ugc nofollow noreferrer noopener"'

CLEANED = {
    "a & b": "a &amp; b",
    "<p>a</p><!-- b -->": "<p>a</p>",
    "<script>a</script><style>b</style><svg><a>c</a></svg>": "",
    "<form><input><button>a</button></form>": "a",
    '<b style="a" id="b" onclick="c" class="d">e</b>': "<b>e</b>",
    '<a href="#8" target="_top" rel="x">a</a>': '<a href="#8">a</a>',
    '<a href="https://a/">a</a>': f'<a href="https://a/" {REL}>a</a>',
    '<a title="&quot;>" href="mailto:a@b">a</a>': (
        f'<a title="&quot;&gt;" href="mailto:a@b" {REL}>a</a>'
    ),
    '<a title="<a href=" alt="#x" href="http://a">b</a>': (
        f'<a title="&lt;a href=" href="http://a" {REL}>b</a>'
    ),
    '<a href="JaVa&#9;Script:a">b</a><a href="ftp://a">c</a>': "<a>b</a><a>c</a>",
    '<img src="/a"><img src="a.png"><img src="//a/b">': (
        '<img src="/a"><img src="a.png"><img src="//a/b">'
    ),
    '<img src="data:image/png;base64,aA1+/=="><img src="data:image/webp;base64,a">': (
        '<img src="data:image/png;base64,aA1+/=="><img src="data:image/webp;base64,a">'
    ),
    '<img src="data:image/svg+xml;base64,a"><img src="data:image/png,a">': "<img><img>",
    '<img src="data:image/png;base64,a&quot;"><img src="data:text/html;base64,a">': "<img><img>",
    '<img src="javascript:a"><img src="java&#10;script:a"><img src="ftp://a">': "<img><img><img>",
    '<a href="data:image/png;base64,a">b</a>': "<a>b</a>",
    '<video src="data:image/png;base64,a" poster="data:image/png;base64,a"></video>': (
        '<video preload="none"></video>'
    ),
    '<audio src="//a/b"></audio>': '<audio src="//a/b" preload="none"></audio>',
    '<img class="wl-emoji" src="//unpkg.com/@waline/emojis@1.2.0/tieba/agree.png" alt="a">': (
        '<img class="wl-emoji" src="//unpkg.com/@waline/emojis@1.2.0/tieba/agree.png" alt="a">'
    ),
    '<img class="vemoji tk-owo token evil"><span class="wl-emoji">a</span>': (
        '<img class="vemoji tk-owo"><span>a</span>'
    ),
    '<img src="https://a/b" srcset="c" onerror="d" alt="e">': '<img src="https://a/b" alt="e">',
    '<video src="http://a" poster="/b" autoplay controls>c</video>': (
        '<video src="http://a" poster="/b" controls="" preload="none">c</video>'
    ),
    '<span class="token evil string">a</span><span class="evil">b</span>': (
        '<span class="token string">a</span><span>b</span>'
    ),
    '<code class="language-c++ hero">a</code>': '<code class="language-c++">a</code>',
    '<pre class="language-js highlight"><code class="language-js">a</code></pre>': (
        '<pre><code class="language-js">a</code></pre>'
    ),
    '<math><mspace width="-2em" height="900em"></mspace></math>': (
        '<math><mspace width="-2em"></mspace></math>'
    ),
    '<math href="http://a"><mi xlink:href="b">x</mi></math>': "<math><mi>x</mi></math>",
    "<math><annotation-xml><b>a</b></annotation-xml></math>": "<math></math><b>a</b>",
}

KEPT = [
    *("", "https://a.example", "HTTP://a.example/x?y=1#z", "a.example", "a.example:8080/x", "//a"),
    *("/about", "bob", "https://例子.example/路", "a.example/?u=javascript:x"),
]

REFUSED = [
    *("javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "\x01javascript:x"),
    *(
        "java\nscript:x",
        "java\tscript:x",
        "java\x00script:x",
        "javascript\n:x",
        "\u200bjavascript:x",
    ),
    *("data:text/html,x", "DATA:x", "vbscript:x", "file:///etc/passwd", "blob:x", "mailto:a@b"),
    *(
        "javascript&#58;x",
        "&#106;avascript:x",
        "java&Tab;script:x",
        "javascript&colon;x",
        "about:x",
    ),
    *("view-source:http://a", "\xa0javascript:x", "\ufeffjavascript:x", "intent:x", "javascript:1"),
]


@pytest.mark.parametrize(("html", "cleaned"), CLEANED.items())
def test_html_is_cut_down_to_the_table(html: str, cleaned: str) -> None:
    assert clean(html) == cleaned


@pytest.mark.parametrize("html", CLEANED.values())
def test_clean_html_is_left_alone(html: str) -> None:
    assert clean(html) == html


@pytest.mark.parametrize("text", KEPT)
def test_the_address_of_a_page_is_kept_as_given(text: str) -> None:
    assert link(text) == text


@pytest.mark.parametrize("text", REFUSED)
def test_an_address_that_is_no_pages_is_dropped(text: str) -> None:
    assert link(text) == ""


def test_an_address_cannot_leave_its_attribute() -> None:
    assert link(" https://a/\"><b onclick='c'>\n") == "https://a/%22%3E%3Cb onclick=%27c%27%3E"


def test_html_is_cleaned_until_it_stays_the_same() -> None:
    assert clean("<p>a<applet><p>b") == "<p>a</p><p>b</p><p></p>"
