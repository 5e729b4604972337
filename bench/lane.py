"""What a request costs in this process alone, from its bytes to its answer, without socket and
Redis.

uvicorn's protocol class with the fast path gets each request in one piece, the batch answers at
once, and the transport keeps what is written. For comparison llhttp alone parses the same bytes.

A page that is joined again is made of Redis's reply to the script, whose bytes were prepared: the
fast path and the tasks that wait for the reply are left out.
"""

import asyncio
from collections.abc import Callable, Iterable
from itertools import cycle, islice
from random import Random
from typing import Any

import hiredis
import httptools
import uvicorn
from uvicorn.server import ServerState

from footfall.asgi import create_app, create_metrics, policy_of
from footfall.comments.api import comments
from footfall.comments.store.threads import PageReply
from footfall.config import Settings
from footfall.counting.clients import NO_CLIENT
from footfall.driver.commands import pack_word
from footfall.http.protocol import HttpProtocol
from footfall.loadtest.exchange import numbered
from footfall.loadtest.workload import zipf
from footfall.routes import operations
from footfall.site import Site
from footfall.stores import open_process, open_store
from footfall.table.fast_cycle import protocol_of
from footfall.table.variants import WALINE
from tests.support.sites import site_of

from .peer import Peer
from .scenarios import PATHS, ROOTS, Headers, Increment, Op, Read, article, path
from .visitors import ADDRESS_MARK

# Each request is sent once before it is measured, so that its path is cached.
REQUESTS = 4096
# What is asked for with these methods, of a path.
OPERATIONS: dict[str, Callable[[str], Op]] = {"POST": Increment, "GET": lambda name: Read((name,))}


class Listener(asyncio.Transport):
    """A client on loopback that reads everything at once."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 2), "sockname": ("127.0.0.1", 1)})
        self.received: Any = b""

    def write(self, data: Any) -> None:
        self.received = data

    def writelines(self, pieces: Any) -> None:
        self.received = b"".join(pieces)

    def is_closing(self) -> bool:
        return False


def encoders() -> dict[str, Callable[[], object]]:
    """Name -> a function that answers one request. It raises RuntimeError if the fast path does
    not."""
    found: dict[str, Callable[[], object]] = {}
    kinds: tuple[Headers, ...] = ("plain", "browser", "proxied")
    for method, op in OPERATIONS.items():
        for headers in kinds:
            sent = requests_of(op, headers)
            found[f"llhttp alone, {method}, {headers}"] = _parsing(sent)
            found[f"fast path, {method}, {headers}"] = _answering(sent)
    return found


def requests_of(
    op: Callable[[str], Op], headers: Headers, ranks: Iterable[int] | None = None
) -> list[bytes]:
    """For these pages by their ranks, or as visitors of a site would ask for them."""
    peer = Peer("lane", "", "http://127.0.0.1:8360", 0, "")
    found = islice(ranks or zipf(Random("lane"), PATHS), REQUESTS)
    ops = [op(path(rank)) for rank in found]
    mark = ADDRESS_MARK.encode()
    return [
        numbered(each, n).replace(mark, b"11.0.%d.%d" % divmod(n, 256))
        for n, each in enumerate(peer.templates(ops, headers))
    ]


def _parsing(sent: list[bytes]) -> Callable[[], object]:
    requests = cycle(sent)
    parser = httptools.HttpRequestParser(object())
    return lambda: parser.feed_data(next(requests))


def _answering(sent: list[bytes]) -> Callable[[], object]:
    requests = cycle(sent)
    protocol, listener = _protocol()

    def answer() -> None:
        listener.received = b""
        protocol.data_received(next(requests))
        if not listener.received.startswith(b"HTTP/1.1 200 OK"):
            raise RuntimeError(f"the lane answered {listener.received!r}")

    for _ in sent:
        answer()
    return answer


def joining(found: PageReply) -> dict[str, Callable[[], object]]:
    """Name -> a function that makes a page of this reply, and one that only parses the reply. They
    raise RuntimeError if the page waits for anything."""
    settings = Settings.from_env({})
    store = open_store(settings, open_process(settings, "redis://127.0.0.1"))
    service = site_of(settings, store, metrics=create_metrics())
    parsed = comments.WantedPage(article(0), 1, ROOTS, "insertedAt_desc", WALINE)
    reader, sent = hiredis.Reader(), packed(found)

    def read() -> list[Any]:
        reader.feed(sent)
        return [reader.gets()]

    def join() -> None:
        try:
            comments.joined(service.comments, parsed).send(None)
        except StopIteration:
            return
        raise RuntimeError("the page has to wait for something")

    store.redis.data_set_ids.check = lambda: None  # type: ignore[method-assign]
    store.redis.sender.ask = lambda commands, done, deadline: done(read())  # type: ignore[method-assign]
    # It is sent at once, since nothing else joins the write.
    store.comments.pipeline.most_a_write = 1
    return {"a page joined again, 10 x (1+4)": join, "hiredis alone, 10 x (1+4)": read}


def packed(reply: Any) -> bytes:
    """A reply in RESP."""
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    if isinstance(reply, bytes):
        return pack_word(reply)
    return b"*%d\r\n%b" % (len(reply), b"".join(map(packed, reply)))


def _protocol() -> tuple[Any, Listener]:
    settings = Settings.from_env({})
    store = open_store(settings, open_process(settings, "redis://127.0.0.1"))
    service = site_of(settings, store, metrics=create_metrics())
    # Replies as Redis would send them, at once.
    store.counters.fetch = lambda read, done: done([1] * read.size)
    store.counters.send = lambda change, done, client=NO_CLIENT: done([2] * change.size)
    store.batch.take_tokens = lambda *spend: spend[-1]([0])  # type: ignore[method-assign]
    (one,) = connections(
        1, service, protocol_of(service.served, policy_of(settings), operations(()))
    )
    return one


def connections(
    number: int, service: Site, kind: type[HttpProtocol]
) -> list[tuple[HttpProtocol, Listener]]:
    """Clients' connections to a server with this protocol class."""
    app = create_app(Settings.from_env({}), service)
    config = uvicorn.Config(app, http=kind, lifespan="off", log_config=None)
    config.load()
    state = ServerState()
    state.default_headers = [(b"date", b"Sun, 01 Jan 2023 00:00:00 GMT")]
    made = []
    for _ in range(number):
        protocol, listener = kind(config=config, server_state=state, app_state={}), Listener()
        protocol.connection_made(listener)
        made.append((protocol, listener))
    return made
