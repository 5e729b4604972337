"""What stores rows of other systems while the service runs; transfer/ is one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .service import Service

# The tables of Waline's archive, in the order in which its migration page sends them.
TABLES = ("Comment", "Counter", "Users")


class Importer(Protocol):
    async def add(self, service: "Service", table: str, record: Mapping[str, Any]) -> object:
        """Store a record of a table: what is said of it. Raises BadRequest, StoreUnavailable."""

    async def place(self, service: "Service", id: str, fields: Mapping[str, Any]) -> None:
        """Give a comment what it replies to (`pid`, `rid`), and its account (`user_id`). Raises
        BadRequest, StoreUnavailable, Unavailable."""
