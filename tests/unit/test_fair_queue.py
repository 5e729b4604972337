"""Turns of clients: one at a time, each client in turn, and none is lost."""

import asyncio

from footfall.process.fair_queue import FairQueue


class Line:
    """A queue whose first turn is taken until it is opened, and who had turns since."""

    def __init__(self) -> None:
        self.queue = FairQueue()
        self.came = list[str]()
        self._may_go = asyncio.Event()
        self._first = asyncio.create_task(self._hold())

    async def _hold(self) -> None:
        async with self.queue.turn("first"):
            await self._may_go.wait()

    async def ask(self, client: str, name: str = "", cost: float = 1) -> asyncio.Task[None]:
        task = asyncio.create_task(self._take(client, name or client, cost))
        # It waits then.
        await asyncio.sleep(0)
        return task

    async def _take(self, client: str, name: str, cost: float) -> None:
        async with self.queue.turn(client, cost):
            self.came.append(name)
            await asyncio.sleep(0)

    async def open(self, *tasks: asyncio.Task[None]) -> list[str]:
        self._may_go.set()
        await asyncio.gather(self._first, *tasks, return_exceptions=True)
        return self.came


async def test_each_client_that_waits_has_a_turn_before_one_has_two() -> None:
    line = Line()
    asked = [await line.ask(name[0], name) for name in ("a1", "a2", "a3", "b1", "b2", "c1")]
    assert await line.open(*asked) == ["a1", "b1", "c1", "a2", "b2", "a3"]


async def test_what_is_short_waits_for_no_long_turns_of_others() -> None:
    line = Line()
    asked = [await line.ask(f"long {n}", cost=100) for n in range(32)]
    asked += [await line.ask("short")]
    assert (await line.open(*asked))[0] == "short"


async def test_what_is_long_comes_however_many_short_turns_there_are() -> None:
    """Two streams of clients, each of whom comes as the one before has had its turn."""
    queue, came = FairQueue(), list[str]()

    async def take(client: str, cost: float) -> None:
        async with queue.turn(client, cost):
            came.append(client)
            await asyncio.sleep(0)

    async def stream(name: str) -> None:
        for n in range(200):
            await take(f"{name} {n}", 1)

    await asyncio.gather(stream("short"), stream("other"), take("long", 10))
    assert 5 < came.index("long") < 60


async def test_one_turn_is_taken_at_a_time() -> None:
    queue, inside, most = FairQueue(), 0, 0

    async def work(client: str) -> None:
        nonlocal inside, most
        async with queue.turn(client):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(work(f"{n % 3}") for n in range(30)))
    assert (inside, most) == (0, 1)


async def test_who_has_gone_away_has_no_turn() -> None:
    line = Line()
    asked = [await line.ask(name) for name in "abc"]
    asked[0].cancel()
    assert await line.open(*asked) == ["b", "c"]


async def test_a_turn_that_is_given_to_who_goes_away_is_the_next_ones() -> None:
    queue = FairQueue()
    came = list[str]()

    async def take(name: str) -> None:
        async with queue.turn(name):
            came.append(name)

    async with queue.turn("first"):
        asked = [asyncio.create_task(take(name)) for name in "ab"]
        await asyncio.sleep(0)
    # The turn is given, and not taken yet.
    asked[0].cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    assert came == ["b"]
    await take("c")
    assert came == ["b", "c"]


async def test_an_error_gives_the_turn_back() -> None:
    queue = FairQueue()
    for _ in range(2):
        try:
            async with asyncio.timeout(60), queue.turn("a"):
                raise ValueError
        except ValueError:
            pass
    async with asyncio.timeout(60), queue.turn("b"):
        pass
