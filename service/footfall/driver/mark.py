"""The data set's mark: is it still ours? A Redis that has lost its data, or has another data set,
must not count.

The mark is the hash `format`: a random id that the data set got when it was made, and how its
counters are spread. Every new connection to a master reads it first; it is read again each minute
and for each /readyz. While it is not ours, no command is sent: counts in another data set, or in
the wrong buckets, would be worse than none.

On a Cluster one node has the mark; it is not noticed if another node has lost its data.
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


# The first command before a data set is opened: a server may accept connections and not answer.
ANY_COMMAND = pack("TIME")


class Mark:
    """`problem` is "" while Redis has our data set, or before one was opened.

    `command` reads the mark.
    """

    def __init__(self, stats: CommandStats) -> None:
        self.problem = ""
        self.command = ANY_COMMAND
        self._stats = stats
        self._key = ""
        self._known: dict[str, bytes | None] = {}

    def expect(self, key: str, fields: Mapping[str, bytes | None]) -> None:
        """From now on this hash must have these fields, one of them `born`, the data set's id, and
        must not have `restoring`."""
        self._key, self._known = key, dict(fields)
        self.command = pack("HMGET", key, RESTORING, *fields)

    @property
    def is_known(self) -> bool:
        """Has a data set been opened?"""
        return bool(self._known)

    def check(self) -> None:
        """Raises StoreUnavailable if Redis did not have our data set at the last check."""
        if self.problem:
            raise StoreUnavailable() from OtherData(self.problem)

    def failure(self) -> StoreUnavailable | None:
        """The same exception, returned."""
        try:
            self.check()
        except StoreUnavailable as error:
            return error
        return None

    def received(self, reply: Any) -> None:
        """Take Redis's reply to `command`."""
        if not self.is_known:
            return
        before = self.problem
        if not isinstance(reply, ErrorReply):
            restoring, *found = reply
            self.problem = self._problem(restoring, dict(zip(self._known, found, strict=True)))
        elif reply.code == "WRONGTYPE":
            self.problem = f"{self._key} is none of ours: nothing is counted; see KEY_PREFIX"
        # Another error says nothing about the data: MOVED comes from a node that has not the mark,
        # and NOPERM is logged by CommandStats.
        if not self._stats.logs_outages or self.problem == before:
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


def _name(id: bytes | None) -> str:
    return id.decode(errors="replace") if id else "of an unknown name"
