"""The ids of the data sets of this process: are they still there? A Redis that has lost its data,
or has another data set, must not count.

A data set's hash `format` has the random id that it got when it was made, and how its counters are
spread. Every new connection to a master reads it first; it is read again each minute and for each
/readyz. While one of them is not ours, no command is sent: counts in another data set, or in the
wrong buckets, would be worse than none.

On a Cluster one node has this hash; it is not noticed if another node has lost its data.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import StoreUnavailable
from .commands import pack
from .replies import ErrorReply, OtherData
from .stats import CommandStats

log = logging.getLogger(__name__)

RESTORING = "restoring"


# The first command before a data set is opened: a server may accept connections and not answer.
ANY_COMMAND = pack("TIME")


class DataSetIds:
    """`problem` is "" while Redis has our data sets, or before one was opened.

    `commands` read their ids.
    """

    def __init__(self, stats: CommandStats) -> None:
        self.problem = ""
        self.commands = [ANY_COMMAND]
        self._stats = stats
        # By the key of each hash, its expected fields, and its problem.
        self._known: dict[str, Mapping[str, bytes | None]] = {}
        self._problems: dict[str, str] = {}

    def expect(self, key: str, fields: Mapping[str, bytes | None]) -> None:
        """From now on this hash must have these fields, one of them `born`, the data set's id, and
        must not have `restoring`. Without fields nothing is expected of it."""
        self._known.pop(key, None)
        self._problems.pop(key, None)
        if fields:
            self._known[key] = dict(fields)
        self.problem = next(iter(self._problems.values()), "")
        self.commands = [
            pack("HMGET", key, RESTORING, *fields) for key, fields in self._known.items()
        ]
        self.commands = self.commands or [ANY_COMMAND]

    @property
    def are_known(self) -> bool:
        """Has a data set been opened?"""
        return bool(self._known)

    def check(self) -> None:
        """Raises StoreUnavailable if Redis did not have our data set at the last check."""
        if self.problem:
            raise StoreUnavailable() from OtherData(self.problem)

    def failure(self) -> StoreUnavailable | None:
        """What `check` would raise, returned."""
        try:
            self.check()
        except StoreUnavailable as error:
            return error
        return None

    def received(self, commands: Sequence[bytes], replies: Sequence[Any]) -> None:
        """Take Redis's replies to these commands."""
        if commands is not self.commands or not self._known:
            # A data set was opened or closed since they were sent.
            return
        before = self.problem
        for (key, known), reply in zip(self._known.items(), replies, strict=True):
            self._take(key, known, reply)
        self.problem = next(iter(self._problems.values()), "")
        if not self._stats.logs_outages or self.problem == before:
            return
        if self.problem:
            log.error("%s", self.problem)
        else:
            log.warning("Redis has the data set of this service again")

    def _take(self, key: str, known: Mapping[str, bytes | None], reply: Any) -> None:
        if not isinstance(reply, ErrorReply):
            restoring, *values = reply
            problem = _problem(key, known, dict(zip(known, values, strict=True)), restoring)
            self._problems.pop(key, None)
            if problem:
                self._problems[key] = problem
        elif reply.code == "WRONGTYPE":
            self._problems[key] = (
                f"{key} was not written by this service: nothing is counted; see KEY_PREFIX"
            )
        # Another error says nothing about the data: MOVED comes from a node that has not this hash,
        # and NOPERM is logged by CommandStats.


def _problem(
    key: str,
    before: Mapping[str, bytes | None],
    values: Mapping[str, bytes | None],
    restoring: bytes | None,
) -> str:
    if restoring:
        return (
            "a backup is being restored into this data set; nothing is counted. Stop the "
            "services, and start them when `footfall restore` is done"
        )
    if values == before:
        return ""
    ours, theirs = before["born"], values["born"]
    if theirs is None:
        return (
            f"Redis has lost its data: {key} no longer names data set {_name(ours)}; nothing is "
            "counted. Stop the services and restore a backup, or restart them to start empty"
        )
    return (
        f"Redis has another data set, {_name(theirs)} instead of {_name(ours)}; nothing is "
        "counted. If this is intended, restart the services; otherwise restore the old one, and "
        "they continue"
    )


def _name(id: bytes | None) -> str:
    return id.decode(errors="replace") if id else "of an unknown name"
