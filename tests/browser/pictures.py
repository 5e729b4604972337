"""Takes the pictures in docs/pictures: `python -m tests.browser.pictures`.

The service runs in this process, on a real Redis, so that its clock can be set: comments of nine
days are posted in two seconds, over HTTP, by all people in turn.
"""

import contextlib
import socket
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import uvicorn
from playwright.sync_api import Browser, Page, expect

from footfall.asgi import create_app, create_metrics
from footfall.config import Settings
from footfall.model import PUBLIC, Account, Viewer
from footfall.stores import open_process, open_store
from tests.support.accounts import save_account
from tests.support.servers import program_of, running
from tests.support.sites import site_of

from . import admin_pictures, statistics_pictures
from .blog import Blog, serving_blog
from .clients import CLIENTS
from .visitor import Visitor, launched

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
# That of the demonstration page.
PATH = "/.footfall-demo"
SITE = "https://blog.example"
READS = 18_402
VOTES = (38, 12, 27, 4, 19)
MOST_CHANGES = 200

MARA = Account(
    "mara", "administrator", "Mara", "mara@example.com", link="https://mara.example", label="Author"
)
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
SAFARI = (
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/26.0 Safari/605.1.15"
)
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/142.0.0.0 Safari/537.36"
)
PHONE = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/142.0.0.0 Mobile Safari/537.36"
)


@dataclass(frozen=True)
class Said:
    """One comment: `hours` ago, and the name of the author that it replies to."""

    nick: str
    hours: float
    text: str
    likes: int = 0
    ua: str = FIREFOX
    link: str = ""
    token: str = ""
    is_pinned: bool = False
    replies: tuple["Said", ...] = field(default=())


WELCOME = """Welcome! Leave a word, try the *formatting*, like what you like. I read everything \
that is written here, usually with tea. :tea:"""

MEASURED = """Moved my photo blog over last night. The two numbers I wrote on the fridge:

| | before | now |
|---|---:|---:|
| scripts on a page | 214 kB | **1.5 kB** |
| comments on screen | 1.9 s | **0.2 s** |

The cat is unimpressed, everybody else noticed. :tada:"""

STATIC_SITE = """For anyone on a static site: this is all I added to the template.

```html
<script async src="https://talk.example/count.js"></script>
<p><span data-footfall-views></span> reads</p>
```

Works on the index page too, with a path for each post."""

FORMULA = """Does it do formulas? Let me see: the harmonic numbers grow like \
$H_n \\approx \\ln n + \\gamma$, and so does my list of unread posts.

$$\\sum_{n=1}^{\\infty} \\frac{1}{n^2} = \\frac{\\pi^2}{6}$$"""

SCRIPT = """I wanted my old counts, so I wrote this. Forty lines shorter than I feared:

```python
import httpx

for path, reads in old_counts.items():
    for _ in range(reads):
        httpx.post(f"{server}/api/article", json={"path": path})
```

Not elegant, but it was done before the kettle boiled."""

SAID = (
    Said("Tomasz", 213, "First! No, seriously: lovely and quiet here. :seedling:", 7, CHROME),
    Said(
        "Nadia",
        190,
        SCRIPT,
        12,
        FIREFOX,
        "https://nadia.example",
        replies=(
            Said(
                "Ibrahim", 188, "You could send them in one request, I think, as a list.", 3, SAFARI
            ),
            Said(
                "Nadia",
                187.5,
                "I could, and I have now. Eleven seconds instead of four minutes.",
                4,
            ),
        ),
    ),
    Said("Jürgen", 150, "Geht auch auf Deutsch, und zwar sofort. Wunderbar! :+1:", 5, PHONE),
    Said(
        "Pieter",
        127,
        "> usually with tea\n\nEarl Grey, I hope.",
        2,
        CHROME,
        replies=(Said("Mara", 126, "Assam. We can still be friends.", 9, SAFARI, token="mara"),),
    ),
    Said(
        "Old Greg",
        101,
        "Reading this on a ten-year-old tablet over hotel wifi. It loads. "
        "That is all I ever wanted from a web page.",
        16,
        PHONE,
    ),
    Said("Lucía", 74, FORMULA, 8, SAFARI, "https://lucia.example"),
    Said(
        "Kwame",
        52,
        "A small wish: could I follow a page's comments from my feed reader?",
        6,
        CHROME,
        replies=(
            Said(
                "Mara", 51, "That is next on the list. Watch this space.", 4, SAFARI, token="mara"
            ),
        ),
    ),
    Said("Mara", 200, WELCOME, 21, SAFARI, token="mara", is_pinned=True),
    Said("Hanneke", 27, STATIC_SITE, 14, FIREFOX, "https://hanneke.example"),
    Said(
        "Dilnoza",
        9,
        MEASURED,
        23,
        SAFARI,
        "https://dilnoza.example",
        replies=(
            Said("Sam", 7.5, "What did you use before, if I may ask?", 1, CHROME),
            Said(
                "Dilnoza",
                7,
                "Something with eleven trackers and a cookie banner. I don't miss it.",
                11,
                SAFARI,
            ),
        ),
    ),
    Said(
        "Birgit",
        2.2,
        "Came for the counter, stayed for the comments. "
        "The keyboard works throughout, thank you for that!",
        6,
        FIREFOX,
    ),
    Said("Arjun", 0.4, "Quick question: does `Ctrl` `Enter` send? … It does. :smile:", 2, CHROME),
)


class Clock:
    """The service's clock; it advances by a millisecond at every reading."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 1
        return self.now

    def set(self, hours_ago: float) -> None:
        self.now = int((time.time() - hours_ago * 3600) * 1000)


async def viewer_of(token: str) -> Viewer:
    return Viewer(MARA) if token == MARA.id else PUBLIC


@contextlib.contextmanager
def serving(redis: str, clock: Clock, blog: Blog) -> Iterator[str]:
    """The service on a thread of its own."""
    settings = Settings.from_env(
        {
            "IPQPS": "0",
            "SITE_NAME": "Footfall",
            "SITE_URL": SITE,
            "SERVER_URL": "https://talk.example",
            "FORUM_URL": "https://forum.example",
            "GRAVATAR_STR": f"{blog.url}/avatar/{{{{nick|md5}}}}",
        }
    )
    listener = socket.create_server(("127.0.0.1", 0))
    ready = threading.Event()
    servers: list[uvicorn.Server] = []

    @contextlib.asynccontextmanager
    async def service() -> AsyncIterator[uvicorn.Server]:
        store = open_store(settings, open_process(settings, redis))
        await store.create()
        await save_account(store, MARA)
        # Of years ago, so they are not views of today.
        for type in ("time", "count"):
            await store.counters.correct(PATH, type, READS)
        made = site_of(settings, store, metrics=create_metrics(), clock=clock, viewer_of=viewer_of)
        clock.set(0)
        await made.statistics.keeper.start()
        config = uvicorn.Config(create_app(settings, made), lifespan="off", log_config=None)
        try:
            yield uvicorn.Server(config)
        finally:
            await store.redis.close()

    async def run() -> None:
        async with service() as server:
            servers.append(server)
            ready.set()
            await server.serve([listener])

    thread = threading.Thread(target=anyio.run, args=(run,))
    thread.start()
    try:
        assert ready.wait(10), "the service did not start"
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        servers[0].should_exit = True
        thread.join()


def fill(server: str, clock: Clock) -> None:
    with httpx.Client(base_url=server) as http:
        for said in sorted(SAID, key=lambda said: -said.hours):
            root = post(http, clock, said, {})
            for reply in said.replies:
                post(http, clock, reply, {"pid": root, "rid": root, "at": said.nick})
        clock.set(0)
        for index, votes in enumerate(VOTES):
            count(http, f"reaction{index}", votes)


def count(http: httpx.Client, type: str, times: int) -> None:
    changes = [{"path": PATH, "type": type}] * times
    for start in range(0, times, MOST_CHANGES):
        body = changes[start : start + MOST_CHANGES]
        http.post("/api/article", json=body).raise_for_status()


def post(http: httpx.Client, clock: Clock, said: Said, where: dict[str, str]) -> str:
    clock.set(said.hours)
    draft = {"comment": said.text, "url": PATH, "nick": said.nick, "link": said.link, "ua": said.ua}
    draft |= {"mail": f"{said.nick.lower().replace(' ', '.')}@example.com", **where}
    headers = {"authorization": f"Bearer {said.token}"} if said.token else {}
    answer: dict[str, Any] = http.post("/api/comment", json=draft, headers=headers).json()
    assert answer["errno"] == 0, answer
    id: str = answer["data"]["objectId"]
    for _ in range(said.likes):
        http.put(f"/api/comment/{id}", json={"like": True}).raise_for_status()
    if said.is_pinned:
        http.put(f"/api/comment/{id}", json={"sticky": 1}, headers=headers).raise_for_status()
    return id


def take(browser: Browser, server: str, blog: Blog) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    wide = {"viewport": {"width": 1040, "height": 1480}, "device_scale_factor": 1.5}
    phone = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True}
    with visiting(browser, **wide) as page:
        open_demo(page, server)
        save(page, "demo-light")
    with visiting(browser, **wide, color_scheme="dark") as page:
        open_demo(page, server)
        scroll_to(page, "#comment-list > li:nth-child(4)")
        save(page, "demo-dark")
    with visiting(browser, **phone) as page:
        open_demo(page, server)
        scroll_to(page, ".list-head")
        save(page, "demo-phone")
    with visiting(browser, **wide) as page:
        open_post(page, server, blog)
        save(page, "waline-client-3")
    take_admin(browser, server, wide, phone)


def take_admin(browser: Browser, server: str, wide: dict[str, Any], phone: dict[str, Any]) -> None:
    with visiting(browser, **wide) as page:
        admin_pictures.open_queue(page, server, MARA.id)
        save(page, "admin-light")
        statistics_pictures.open_overview(page, server, MARA.id)
        save(page, "overview-light")
    with visiting(browser, **phone, color_scheme="dark") as page:
        admin_pictures.open_queue(page, server, MARA.id)
        save(page, "admin-phone")
        statistics_pictures.open_overview(page, server, MARA.id)
        save(page, "overview-phone")


def open_demo(page: Page, server: str) -> None:
    page.goto(server)
    expect(page.locator("#comment-list > li")).to_have_count(10)
    expect(page.locator("#read-count")).not_to_have_text("–")


def open_post(page: Page, server: str, blog: Blog) -> None:
    """A blog's post with the third client under it."""
    client = CLIENTS[-1]
    widget = client.body(server, path=PATH, reaction=REACTIONS, **client.counting)
    page.goto(blog.publish("/a-post", POST.format(widget=widget), client.head + STYLE))
    expect(page.locator(".wl-cards > .wl-card-item")).to_have_count(10)
    expect(page.locator(client.views)).not_to_be_empty()
    page.evaluate("Promise.all([...document.images].map(image => image.decode()))")


# The client's own emoji come from another site.
REACTIONS = [
    "data:image/svg+xml,"
    + quote(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40" width="40" height="40">'
        f'<text x="20" y="31" font-size="30" text-anchor="middle">{face}</text></svg>'
    )
    for face in "👍😀🎉🤔🌱"
]
STYLE = """<style>
  body { margin: 2.5rem auto; max-width: 46rem; font: 1.0625rem/1.6 sans-serif; color: #222 }
  h1 { margin: 0; line-height: 1.2 }
  .quiet { color: #777 }
</style>"""
POST = f"""<h1>Numbers for a small site</h1>
<p class="quiet"><span class="waline-pageview-count" data-path="{PATH}"></span> reads ·
<span class="waline-comment-count" data-path="{PATH}"></span> comments</p>
<p>A page should know how often it was read and what was said about it, and ask nobody else.
Below is the third Waline client, just as it is published, on Footfall.</p>
{{widget}}"""


def scroll_to(page: Page, selector: str) -> None:
    page.locator(selector).evaluate(
        "element => scrollTo({ top: element.getBoundingClientRect().top + scrollY - 24, "
        "behavior: 'instant' })"
    )


def save(page: Page, name: str) -> None:
    page.screenshot(path=PICTURES / f"{name}.png")


@contextlib.contextmanager
def visiting(browser: Browser, **options: Any) -> Iterator[Page]:
    visitor = Visitor(browser, reduced_motion="reduce", **options)
    try:
        yield visitor.page
        assert visitor.complaints() == []
    finally:
        visitor.close()


def main() -> None:
    clock = Clock()
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ff")))
        redis = stack.enter_context(running(program_of("valkey"), home / "r"))
        blog = stack.enter_context(serving_blog())
        server = stack.enter_context(serving(redis.url, clock, blog))
        fill(server, clock)
        with httpx.Client(base_url=server) as http:
            admin_pictures.fill(http, clock, MARA.id)
            environ = {"REDIS_URL": redis.url, "SITE_URL": SITE}
            statistics_pictures.fill(home, environ, http)
        browser = stack.enter_context(launched())
        take(browser, server, blog)
    for picture in sorted(PICTURES.glob("*.png")):
        print(f"{picture.name}: {picture.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
