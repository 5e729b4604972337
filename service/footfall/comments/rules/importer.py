"""What stores rows of other systems while the service runs; transfer/ is one."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Protocol, TypeVar

# How to combine an imported count with an existing counter.
WAYS = ("max", "sum", "replace")

# The target of its rows: a Site, whose module has an importer and is not imported here.
Into = TypeVar("Into", contravariant=True)


class Importer(Protocol[Into]):
    def file(
        self, site: Into, path: Path, way: str, *, is_dry: bool
    ) -> AsyncGenerator[dict[str, Any]]:
        """Import a file, or check it: its progress, from time to time, and finally its report.
        Raises BadRequest, Unavailable."""
