"""What stores rows of other systems while the service runs; transfer/ is one."""

from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .site import Site

# The tables of Waline's archive, in the order in which its migration page sends them.
TABLES = ("Comment", "Counter", "Users")


# What becomes of a counter that is there.
WAYS = ("max", "sum", "replace")


class Importer(Protocol):
    async def add(self, site: "Site", table: str, record: Mapping[str, Any]) -> object:
        """Store a record of a table: what is said of it. Raises BadRequest, StoreUnavailable."""

    async def place(self, site: "Site", id: str, fields: Mapping[str, Any]) -> None:
        """Give a comment what it replies to (`pid`, `rid`), and its account (`user_id`). Raises
        BadRequest, StoreUnavailable, Unavailable."""

    def file(
        self, site: "Site", path: Path, way: str, *, is_dry: bool
    ) -> AsyncGenerator[dict[str, Any]]:
        """Import a file, or say what an import would do: how far it is, from time to time, and at
        last its report. Raises BadRequest, Unavailable."""
