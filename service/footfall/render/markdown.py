"""Renders Markdown to the HTML that is stored and served.

A comment is rendered once, when it is written, so a change here affects new comments only, or all
by `footfall comments rerender`. The result is sanitised and at most `allowance.most_bytes` long,
and no text takes longer than a second.
"""

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml, unescapeAll
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from footfall.render.allowance import Allowance, most_bytes
from footfall.render.bounds import bound
from footfall.render.formula import dollars, mathml, source
from footfall.render.inline import inline
from footfall.render.listing import spans
from footfall.render.pictographs import pictographs
from footfall.render.pictures import ALL_PICTURES, Pictures
from footfall.render.sanitize import clean

# Longer texts get no typographic quotes and no bare links: to pair quotes takes quadratic time, 2 s
# for the worst 64 kB.
MAX_REFINED_CHARACTERS = 8_000
# An HTML parser opens an unclosed <b> again in every later block: a comment can grow by the bytes
# of such tags times the number of all tags.
MAX_REOPENED_BYTES = 1_000_000


def render(text: str, pictures: Pictures = ALL_PICTURES) -> str:
    """The HTML of a comment, sanitised, `allowance.most_bytes` long at most."""
    most = most_bytes(text)
    for is_plain in (False, True):
        allowance = Allowance(text, is_plain=is_plain)
        html = (_REFINED if len(text) <= MAX_REFINED_CHARACTERS else _PLAIN).render(
            text, {"allowance": allowance}
        )
        grows = allowance.tags.reopened * html.count("<") > MAX_REOPENED_BYTES
        if grows or len(html.encode()) > most:
            continue
        html = clean(html, pictures)
        if len(html.encode()) <= most:
            return html
    return clean(f"<p>{_lines(text)}</p>\n", pictures)


def _lines(text: str) -> str:
    """The escaped text with its line breaks, for a comment whose markup exceeds the limits."""
    return escapeHtml(text.replace("\r\n", "\n")).replace("\n", "<br>\n")


def _parser(*, refined: bool) -> MarkdownIt:
    options = {"html": True, "breaks": True, "linkify": refined, "typographer": refined}
    parser = MarkdownIt("default", options)
    bound(parser)
    parser.use(inline).use(dollars)
    parser.core.ruler.after("linkify", "emoji", _emoji)
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def _emoji(state: StateCore) -> None:
    for block in state.tokens:
        is_address = False
        for token in block.children or ():
            # The text of a bare link is an address, in which `:tada:` and `:/` are not emoji.
            if token.type in ("link_open", "link_close"):
                is_address = token.type == "link_open" and token.info == "auto"
            elif token.type == "text" and not is_address:
                token.content = pictographs(token.content)


def _formula(
    _: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[index]
    return _typeset(token.content, token.meta["display"], env["allowance"])


def _formula_block(
    _: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return f"<p>{_typeset(tokens[index].content, True, env['allowance'])}</p>\n"


def _typeset(tex: str, display: bool, allowance: Allowance) -> str:
    made = mathml(tex, display=display) if allowance.formula(len(tex)) else None
    is_allowed = made and allowance.markup(len(made.encode()))
    return made if made and is_allowed else source(tex, display=display)


def _fence(
    _: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    code = tokens[index].content
    info = unescapeAll(tokens[index].info).split(maxsplit=1)
    if not info:
        return f"<pre><code>{escapeHtml(code)}</code></pre>\n"
    name = escapeHtml(info[0].lower())
    coloured = spans(code, name) if env["allowance"].code(len(code)) else None
    if coloured is None or not env["allowance"].markup(len(coloured.encode())):
        coloured = escapeHtml(code)
    # None on <pre>: stylesheets of clients and themes give it another box with such a class.
    return f'<pre><code class="language-{name}">{coloured}</code></pre>\n'


def _html(
    _: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    written, allowance = tokens[index].content, env["allowance"]
    return written if allowance.html(written, tokens, index) else escapeHtml(written)


def _cell(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    # The parser writes a style, which the sanitiser removes.
    style = tokens[index].attrs.pop("style", None)
    if style is not None:
        tokens[index].attrSet("align", str(style).removeprefix("text-align:"))
    return renderer.renderToken(tokens, index, options, env)


_RULES = {
    "formula": _formula,
    "formula_block": _formula_block,
    "fence": _fence,
    "html_inline": _html,
    "html_block": _html,
    "td_open": _cell,
    "th_open": _cell,
}

_REFINED = _parser(refined=True)
_PLAIN = _parser(refined=False)
