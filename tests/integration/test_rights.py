"""The user of docs/operations.md has enough rights, and no more than enough."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from redis import Redis

from tests.support.servers import PASSWORD, RealServer, program_of, rights, running
from tests.support.serving import Serving, serving

ROOT = Path(__file__).parents[2]


@pytest.fixture
def server(kind: str, own: Path) -> Iterator[RealServer]:
    """A server whose user may use the keys of one prefix."""
    with running(program_of(kind), own / "r") as server:
        with server.admin() as admin:
            admin.execute_command("ACL", "SETUSER", "footfall", *rights("ff"))
        yield server


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
    assert "what its user must be allowed is in docs/operations.md" in output
    with server.admin() as admin:
        admin.acl_log_reset()


def test_the_rule_allows_no_command_that_is_not_used() -> None:
    used = "".join(path.read_text() for path in (ROOT / "lua").rglob("*.lua"))
    used += "".join(path.read_text() for path in (ROOT / "service/footfall").rglob("*.py"))
    for word in rights():
        if word.startswith("+"):
            command = word[1:].partition("|")[0]
            assert re.search(rf"(\b|\\n){command.upper()}\b|\.{command}(_iter)?\(", used), word
