"""What Footfall says in each state of Redis: the table in docs/monitoring.md, as it was seen here.

Every state is brought about on real servers under `footfall serve`, and ended again without anybody
sending a change. With WRITE_TABLE=1 in the environment the table is written instead of compared.
"""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support import states
from tests.support.clusters import clustered
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
# Only so many paths are tried to find one on a node of a Cluster.
PATHS = [f"/{n}" for n in range(100)]


def row(scene: Scene, name: str, how: str, state: State) -> str:
    """A row of the table; fails if the start or the end of the state is not noticed."""
    strict, lenient = scene.strict, scene.lenient
    wait_until(lambda: lenient.ready() == (200, []), "both services to be ready")
    logged, failures = len(strict.lines()), strict.failures()
    with state(scene):
        # Nobody has asked before: what is known is known by these changes.
        changes = {where: strict.change(path) for where, path in scene.paths.items()}
        assert strict.findings(), f"{name}: no finding"
        assert strict.failures() > failures or "other_data" in strict.findings(), name
        wait_until(lambda: scene.also in ["", *strict.findings()], f"{scene.also} to be found")
        # The first change may have met no more than a connection that was being closed.
        (ready, says), found = strict.ready(), strict.findings()
        reads = {where: strict.read(path) for where, path in scene.paths.items()}
        for_reads = strict.http.get("/readyz?for=reads").status_code
        assert (for_reads == 200) == (200 in reads.values()), (name, reads)
        assert strict.http.get("/livez").status_code == 200, name
        scene.all_change(lenient)
        wait_until(lambda: scene.also in ["", *lenient.findings()], f"{scene.also} to be found")
        warned, warnings = lenient.ready()
        assert says, name
        assert says[:1] == warnings[:1], name
    end(scene, name)
    lines = strict.lines()[logged:]
    # The log names the node of a Cluster; and a server that is loading does not answer.
    is_other = scene.cluster is not None or "loading" in found
    words = "does not answer" if is_other else says[0].partition(": ")[0]
    assert any(words in line for line in lines), (name, lines)
    # The node's replica may have taken over meanwhile, and then nobody asks it again.
    has_end = any(ENDS.search(line) for line in lines)
    assert has_end or scene.cluster is not None, (name, lines)
    codes = ", ".join(f"`{code}`" for code in found)
    text = ID.sub("…", "; ".join(says))
    return _row(name, how, ready, warned, codes, _both(reads), _both(changes), text)


def end(scene: Scene, name: str) -> None:
    """The end of a state is noticed before anybody sends a change."""
    strict = scene.strict
    wait_until(lambda: not strict.findings(), f"the end of {name} to be noticed")
    # A node that was frozen refuses everything once more, until it has heard of the others; and a
    # busy machine may be late.
    wait_until(lambda: scene.all_change(strict), f"changes after {name}")
    wait_until(lambda: strict.ready() == (200, []), f"the service to be ready after {name}")


def _both(statuses: dict[str, int]) -> str:
    return ", ".join(f"{status} {where}".strip() for where, status in statuses.items())


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
