"""Real clients in a real browser, on a blog that calls the service from another origin.

The fixtures have the scope of this package: while Playwright's synchronous API is open its event
loop counts as running, and the asynchronous tests of other packages could not have their own.

A test is tried with one client and on one screen, as its name decides; with TEST_ALL=1 on all.
"""

import itertools
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.support import extent
from tests.support.servers import RealServer
from tests.support.serving import Serving, serving, started

from .blog import Blog, serving_blog
from .clients import CLIENTS, Client
from .visitor import PATIENCE_MS, Visitor, launched

HERE = Path(__file__).parent

_paths = (f"/post/{n}" for n in itertools.count())
_numbers = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tries = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if HERE in item.path.parents:
            tries[item.nodeid.partition("[")[0]].append(item)
    for name, same in tries.items():
        for item in same:
            if item is not extent.one_of(same, name):
                item.add_marker("rare")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    with launched() as browser:
        yield browser


@pytest.fixture(scope="package")
def blog() -> Iterator[Blog]:
    with serving_blog() as blog:
        yield blog


Start = Callable[..., Serving]
NewVisitor = Callable[..., Visitor]


@pytest.fixture(scope="package")
def service(blog: Blog) -> Iterator[Serving]:
    """One service for all clients' tests, each of which has its own page."""
    with tempfile.TemporaryDirectory(prefix="ff") as home, serving(Path(home), **by(blog)) as one:
        yield one


@pytest.fixture
def start(blog: Blog, servers: Mapping[str, RealServer]) -> Iterator[Start]:
    """Starts a service for one test, with other settings.

    It has a data set of its own in the Valkey that all share: a private one takes as long to start
    as the service.
    """
    with ExitStack() as stack:

        def start(kind: type[Serving] = Serving, **environ: str) -> Serving:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ff")))
            data = {"REDIS_URL": servers["valkey"].url, "KEY_PREFIX": f"b{next(_numbers)}"}
            return stack.enter_context(started(kind(home, **{**data, **by(blog), **environ})))

        yield start


def by(blog: Blog) -> dict[str, str]:
    """Avatars from the blog, since no other host may be asked."""
    return {"GRAVATAR_STR": f"{blog.url}/avatar/{{{{mail|md5}}}}", "SITE_NAME": "Demo"}


class Writer:
    """Puts comments on a page without a browser."""

    def __init__(self, server: str, path: str) -> None:
        self.server = server
        self.path = path

    def __call__(self, text: str, **fields: Any) -> dict[str, Any]:
        draft = {"comment": text, "url": self.path, "nick": "Ann", "mail": "ann@example.com"}
        answer = httpx.post(f"{self.server}/api/comment", json={**draft, **fields}).json()
        assert answer["errno"] == 0, answer
        stored: dict[str, Any] = answer["data"]
        return stored

    def reply(self, root: dict[str, Any], text: str, **fields: Any) -> dict[str, Any]:
        return self(text, pid=root["objectId"], rid=root["objectId"], at=root["nick"], **fields)

    def like(self, comment: dict[str, Any]) -> None:
        url = f"{self.server}/api/comment/{comment['objectId']}"
        assert httpx.put(url, json={"like": True}).json()["errno"] == 0


@pytest.fixture
def path() -> str:
    return next(_paths)


@pytest.fixture
def write(service: Serving, path: str) -> Writer:
    return Writer(service.url, path)


@pytest.fixture
def new_visitor(browser: Browser) -> Iterator[NewVisitor]:
    """Makes another person; when the test ends, nothing unexpected may have happened to any of
    them."""
    visitors: list[Visitor] = []

    def new_visitor(**options: Any) -> Visitor:
        visitors.append(Visitor(browser, **options))
        return visitors[-1]

    yield new_visitor
    complaints = [complaint for visitor in visitors for complaint in visitor.complaints()]
    for visitor in visitors:
        visitor.close()
    assert complaints == []


@pytest.fixture
def visitor(new_visitor: NewVisitor) -> Visitor:
    return new_visitor()


@pytest.fixture(params=CLIENTS, ids=str)
def client(request: pytest.FixtureRequest) -> Client:
    client: Client = request.param
    return client
