"""Fixtures: a store on every kind of server, a service on it, an HTTP client before that.

Tests of one session share one process of each real server; every test has a key prefix of its own,
so none sees another's keys. fakeredis is there for speed, a real server is the reference. What the
service speaks to is imported here from tests/support: a provider of logins, and an email server.
"""

import functools
import gc
import itertools
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
from starlette import routing

from footfall import site as domain_site
from footfall.accounts.rules import log_ins, passwords
from footfall.asgi import create_app, create_metrics
from footfall.config import Settings
from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.limits import allowance
from footfall.maintenance import check_accounts, check_journals, check_site
from footfall.model import PUBLIC, Account, Viewer
from footfall.monitoring import metrics
from footfall.process.process import now_ms
from footfall.statistics.calendar import Calendar
from footfall.statistics.moments import Moments
from tests.support.sites import site_of

from .support import extent, requirements
from .support.accounts import save_account
from .support.clusters import RealCluster, clustered
from .support.description import description_of
from .support.ending import Run
from .support.fakes import fake_redis
from .support.providers import lasting_provider as lasting_provider
from .support.providers import other as other
from .support.receivers import lasting_mail_server as lasting_mail_server
from .support.receivers import mails as mails
from .support.servers import RealServer, others, program_of, programs, running

REAL = ("valkey", "redis", *others())
EVERYWHERE = (*REAL, "cluster")
KINDS = ("fake", *EVERYWHERE)
FOLDERS = {"integration": REAL, "scripts": EVERYWHERE, "web": ("valkey", "cluster")}

# A wait that is longer is in vain: on a busy machine even this is short.
_defaults = httpx._config.DEFAULT_TIMEOUT_CONFIG
_defaults.connect = _defaults.read = _defaults.write = _defaults.pool = 60.0

# Hashes in this process are cheap ones, since hundreds of tests log in; services under test make
# real ones.
passwords.MEMORY_KIB, passwords.PASSES = 8, 1
# Nor do logins in this process take half a second to fail, but for those that are timed.
log_ins.FAILED_SECONDS = 0.0
# Nor does a scrape wait until the one before is a second old.
metrics.PERIOD_SECONDS = 0.0
# What a check looks at again has been changed by the test, and not meanwhile.
for _module in (check_accounts, check_journals, check_site):
    vars(_module)["AGAIN_SECONDS"] = 0.01
# Certificates of this machine are read once, and not for each client, which takes 20 ms.
_transports: Any = httpx._transports.default
_transports.create_ssl_context = functools.cache(httpx.create_ssl_context)
# Nor are the 300 routes of an application compiled for each site.
routing.compile_path = functools.cache(routing.compile_path)

RUN = pytest.StashKey[Run]()

# When views are counted.
MOMENTS = Moments(Calendar(ZoneInfo("UTC")), now_ms, 25)

_prefixes = (f"t{n}" for n in itertools.count())


def pytest_configure(config: pytest.Config) -> None:
    # A test process that another one has started ends with that.
    if not hasattr(config, "workerinput"):
        config.stash[RUN] = Run()
        config.option.basetemp = config.option.basetemp or str(config.stash[RUN].home / "t")


def pytest_unconfigure(config: pytest.Config) -> None:
    if RUN in config.stash:
        config.stash[RUN].end()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    yield
    extent.select(config, items)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    # What is there now, ten thousand tests, stays: to look for garbage in it takes an eighth of the
    # time of all tests.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_sessionfinish(session: pytest.Session) -> None:
    # A process that only hands tests out has collected none: its workers say how many there were.
    if output := getattr(session.config, "workeroutput", None):
        output["missing"] = requirements.reasons
        output["left"] = session.config.stash.get(extent.LEFT, 0)
        output["chosen"] = session.config.stash.get(extent.CHOSEN, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores, since tests wait for servers for half of their time."""
    return len(os.sched_getaffinity(0)) + 2


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """One of several test processes has ended."""
    output = getattr(node, "workeroutput", {})
    found = output.get("missing", [])
    requirements.reasons += [reason for reason in found if reason not in requirements.reasons]
    # All of them have collected the same tests.
    if "left" in output:
        node.config.stash[extent.LEFT] = output["left"]
        node.config.stash[extent.CHOSEN] = output["chosen"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    stash = terminalreporter.config.stash
    if left := stash.get(extent.LEFT, 0):
        chosen = stash.get(extent.CHOSEN, 0)
        again = f"SLICE={extent.SLICE} make test-all runs these again; " if extent.SLICE else ""
        terminalreporter.write_line(
            f"{chosen:,} of {chosen + left:,} tests; {again}make test-all runs all"
        )
    for reason in requirements.reasons:
        terminalreporter.section("some tests were skipped", sep="!", yellow=True, bold=True)
        terminalreporter.write_line(reason)


@pytest.fixture(scope="session")
def home() -> Iterator[Path]:
    """A directory with a short name: a UNIX socket's path has room for a hundred bytes."""
    with tempfile.TemporaryDirectory(prefix="ff") as name:
        yield Path(name)


@pytest.fixture
def own(home: Path) -> Iterator[Path]:
    """A directory for one test, with a short name."""
    with tempfile.TemporaryDirectory(dir=home) as name:
        yield Path(name)


@pytest.fixture(scope="session")
def servers(home: Path) -> Iterator[Mapping[str, RealServer]]:
    with ExitStack() as stack:
        yield {
            kind: stack.enter_context(running(program, home / kind))
            for kind, program in programs().items()
        }


@pytest.fixture(scope="session")
def cluster(home: Path) -> Iterator[RealCluster]:
    with clustered(program_of("valkey"), home / "cluster") as cluster:
        yield cluster


def server_of(kind: str, servers: Mapping[str, RealServer]) -> RealServer:
    assert kind in REAL, kind
    # Skips the test if this machine has no such server.
    program_of(kind)
    return servers[kind]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Which servers a test's store is on: those of its folder, or those that its module names as
    ON; with the marker `cluster`, always on a Cluster, too."""
    module, marks = metafunc.module, metafunc.definition.iter_markers("parametrize")
    is_own = hasattr(module, "kind") or any("kind" in mark.args[0] for mark in marks)
    if "kind" in metafunc.fixturenames and not is_own:
        folder = metafunc.definition.path.parent.name
        on = getattr(module, "ON", FOLDERS.get(folder, KINDS))
        is_on_cluster = metafunc.definition.get_closest_marker("cluster") is not None
        name = metafunc.definition.originalname
        metafunc.parametrize("kind", extent.servers(on, name, is_on_cluster=is_on_cluster))


@pytest.fixture
async def store(kind: str, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    if kind == "fake":
        redis = fake_redis()
    elif kind == "cluster":
        redis = connect(request.getfixturevalue("cluster").url, timeout=60)
    else:
        servers = request.getfixturevalue("servers")
        redis = connect(server_of(kind, servers).url, timeout=60)
    store = Store(redis, prefix=next(_prefixes), buckets=256, moment=MOMENTS)
    await store.create()
    if redis.is_cluster:
        # Tests ask by redis-py's client, too, which the service only closes.
        await redis.client.initialize()
    yield store
    await store.redis.close()


@pytest.fixture
def no_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis is asked for each token, as if every address had used its allowance."""
    monkeypatch.setattr(allowance, "ALLOWANCE_TOKENS", 0)


@dataclass
class Clock:
    """A clock that stands still until it is advanced; every reading is a millisecond later."""

    now: int = 1_700_000_000_000

    def __call__(self) -> int:
        self.now += 1
        return self.now


ADMIN = Account("admin", "administrator", "Admin", "admin@example.com")
BOB = Account("bob", "guest", "Bob", "bob@example.com", link="https://bob.example")
EVE = Account("eve", "guest", "Eve", "eve@example.com")


async def known_viewers(token: str) -> Viewer:
    """Tokens are account ids; any other token counts as none."""
    accounts = {account.id: account for account in (ADMIN, BOB, EVE)}
    return Viewer(accounts[token]) if token in accounts else PUBLIC


@dataclass
class Site:
    """A service with an HTTP client before it; a path with /api in front is the newer variant."""

    service: domain_site.Site
    store: Store
    http: httpx.AsyncClient
    clock: Clock = field(default_factory=Clock)

    async def get(self, target: str, /, *, by: Account | str | None = None, **params: Any) -> Any:
        response = await self.http.get(target, params=params or None, headers=_headers(by))
        return response.json()

    async def send(
        self, method: str, path: str, body: Any = None, *, by: Account | str | None = None
    ) -> Any:
        response = await self.http.request(method, path, json=body, headers=_headers(by))
        return response.json()

    async def count(self, path: str, **fields: Any) -> Any:
        """POST a change of a counter; the new value, or the refusal."""
        return await self.send("POST", "/article", {"path": path, **fields})

    async def post(self, text: str, *, by: Account | None = None, **fields: Any) -> Any:
        """POST a comment to /p and return what was stored; fails if it was refused."""
        draft = {"comment": text, "url": "/p", "nick": "Ann", "mail": "ann@example.com", **fields}
        answer = await self.send("POST", "/api/comment", draft, by=by)
        assert answer["errno"] == 0, answer
        return answer["data"]

    async def reply(self, parent: Any, text: str, **fields: Any) -> Any:
        root = parent.get("rid", parent["objectId"])
        return await self.post(text, pid=parent["objectId"], rid=root, at=parent["nick"], **fields)

    async def page(self, path: str = "/p", /, *, by: Account | None = None, **params: Any) -> Any:
        answer = await self.get("/api/comment", by=by, path=path, **params)
        assert answer["errno"] == 0, answer
        return answer["data"]

    async def settled(self) -> None:
        """Wait for what goes on behind the requests."""
        await self.service.process.background.finished()

    async def kept_up(self) -> None:
        """Wait for that, and do what a service does every few seconds."""
        await self.settled()
        await self.service.comments.journal.catch_up()
        await self.service.comments.deletions.sweep_due(self.clock())

    async def texts(self, **params: Any) -> list[str]:
        """The sources of the roots on a page of /p."""
        return [root["orig"] for root in (await self.page(**params))["data"]]


def _headers(by: Account | str | None) -> dict[str, str]:
    """`by` is one of the known accounts, or a token."""
    token = by.id if isinstance(by, Account) else by
    return {"authorization": f"Bearer {token}"} if token else {}


class Sites:
    """Makes sites with other settings, over the test's store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._clients: list[httpx.AsyncClient] = []

    async def __call__(self, address: str = "127.0.0.1", **environ: str) -> Site:
        site = self._made(address, environ, known_viewers)
        for account in (ADMIN, BOB, EVE):
            await save_account(self.store, account)
        return site

    def without_accounts(self, address: str = "127.0.0.1", **environ: str) -> Site:
        """Sites where an account is only known by a login."""
        return self._made(address, environ, None)

    def _made(
        self,
        address: str,
        environ: Mapping[str, str],
        viewer_of: Callable[[str], Awaitable[Viewer]] | None,
    ) -> Site:
        settings = Settings.from_env({"IPQPS": "0", **environ})
        clock = Clock()
        service = site_of(
            settings,
            self.store,
            metrics=create_metrics(settings.compat),
            clock=clock,
            viewer_of=viewer_of,
        )
        transport = httpx.ASGITransport(create_app(settings, service), client=(address, 1))
        client = httpx.AsyncClient(
            transport=transport,
            base_url="http://site.test",
            event_hooks={"response": [description_of(service)]},
        )
        self._clients.append(client)
        return Site(service, self.store, client, clock)

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()


@pytest.fixture
async def make_site(store: Store) -> AsyncIterator[Sites]:
    sites = Sites(store)
    yield sites
    await sites.close()


@pytest.fixture
async def site(make_site: Sites) -> Site:
    return await make_site()
