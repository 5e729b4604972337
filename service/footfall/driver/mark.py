"""Is this still our data set? A server that has lost its data, or holds another's, must not count.

A data set is known by what its format says: a name that chance has given it when it was born, and
how its counters are spread. Whoever opens a connection to a master looks at it before anything else
is asked there, and all of them are looked at again each minute, and whenever somebody asks how the
service feels. While it is not ours nothing is asked and nothing is changed: counts in the place of
others, or in buckets that nobody else looks into, would be worse than none.

On a Cluster the node that holds the format speaks for all of them; one of the others that has lost
its data is not found out here.
"""

import logging
from collections.abc import Mapping
from typing import Any

from ..errors import StoreUnavailable
from .connection import pack
from .replies import ErrorReply, OtherData
from .stats import CommandStats

log = logging.getLogger(__name__)

RESTORING = "restoring"


# What is asked where there is nothing to look at: that a server takes a connection says little.
ANYTHING = pack("TIME")


class Mark:
    """`problem` is empty while Redis holds our data set, or before anybody knows which that is."""

    def __init__(self, stats: CommandStats) -> None:
        self.problem = ""
        self.question = ANYTHING
        self._stats = stats
        self._key = ""
        self._known: dict[str, bytes | None] = {}

    def expect(self, key: str, fields: Mapping[str, bytes | None]) -> None:
        """From now on this hash must hold these fields, `born` among them, and no restore."""
        self._key, self._known = key, dict(fields)
        self.question = pack("HMGET", key, RESTORING, *fields)

    @property
    def is_known(self) -> bool:
        """Has a data set been opened?"""
        return bool(self._known)

    def check(self) -> None:
        """Raises StoreUnavailable unless Redis holds our data set, for all that is known."""
        if self.problem:
            raise StoreUnavailable() from OtherData(self.problem)

    def failure(self) -> StoreUnavailable | None:
        """The same, not raised."""
        try:
            self.check()
        except StoreUnavailable as error:
            return error
        return None

    def heard(self, reply: Any) -> None:
        """What Redis has answered to the question."""
        if not self.is_known:
            return
        before = self.problem
        if not isinstance(reply, ErrorReply):
            restoring, *found = reply
            self.problem = self._problem(restoring, dict(zip(self._known, found, strict=True)))
        elif reply.code == "WRONGTYPE":
            self.problem = f"{self._key} is none of ours: nothing is counted; see KEY_PREFIX"
        # Otherwise another node has it, or this user may not read it: nothing is known, and who is
        # refused something is told so elsewhere.
        if not self._stats.speaks or self.problem == before:
            return
        if self.problem:
            log.error("%s", self.problem)
        else:
            log.warning("Redis holds the data set of this service again")

    def _problem(self, restoring: bytes | None, found: Mapping[str, bytes | None]) -> str:
        if restoring:
            return (
                "a backup is being restored into this data set: nothing is counted; stop the "
                "services, and start them again when `footfall restore` is done"
            )
        if found == self._known:
            return ""
        ours, theirs = self._known["born"], found["born"]
        if theirs is None:
            return (
                f"Redis has lost its data: {self._key} does not tell of data set {_name(ours)} any "
                "more; nothing is counted. Stop the services, and restore a backup; or only start "
                "them again, to begin anew"
            )
        return (
            f"Redis holds another data set, {_name(theirs)} in place of {_name(ours)}: nothing is "
            "counted. If that is as it should be, start the services again; otherwise bring the "
            "old one back, and they go on"
        )


def _name(born: bytes | None) -> str:
    return born.decode(errors="replace") if born else "of an unknown name"
