"""The floor: uvloop and a constant answer of the length of a count's. It parses no HTTP and asks
Redis nothing: it costs what any Python server pays at least for its sockets.

    python bench/floor.py PORT
"""

import asyncio
import sys
from typing import cast

import uvloop

BODY = b'{"errno":0,"errmsg":"","data":[{"time":1234}]}'
HEAD = (
    b"HTTP/1.1 200 OK\r\ndate: Sat, 01 Jan 2000 00:00:00 GMT\r\n"
    b"content-type: application/json; charset=utf-8\r\naccess-control-allow-origin: *\r\n"
    b"vary: Origin\r\nx-waline-version: 1.39.3\r\n"
    b'content-length: %d\r\netag: "1234"\r\ncache-control: no-cache\r\n\r\n'
)
ANSWER = HEAD % len(BODY) + BODY


class Floor(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        # Requests of the bench come one at a time, each in one piece.
        self._transport.write(ANSWER)


async def main(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Floor, "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
