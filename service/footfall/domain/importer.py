"""What stores rows of other systems while the service runs; transfer/ is one."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .site import Site

# What becomes of a counter that is there.
WAYS = ("max", "sum", "replace")


class Importer(Protocol):
    def file(
        self, site: "Site", path: Path, way: str, *, is_dry: bool
    ) -> AsyncGenerator[dict[str, Any]]:
        """Import a file, or say what an import would do: how far it is, from time to time, and at
        last its report. Raises BadRequest, Unavailable."""
