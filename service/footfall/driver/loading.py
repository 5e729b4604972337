"""A server that loads its file: how far it is, every few seconds. A large file takes minutes."""

import logging
from collections.abc import Mapping
from time import monotonic
from typing import Any

log = logging.getLogger(__name__)

LINE_SECONDS = 2.0


class Loading:
    """Logs how far a server is, which `name` names; nothing in the first `quiet_seconds`."""

    def __init__(self, name: str, quiet_seconds: float = 0) -> None:
        self._name = name
        self._due = monotonic() + quiet_seconds

    def goes_on(self, facts: Mapping[str, Any]) -> bool:
        """Does a server with these facts of INFO load?"""
        if not int(facts.get("loading", 0)):
            return False
        if monotonic() >= self._due:
            self._due = monotonic() + LINE_SECONDS
            log.warning("%s loads its data: %s", self._name, _progress(facts))
        return True


def _progress(facts: Mapping[str, Any]) -> str:
    share = float(facts.get("loading_loaded_perc", 0))
    megabytes = int(facts.get("loading_total_bytes", 0)) / 1e6
    seconds = int(facts.get("loading_eta_seconds", 0))
    return f"{share:.0f} % of {megabytes:,.0f} MB, about {seconds} s to go"
