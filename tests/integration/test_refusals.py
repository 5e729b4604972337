"""Redis refuses commands: each is renamed away, or its right is taken, one by one.

Whichever it is, at the start the error is a sentence and never a traceback; later visitors get 503
and no 500, and /readyz gives the reason in words.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.driver.replies import ErrorReply, error_reply, failure, sentence
from footfall.driver.rights import FOR_VISITORS, RIGHTS
from footfall.driver.safety import Unsafe
from footfall.errors import StoreUnavailable
from footfall.model import FSYNC, Durability
from tests.conftest import ADMIN, Site, Sites
from tests.support.servers import RealServer, kept, program_of, rights, running
from tests.support.serving import Serving, serving
from tests.support.sites import safety_of

ADVICE = "(docs/operations.md lists the permissions it needs)"
UNSEEN = "Error: Redis hides its configuration (+info, +time): "


class Renamed(RealServer):
    """A server without one command, as hosts offer it; everybody may use the others."""

    def command(self) -> list[str]:
        words = super().command()
        user = words.index("--user")
        return words[:user] + words[user + 2 + len(rights()) :]


@contextmanager
def without(kind: str, home: Path, *commands: str) -> Iterator[RealServer]:
    options = [word for command in commands for word in ("--rename-command", command, "")]
    server = Renamed(program_of(kind), home, "--port", "0", *options)
    server.url = f"unix://{server.socket}"
    with kept(server):
        yield server


@pytest.mark.rare
@pytest.mark.parametrize(
    "command", ["CONFIG", "MEMORY", "DBSIZE", "SCAN", "HRANDFIELD", "WAIT", "EVAL"]
)
def test_a_service_starts_and_counts_without_a_command_that_it_can_do_without(
    kind: str, own: Path, command: str
) -> None:
    with (
        without(kind, own / "r", command) as server,
        serving(own / "s", REDIS_URL=server.url) as served,
    ):
        ready = httpx.get(f"{served.url}/readyz")
        vacancy = (
            "there is no administrator yet: "
            "the first account registered at /ui/register becomes one"
        )
        assert (ready.status_code, ready.json()["warnings"]) == (200, [vacancy])
        assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 1
        said = served.output + served.stop()[1]
        assert "Traceback" not in said
        assert "refuses" not in said


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("INFO", UNSEEN),
        ("TIME", UNSEEN),
        ("SCRIPT", "Error: Redis rejects a command: ERR unknown command 'SCRIPT'"),
        ("EVALSHA", "Error: Redis does not allow +evalsha ("),
        ("HSETNX", "Error: Redis does not allow +hsetnx (affects new comments): "),
        (
            "HLEN",
            "Error: Redis does not allow +hlen (affects pages of comments, new comments, logins): ",
        ),
    ],
)
def test_a_start_without_a_command_that_is_needed_ends_in_a_sentence(
    kind: str, own: Path, command: str, sentence: str
) -> None:
    with without(kind, own / "r", command) as server:
        # On a busy machine Redis may be slow, which would be a second line.
        code, output = Serving(own / "s", REDIS_URL=server.url, SLOW_SECONDS="0").ask("serve")
    assert (code, output.count("\n"), output.startswith(sentence)) == (1, 1, True), output
    assert "docs/operations.md" in output


def test_commands_at_a_terminal_say_a_sentence_too(kind: str, own: Path) -> None:
    with (
        without(kind, own / "r", "HGETALL", "HSCAN") as server,
        serving(own / "s", REDIS_URL=server.url, GUARD="warn") as served,
        server.admin() as admin,
    ):
        served.stop()
        admin.execute_command("HSET", "ff:{c:00}:counts:0", "time /a", 1)
        admin.execute_command("SET", "ff:{p:0123456789abcdef}:path", "/a")
        for command in (("check",), ("backup", str(own / "b"))):
            code, output = served.ask(*command)
            assert code == 1, output
            assert "Traceback" not in output
            assert "Redis rejects a command: ERR unknown command" in output


@pytest.fixture
def server(kind: str, own: Path) -> Iterator[RealServer]:
    """A server whose user will be refused commands."""
    with running(program_of(kind), own / "r") as server:
        yield server
        with server.admin() as admin:
            admin.acl_log_reset()


@contextmanager
def taken(server: RealServer, right: str) -> Iterator[None]:
    """Take a right of the service's user away for a while."""
    with server.admin() as admin:
        admin.execute_command("ACL", "SETUSER", "footfall", f"-{right}")
        yield
        admin.execute_command("ACL", "SETUSER", "footfall", f"+{right}")


def allowed() -> list[str]:
    """The rights of the documented user on a server that is not a Cluster."""
    return [word[1:] for word in rights() if word.startswith("+")]


# Rights without which the service works: it does not say how much is stored, and waits for the file
# if it cannot ask about it.
SPARED = {"memory|usage", "dbsize", "scan", "hrandfield", "config|get", "latency|latest", "wait"}


@pytest.mark.rare
@pytest.mark.parametrize("right", allowed())
async def test_a_start_without_a_right_succeeds_or_says_why_not(
    server: RealServer, right: str
) -> None:
    store = Store(connect(server.url, timeout=2), prefix="t", buckets=256, counter_limit=10)
    said = ""
    with taken(server, right):
        try:
            await safety_of(store).check()
            safety_of(store).refuse()
            await store.create()
            await store.numbers.recount_one()
            await store.quota.read()
            await store.scale.weigh()
        except (StoreUnavailable, ErrorReply) as error:
            said = sentence(error)
            assert re.match("Redis rejects a command: (NOPERM|ERR)", said), said
        except Unsafe as error:
            said = str(error)
            assert "(+info, +time)" in said or f"does not allow +{right} (" in said
    if right in SPARED:
        assert said == ""
    known = RIGHTS.get(f"+{right}")
    is_needed = known is not None and not FOR_VISITORS.isdisjoint(known.fails)
    if right in ("info", "time", "script|load") or is_needed:
        assert said
    await store.redis.close()


@pytest.fixture
async def store(server: RealServer) -> AsyncIterator[Store]:
    store = Store(connect(server.url, timeout=2), prefix="t", buckets=256)
    await store.create()
    store.redis.stats.logs_outages = True
    yield store
    await store.redis.close()


async def ask_everything(site: Site, n: int, root: str) -> dict[str, int]:
    """Send one request of each kind; returns its status."""
    draft = {"comment": f"number {n}", "url": "/p", "nick": f"Ann {n}", "mail": "a@example.com"}
    requests: list[tuple[str, str, Any, Any]] = [
        ("GET", "/api/article?path=/a", None, None),
        ("POST", "/api/article", {"path": "/a"}, None),
        ("POST", "/api/article", {"path": "/a", "type": "reaction1", "action": "desc"}, None),
        ("GET", "/api/comment?path=/p", None, None),
        ("GET", "/api/comment?path=/p&sortBy=like_desc", None, ADMIN),
        ("GET", "/api/comment?type=count", None, ADMIN),
        ("GET", "/api/comment?type=count&url=/p", None, None),
        ("GET", "/api/comment?type=recent", None, ADMIN),
        ("POST", "/api/comment", draft, None),
        ("PUT", f"/api/comment/{root}", {"like": True}, None),
        ("PUT", f"/api/comment/{root}", {"status": "waiting"}, ADMIN),
        ("PUT", f"/api/comment/{root}", {"sticky": 1}, ADMIN),
        ("PUT", f"/api/comment/{root}", {"sticky": 0}, ADMIN),
        ("PUT", f"/api/comment/{root}", {"status": "approved"}, ADMIN),
        ("GET", "/metrics", None, None),
    ]
    statuses = {}
    for method, path, body, by in requests:
        headers = {"authorization": f"Bearer {by.id}"} if by else {}
        response = await site.http.request(method, path, json=body, headers=headers)
        statuses[f"{method} {path} {body}"] = response.status_code
    return statuses


@pytest.mark.rare
async def test_rights_that_are_taken_at_run_time_are_503_and_named(
    make_site: Sites, server: RealServer, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    site = await make_site(IPQPS="0.001", COUNTER_RATE="100000")
    root = (await site.post("hello"))["objectId"]
    refused = set()
    for n, right in enumerate(allowed()):
        with taken(server, right):
            statuses = await ask_everything(site, n, root)
            assert set(statuses.values()) <= {200, 503}, (right, statuses)
            ready = await site.http.get("/readyz")
            await safety_of(store).check()
            if 503 in statuses.values():
                refused.add(right)
                assert "Redis rejects a command: " in ready.text, (right, ready.text)
                assert (
                    'footfall_finding{code="refused"} 1.0' in (await site.http.get("/metrics")).text
                )
        if right in refused:
            # It asks Redis whether changes are still rejected.
            await site.http.get("/readyz")
            assert set((await ask_everything(site, 1000 + n, root)).values()) == {200}, right
    assert {"evalsha", "hget", "mget", "hincrby", "hlen", "zadd"} <= refused
    assert not refused & SPARED
    traces = [record for record in caplog.records if record.exc_info]
    assert traces == []
    messages = [record.getMessage() for record in caplog.records]
    lines = [message for message in messages if "rejects a command" in message]
    assert len(lines) == 1, "said once, however many are refused something"


async def test_refused_reads_of_versions_are_errors_and_no_hang(
    server: RealServer, store: Store
) -> None:
    with taken(server, "get"):
        asked = (store.comments.version(f"/{n}") for n in range(3))
        async with asyncio.timeout(60):
            found = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(each) for each in found] == [StoreUnavailable] * 3


async def test_a_server_that_does_not_say_when_it_flushes_is_waited_for(server: RealServer) -> None:
    with server.admin() as admin:
        admin.config_set("appendfsync", "always")
        release = [int(part) for part in admin.info("server")["redis_version"].split(".")[:2]]
    store = Store(connect(server.url, timeout=2, durability=FSYNC), prefix="t", buckets=256)
    safety_of(store, FSYNC)
    with taken(server, "config|get"):
        await safety_of(store).check()
        if release < [7, 2]:
            assert list(safety_of(store).problems) == ["no_wait"]
            with pytest.raises(StoreUnavailable):
                await store.create()
        else:
            assert safety_of(store).problems == {}
            await store.create()
            with server.admin() as admin:
                before = admin.info("commandstats")["cmdstat_waitaof"]["calls"]
                assert await store.counters.add([("/a", "time", 1)]) == [1]
                assert admin.info("commandstats")["cmdstat_waitaof"]["calls"] == before + 1
    await store.redis.close()


async def test_a_wait_that_is_refused_confirms_nothing(server: RealServer) -> None:
    level = Durability("replica", 1)
    store = Store(connect(server.url, timeout=2, durability=level), prefix="t", buckets=256)
    safety_of(store, level)
    with taken(server, "wait"), pytest.raises(StoreUnavailable) as caught:
        await store.counters.add([("/a", "time", 1)])
    assert sentence(caught.value).startswith("Redis rejects a command: NOPERM")
    await store.redis.close()


async def test_a_site_that_refuses_to_follow_does_not_undo_what_is_stored(
    make_site: Sites, store: Store, server: RealServer
) -> None:
    site = await make_site(IPQPS="0.001")
    with server.admin() as admin:
        admin.set(store.keys.site("recent"), "damaged")
        posted = await site.post("hello")
        await site.settled()
        admin.delete(store.keys.site("recent"))
    assert [each["objectId"] for each in (await site.page())["data"]] == [posted["objectId"]]


@pytest.mark.parametrize(
    "text",
    [
        "NOPERM this user has no permissions to run the 'hset' command",
        "NOPERM User footfall has no permissions to access the 'b' key",
        "NOAUTH Authentication required.",
        "ERR unknown command 'HGET', with args beginning with: 'a' 'b' \r\n",
        "ERR unknown command `HGET`, with args beginning with: `a`, ",
        "ERR Unknown Redis command called from script script: e07, on @user_script:1.",
        "ERR The user executing the script can't run this command or subcommand script: 2a7",
        "ERR The user executing the script can't access at least one of the keys mentioned",
        "ERR ACL failure in script: User footfall has no permissions to run the 'hset' command",
        "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -NOPERM x",
    ],
)
def test_all_refusals_of_servers_are_recognised(text: str) -> None:
    reply = error_reply(text)
    assert reply.is_refusal
    assert isinstance(failure(reply), StoreUnavailable)


@pytest.mark.parametrize(
    "text",
    [
        "WRONGTYPE Operation against a key holding the wrong kind of value",
        "ERR hash value is not an integer",
        "ERR this is not a count",
        "ERR wrong number of arguments for 'hget' command",
    ],
)
def test_damage_and_mistakes_are_no_refusals(text: str) -> None:
    reply = error_reply(text)
    assert not reply.is_refusal
    assert failure(reply) is reply
