"""How many groups should a Cluster's counters be divided into? The costs of changes, by that
number.

Counters of one group share a slot, so a batch has one command for all of them. Fewer groups are
fewer commands; more are distributed over the nodes more evenly. They are measured in turn, round by
round, and by Redis's own time, which other processes disturb little.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from footfall.driver import keys

from ..peers import Environment
from . import costs
from .costs import Row, Servers
from .placement import groups_by_node

GROUPS = (16, 32, 64, 256)
SIZES = (1, 16, 64, 256)
ON = (3, 6)
# A number of masters that is not measured: only the distribution of groups over them is computed.
MANY = 30
ROUNDS = 3
# Simulated workers, each of which has a batch under way.
STORES = 4


async def measure(environment: Environment) -> list[Row]:
    """A row for each number of masters, groups and changes in a batch."""
    rows = []
    for number in ON:
        with costs.masters(environment, number) as servers:
            found: dict[tuple[int, int], list[tuple[float, float]]] = {}
            for _ in range(ROUNDS):
                for groups in GROUPS:
                    with _of(groups):
                        for size, us in (await _round(servers)).items():
                            found.setdefault((groups, size), []).append(us)
        for (groups, size), rounds in found.items():
            redis_us, sent = (median(each) for each in zip(*rounds, strict=True))
            rows.append(
                {
                    "masters": number,
                    "groups": groups,
                    "size": size,
                    "redis_us": redis_us,
                    "sent": sent,
                }
            )
    return rows


def dealt() -> list[Row]:
    """The least and the greatest number of groups that a node has."""
    found = {groups: groups_by_node(MANY, groups) for groups in GROUPS}
    return [
        {"groups": groups, "least": min(each), "most": max(each)} for groups, each in found.items()
    ]


@contextmanager
def _of(groups: int) -> Iterator[None]:
    before, keys.GROUPS = keys.GROUPS, groups
    try:
        yield
    finally:
        keys.GROUPS = before


async def _round(servers: Servers) -> dict[int, tuple[float, float]]:
    """By size: µs of Redis for a change, and commands of a batch."""
    servers.each("FLUSHALL", "SYNC")
    stores = [servers.store(65_536) for _ in range(STORES)]
    await stores[0].create()
    for store in stores[1:]:
        await store.open()
    found = {}
    for size in SIZES:
        row = await costs.of_batch(servers, stores, "add", size)
        found[size] = row["redis_us"] / size, row["sent"]
    for store in stores:
        await store.redis.close()
    return found
