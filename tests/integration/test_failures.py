"""Redis is unreachable, frozen, without its scripts, or loses a reply: 503 quickly, no double
count, no hang.
"""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from footfall.comments.store import journal
from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.driver.commands import pack
from footfall.driver.connection import Connection
from footfall.driver.data_set_id import DataSetIds
from footfall.driver.stats import CommandStats
from footfall.errors import StoreUnavailable
from footfall.ids import digest
from footfall.telemetry.metrics import Metrics
from tests.conftest import Site, Sites
from tests.support.backups import report
from tests.support.losing import catch_up, lost_replies
from tests.support.servers import RealServer, program_of, running, wait_until

REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/api/article?path=/a", None),
    ("POST", "/api/article", {"path": "/a"}),
    ("GET", "/api/comment?path=/p", None),
    ("GET", "/api/comment?type=count", None),
    ("GET", "/api/comment?type=recent", None),
    ("POST", "/api/comment", {"comment": "hello", "url": "/p"}),
    ("PUT", "/api/comment/" + "0" * 32, {"like": True}),
]


@pytest.fixture
def server(kind: str, own: Path) -> Iterator[RealServer]:
    """A server that a test may damage."""
    with running(program_of(kind), own) as server:
        yield server


@pytest.fixture
async def store(server: RealServer) -> AsyncIterator[Store]:
    store = Store(connect(server.url, timeout=1.5), prefix="t", buckets=1024)
    await store.create()
    yield store
    await store.redis.close()


# For answers that no description has: what is damaged is a 500.
UNDESCRIBED: dict[str, list[Any]] = {}


async def all_are_503(site: Site) -> None:
    async def ask(method: str, path: str, body: Any) -> None:
        response = await site.http.request(method, path, json=body)
        assert response.status_code == 503, (method, path)
        assert response.json() == {"errno": 503, "errmsg": "Service Unavailable"}
        assert response.headers["retry-after"] == "1"
        assert response.headers["access-control-allow-origin"] == "*"

    async with asyncio.timeout(60):
        await asyncio.gather(*(ask(*request) for request in REQUESTS))


async def all_work(site: Site) -> None:
    for method, path, body in REQUESTS:
        response = await site.http.request(method, path, json=body)
        assert response.status_code == 200, (method, path, response.text)


async def test_with_redis_gone_every_request_is_503_and_with_it_back_the_next_works(
    site: Site, server: RealServer
) -> None:
    await all_work(site)
    await asyncio.to_thread(server.kill)
    await all_are_503(site)
    await asyncio.to_thread(server.start)
    assert await site.count("/a", type="reaction1") == 1
    await site.page()


async def told(site: Site) -> set[str]:
    """What /metrics says of Redis."""
    response = await site.http.get("/metrics")
    assert response.status_code == 200
    names = "footfall_redis_up", "footfall_redis_servers", "footfall_comments_waiting"
    lines = response.text.splitlines()
    return {line for line in lines if line.startswith(names) and not line.endswith("} 0.0")}


async def test_metrics_say_at_once_whether_redis_answers_and_what_it_is(
    site: Site, server: RealServer
) -> None:
    waiting, master = "footfall_comments_waiting 0.0", 'footfall_redis_servers{role="master"} 1.0'
    assert await told(site) == {"footfall_redis_up 1.0", master, waiting}
    with server.admin() as admin:
        admin.replicaof("127.0.0.1", "1")
        replica = 'footfall_redis_servers{role="replica"} 1.0'
        assert await told(site) == {"footfall_redis_up 1.0", replica, waiting}
        admin.replicaof("NO", "ONE")
    away = {"footfall_redis_up 0.0", 'footfall_redis_servers{role="away"} 1.0'}
    server.signal(signal.SIGSTOP)
    assert await told(site) == away
    server.signal(signal.SIGCONT)
    await asyncio.to_thread(server.kill)
    assert await told(site) == away


async def test_after_a_restart_the_first_request_works(site: Site, server: RealServer) -> None:
    await all_work(site)
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start)
    for method, path, body in REQUESTS[:5]:
        response = await site.http.request(method, path, json=body)
        assert response.status_code == 200, (method, path, response.text)


async def test_with_redis_frozen_every_request_is_503(site: Site, server: RealServer) -> None:
    await all_work(site)
    server.signal(signal.SIGSTOP)
    await all_are_503(site)
    server.signal(signal.SIGCONT)
    assert await site.count("/a", type="reaction1") == 1


async def test_a_connection_leaves_a_server_that_has_become_a_replica(
    site: Site, server: RealServer
) -> None:
    def connections() -> set[str]:
        return {each["id"] for each in admin.client_list() if each["user"] == "footfall"}

    def is_broken() -> bool:
        return not connections() & before

    with server.admin() as admin:
        assert await site.count("/a") == 1
        before = connections()
        admin.replicaof("127.0.0.1", "1")
        # Redis says READONLY for each counter, inside the script's reply.
        assert (await site.count("/a"))["errno"] == 503
        await asyncio.to_thread(wait_until, is_broken, "the wire to break")
        admin.replicaof("NO", "ONE")
        assert await site.count("/a") == 2


async def test_a_closed_store_opens_no_connection_for_late_commands(
    store: Store, server: RealServer
) -> None:
    await store.counters.read(["time /a"])
    await store.redis.close()
    with pytest.raises(StoreUnavailable):
        await store.counters.read(["time /a"])
    # The end of the turn closes the sockets.
    await asyncio.sleep(0)
    with server.admin() as admin:

        def are_closed() -> bool:
            return not any(each["user"] == "footfall" for each in admin.client_list())

        wait_until(are_closed, "Redis to see that they are closed")


async def test_a_command_sent_in_the_callback_of_a_failed_connection_is_answered() -> None:
    """A batch that has grown meanwhile does that, and nothing checks on it later."""

    class Refused:
        async def connect(self) -> None:
            raise ConnectionError("refused")

    def ask(done: Callable[[Any], None]) -> None:
        wire.ask([pack("PING")], done, loop.time() + 5)

    loop = asyncio.get_running_loop()
    stats = CommandStats(Metrics(), 5)
    wire = Connection(cast(Any, Refused), 5, stats, stats.server("Redis"), DataSetIds(stats))
    heard = loop.create_future()
    ask(lambda answer: ask(heard.set_result))
    assert isinstance(await asyncio.wait_for(heard, 2), StoreUnavailable)


async def test_scripts_that_redis_forgot_are_sent_again(site: Site, server: RealServer) -> None:
    await all_work(site)
    with server.admin() as admin:
        admin.script_flush()
    await site.count("/a")
    assert await site.get("/article", path="/a") == 2
    await site.page()


async def test_a_damaged_counter_fails_only_for_its_readers(site: Site, store: Store) -> None:
    site.http.event_hooks = UNDESCRIBED
    await site.count("/fine")
    await store.redis.client.hset(store.keys.counts("time /bad"), "time /bad", "abc")
    answers = await asyncio.gather(
        *(site.get("/article", path=path) for path in ("/fine", "/bad", "/fine")),
        *(site.count(path) for path in ("/fine", "/bad", "/fine")),
    )
    errnos = [answer["errno"] if isinstance(answer, dict) else answer for answer in answers]
    assert errnos[1] == errnos[4] == 500
    assert sorted(errnos[3::2]) == [2, 3]
    assert await site.get("/article", path="/fine") == 3


async def test_a_damaged_version_of_a_page_fails_only_for_its_readers(
    site: Site, store: Store
) -> None:
    site.http.event_hooks = UNDESCRIBED
    await store.redis.client.set(store.keys.page(digest("/bad"), "version"), "abc")
    paths = ("/fine", "/bad", "/new")
    found = await asyncio.gather(*(site.get("/api/comment", path=path) for path in paths))
    assert [each["errno"] for each in found] == [0, 500, 0]


async def test_a_damaged_version_is_an_error_and_no_hang(site: Site, store: Store) -> None:
    site.http.event_hooks = UNDESCRIBED
    await store.redis.client.set(store.keys.page(digest("/p"), "version"), "abc")
    requests = [site.get("/api/comment", path="/p"), site.count("/a"), site.get("/article?path=/a")]
    async with asyncio.timeout(60):
        page, count, _ = await asyncio.gather(*requests)
    assert (page["errno"], count) == (500, 1)


async def test_a_name_that_cannot_be_encoded_is_an_error_of_its_request_alone(store: Store) -> None:
    """Such a path is refused long before."""
    async with asyncio.timeout(60):
        found = await asyncio.gather(
            store.counters.read(["time /\udc80"]),
            store.counters.read(["time /a"]),
            return_exceptions=True,
        )
        assert [type(each) for each in found] == [UnicodeEncodeError, list]
        assert await store.counters.add([("/a", "time", 1)]) == [1]


class Proxy:
    """Passes bytes on to Redis, and can drop the replies and close the connection instead."""

    def __init__(self, target: Path) -> None:
        self.is_swallowing = False
        self._target = target
        self._serving: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listening(self, path: Path) -> AsyncIterator[str]:
        server = await asyncio.start_unix_server(self._accept, str(path))
        async with server:
            yield f"unix://{path}"
        await asyncio.gather(*self._serving)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.add(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        above, below = await asyncio.open_unix_connection(str(self._target))

        async def ask() -> None:
            while data := await reader.read(65536):
                below.write(data)

        async def answer() -> None:
            while (reply := await above.read(65536)) and not self.is_swallowing:
                writer.write(reply)

        both = [asyncio.create_task(ask()), asyncio.create_task(answer())]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for each in both:
            each.cancel()
        for end in (writer, below):
            end.close()
            await end.wait_closed()


async def test_a_write_whose_reply_was_lost_is_never_sent_again(
    server: RealServer, own: Path
) -> None:
    proxy = Proxy(server.socket)
    async with proxy.listening(own / "p") as url:
        store = Store(connect(url, timeout=1.5), prefix="t", buckets=1024)
        await store.create()
        sites = Sites(store)
        site = await sites()
        assert await site.count("/a") == 1
        proxy.is_swallowing = True
        assert (await site.count("/a"))["errno"] == 503
        proxy.is_swallowing = False
        # It was counted once before its reply was lost, and not a second time.
        assert await site.get("/article", path="/a") == 2
        id = (await site.post("hello"))["objectId"]
        # One request gets its reply, so that Redis has the script and later ones run at once.
        await site.send("PUT", f"/comment/{id}", {"like": True})
        proxy.is_swallowing = True
        assert (await site.send("PUT", f"/comment/{id}", {"like": True}))["errno"] == 503
        proxy.is_swallowing = False
        assert (await site.page())["data"][0]["like"] == 2
        await sites.close()
        await store.redis.close()


async def test_a_comment_is_stored_though_the_site_cannot_follow(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lost_replies(monkeypatch, "journal/apply", is_done=False):
        posted = await site.post("hello")
        await site.settled()
    assert (await site.page())["count"] == 1
    assert await site.get("/comment", type="recent") == []
    await catch_up(site.service.comments.journal, monkeypatch)
    assert [each["objectId"] for each in await site.get("/comment", type="recent")] == [
        posted["objectId"]
    ]


async def test_what_was_left_on_a_page_is_followed_with_its_next_change(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lost_replies(monkeypatch, "journal/apply", is_done=False):
        await site.post("hello")
        await site.settled()
    await site.post("next")
    recent = await site.get("/comment", type="recent")
    assert [each["orig"] for each in recent] == ["next", "hello"]


async def test_the_site_follows_a_comment_whose_reply_was_lost_if_it_was_stored(
    site: Site, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.post("hello", url="/q")
    for is_done, text in ((True, "stored"), (False, "not stored")):
        with lost_replies(monkeypatch, "comments/publish", is_done=is_done):
            draft = {"comment": text, "url": "/p", "nick": "Ann", "mail": "ann@example.com"}
            assert (await site.send("POST", "/api/comment", draft))["errno"] == 503
    await catch_up(site.service.comments.journal, monkeypatch)
    recent = await site.get("/comment", type="recent")
    assert [each["orig"] for each in recent] == ["stored", "hello"]
    assert await report(store) == ["2 pages, 2 approved comments, 0 held, 0 counters, 0 problems"]


async def test_a_change_that_does_not_come_is_waited_for_and_then_forgotten(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that was frozen may still carry it out."""
    changing, client = store.keys.site("changing"), store.redis.client
    await client.zadd(changing, {f"{digest('/p')} 1": time.time() * 1000})
    await catch_up(store.journal, monkeypatch)
    assert await client.zcard(changing) == 1
    monkeypatch.setattr(journal, "ABANDONED_MS", -1)
    await catch_up(store.journal, monkeypatch)
    assert await client.zcard(changing) == 0


async def test_what_a_failover_took_back_from_the_site_is_followed_again(
    site: Site, store: Store, server: RealServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a Cluster the site's node may lose what was not durable, and the page's has it."""
    with lost_replies(monkeypatch, "journal/apply", is_done=False):
        posted = await site.post("hello")
        await site.settled()
    with server.admin() as admin:
        before = {key: admin.dump(key) for key in await site_keys(store)}
        # It is followed, and nobody confirms that this is durable: so the journal is not cut.
        with lost_replies(monkeypatch, "journal/cut", is_done=False), suppress(StoreUnavailable):
            await store.journal.follow(digest("/p"))
        assert len(await site.get("/comment", type="recent")) == 1
        for key in await site_keys(store):
            admin.delete(key)
        for key, value in before.items():
            admin.restore(key, 0, value)
    assert await site.get("/comment", type="recent") == []
    await catch_up(store.journal, monkeypatch)
    (recent,) = await site.get("/comment", type="recent")
    assert recent["objectId"] == posted["objectId"]
    assert (await report(store))[:-1] == []


async def site_keys(store: Store) -> list[bytes]:
    prefix = store.keys.site("").encode()
    found = [key async for keys in store.redis.scan(store.keys.every_key) for key in keys]
    return [key for key in found if key.startswith(prefix) and not key.endswith(b"format")]
