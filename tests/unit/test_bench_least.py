"""The bench's measure for the service's own code: what it saves is worth little if it cheats."""

import asyncio
from collections.abc import Callable

from bench.least import Batches, prepare


class Wire(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))


def change(path: str) -> tuple[bytes, bytes, bytes]:
    return b"POST", b"/api/article", b'{"path": "%b", "action": "inc"}' % path.encode()


def read(path: str) -> tuple[bytes, bytes, bytes]:
    return b"GET", f"/api/article?path={path}&type=time".encode(), b""


async def test_what_a_turn_asks_leaves_in_one_write_and_each_gets_its_own_reply() -> None:
    redis, wire = Batches("sha"), Wire()
    redis.connection_made(wire)
    replies: list[tuple[str, object]] = []

    def into(name: str) -> Callable[[object], None]:
        return lambda reply: replies.append((name, reply))

    redis.ask(prepare(*change("/a")), into("a"))
    redis.ask(prepare(*read("/b")), into("b"))
    redis.ask(prepare(*change("/c")), into("c"))
    await asyncio.sleep(0)
    (written,) = wire.written
    for word in (b"EVALSHA", b"HGET", b"time /a", b"time /b", b"time /c"):
        assert written.count(word) == 1
    redis.data_received(b"*2\r\n:7\r\n:9\r\n$1\r")
    redis.data_received(b"\n8\r\n")
    assert replies == [("a", 7), ("c", 9), ("b", b"8")]
