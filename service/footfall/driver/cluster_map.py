"""Reads which node of a Cluster has which slot, by redis-py."""

from typing import Any

from redis.asyncio.cluster import ClusterNode, NodesManager
from redis.exceptions import RedisClusterException, ResponseError

from .replies import of_client

NAMELESS = (
    "ERR the nodes of the Cluster name no hosts: CONFIG SET cluster-announce-hostname on each, or "
    "cluster-preferred-endpoint-type ip"
)


async def read_map(nodes: NodesManager) -> None:
    """Read it into `nodes`, which stay as they are if that fails. Raises its error."""
    for node in nodes.startup_nodes.values():
        # redis-py creates them again from the reply, and accepts no class for that.
        node.__class__ = _Asked
    try:
        # Not the client's: it also queries one node for its commands, which may be unreachable.
        await nodes.initialize()
    except RedisClusterException as error:
        raise _reason(error) from error


class _Asked(ClusterNode):
    """A node that is queried for the map of slots. Entries without a host mean this node, which
    redis-py would call None."""

    __slots__ = ()

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        reply = await super().execute_command(*args, **options)
        if args[0] == "CLUSTER SLOTS":
            for node in (node for row in reply for node in row[2:]):
                # With cluster-preferred-endpoint-type unknown-endpoint: the host that was queried.
                node[0] = node[0] or self.host
                if node[0] in (b"?", "?"):
                    raise ResponseError(NAMELESS)
        return reply


def _reason(error: BaseException) -> BaseException:
    """The error reply hidden by redis-py's error, which calls every error that of a server without
    a Cluster."""
    cause: BaseException | None = error
    while cause and not isinstance(cause, ResponseError):
        cause = cause.__cause__ or cause.__context__
    return of_client(cause) if isinstance(cause, ResponseError) else error
