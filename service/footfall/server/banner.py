"""The message at startup: the address, and how data is stored."""

import socket

from .. import __version__
from ..config import Settings
from ..data.size import Size
from ..driver.safety import Safety
from ..plurals import number_of
from ..stores import durability_of
from ..telemetry.logs import announce
from .listener import name_of


def print_banner(
    settings: Settings,
    listener: socket.socket,
    description: str,
    safety: Safety,
    size: Size | None,
    *,
    is_traced: bool,
) -> None:
    facts = {"Redis": description, "data": _where(settings, safety)}
    if size is not None:
        facts["holds"] = str(size)
    if settings.means:
        facts["notify"] = f"by {', '.join(settings.means)}"
    if settings.spam_checkers:
        facts["check"] = f"each comment by {', '.join(settings.spam_checkers)}"
    if settings.tells and not settings.outbox_worker:
        facts["worker"] = "none: OUTBOX_WORKER=false, so run `footfall worker`"
    if not (settings.site_url or settings.secure_domains):
        facts["logins"] = "readers are asked before a site gets one: set SITE_URL"
    if is_traced:
        facts["traces"] = "sent to OTEL_*; the fast path is off"
    announce(f"Footfall {__version__} listens on {name_of(listener)}", **facts)


_PROMISES = {
    "memory": "written to disk when the system decides",
    "everysec": "on disk a second after a change is acknowledged",
    "fsync": "on disk before a change is acknowledged",
}


def _where(settings: Settings, safety: Safety) -> str:
    durability = durability_of(settings)
    place = (
        f"in that Redis, under {settings.key_prefix}:*"
        if settings.redis_url
        else str(settings.data_dir.absolute())
    )
    # A passing outage tells nothing about that.
    if any(problem.is_fatal and not problem.is_outage for problem in safety.problems.values()):
        return f"{place}, but could be lost: see the errors above"
    promise = _PROMISES.get(
        durability.level,
        f"at {number_of(durability.replicas, 'replica')} before a change is acknowledged",
    )
    return f"{place}, {promise}"
