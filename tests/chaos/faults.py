"""Every fault: what it happens to, and what is done. A new one is a function with a decorator.

`act` returns when the fault is over, so the time from then on is the recovery. What is expected
afterwards is the same for all of them (play.py).
"""

import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import httpx
from redis import Redis

from footfall.driver.cluster import slot_of
from footfall.driver.commands import pack
from footfall.driver.keys import Keys
from footfall.ids import digest

from ..support.servers import PASSWORD, wait_until
from .drill import Drill
from .relay import Trouble
from .scene import Deployment, Scene
from .writer import PAGES

Act = Callable[[Scene], None]
FAULTS: "list[Fault]" = []


@dataclass(frozen=True)
class Fault:
    """`what` was done, for the table.

    `seconds` is how long a recovery may take. On one server it is a second at most; a busy machine
    may take longer to start a process. `repeats`: what was under way may be told twice.
    """

    name: str
    what: str
    deployment: Deployment
    act: Act
    seconds: float = 10
    repeats: bool = False


def fault(
    name: str, what: str, deployment: Deployment, *, seconds: float = 10, repeats: bool = False
) -> Callable[[Act], Act]:
    def enter(act: Act) -> Act:
        FAULTS.append(Fault(name, what, deployment, act, seconds, repeats))
        return act

    return enter


PRIVATE = Deployment()
EXTERNAL = Deployment("external")


# Redis.


@fault("private Redis killed", "kill -9; the service restarts it", PRIVATE)
def kill_private_redis(scene: Scene) -> None:
    os.kill(scene.redis_pid, signal.SIGKILL)


@fault("own Redis killed", "kill -9, and restarted with its append-only file", EXTERNAL)
def kill_external_redis(scene: Scene) -> None:
    scene.external.kill()
    time.sleep(scene.seconds / 2)
    scene.external.start()


@fault("own Redis restarted", "SIGTERM, and restarted with its data", EXTERNAL)
def restart_redis(scene: Scene) -> None:
    scene.external.stop()
    scene.external.start()


@fault("own Redis frozen", "SIGSTOP for longer than REDIS_TIMEOUT", EXTERNAL)
def freeze_redis(scene: Scene) -> None:
    scene.external.signal(signal.SIGSTOP)
    time.sleep(scene.timeout + scene.seconds)
    scene.external.signal(signal.SIGCONT)


@fault("scripts flushed", "SCRIPT FLUSH in a loop", PRIVATE)
def flush_scripts(scene: Scene) -> None:
    end = time.monotonic() + scene.seconds
    with scene.client() as client:
        while time.monotonic() < end:
            client.script_flush()


@fault(
    "disk full, private Redis",
    "its file cannot grow: the server stops and is restarted until there is space",
    Deployment(bears_full_disk=True),
)
def fill_private_disk(scene: Scene) -> None:
    process = Path(f"/proc/{scene.redis_pid}")
    with scene.full_disk():
        wait_until(lambda: not process.exists(), "the server to give up")
        time.sleep(scene.seconds)


@fault(
    "disk full, own Redis",
    "its file cannot grow: with appendfsync everysec it answers MISCONF until there is space",
    Deployment(
        "external", options=("--port", "0", "--appendfsync", "everysec"), bears_full_disk=True
    ),
)
def fill_external_disk(scene: Scene) -> None:
    with scene.full_disk(), scene.client() as client:
        wait_until(
            lambda: client.info("persistence")["aof_last_write_status"] == "err",
            "the append-only file to be full",
        )
        time.sleep(scene.seconds)


# Redis runs and answers, and takes no change; it can be read from.


@fault("memory full", "maxmemory is reached, until there is more", EXTERNAL)
def fill_memory(scene: Scene) -> None:
    with scene.client() as client:
        client.config_set("maxmemory", 1)
        time.sleep(scene.seconds)
        client.config_set("maxmemory", 0)


@fault("own Redis read-only", "it is made a replica of nobody, and a master again", EXTERNAL)
def demote_redis(scene: Scene) -> None:
    with scene.client() as client:
        client.replicaof("127.0.0.1", "1")
        time.sleep(scene.seconds)
        client.replicaof("NO", "ONE")


@fault(
    "password changed", "connections are closed, and new ones refused, until it is back", EXTERNAL
)
def change_password(scene: Scene) -> None:
    with scene.external.admin() as client:
        client.execute_command("ACL", "SETUSER", "footfall", "resetpass", ">another")
        client.execute_command("CLIENT", "KILL", "USER", "footfall")
        time.sleep(scene.seconds)
        client.execute_command("ACL", "SETUSER", "footfall", "resetpass", f">{PASSWORD}")
        client.acl_log_reset()


@fault("a permission removed", "ACL SETUSER footfall -hincrby, until it is back", EXTERNAL)
def take_right(scene: Scene) -> None:
    with scene.external.admin() as client:
        client.execute_command("ACL", "SETUSER", "footfall", "-hincrby")
        time.sleep(scene.seconds)
        client.execute_command("ACL", "SETUSER", "footfall", "+hincrby")
        client.acl_log_reset()


# Several servers. A master that has failed is missed after a second, and then one is elected; the
# other is a replica again when it has copied everything. Before that nothing can be acknowledged.

SENTINELS = Deployment("sentinels", durability="replica:1")
CLUSTER = Deployment("cluster", durability="replica:1")


@fault(
    "the master of Sentinels killed",
    "kill -9; a replica takes over; the old master is restarted as a replica",
    SENTINELS,
    seconds=15,
)
def kill_master_of_sentinels(scene: Scene) -> None:
    scene.group.fail_over()


@fault(
    "no replica left",
    "kill -9 of the only one; nothing can be acknowledged until it is restarted",
    SENTINELS,
    seconds=15,
)
def kill_replica(scene: Scene) -> None:
    scene.group.replica.kill()
    time.sleep(scene.seconds)
    scene.group.replica.start()
    wait_until(scene.group.replica.is_replica_in_step, "the replica to be in step")


@fault(
    "a master of a Cluster killed",
    "kill -9 of the one that counts; its replica takes over; it is restarted",
    CLUSTER,
    seconds=15,
)
def kill_master_of_cluster(scene: Scene) -> None:
    nodes = scene.nodes
    master = nodes.owner(scene.counting_slot)
    nodes.nodes[master].kill()
    wait_until(nodes.is_whole, "the replica to take over")
    nodes.nodes[master].start()


@fault(
    "slots move",
    "the slots of the counters, of a page and of the site move to other nodes",
    CLUSTER,
)
def move_slots(scene: Scene) -> None:
    keys = scene.keys
    ours = (keys.page(digest(PAGES[0]), "bodies"), keys.site("total"))
    for slot in (scene.counting_slot, *(slot_of(pack("GET", key)) for key in ours)):
        scene.nodes.move(slot)


@fault(
    "slots move, and no node names hosts",
    "the same with cluster-preferred-endpoint-type unknown-endpoint",
    CLUSTER,
)
def move_slots_of_nodes_without_hosts(scene: Scene) -> None:
    with scene.nodes.saying("unknown-endpoint"):
        move_slots(scene)


@fault("scripts of a node flushed", "SCRIPT FLUSH in a loop, on the node that counts", CLUSTER)
def flush_scripts_of_node(scene: Scene) -> None:
    node, end = scene.nodes.owner(scene.counting_slot), time.monotonic() + scene.seconds
    while time.monotonic() < end:
        scene.nodes.ask(node, "SCRIPT", "FLUSH")


# One node has a fault, and clients of others should not notice. Many requests wait for it: it is
# the one that counts, or its replica.


@fault(
    "a master of a Cluster frozen",
    "SIGSTOP of the one that counts, for longer than REDIS_TIMEOUT; its replica takes over",
    CLUSTER,
    seconds=15,
)
def freeze_master_of_cluster(scene: Scene) -> None:
    master = scene.nodes.owner(scene.counting_slot)
    with scene.visited_beside(master):
        freeze(scene, master)
    wait_until(scene.nodes.is_whole, "the frozen one to be a replica")


@fault(
    "a replica of a Cluster frozen",
    "SIGSTOP of one that READ_FROM_REPLICAS reads from, for longer than REDIS_TIMEOUT",
    Deployment("cluster", durability="replica:1", reads_from_replicas=True),
    seconds=15,
)
def freeze_replica_of_cluster(scene: Scene) -> None:
    master = scene.nodes.owner(scene.counting_slot)
    with scene.visited_beside(master):
        freeze(scene, scene.nodes.replica_of(master))
    wait_until(scene.nodes.is_whole, "the frozen one to be in step")


@fault(
    "slots of a Cluster unreachable",
    "SIGSTOP of the master that counts and of its replica, for longer than REDIS_TIMEOUT",
    CLUSTER,
    seconds=15,
)
def freeze_slots_of_cluster(scene: Scene) -> None:
    master = scene.nodes.owner(scene.counting_slot)
    with scene.visited_beside(master):
        freeze(scene, master, scene.nodes.replica_of(master))
        assert httpx.get(f"{scene.service.url}/readyz").status_code == 200
    wait_until(scene.nodes.is_whole, "the frozen ones to be in step")


def freeze(scene: Scene, *nodes: int) -> None:
    frozen = [scene.nodes.nodes[node] for node in nodes]
    for each in frozen:
        each.signal(signal.SIGSTOP)
    time.sleep(scene.timeout + scene.seconds)
    for each in frozen:
        each.signal(signal.SIGCONT)


@fault(
    "a node of a Cluster slow",
    "the one that counts is stopped for 200 ms again and again",
    CLUSTER,
    seconds=15,
)
def slow_node_of_cluster(scene: Scene) -> None:
    master = scene.nodes.owner(scene.counting_slot)
    node = scene.nodes.nodes[master]
    with scene.visited_beside(master):
        end = time.monotonic() + scene.timeout + scene.seconds
        while time.monotonic() < end:
            node.signal(signal.SIGSTOP)
            time.sleep(0.2)
            node.signal(signal.SIGCONT)
            time.sleep(0.005)


# The hop to Redis.

HOP = Deployment("external", relay="redis")


@fault("requests to Redis cut", "connections are closed in the middle of a request", HOP)
def cut_requests(scene: Scene) -> None:
    trouble_the_hop(scene, Trouble(cut_requests=0.05))


@fault("replies of Redis cut", "connections are closed in the middle of a reply", HOP)
def cut_replies(scene: Scene) -> None:
    trouble_the_hop(scene, Trouble(cut_replies=0.05))


@fault("Redis slow", "all data is delayed by a third of REDIS_TIMEOUT, in both directions", HOP)
def delay_redis(scene: Scene) -> None:
    trouble_the_hop(scene, Trouble(delay=scene.timeout / 3))


@fault("Redis unreachable", "nothing comes through for a while, then everything", HOP)
def hold_back(scene: Scene) -> None:
    trouble_the_hop(scene, Trouble(holds_back=True))
    # What was delayed is delivered now.


def trouble_the_hop(scene: Scene, trouble: Trouble) -> None:
    cuts = scene.hop.cuts
    with scene.hop.troubled(trouble):
        time.sleep(scene.timeout + scene.seconds)
    assert (scene.hop.cuts > cuts) == bool(trouble.cut_requests or trouble.cut_replies)


# The service.


@fault("a worker killed", "kill -9 of one of two; the service replaces it", Deployment(workers=2))
def kill_worker(scene: Scene) -> None:
    os.kill(scene.worker_pid(), signal.SIGKILL)


@fault(
    "the parent of workers killed",
    "kill -9 of it and of its Redis; both are restarted",
    Deployment(workers=2),
)
@fault("the service killed", "kill -9 of it and of its Redis; both are restarted", PRIVATE)
def kill_service(scene: Scene) -> None:
    os.kill(scene.redis_pid, signal.SIGKILL)
    scene.kill_service()
    scene.service.start()


@fault(
    "the service killed while it stores a comment",
    "kill -9 after the comment is stored and before the site's indexes have it; restarted",
    HOP,
)
def tear(scene: Scene) -> None:
    with scene.hop.troubled(Trouble(delay=scene.timeout / 5)), scene.client() as client:
        before = untold(client)
        wait_until(lambda: untold(client) - before, "a comment that is stored and not told")
        scene.kill_service()
    scene.service.start()


def untold(client: Redis) -> set[bytes | str]:
    """Comments that the site's index does not have."""
    stored = {id for page in client.keys("ff:{p:*}:bodies") for id in client.hkeys(page)}
    return {*stored} - {*client.zrange("ff:{site}:recent", 0, -1)}


@fault(
    "one of two services killed",
    "kill -9; both use one Redis, behind a load balancer; it is restarted",
    Deployment("external", services=2, relay="clients"),
)
def kill_one_of_two(scene: Scene) -> None:
    scene.kill_service(1)
    time.sleep(scene.seconds / 2)
    scene.services[1].start()


@fault(
    "clocks jump",
    "two services on one Redis, an hour apart; then each is set back by two hours",
    Deployment("external", services=2, relay="clients", has_own_clock=True),
)
def jump_clocks(scene: Scene) -> None:
    def knows(number: int, is_off: bool) -> bool:
        metrics = httpx.get(f"{scene.services[number].url}/metrics").text
        return f'footfall_finding{{code="clock"}} {is_off:d}' in metrics

    for number, offset in ((0, 3600), (1, -3600), (0, -3600), (1, 0), (0, 0)):
        scene.set_clock(number, offset)
        time.sleep(scene.seconds / 5)
        wait_until(partial(knows, number, offset != 0), "a word about the clock")
    newest = httpx.get(f"{scene.url}/comment?type=recent&count=50").json()
    assert all(abs(each["time"] / 1000 - time.time()) < 600 for each in newest)


# Twelve moderators decide about the same comments, beside readers and writers.

STORM = Deployment("external", workers=2, moderators=12)


def storm(scene: Scene) -> None:
    """Let them decide for a while: with three rounds of ten seconds a minute."""
    time.sleep(2 * scene.seconds)


@fault("a worker killed during moderation", "kill -9 of one of two; the service replaces it", STORM)
def kill_worker_amid_moderators(scene: Scene) -> None:
    storm(scene)
    kill_worker(scene)


@fault("Redis killed during moderation", "kill -9, and restarted with its append-only file", STORM)
def kill_redis_amid_moderators(scene: Scene) -> None:
    storm(scene)
    kill_external_redis(scene)


@fault("Redis frozen during moderation", "SIGSTOP for longer than REDIS_TIMEOUT", STORM)
def freeze_redis_amid_moderators(scene: Scene) -> None:
    storm(scene)
    freeze_redis(scene)


@fault(
    "replies of Redis cut during moderation",
    "connections are closed in the middle of a reply",
    Deployment("external", workers=2, moderators=12, relay="redis"),
)
def cut_replies_amid_moderators(scene: Scene) -> None:
    storm(scene)
    cut_replies(scene)


@fault(
    "a replica frozen during moderation",
    "SIGSTOP of the only replica, for longer than REDIS_TIMEOUT; nothing can be acknowledged",
    Deployment("sentinels", durability="replica:1", workers=2, moderators=12),
    seconds=15,
)
def freeze_replica_amid_moderators(scene: Scene) -> None:
    storm(scene)
    scene.group.replica.signal(signal.SIGSTOP)
    time.sleep(scene.timeout + scene.seconds)
    scene.group.replica.signal(signal.SIGCONT)


@fault(
    "a master of a Cluster killed during moderation",
    "kill -9 of the one that has the site; its replica takes over; it is restarted",
    Deployment("cluster", durability="replica:1", workers=2, moderators=12),
    seconds=15,
)
def kill_master_of_site_amid_moderators(scene: Scene) -> None:
    storm(scene)
    nodes = scene.nodes
    master = nodes.owner(slot_of(pack("GET", Keys("ff", 256).site("total"))))
    nodes.nodes[master].kill()
    wait_until(nodes.is_whole, "the replica to take over")
    nodes.nodes[master].start()


# Who is told of comments, and who tells them.

TELLING = Deployment("external", tells=True)


@fault("nothing, during deliveries", "a worker tells a web server of them", TELLING)
def do_nothing(scene: Scene) -> None:
    time.sleep(scene.seconds)


@fault(
    "the worker killed during deliveries",
    "kill -9 while it tells a web server; started again",
    TELLING,
    repeats=True,
)
def kill_outbox_worker(scene: Scene) -> None:
    scene.listener.wait_for_more()
    scene.listener.kill_worker()
    scene.listener.start_worker(scene.service)


@fault(
    "Redis killed during deliveries",
    "kill -9 while a web server is told; started again",
    TELLING,
    repeats=True,
)
def kill_redis_amid_deliveries(scene: Scene) -> None:
    scene.listener.wait_for_more()
    scene.external.kill()
    scene.external.start()


@fault(
    "the receiver killed during deliveries",
    "kill -9 of the web server that is told; started again",
    TELLING,
    repeats=True,
)
def kill_receiver(scene: Scene) -> None:
    scene.listener.wait_for_more()
    scene.listener.kill()
    time.sleep(scene.seconds)
    scene.listener.start()


# Its operator.


@fault(
    "everything restored elsewhere",
    "backed up under load; restored under another KEY_PREFIX, compared, checked and read",
    EXTERNAL,
)
def restore(scene: Scene) -> None:
    drill = Drill(scene.service, scene.url)
    drill.back_up()
    drill.restore()


# Its clients.

CLIENTS = Deployment(relay="clients")


@fault("requests of clients cut", "connections are closed in the middle of a request", CLIENTS)
def cut_client_requests(scene: Scene) -> None:
    trouble_the_hop(scene, Trouble(cut_requests=0.05))


@fault("answers to clients cut", "connections are closed in the middle of an answer", CLIENTS)
def cut_client_answers(scene: Scene) -> None:
    trouble_the_hop(scene, Trouble(cut_replies=0.05))


@fault("the clients' network stalls", "nothing comes through for a while, then everything", CLIENTS)
def hold_back_clients(scene: Scene) -> None:
    # Shorter than any client waits for an answer.
    with scene.hop.troubled(Trouble(holds_back=True)):
        time.sleep(min(scene.seconds, 5))


@fault(
    "clients that hang up",
    "clients close their connections in the middle of a request, or before the answer",
    PRIVATE,
)
def abort(scene: Scene) -> None:
    """Nobody knows whether requests of clients that did not wait were counted, but each was at most
    once."""
    path, whole = "/aborted", 0
    before: int = httpx.get(f"{scene.url}/article", params={"path": path}).json()
    body = f'{{"path": "{path}"}}'.encode()
    request = (
        b"POST /api/article HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    random, end = Random(1), time.monotonic() + scene.seconds
    host, port = scene.service.url.removeprefix("http://").split(":")
    while time.monotonic() < end:
        is_whole = random.random() < 0.5
        with socket.create_connection((host, int(port))) as client:
            client.sendall(request if is_whole else request[: random.randrange(len(request))])
        whole += is_whole
    after: int = httpx.get(f"{scene.url}/article", params={"path": path}).json()
    assert 0 < after - before <= whole
