"""A Redis that cannot be used stops the start with its cause, and what to do, in one sentence.

What needs no server is in test_serve.py, certificates are in test_tls.py.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers import free_port, program_of, running
from tests.support.serving import Serving, serving

SECRET = "hunter2"


@pytest.fixture(scope="module")
def locked(home: Path) -> Iterator[int]:
    """The port of a server that wants a password."""
    port = free_port()
    options = ("--port", str(port), "--bind", "127.0.0.1")
    with (
        running(program_of("valkey"), home / "locked", *options) as server,
        # This connection stays the administrator's.
        server.admin() as admin,
    ):
        admin.acl_setuser("eve", enabled=True, passwords=[f"+{SECRET}"], commands=["+@all"])
        admin.acl_setuser("default", enabled=False)
        yield port
        admin.acl_setuser("default", enabled=True)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://127.0.0.1:{port}", "NOAUTH Authentication required. (it wants a password"),
        ("redis://127.0.0.1:{port}/7", "Authentication required. (it wants a password"),
        (f"redis://eve:not{SECRET}@127.0.0.1:{{port}}", "(it refuses the name or the password of"),
        ("rediss://127.0.0.1:{port}", "answers without TLS: write redis://"),
        ("rediss://127.0.0.1:{port}?cluster=true", "answers without TLS: write redis://"),
        ("rediss+sentinel://127.0.0.1:{port}/main", "without TLS: write redis+sentinel://"),
        (f"redis+sentinel://eve:{SECRET}@127.0.0.1:{{port}}/main?sentinel_username=eve"
         f"&sentinel_password={SECRET}", "(no Sentinel listens there, but a Redis"),
        ("redis+sentinel://127.0.0.1:{port}/main", "the Sentinels refuse the password"),
        (f"redis://eve:{SECRET}@127.0.0.1:{{port}}/99", "DB index is out of range (its setting"),
    ],
)  # fmt: skip
def test_a_start_names_what_is_wrong_with_the_address(
    own: Path, locked: int, url: str, words: str
) -> None:
    environ = {"REDIS_URL": url.format(port=locked), "REDIS_TIMEOUT": "0.5"}
    code, output = Serving(own, **environ).ask("serve")
    assert (code, words in output, SECRET in output) == (1, True, False), output
    assert output.count("Error: ") == 1 and output.splitlines()[-1].startswith("Error: ")


def test_a_command_does_not_wait_long_for_a_server_without_tls(own: Path, locked: int) -> None:
    code, output = Serving(own, REDIS_URL=f"rediss://127.0.0.1:{locked}").ask("check")
    assert (code, output.endswith("answers without TLS: write redis://\n")) == (1, True), output


def test_what_listens_and_is_no_redis_is_called_that(own: Path) -> None:
    with serving(own / "s") as other:
        url = other.url.replace("http", "redis")
        code, output = Serving(own, REDIS_URL=url).ask("serve")
    assert (code, "what listens there is no Redis" in output) == (1, True), output
