"""The published clients: how each is embedded, and where it shows what."""

import json
from dataclasses import dataclass
from html import escape
from typing import Any

from playwright.sync_api import Locator, Page

# Client 3 expects an answer to a counter to have an entry for every element of the page's own path,
# but the answer to an increment has one. It throws after it has filled the first element.
TWO_ELEMENTS_OF_ONE_PAGE = "Cannot read properties of undefined (reading 'time')"

DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


@dataclass(frozen=True)
class Client:
    """One release. The class names are its own; the second and third generation share them."""

    version: str
    file: str
    item: str
    card: str
    content: str
    replies: str
    nick: str
    reply: str
    editor: str
    count: str
    more: str
    empty: str
    views: str
    path_of_views: str
    path_of_count: str

    @property
    def generation(self) -> int:
        return int(self.version.split(".")[0])

    def __str__(self) -> str:
        return self.version

    def body(self, server: str, **options: Any) -> str:
        """The markup that shows this client on a page; `options` are those of its init."""
        # No pictures of other sites: emoji and reactions come from a CDN by default.
        given: dict[str, Any] = {"el": "#waline", "serverURL": server, "lang": "en-US"}
        given |= {"emoji": [] if self.generation == 1 else False, **options}
        place = '<div id="waline" style="max-width: 50rem; margin: auto"></div>'
        return place + self.script(f"({json.dumps(given)})")

    def script(self, call: str, function: str = "init") -> str:
        """A script that calls a function of the client's module."""
        source = f"/clients/{self.version}/{self.file}"
        match self.generation:
            case 1:
                name = "Waline" if function == "init" else f"Waline.Widget.{function}"
                return (
                    f'<script src="{source}"></script><script>window.called = {name}{call}</script>'
                )
            case 2:
                name = f"Waline.{function}"
                return (
                    f'<script src="{source}"></script><script>window.called = {name}{call}</script>'
                )
        return (
            f'<script type="module">import {{ {function} }} from "{source}"\n'
            f"window.called = {function}{call}</script>"
        )

    @property
    def head(self) -> str:
        """Client 1 contains its own styles."""
        if self.generation == 1:
            return ""
        return f'<link rel="stylesheet" href="/clients/{self.version}/waline.css">'

    @property
    def counting(self) -> dict[str, Any]:
        """The options that count and show views, and show numbers of comments."""
        return {"visitor": True} if self.generation == 1 else {"pageview": True, "comment": True}

    def views_element(self, path: str) -> str:
        return f'<b class="{self.views[1:]}" {self.path_of_views}="{escape(path)}"></b>'

    def count_element(self, path: str) -> str:
        return f'<b class="waline-comment-count" {self.path_of_count}="{escape(path)}"></b>'


FIRST = dict(
    file="Waline.min.js",
    item=".vitem",
    card=".vcard",
    content=".vcontent",
    replies=".vquote",
    nick=".vnick",
    reply=".vreply",
    editor=".veditor",
    count=".vcount",
    more=".vmore button",
    empty=".vempty",
    views=".waline-visitor-count",
    path_of_views="id",
    path_of_count="data-xid",
)
LATER = dict(
    file="waline.js",
    item=".wl-card-item",
    card=".wl-card",
    content=".wl-content",
    replies=".wl-quote",
    nick=".wl-nick",
    reply=".wl-reply",
    editor=".wl-editor",
    count=".wl-count",
    more=".wl-operation button",
    empty=".wl-empty",
    views=".waline-pageview-count",
    path_of_views="data-path",
    path_of_count="data-path",
)

CLIENTS = (
    Client("1.6.0", **FIRST),
    Client("2.14.1", **{**LATER, "item": ".wl-item"}),
    Client("2.15.5", **LATER),
    Client("3.15.2", **LATER),
)
LATER_CLIENTS = CLIENTS[1:]


class Widget:
    """A client on a page, as its reader sees it."""

    def __init__(self, page: Page, client: Client) -> None:
        self.page = page
        self.client = client
        self.box = page.locator("#waline")
        self.count = self.box.locator(client.count)
        self.empty = self.box.locator(client.empty)
        self.more = self.box.locator(client.more)
        self.texts = self._texts_of_roots()
        self.reactions = self.box.locator(".wl-reaction li")
        self.votes = self.box.locator(".wl-reaction-votes")
        self.orders = self.box.locator(".wl-sort li")

    def item(self, text: str) -> Locator:
        """The comment, root or reply, with this text."""
        # A reply's text is in its own item and in the root's; the inner one comes later.
        return self.box.locator(self.client.item).filter(has_text=text).last

    def replies(self, text: str) -> Locator:
        """The texts of the replies to the root with this text."""
        client = self.client
        root = self.box.locator(client.item).filter(has_text=text).first
        return root.locator(f"{client.replies} > {client.item} > {client.card} > {client.content}")

    def like(self, text: str) -> Locator:
        return self.item(text).locator(".wl-like").first

    def write(self, text: str, nick: str = "Bea", mail: str = "bea@example.com") -> None:
        """Fill in the form and send it."""
        self.box.locator("input[name=nick]").fill(nick)
        self.box.locator("input[name=mail]").fill(mail)
        self.box.locator(self.client.editor).fill(text)
        self.box.locator("button.primary").click()

    def reply(self, to: str, text: str, **author: str) -> None:
        item = self.item(to)
        item.locator(self.client.reply).first.click()
        # Client 1 keeps the form above open: this is the one under the comment.
        form = item.locator(f"{self.client.card} >> nth=0")
        form.locator(self.client.editor).fill(text)
        form.locator("input[name=nick]").fill(author.get("nick", "Bea"))
        form.locator("input[name=mail]").fill(author.get("mail", "bea@example.com"))
        form.locator("button.primary").click()

    def sort(self, name: str) -> None:
        self.orders.filter(has_text=name).click()

    def vote(self, index: int) -> None:
        self.reactions.nth(index).click()

    def views(self, path: str) -> Locator:
        return self.page.locator(f'{self.client.views}[{self.client.path_of_views}="{path}"]')

    def count_of(self, path: str) -> Locator:
        return self.page.locator(f'.waline-comment-count[{self.client.path_of_count}="{path}"]')

    def _texts_of_roots(self) -> Locator:
        cards = ".vcards" if self.client.generation == 1 else ".wl-cards"
        client = self.client
        return self.box.locator(f"{cards} > {client.item} > {client.card} > {client.content}")
