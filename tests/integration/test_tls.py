"""Redis over TLS: certificates on both sides, and a sentence for each mistake with them.

Debian's redis-server speaks TLS itself; the wheel's Valkey does not.
"""

import asyncio
import contextlib
import signal
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import trustme
import uvloop

from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.errors import StoreUnavailable
from tests.conftest import server_of
from tests.support.requirements import give_up
from tests.support.sentinels import NAME, SECRET, USER, Sentinel
from tests.support.servers import (
    PASSWORD,
    RealServer,
    free_port,
    kept,
    program_of,
    running,
    wait_until,
)
from tests.support.serving import Serving

Run = Callable[[Coroutine[Any, Any, None]], None]


@dataclass
class Secured:
    """A server that shows a certificate and demands one; files are named by their content."""

    server: RealServer
    home: Path
    port: int

    def url(self, scheme: str = "rediss", host: str = "127.0.0.1", **options: str) -> str:
        """The right URL, but for these options; an empty one is left out."""
        files = {"ssl_ca_certs": "ca.pem", "ssl_certfile": "own.pem", "ssl_keyfile": "own.key"}
        given = {name: value for name, value in {**files, **options}.items() if value}
        query = "&".join(
            f"{name}={self.home / value}" if name in files else f"{name}={value}"
            for name, value in given.items()
        )
        return f"{scheme}://{self.server.entry}@{host}:{self.port}{'?' if query else ''}{query}"

    def show(self, name: str) -> None:
        """Show another certificate from now on."""
        with self.server.admin() as admin:
            files = ("tls-cert-file", self.home / f"{name}.pem", "tls-key-file")
            admin.execute_command("CONFIG", "SET", *map(str, files), str(self.home / f"{name}.key"))


@pytest.fixture(scope="module")
def secured(home: Path, servers: Mapping[str, RealServer]) -> Iterator[Secured]:
    with server_of("redis", servers).admin() as admin:
        if not admin.config_get("tls-port"):
            give_up("the redis-server on this machine was built without TLS")
    ca, other = trustme.CA(), trustme.CA()
    leaves = {
        "server": ca.issue_cert("127.0.0.1", "localhost"),
        "elsewhere": ca.issue_cert("redis.example"),
        "expired": ca.issue_cert("127.0.0.1", not_after=datetime(2020, 1, 1, tzinfo=UTC)),
        "own": ca.issue_cert("footfall@blog.example"),
        "stranger": other.issue_cert("footfall@blog.example"),
    }
    with tempfile.TemporaryDirectory(dir=home) as name:
        files = Path(name)
        ca.cert_pem.write_to_path(str(files / "ca.pem"))
        other.cert_pem.write_to_path(str(files / "other.pem"))
        for leaf, made in leaves.items():
            made.private_key_pem.write_to_path(str(files / f"{leaf}.key"))
            made.cert_chain_pems[0].write_to_path(str(files / f"{leaf}.pem"))
        port = free_port()
        options = [
            "--port",
            "0",
            "--tls-port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--tls-cert-file",
            str(files / "server.pem"),
            "--tls-key-file",
            str(files / "server.key"),
            "--tls-ca-cert-file",
            str(files / "ca.pem"),
        ]
        with running(program_of("redis"), files, *options) as server:
            yield Secured(server, files, port)


class SecuredSentinel(Sentinel):
    """A Sentinel that uses TLS in both directions, like its master."""

    def __init__(self, program: str, home: Path, secured: Secured) -> None:
        super().__init__(program, home, secured.port)
        certificate = self.file.read_text() + f"port 0\ntls-port {self.port}\ntls-replication yes\n"
        for option, name in (("cert", "server.pem"), ("key", "server.key"), ("ca-cert", "ca.pem")):
            certificate += f"tls-{option}-file {secured.home / name}\n"
        self.file.write_text(certificate)


@pytest.fixture
def directory(home: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=home) as name:
        yield Path(name)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_commands_are_answered_over_tls_and_again_after_the_connection_broke(
    secured: Secured, run: Run
) -> None:
    async def ask() -> None:
        store = Store(connect(secured.url(host="localhost"), 1.5), prefix="tls", buckets=256)
        await store.create()
        # More than one TLS record, in both directions.
        names = [(f"/{n:04}{'x' * 100}", "time", 1) for n in range(900)]
        for n in (1, 2):
            assert await store.counters.add(names) == [n] * 900
        with secured.server.admin() as admin:
            admin.client_kill_filter(_type="normal", skipme=True)
        with pytest.raises(StoreUnavailable):
            await store.counters.add(names[:1])
        await store.counters.add(names[1:2])
        with secured.server.admin() as admin:
            admin.flushall()
        await store.redis.close()

    run(ask())


async def created(store: Store) -> None:
    """On a busy machine some answers are too late for half a second."""
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(StoreUnavailable):
                await store.create()
                return


@pytest.mark.rare
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_with_the_server_frozen_an_open_connection_and_a_new_one_give_up_in_time(
    secured: Secured, run: Run
) -> None:
    async def ask() -> None:
        stores = [
            Store(connect(secured.url(), 0.5), prefix="tls", buckets=256) for _ in ("old", "new")
        ]
        await created(stores[0])
        secured.server.signal(signal.SIGSTOP)
        try:
            for store in stores:
                async with asyncio.timeout(60):
                    with pytest.raises(StoreUnavailable):
                        await store.create()
        finally:
            # Other tests ask the same server.
            secured.server.signal(signal.SIGCONT)
        for store in stores:
            await created(store)
            await store.redis.close()

    run(ask())


async def test_sentinels_and_their_master_are_reached_over_tls(
    secured: Secured, directory: Path
) -> None:
    with kept(SecuredSentinel(program_of("redis"), directory / "s", secured)) as sentinel:
        asking = {"sentinel_username": USER, "sentinel_password": quote(SECRET, safe="")}
        url = secured.url("rediss+sentinel", **asking)
        url = url.replace(f":{secured.port}", f":{sentinel.port}/{NAME}")
        wait_until(sentinel.has_met_master, "the Sentinel to reach its master")
        store = Store(connect(url, 1.5), prefix="tls", buckets=256)
        await store.create()
        await store.redis.close()


WRONG: list[tuple[str, dict[str, str], str]] = [
    ("server", {"ssl_ca_certs": "other.pem"}, "name the CA of its certificate with ssl_ca_certs"),
    ("server", {"ssl_ca_certs": ""}, "name the CA of its certificate with ssl_ca_certs"),
    ("server", {"ssl_certfile": "", "ssl_keyfile": ""}, "ssl_certfile and ssl_keyfile"),
    ("server", {"ssl_certfile": "stranger.pem", "ssl_keyfile": "stranger.key"}, "ssl_certfile"),
    ("server", {"ssl_keyfile": "stranger.key"}, "certificates or keys cannot be used"),
    ("server", {"ssl_ca_certs": "nowhere.pem"}, "nowhere.pem cannot be read: No such file"),
    ("expired", {}, "certificate has expired"),
    ("elsewhere", {}, "its certificate is for another host"),
]


@pytest.mark.rare
@pytest.mark.parametrize(("shown", "options", "words"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_certificate_stops_the_start_with_a_sentence_about_it(
    secured: Secured, directory: Path, shown: str, options: dict[str, str], words: str
) -> None:
    secured.show(shown)
    code, output = Serving(directory, REDIS_URL=secured.url(**options)).ask("serve")
    secured.show("server")
    assert (code, words in output, output.count("\n")) == (1, True, 1), output
    assert PASSWORD not in output
    assert secured.server.entry not in output


@pytest.mark.parametrize("command", ["serve", "check"])
def test_a_server_with_tls_is_not_reached_without(
    secured: Secured, directory: Path, command: str
) -> None:
    url = secured.url("redis", ssl_ca_certs="", ssl_certfile="", ssl_keyfile="")
    code, output = Serving(directory, REDIS_URL=url).ask(command)
    words = f"REDIS_URL says redis://, and 127.0.0.1:{secured.port} answers with TLS: write redi"
    assert (code, words in output) == (1, True), output


@pytest.mark.rare
async def test_a_cluster_is_reached_over_tls(secured: Secured, directory: Path) -> None:
    port = free_port()
    ours = ["--tls-port", str(port), *secured.server.options[4:], "--port", "0"]
    more = ["--tls-cluster", "yes", "--cluster-enabled", "yes", "--cluster-announce-ip"]
    options = [*ours, *more, "127.0.0.1"]
    with running(program_of("redis"), directory, *options) as server:
        with server.admin() as admin:
            admin.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
            wait_until(
                lambda: admin.cluster("INFO")["cluster_state"] == "ok", "all slots to be served"
            )
        url = secured.url(cluster="true").replace(f":{secured.port}", f":{port}")
        store = Store(connect(url, 1.5), prefix="tls", buckets=256)
        await store.create()
        assert await store.counters.add([("/a", "time", 1)]) == [1]
        await store.redis.close()


@pytest.mark.parametrize("option", ["ssl_check_hostname=false", "ssl_cert_reqs=none"])
def test_a_certificate_for_another_host_may_be_allowed(secured: Secured, option: str) -> None:
    secured.show("elsewhere")
    name, _, value = option.partition("=")

    async def ask() -> None:
        store = Store(connect(secured.url(**{name: value}), 1.5), prefix="tls", buckets=256)
        await store.create()
        await store.redis.close()

    asyncio.run(ask())
    secured.show("server")
