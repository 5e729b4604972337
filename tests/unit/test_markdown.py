"""What readers see of a comment's Markdown.

Whole values are compared on purpose: the HTML is stored, so any change in it is a change of what
sites serve.
"""

import pytest

from footfall.render.allowance import MAX_FORMULAS, MAX_HTML_TAGS, MAX_LISTING_CHARACTERS
from footfall.render.formula import MAX_CHARACTERS, mathml
from footfall.render.listing import ALIASES, LANGUAGES, spans
from footfall.render.markdown import MAX_REFINED_CHARACTERS, render

REL = 'target="_blank" rel="ugc nofollow noreferrer noopener"'

RECORDED = {
    "c00": "<p>c00</p>\n",
    "recent 54": "<p>recent 54</p>\n",
    "一个词": "<p>一个词</p>\n",
    "[@Admin](#8): bob reply waiting": '<p><a href="#8">@Admin</a>: bob reply waiting</p>\n',
    "[@me](#6): reply to waiting": '<p><a href="#6">@me</a>: reply to waiting</p>\n',
}

WRITTEN = {
    "": "",
    "a\nb": "<p>a<br>\nb</p>\n",
    "**a** *b* ~~c~~": "<p><strong>a</strong> <em>b</em> <s>c</s></p>\n",
    '"a" -- (c) ...': "<p>“a” – © …</p>\n",
    "H~2~O is x^2^": "<p>H<sub>2</sub>O is x<sup>2</sup></p>\n",
    "H~2~SO~4~ (^o^) (^_^)人(^_^) (>_<)a(>_<)": (
        "<p>H<sub>2</sub>SO<sub>4</sub> (^o^) (^_^)人(^_^) (&gt;_&lt;)a(&gt;_&lt;)</p>\n"
    ),
    "好耶~太棒了~ **60元~100元** 26~43天 1~3，80~100": (
        "<p>好耶~太棒了~ <strong>60元~100元</strong> 26~43天 1~3，80~100</p>\n"
    ),
    "**注意：**请看，**“引号”**也，日本語**「重要」**です，한국어**(강조)**입니다": (
        "<p><strong>注意：</strong>请看，<strong>“引号”</strong>也，日本語<strong>「重要」</strong>です，"
        "한국어<strong>(강조)</strong>입니다</p>\n"
    ),
    "~~删除。~~后 **Note:**text": "<p><s>删除。</s>后 **Note:**text</p>\n",
    "在 https://a.b/c（第二章）和《http://d.e》": (
        f'<p>在 <a href="https://a.b/c" {REL}>https://a.b/c</a>（第二章）和'
        f'《<a href="http://d.e" {REL}>http://d.e</a>》</p>\n'
    ),
    "$HOME/bin:$PATH =SUM($B$2:$B$8) $5-$10": "<p>$HOME/bin:$PATH =SUM($B$2:$B$8) $5-$10</p>\n",
    "$a\nb$ $a`$b`": "<p>$a<br>\nb$ $a<code>$b</code></p>\n",
    "> a": "<blockquote>\n<p>a</p>\n</blockquote>\n",
    "- a": "<ul>\n<li>a</li>\n</ul>\n",
    "3. a": '<ol start="3">\n<li>a</li>\n</ol>\n',
    "see example.com": f'<p>see <a href="http://example.com" {REL}>example.com</a></p>\n',
    "open README.md, main.rs#L10, go.mod and docs/README.md": (
        "<p>open README.md, main.rs#L10, go.mod and docs/README.md</p>\n"
    ),
    "thanks.It works.So good": "<p>thanks.It works.So good</p>\n",
    "ASP.NET, System.Net and Socket.IO": "<p>ASP.NET, System.Net and Socket.IO</p>\n",
    "it closes at 10.pm, user.name.id": "<p>it closes at 10.pm, user.name.id</p>\n",
    "Example.com, foo.com.cn": (
        f'<p><a href="http://Example.com" {REL}>Example.com</a>, '
        f'<a href="http://foo.com.cn" {REL}>foo.com.cn</a></p>\n'
    ),
    "www.a.de youtu.be/x": (
        f'<p><a href="http://www.a.de" {REL}>www.a.de</a> '
        f'<a href="http://youtu.be/x" {REL}>youtu.be/x</a></p>\n'
    ),
    "[a](/b)": f'<p><a href="/b" {REL}>a</a></p>\n',
    "[a](javascript:b)": "<p>[a](javascript:b)</p>\n",
    '![a](http://b/c.png "d")': '<p><img src="http://b/c.png" alt="a" title="d"></p>\n',
    "<u>a</u><script>b</script>": "<p><u>a</u></p>\n",
    '<video src="http://a/b" autoplay></video>': (
        '<p><video src="http://a/b" preload="none"></video></p>\n'
    ),
    "a\x00b": "<p>a�b</p>\n",
    "|a|b|\n|-:|-|\n|1|2|": (
        '<table>\n<thead>\n<tr>\n<th align="right">a</th>\n<th>b</th>\n</tr>\n</thead>\n'
        '<tbody>\n<tr>\n<td align="right">1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n'
    ),
}

EMOJI = {
    ":smile: :+1:": "<p>😄 👍</p>\n",
    ":no_such_thing:": "<p>:no_such_thing:</p>\n",
    "`:smile:`": "<p><code>:smile:</code></p>\n",
    "http://a.b/:tada:": f'<p><a href="http://a.b/:tada:" {REL}>http://a.b/:tada:</a></p>\n',
}

EMOTICONS = {
    ":) ;-) :D <3 :'(": "<p>😃 😉 😄 ❤️ 😢</p>\n",
    "(:P), *x-)*. **:(**": "<p>(😛), <em>😆</em>. <strong>😦</strong></p>\n",
    ":)\n字:) a:) :)a 10:30": "<p>😃<br>\n字:) a:) :)a 10:30</p>\n",
    "`:)` \\:) 8-)": "<p><code>:)</code> :) 😎</p>\n",
    "[a :)](/b) <http://a/:)>": (
        f'<p><a href="/b" {REL}>a 😃</a> <a href="http://a/:)" {REL}>http://a/:)</a></p>\n'
    ),
    '<b title=":)">:)</b>': "<p><b>😃</b></p>\n",
}

LISTINGS = {
    "```\n<b>\n```": "<pre><code>&lt;b&gt;\n</code></pre>\n",
    "```nonsense\n<b>\n```": '<pre><code class="language-nonsense">&lt;b&gt;\n</code></pre>\n',
    "```Py\nif\n```": (
        '<pre><code class="language-py"><span class="token keyword">if</span>\n</code></pre>\n'
    ),
    '```json\n"a"\n```': (
        '<pre><code class="language-json"><span class="token string">"a"</span>\n</code></pre>\n'
    ),
    '```"><b>\na\n```': "<pre><code>a\n</code></pre>\n",
}

INLINE = '<math display="inline"><mrow>{}</mrow></math>'
DISPLAY = '<math display="block"><mrow>{}</mrow></math>'
SQUARE = "<msup><mi>x</mi><mn>2</mn></msup>"

FORMULAS = {
    "$x^2$": f"<p>{INLINE.format(SQUARE)}</p>\n",
    "a $$x^2$$ b": f"<p>a {DISPLAY.format(SQUARE)} b</p>\n",
    "$$\nx^2\n$$\na": f"<p>{DISPLAY.format(SQUARE)}</p>\n<p>a</p>\n",
    "> $$x^2$$": f"<blockquote>\n<p>{DISPLAY.format(SQUARE)}</p>\n</blockquote>\n",
    "- $$\na\n$$": f"<ul>\n<li>{DISPLAY.format('<mi>a</mi>')}</li>\n</ul>\n",
    "$$a$$ b $$": f"<p>{DISPLAY.format('<mi>a</mi>')} b $$</p>\n",
    "$$$$": "<p>$$$$</p>\n",
    "$5 and $6": "<p>$5 and $6</p>\n",
    "\\$a\\$ `$b$`": "<p>$a$ <code>$b$</code></p>\n",
    "$\\left(<b>$": "<p>$\\left(&lt;b&gt;$</p>\n",
    "$\\text{<b>}$": f"<p>{INLINE.format('<mtext>&lt;b&gt;</mtext>')}</p>\n",
    "$\\def\\a{b}\\a$": "<p>$\\def\\a{b}\\a$</p>\n",
    "$$\nx": "<p>$$<br>\nx</p>\n",
}


@pytest.mark.parametrize(("text", "html"), RECORDED.items())
def test_a_recorded_comment_looks_as_it_did(text: str, html: str) -> None:
    assert render(text) == html


@pytest.mark.parametrize(("text", "html"), WRITTEN.items())
def test_markdown_is_rendered(text: str, html: str) -> None:
    assert render(text) == html


@pytest.mark.parametrize(("text", "html"), EMOJI.items())
def test_shortcodes_are_pictographs_except_in_code_and_addresses(text: str, html: str) -> None:
    assert render(text) == html


@pytest.mark.parametrize(("text", "html"), EMOTICONS.items())
def test_emoticons_that_stand_alone_are_emoji(text: str, html: str) -> None:
    assert render(text) == html


@pytest.mark.parametrize(("text", "html"), LISTINGS.items())
def test_code_has_classes_and_no_markup_of_its_own(text: str, html: str) -> None:
    assert render(text) == html


@pytest.mark.parametrize(("text", "html"), FORMULAS.items())
def test_formulas_are_typeset_or_shown_as_written(text: str, html: str) -> None:
    assert render(text) == html


@pytest.mark.parametrize("name", sorted(LANGUAGES | ALIASES.keys()))
def test_every_listed_language_has_a_lexer(name: str) -> None:
    assert spans("x", name) is not None


def test_a_listing_too_long_to_highlight_is_shown_plain() -> None:
    code = "x\n" * MAX_LISTING_CHARACTERS
    assert render(f"```python\n{code}```") == (
        f'<pre><code class="language-python">{code}</code></pre>\n'
    )


def test_only_so_many_formulas_are_typeset() -> None:
    html = render("$x$ " * (MAX_FORMULAS + 1) + "words " * 100)
    assert (html.count("<math"), html.count("$x$")) == (MAX_FORMULAS, 1)


def test_tags_beyond_the_allowance_are_shown_as_text() -> None:
    tags = "<img>" * MAX_HTML_TAGS
    assert render(f"{tags}<img><u>a</u>") == f"<p>{tags}&lt;img&gt;&lt;u&gt;a&lt;/u&gt;</p>\n"


@pytest.mark.parametrize("tag", ["span", "b", "code"])
def test_tags_that_are_closed_where_they_stand_are_not_counted(tag: str) -> None:
    """As in code that another system has coloured, and its lines."""
    code = f"<{tag}>def</{tag}> f<br>\n" * (2 * MAX_HTML_TAGS)
    assert render(f"<pre>{code}</pre>") == f"<pre>{code}</pre>"
    assert "&lt;" not in render(code)
    # An end within something else is none.
    assert "&lt;" in render(f"<div>{f'<{tag}><!--</{tag}>-->' * (2 * MAX_HTML_TAGS)}</div>")
    assert "&lt;" in render(f"<div>{f'<{tag}><xmp></{tag}></xmp>' * (2 * MAX_HTML_TAGS)}</div>")


def test_unclosed_tags_are_not_reopened_without_end() -> None:
    tags = "".join(f'<b title="{n}">' for n in range(200))
    assert len(render(f"<p>{tags}\n\n" + "x\n\n" * 2_000)) < 50_000


def test_quotes_and_bare_links_stay_as_typed_in_a_very_long_comment() -> None:
    long = "a" * MAX_REFINED_CHARACTERS
    assert render(f'"{long}" a.com') == f'<p>"{long}" a.com</p>\n'


@pytest.mark.parametrize(
    "piece",
    ["\\sqrt", "{", "x^", "\\displaystyle ", "\\left(", "\\begin{matrix}", "\\sideset{}{}", "x'"],
)
def test_a_formula_nested_without_end_does_not_raise(piece: str) -> None:
    assert isinstance(mathml((piece * MAX_CHARACTERS)[:MAX_CHARACTERS], display=True), str | None)


def test_a_formula_that_doubles_itself_is_refused() -> None:
    bombs = [r"\newcommand\a{xx}\a", r"\sideset{_a}{_b}\sum", "x" * (MAX_CHARACTERS + 1)]
    assert [mathml(bomb, display=False) for bomb in bombs] == [None, None, None]


@pytest.mark.parametrize(
    "piece",
    [
        *("*", "_", "[", "![", "<", "`", "~", "^", "$", "$$\n", ":", '"', ">", "- ", "\\", "&"),
        *("[a](", "|a", "|a|b\n|-|-\n", "http://a.b/(", "<b>", "<!--", "\x00", "[a]: b\n", "> - "),
        *("$x$ ", "```python\n'''\n```\n", "<table><td>", "<math><mtext>", "#\n*\n![", "[[a](::"),
    ],
)
def test_hostile_repetition_does_not_raise(piece: str) -> None:
    assert isinstance(render((piece * 6_000)[:6_000]), str)
