"""The user of docs/operations.md has enough rights, and no more than enough."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import httpx
import pytest
from redis import Redis

from footfall.callbacks import awaited
from footfall.counting.clients import Person
from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.driver.rights import RIGHTS
from footfall.driver.scripts import files
from footfall.statistics.calendar import Calendar
from footfall.statistics.moments import Moments
from footfall.statistics.salts import Salts
from tests.support.servers import PASSWORD, RealServer, program_of, rights, running, wait_until
from tests.support.serving import Serving, serving

ROOT = Path(__file__).parents[2]


@pytest.fixture
def server(kind: str, own: Path) -> Iterator[RealServer]:
    """A server whose user may use the keys of one prefix."""
    with running(program_of(kind), own / "r") as server:
        with server.admin() as admin:
            admin.execute_command("ACL", "SETUSER", "footfall", *rights("ff"))
        yield server


@pytest.mark.rare
def test_the_service_a_check_and_a_repair_need_no_more(server: RealServer, own: Path) -> None:
    with serving(own / "s", REDIS_URL=server.url, LEVELS="0,5", IPQPS="1") as served:
        assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 1
        draft = {"comment": "hello", "url": "/a", "nick": "Ann"}
        assert httpx.post(f"{served.url}/api/comment", json=draft).json()["errno"] == 0
        with server.admin() as admin:
            admin.set("ff:{site}:total", 7)
        assert served.ask("check", "--repair")[0] == 1
        assert served.ask("check")[0] == 0
        # Other writes still work.
        assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 2


def test_other_keys_and_commands_are_refused(server: RealServer) -> None:
    with Redis(
        unix_socket_path=str(server.socket), username="footfall", password=PASSWORD
    ) as client:
        for words in (
            ("GET", "other:{site}:total"),
            ("FLUSHALL",),
            ("KEYS", "*"),
            ("PUBLISH", "ff", "x"),
            ("EVAL", "return redis.call('GET', 'other:{x}')", "0"),
            ("CONFIG", "SET", "save", ""),
        ):
            with pytest.raises(Exception, match="permission|ACL failure|user executing the script"):
                client.execute_command(*words)
    with server.admin() as admin:
        admin.acl_log_reset()


def test_another_prefix_is_refused_at_the_start(server: RealServer, own: Path) -> None:
    served = Serving(own / "s", REDIS_URL=server.url, KEY_PREFIX="other")
    code, output = served.ask("serve")
    assert (code, output.count("\n"), "Traceback" in output) == (1, 1, False), output
    assert output.startswith("Error: Redis does not allow '~other:*': docs/operations.md")
    with server.admin() as admin:
        admin.acl_log_reset()


@pytest.mark.rare
@pytest.mark.parametrize(
    ("taken", "given", "said"),
    [
        (["-hincrby", "-sadd"], ["+hincrby", "+sadd"], "+hincrby +sadd (affects counting, upkeep)"),
        (["-hscan"], ["+hscan"], "+hscan (affects counting)"),
        (["resetkeys", "~x:*"], ["resetkeys", "~ff:*"], "'~ff:*'"),
    ],
)
def test_a_right_that_is_taken_is_named_and_makes_it_unready_until_it_is_given_again(
    server: RealServer, own: Path, taken: list[str], given: list[str], said: str
) -> None:
    words = f"Redis does not allow {said}: docs/operations.md lists the permissions it needs"

    def unready() -> bool:
        # What a reader meets makes it look.
        httpx.post(f"{served.url}/api/article", json={"path": "/a"})
        answer = httpx.get(f"{served.url}/readyz")
        return answer.status_code == 503 and words in str(answer.json()["reasons"])

    with serving(own / "s", REDIS_URL=server.url) as served, server.admin() as admin:
        admin.execute_command("ACL", "SETUSER", "footfall", *taken)
        wait_until(unready, "the missing right")
        admin.execute_command("ACL", "SETUSER", "footfall", *given)
        wait_until(lambda: httpx.get(f"{served.url}/readyz").status_code == 200, "the right")
        assert httpx.post(f"{served.url}/article", json={"path": "/b"}).json() == 1
        admin.acl_log_reset()


@pytest.mark.parametrize(
    ("taken", "is_needed"), [("xadd", True), ("zrange", True), ("sadd", False), ("rename", False)]
)
def test_a_right_that_is_missing_at_the_start_is_named(
    server: RealServer, own: Path, taken: str, is_needed: bool
) -> None:
    with server.admin() as admin:
        admin.execute_command("ACL", "SETUSER", "footfall", f"-{taken}")
        words = f"Redis does not allow +{taken} ("
        if is_needed:
            code, output = Serving(own / "s", REDIS_URL=server.url).ask("serve")
            assert (code, output.count(words), output.count("\n")) == (1, 1, 1)
        else:
            with serving(own / "s", REDIS_URL=server.url) as served:
                assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 1
                assert httpx.get(f"{served.url}/readyz").status_code == 200
                assert (served.output + served.stop()[1]).count(words) == 1
        admin.acl_log_reset()


# Not tried: without them something is not known, or takes longer, or is done in another way.
UNTRIED = {"info", "time", "config|get", "latency|latest", "memory|usage", "scan", "hrandfield"} | {
    "wait",
    "eval",
    "script|load",
    "script|exists",
}


def test_every_right_is_tried_but_those_that_the_service_can_do_without() -> None:
    documented = {word for word in rights() if word.startswith("+")}
    assert documented - RIGHTS.keys() == {f"+{word}" for word in UNTRIED}
    assert RIGHTS.keys() <= documented


def test_all_that_scripts_call_is_tried_by_the_test_of_rights() -> None:
    called = set[str]().union(
        *(re.findall(r"redis\.p?call\(\s*'([A-Z]+)'", text) for text in files().values())
    )
    assert {f"+{command.lower()}" for command in called} - RIGHTS.keys() == {"+info"}


def test_the_rule_allows_no_command_that_is_not_used() -> None:
    used = "".join(path.read_text() for path in (ROOT / "lua").rglob("*.lua"))
    used += "".join(path.read_text() for path in (ROOT / "service/footfall").rglob("*.py"))
    for word in rights():
        if word.startswith("+"):
            command = word[1:].partition("|")[0]
            assert re.search(rf"(\b|\\n){command.upper()}\b|\.{command}(_iter)?\(", used), word


async def test_without_the_right_to_sketches_visitors_are_told_apart_all_the_same(
    server: RealServer,
) -> None:
    """As after an upgrade whose new rights nobody has given."""
    clock = partial(int, 1_795_000_000_000)
    calendar = Calendar(ZoneInfo("UTC"))
    salts = Salts(calendar, clock, "ff")
    moments = Moments(calendar, clock, 25, salts)
    redis = connect(server.url, timeout=60)
    store = Store(redis, prefix="ff", buckets=256, moment=moments)
    await store.create()
    await salts.keep_up(store.site_views)
    change = store.counters.change([("/a", "time", 1)])
    day = moments().day
    with server.admin() as admin:
        admin.execute_command("ACL", "SETUSER", "footfall", "-pfadd")
        admin.hset(store.keys.views("/a").days(day // 100), f"v{day % 100}", 10_000)
        for name in (1, 2, 1, 2):
            client = Person("", f"sender {name}", b"")
            await awaited(partial(store.counters.send, change, client=client))
        await store.background.finished()
        assert admin.scard(store.keys.views("/a").visitors(day)) == 2
        assert admin.hget(store.keys.views("/a").days(day // 100), f"v{day % 100}") == b"10002"
        admin.acl_log_reset()
    await redis.close()
