"""What a running service imports by."""

from collections.abc import Mapping
from typing import Any

from ..domain.service import Service
from ..store.imports import Imports
from . import one_row


class StoringImporter:
    def __init__(self, imports: Imports) -> None:
        self._imports = imports

    async def add(self, service: Service, table: str, record: Mapping[str, Any]) -> object:
        return await one_row.add(service, self._imports, table, record)

    async def place(self, service: Service, id: str, fields: Mapping[str, Any]) -> None:
        await one_row.place(service, id, fields)
