"""Who may change a counter: anybody may count up, and take back a reaction; views only rise.

A page view cannot be undone by the public, since whoever can count down can wipe a site's numbers.
"""

from collections.abc import Sequence

from ..model import Viewer
from .comments import require_administrator
from .service import Service

VIEWS = "time"


async def change(
    service: Service, changes: Sequence[tuple[str, str, int]], viewer: Viewer
) -> list[int]:
    """Apply (path, type, delta) changes, all or none; the new counts, in order.

    Raises Unauthorized or Forbidden for views counted down by anybody but an administrator.
    """
    if lowers_views(changes):
        require_administrator(viewer)
    return await service.store.counters.add(changes)


def lowers_views(changes: Sequence[tuple[str, str, int]]) -> bool:
    return any(type == VIEWS and delta < 0 for _, type, delta in changes)
