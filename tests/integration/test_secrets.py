"""No message of the service contains a password, whatever fails at its start or later."""

import signal
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from redis import Redis

from footfall.driver.private_server import url_of
from tests.support.servers import RealServer, free_port
from tests.support.serving import Serving, serving

# Either half would be found, too.
SECRET = "hunter2/swordfish#opensesame"
HALVES = ("hunter2", "swordfish", "opensesame")
QUOTED = quote(SECRET, safe="")


# Nobody is there; the password is wrong; a part of it stands in the place of something else.
URLS = [
    "redis://{entry}@127.0.0.1:{gone}",
    "redis://{entry}@nowhere.invalid",
    "rediss://{entry}@127.0.0.1:{gone}",
    "rediss://{entry}@127.0.0.1:{gone}?ssl_ca_certs=/nowhere&ssl_password={quoted}",
    "rediss://{entry}@127.0.0.1:{gone}?ssl_ca_certs={file}&ssl_password={quoted}",
    "unix://{entry}@/nowhere",
    "unix://{entry}@{socket}",
    "unix://:{quoted}@{socket}",
    "unix://{socket}?password={quoted}",
    "redis+sentinel://{entry}@127.0.0.1:{gone}/main?{asking}",
    "redis+sentinel://{entry}@127.0.0.1:{gone},[::1]:{gone}/main?{asking}&db=x",
    "redis+sentinel://{entry}@127.0.0.1:{gone}?{asking}",
    "rediss+sentinel://{entry}@127.0.0.1:{gone}/main?{asking}",
    "redis://:{secret}@127.0.0.1",
    "redis://{secret}@127.0.0.1:{gone}",
    "redis://127.0.0.1:{secret}",
    "redis://127.0.0.1:{gone}/{secret}",
    "redis://127.0.0.1:{gone}?{secret}",
    "http://{entry}@127.0.0.1",
    "redis:/{entry}@127.0.0.1",
    "{quoted}",
]


@pytest.mark.rare
@pytest.mark.parametrize("template", URLS)
def test_a_failed_start_does_not_reveal_it(
    own: Path, servers: dict[str, RealServer], template: str
) -> None:
    url = template.format(
        entry=f"ann:{QUOTED}",
        asking=f"sentinel_username=eve&sentinel_password={QUOTED}",
        secret=SECRET,
        quoted=QUOTED,
        gone=free_port(),
        socket=servers["valkey"].socket,
        file=__file__,
    )
    for command in ("serve", "check"):
        code, output = Serving(own, REDIS_URL=url, REDIS_TIMEOUT="0.5").ask(command)
        assert (code, "Traceback" in output) == (1, False), output
        assert any(
            words in output
            for words in ("REDIS_URL", "Redis does not answer", "Redis cannot be used")
        )
        assert not [half for half in HALVES if half in output], output


@pytest.mark.rare
def test_an_outage_of_redis_does_not_reveal_it(own: Path, servers: dict[str, RealServer]) -> None:
    with serving(own / "1") as first:
        socket = own / "1/data/redis.sock"
        with Redis(unix_socket_path=str(socket)) as client:
            client.acl_setuser(
                "ann", enabled=True, passwords=[f"+{SECRET}"], keys="*", commands=["+@all"]
            )
        url = url_of(own / "1/data").replace("unix://", f"unix://ann:{QUOTED}@")
        with serving(own / "2", "--workers", "2", REDIS_URL=url) as second:
            assert httpx.post(f"{second.url}/article", json={"path": "/a"}).json() == 1
            with Redis(unix_socket_path=str(socket)) as client:
                # From now on it is the wrong password.
                client.acl_setuser("ann", passwords=[f"-{SECRET}", "+other"])
                client.client_kill_filter(_type="normal", user="ann")
            for _ in range(3):
                assert httpx.get(f"{second.url}/article?path=/a").status_code == 503
            first.stop()
            assert httpx.get(f"{second.url}/article?path=/a").status_code == 503
            code, output = second.stop(signal.SIGTERM)
            assert code == 0
            assert not [half for half in HALVES if half in output], output
