"""The layout of an email: a letter of the site, as HTML and as plain text with the same content.

Email programs load nothing and run nothing. All of them know these styles, or do without; those
that know `prefers-color-scheme` follow their user's dark mode.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from typing import NamedTuple

# Email programs cut off longer ones anyhow.
MAX_SUBJECT_CHARACTERS = 200
_STYLE = """
body { margin: 0; padding: 16px 8px; background: #faf9f5; color: #1d2320;
 font: 16px/1.5 -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
main { display: block; max-width: 560px; margin: 0 auto; padding: 8px 20px 16px; background: #fff;
 border: 1px solid #e2dfd5; border-radius: 12px; overflow-wrap: anywhere; }
h1 { color: #5c655f; font-size: 16px; }
blockquote { margin: 16px 0; padding: 2px 16px; border-left: 4px solid #1c6650; }
a { color: #1c6650; }
.button { display: inline-block; margin: 4px 16px 4px 0; padding: 10px 20px; border-radius: 8px;
 background: #1c6650; color: #fff; font-weight: 600; text-decoration: none; }
.more { display: inline-block; margin-right: 16px; padding: 10px 0; }
.foot { border-top: 1px solid #e2dfd5; padding-top: 12px; color: #5c655f; font-size: 14px; }
@media (prefers-color-scheme: dark) {
 body { background: #131614; color: #e9ebe7; }
 main { background: #1a1e1c; border-color: #2d3330; }
 h1, .foot { color: #a1aaa4; border-color: #2d3330; }
 a { color: #7fcdac; } blockquote { border-color: #7fcdac; }
 .button { background: #7fcdac; color: #0c1913; }
}
"""


class Link(NamedTuple):
    text: str
    address: str


class Quote(NamedTuple):
    """A comment's text; `markup` is the same as safe HTML, "" if there is none."""

    text: str
    markup: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """`lines` are paragraphs of plain text, and quotes. `links` stand beside the button."""

    language: str
    subject: str
    site: str
    lines: Sequence[str | Quote]
    button: Link | None = None
    links: Sequence[Link] = ()
    foot: Sequence[str | Link] = ()

    @property
    def actions(self) -> list[Link]:
        """All links but those of the foot."""
        return [*([self.button] if self.button else []), *self.links]

    def fill(self, message: EmailMessage, *, subject: str = "", body: str = "") -> None:
        """Give an email its subject and both of its forms; another `subject` or `body`, which is
        HTML, takes the place of the letter's own."""
        message["Subject"] = " ".join((subject or self.subject).split())[:MAX_SUBJECT_CHARACTERS]
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(self.text)
        html = f"{body}{self._ending()}" if body else self.html
        message.add_alternative(html, subtype="html")

    @property
    def text(self) -> str:
        lines = [_quoted(line.text) if isinstance(line, Quote) else line for line in self.lines]
        links = "\n".join(f"{text}: {address}" for text, address in self.actions)
        foot = [f"{x.text}: {x.address}" if isinstance(x, Link) else x for x in self.foot]
        return "\n\n".join(filter(None, [*lines, links, "\n".join(["-- ", *foot])])) + "\n"

    @property
    def html(self) -> str:
        button = f"<p>{self._actions()}</p>" if self.actions else ""
        lines = "\n".join(map(_markup, self.lines))
        return (
            f'<!doctype html>\n<html lang="{self.language}"><head><meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f"<title>{html.escape(self.subject)}</title><style>{_STYLE}</style></head>\n"
            f"<body><main><h1>{html.escape(self.site)}</h1>\n{lines}\n{button}\n"
            f'<p class="foot">{self._foot()}</p></main></body></html>\n'
        )

    def _actions(self) -> str:
        kinds = ["button" if self.button else "more", *["more"] * len(self.actions)]
        return "".join(map(_anchor, self.actions, kinds))

    def _foot(self) -> str:
        return "<br>\n".join(
            _anchor(line, "") if isinstance(line, Link) else html.escape(line) for line in self.foot
        )

    def _ending(self) -> str:
        """What an owner's own template does not have."""
        links = [*self.actions, *(line for line in self.foot if isinstance(line, Link))]
        anchors = " · ".join(_anchor(link, "") for link in links)
        return f"<p><small>{anchors}</small></p>" if anchors else ""


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())


def _markup(line: str | Quote) -> str:
    if isinstance(line, Quote):
        plain = html.escape(line.text.strip()).replace("\n", "<br>\n")
        return f"<blockquote>{line.markup or f'<p>{plain}</p>'}</blockquote>"
    return f"<p>{html.escape(line)}</p>"


def _anchor(link: Link, kind: str) -> str:
    address, text = html.escape(link.address), html.escape(link.text)
    name = f' class="{kind}"' if kind else ""
    return f'<a{name} href="{address}">{text}</a>'
