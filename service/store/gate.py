"""Who may post now: one comment an address and window, however many arrive at once."""

from ..errors import TooFast
from .keys import Keys
from .scripts import Scripts


class Gate:
    def __init__(self, scripts: Scripts, keys: Keys) -> None:
        self._keys = keys
        self._admit = scripts["gate/admit"]
        self._release = scripts["gate/release"]

    async def admit(self, address: str, id: str, *, window_ms: int, is_exempt: bool) -> None:
        """Close the gate behind this comment; raises TooFast when it is closed already."""
        match await self._admit(
            gate=self._keys.gate(address), id=id, window=window_ms, exempt=is_exempt
        ):
            case [b"TOO_FAST", wait_ms]:
                raise TooFast(wait_ms)

    async def release(self, address: str, id: str) -> None:
        """Open the gate that this comment closed: it was refused after all."""
        await self._release(gate=self._keys.gate(address), id=id)
