"""What Footfall says in each state of Redis: the table in docs/monitoring.md, as it was seen here.

Every state is brought about on real servers under `footfall serve`, and ended again without anybody
sending a change. With WRITE_TABLE=1 in the environment the table is written instead of compared.
"""

import asyncio
import itertools
import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.support import states
from tests.support.clusters import clustered
from tests.support.sentinels import group
from tests.support.servers import RealServer, free_port, program_of, running, wait_until
from tests.support.serving import Serving
from tests.support.states import Scene, State, Tolerant, configured, services

MONITORING = Path(__file__).parents[2] / "docs" / "monitoring.md"
HEAD = (
    "| State | Cause | `/readyz` | with `GUARD=warn` | `footfall_finding` | Reads | Changes "
    "| Message of `/readyz` and the log |"
)
# Of a data set.
ID = re.compile(r"\b[0-9a-f]{8}\b")
# The log's line when a state is over.
ENDS = re.compile(r" again(, after [0-9.]+ seconds)?$")
# What is asked for together, and how long in each state; "{path}" is the page's.
LOAD_SECONDS = 4.0
KINDS: dict[str, tuple[str, str, dict[str, str]]] = {
    "counts": ("GET", "/api/article?path={path}", {}),
    "pages": ("GET", "/api/comment?path={path}", {}),
    "recent": ("GET", "/api/comment?type=recent", {}),
    "feeds": ("GET", "/api/comment/rss?path={path}", {}),
    "statistics": ("GET", "/api/statistics?path={path}", {}),
    "views": ("POST", "/api/article", {"path": "{path}"}),
    "comments": ("POST", "/api/comment", {"url": "{path}", "comment": "number {n}", "nick": "Ann"}),
    "logins": ("POST", "/api/token", {"email": "a@example.com", "password": "guess {n}"}),
}
# Which may be answered from a minute's memory, and those of which the node is chosen.
FROM_MEMORY = {"statistics"}
TOLD_OF_CLUSTERS = {"counts", "views"}
Seen = Mapping[tuple[str, str], Counter[int]]
# Only so many paths are tried to find one on a node of a Cluster.
PATHS = [f"/{n}" for n in range(100)]


def row(scene: Scene, name: str, how: str, state: State) -> str:
    """A row of the table; fails if the start or the end of the state is not noticed."""
    strict, lenient = scene.strict, scene.lenient
    wait_until(lambda: lenient.ready() == (200, []), "both services to be ready")
    logged, failures = len(strict.lines()), strict.failures()
    with state(scene):
        # Nobody has asked before: what is known is known by these changes.
        for path in scene.paths.values():
            strict.change(path)
        # Soon, since a service without descriptors accepts no other connection than the one it has.
        scene.all_change(lenient)
        wait_until(lambda: scene.also in ["", *lenient.findings()], f"{scene.also} to be found")
        warned, warnings = lenient.ready()
        assert strict.findings(), f"{name}: no finding"
        assert strict.failures() > failures or "other_data" in strict.findings(), name
        wait_until(lambda: scene.also in ["", *strict.findings()], f"{scene.also} to be found")
        # The first change may have met no more than a connection that was being closed.
        (ready, says), found = strict.ready(), strict.findings()
        assert says, name
        assert says[:1] == warnings[:1], name
        reads = {where: strict.read(path) for where, path in scene.paths.items()}
        for_reads = strict.http.get("/readyz?for=reads").status_code
        assert (for_reads == 200) == (200 in reads.values()), (name, reads)
        assert strict.http.get("/livez").status_code == 200, name
        if scene.accepts:
            seen = asyncio.run(load(strict.url, scene.paths))
        else:
            asked = (("counts", strict.read), ("views", strict.change))
            seen = {
                (kind, where): Counter([ask(path)])
                for kind, ask in asked
                for where, path in scene.paths.items()
            }
    end(scene, name)
    lines = strict.lines()[logged:]
    # The log names the node of a Cluster; and a server that is loading does not answer.
    parts = says[0].split(": ")
    words = parts[1].removeprefix("Redis ") if scene.cluster else parts[0]
    words = "does not answer" if "loading" in found else words
    assert any(words in line for line in lines), (name, lines)
    # The node's replica may have taken over meanwhile, and then nobody asks it again.
    has_end = any(ENDS.search(line) for line in lines)
    assert has_end or scene.cluster is not None, (name, lines)
    codes = ", ".join(f"`{code}`" for code in found)
    text = ID.sub("…", "; ".join(says))
    assert {status for n in seen.values() for status in n} <= {200, 503}, (name, seen)
    kinds = TOLD_OF_CLUSTERS if scene.cluster else {*KINDS} - FROM_MEMORY
    halves = (told(half, scene.paths, kinds) for half in _halves(seen))
    return _row(name, how, ready, warned, codes, *halves, text)


async def load(url: str, paths: Mapping[str, str]) -> Seen:
    """The statuses of each kind of request, of each path, all at once for LOAD_SECONDS."""
    seen = defaultdict[tuple[str, str], Counter[int]](Counter)
    end = asyncio.get_running_loop().time() + LOAD_SECONDS
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:

        async def ask(kind: str, where: str, path: str) -> None:
            method, target, body = KINDS[kind]
            for n in itertools.count():
                if n and asyncio.get_running_loop().time() > end:
                    return
                filled = {name: text.format(path=path, n=n) for name, text in body.items()}
                answer = await client.request(method, target.format(path=path), json=filled or None)
                seen[kind, where][answer.status_code] += 1

        await asyncio.gather(
            *(
                ask(kind, where, path)
                for where, path in paths.items()
                for kind, (_, target, body) in KINDS.items()
                # What is of no page is asked for once.
                if "{path}" in target + "".join(body.values()) or where == next(iter(paths))
            )
        )
    return seen


def _halves(seen: Seen) -> tuple[Seen, Seen]:
    reads = {each: n for each, n in seen.items() if KINDS[each[0]][0] == "GET"}
    return reads, {each: n for each, n in seen.items() if each not in reads}


def told(seen: Seen, places: Iterable[str], kinds: Collection[str]) -> str:
    """What most requests got; and the kinds that got something else, or not always the same."""
    statuses = {each: " or ".join(map(str, sorted(n))) for each, n in seen.items()}
    parts = []
    for where in places:
        there = {
            kind: status for (kind, at), status in statuses.items() if at == where and kind in kinds
        }
        (most, _), *_ = Counter(there.values()).most_common(1)
        others = defaultdict(list)
        for kind, status in there.items():
            if status != most:
                others[status].append(kind)
        more = (f"{status} for {' and '.join(kinds)}" for status, kinds in others.items())
        parts.append(", ".join([f"{most} {where}".strip(), *more]))
    return ", ".join(parts)


def end(scene: Scene, name: str) -> None:
    """The end of a state is noticed before anybody sends a change."""
    strict = scene.strict
    wait_until(lambda: not strict.findings(), f"the end of {name} to be noticed")
    # A node that was frozen refuses everything once more, until it has heard of the others; and a
    # busy machine may be late.
    wait_until(lambda: scene.all_change(strict), f"changes after {name}")
    wait_until(lambda: strict.ready() == (200, []), f"the service to be ready after {name}")


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |"


# The rows, by the servers that they share: the state's name, and what brings it about.

Row = tuple[str, str, State]
SINGLE: list[Row] = [
    ("unreachable", "`kill -9`", states.killed),
    ("full", "`maxmemory` is reached", configured("maxmemory", 1, 0)),
    ("read-only", "`REPLICAOF` another", states.demoted),
    (
        "min-replicas not met",
        "`min-replicas-to-write 1`",
        configured("min-replicas-to-write", 1, 0),
    ),
    ("disk full", "its append-only file cannot grow", states.disk_full),
    ("wrong password", "another one in Redis, and connections closed", states.password_changed),
    ("permission removed", "`ACL SETUSER … -evalsha`", states.right_taken),
    ("busy", "an endless script", states.busy),
    ("file descriptors exhausted", "none is left for Redis", states.few_descriptors),
    (
        "another data set",
        "another ID in `ff:{site}:format`, and connections closed",
        states.other_data,
    ),
    ("empty", "`FLUSHALL`, and connections closed", states.emptied),
]
FROZEN: list[Row] = [("frozen", "`SIGSTOP`", states.frozen)]
LOADING: list[Row] = [("loading", "restarted with much data", states.loading)]
REPLICATED: list[Row] = [
    ("no replica left", "`DURABILITY=replica:2`, and both are killed", states.replicas_gone)
]

# Behind Sentinels, with one replica.
WATCHED: list[Row] = [
    ("full, with Sentinels", "`maxmemory` is reached", configured("maxmemory", 1, 0)),
    (
        "min-replicas not met, with Sentinels",
        "`min-replicas-to-write 2`",
        configured("min-replicas-to-write", 2, 0),
    ),
]


def of_single(home: Path, rows: list[Row], **settings: str) -> list[str]:
    server = Tolerant(program_of("valkey"), home / "r")
    server.start()
    try:
        with services(home, server.url, **settings) as both:
            scene = Scene(*both, server)
            return [row(scene, *each) for each in rows]
    finally:
        server.stop()


def of_replicated(home: Path, rows: list[Row]) -> list[str]:
    port = free_port()
    with ExitStack() as stack:

        def start(name: str, *options: str) -> RealServer:
            words = ("--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0", *options)
            return stack.enter_context(running(program_of("valkey"), home / name, *words))

        master = start("m", "--port", str(port))
        follow = ("--port", "0", "--replicaof", "127.0.0.1", str(port))
        replicas = [start(name, *follow) for name in ("r1", "r2")]
        with master.admin() as admin:
            wait_until(lambda: admin.info("replication")["connected_slaves"] == 2, "replicas")
        with services(home, master.url, DURABILITY="replica:2") as both:
            scene = Scene(*both, master, replicas, also="alone")
            found = [row(scene, *each) for each in rows]
        # If all were told to stop, they would wait for each other.
        for each in (master, *replicas):
            each.kill()
        return found


def of_sentinels(home: Path, rows: list[Row]) -> list[str]:
    with group(program_of("valkey"), home / "w") as watched, services(home, watched.url) as both:
        scene = Scene(*both, watched.master)
        return [row(scene, *each) for each in rows]


def of_cluster(home: Path) -> list[str]:
    with clustered(program_of("valkey"), home / "c") as cluster:
        # On a busy machine existing nodes are slow to respond.
        # A flush comes each second, and on a busy machine later.
        with services(home, cluster.url, REDIS_TIMEOUT="2.5") as both:
            by_path = states.slots(cluster, PATHS)
            site = states.home_of(cluster)
            there = next(p for p in PATHS if cluster.master_of(by_path[p]) == site)
            other = next(p for p in PATHS if cluster.master_of(by_path[p]) != site)
            found = []
            scene = Scene(*both, cluster=cluster, paths={"for it": other, "for others": there})
            found.append(
                row(scene, "a Cluster node full", "`maxmemory` is reached", states.node_full(other))
            )
            for name, gone, rest in (
                ("a Cluster node unreachable", other, there),
                ("the node with the site's slot unreachable", there, other),
            ):
                paths = {"for it": gone, "for others": rest}
                scene = Scene(*both, cluster=cluster, paths=paths)
                state = states.node_away(gone, takes_site=gone == there)
                found.append(row(scene, name, "`SIGSTOP`, and of its replica", state))
        kind = ("a Cluster, without `?cluster=true`", cluster.url.partition("?")[0])
        found.append(unstarted(home, *kind))
        return found


def unstarted(home: Path, name: str, url: str) -> str:
    """The row of a Redis that a service does not start with, whatever GUARD says."""
    first = re.sub(r",[^/?]*", "", url)
    says = set()
    for guard in ("refuse", "warn"):
        code, output = Serving(home / "x", REDIS_URL=first, GUARD=guard, REDIS_WAIT="60").ask(
            "serve"
        )
        assert code == 1, output
        says.add(output.splitlines()[-1])
    assert len(says) == 1, says
    (line,) = says
    return _row(name, "the start", *["–"] * 5, line.removeprefix("Error: ") + " (exit status 1)")


def of_no_cluster(home: Path) -> list[str]:
    options = ("--port", str(port := free_port()), "--bind", "127.0.0.1")
    with running(program_of("valkey"), home / "r", *options) as server:
        url = f"redis://{server.entry}@127.0.0.1:{port}?cluster=true"
        return [unstarted(home, "no Cluster, with `?cluster=true`", url)]


@pytest.mark.rare
def test_the_table_of_states_is_what_was_seen(own: Path) -> None:
    with ThreadPoolExecutor() as pool:
        parts = [
            pool.submit(of_single, own / "1", SINGLE),
            pool.submit(of_single, own / "2", FROZEN),
            # On a busy machine a loading server is slow to respond.
            pool.submit(of_single, own / "3", LOADING, REDIS_TIMEOUT="5"),
            pool.submit(of_replicated, own / "4", REPLICATED),
            pool.submit(of_sentinels, own / "7", WATCHED),
            pool.submit(of_cluster, own / "5"),
            pool.submit(of_no_cluster, own / "6"),
        ]
    seen = [line for part in parts for line in part.result()]
    stored = MONITORING.read_text()
    table = re.search(rf"{re.escape(HEAD)}\n(\|[-|]*\|\n)((?:\|.*\n)*)", stored)
    assert table, "docs/monitoring.md has no table of states"
    if os.environ.get("WRITE_TABLE"):
        rows = "".join(f"{line}\n" for line in seen)
        MONITORING.write_text(stored[: table.start(2)] + rows + stored[table.end(2) :])
    else:
        assert table[2].splitlines() == seen
