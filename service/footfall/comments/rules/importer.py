"""What stores rows of other systems while the service runs; transfer/ is one."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Protocol, TypeVar

# What becomes of a counter that is there.
WAYS = ("max", "sum", "replace")

# What it stores rows into: a Site, whose module has an importer and is not imported here.
Into = TypeVar("Into", contravariant=True)


class Importer(Protocol[Into]):
    def file(
        self, site: Into, path: Path, way: str, *, is_dry: bool
    ) -> AsyncGenerator[dict[str, Any]]:
        """Import a file, or say what an import would do: how far it is, from time to time, and at
        last its report. Raises BadRequest, Unavailable."""
