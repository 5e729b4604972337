"""A page of the service itself: its requests, as browsers send them, and its cookie."""

import json
from typing import Any

import httpx

from tests.conftest import Site

# The headers of a browser with requests of the page at /ui/.
SENT = {
    "x-footfall-page": "1",
    "origin": "http://site.test",
    "referer": "http://site.test/ui/",
    "sec-fetch-site": "same-origin",
}


class AdminPage:
    """A page in a browser of its own."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.cookie = ""

    async def ask(
        self, method: str, path: str, body: Any = None, /, **headers: str | None
    ) -> httpx.Response:
        """Send a request under /ui/api. A header that is None is left out; _ stands for -."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        lines = {**SENT, "cookie": self.cookie or None, **named}
        sent = {name: value for name, value in lines.items() if value is not None}
        answer = await self._site.http.request(method, f"/ui/api/{path}", json=body, headers=sent)
        # The browser keeps it here, so that a test can see it.
        self._site.http.cookies.clear()
        if kept := answer.headers.get_list("set-cookie"):
            # That of the login; behind it comes one that only tells the browser.
            self.cookie = kept[0].partition(";")[0]
        return answer

    async def __call__(self, method: str, path: str, body: Any = None, /) -> Any:
        return last(await self.ask(method, path, body))


def last(answer: httpx.Response) -> Any:
    """What is answered: all of it, or the last line where others say how far it is."""
    return json.loads(answer.content.splitlines()[-1])
