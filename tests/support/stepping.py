"""Services whose script calls are carried out one at a time, in an order that a test chooses.

Every script call waits at a gate. Between two of them only one service does something, so a run
can be repeated exactly; and at each of them a reply may be lost, or a service may end.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from footfall.comments.store import journal
from footfall.data.store import Store
from footfall.driver.scripts import Script
from footfall.errors import StoreUnavailable

# What becomes of a call: its reply comes, or is lost, or its service ends before it.
Fate = Literal["comes", "lost", "lost before", "ends", "ends before"]


@dataclass(eq=False)
class Running:
    """A service, and what it does: its own requests and what goes on behind them."""

    store: Store
    requests: set["asyncio.Task[Any]"] = field(default_factory=set)

    @property
    def tasks(self) -> set["asyncio.Task[Any]"]:
        return self.requests | self.store.background._tasks


@dataclass(eq=False)
class Call:
    """A script call that waits."""

    service: Running
    task: "asyncio.Task[Any]"
    script: str
    fate: "asyncio.Future[Fate]"


class Stepping:
    """`after` is awaited after each script call, with its service, its name and its values."""

    def __init__(
        self,
        make: Callable[[], Awaitable[Store]],
        after: Callable[[Store, str, dict[str, Any]], Awaitable[None]],
    ) -> None:
        self._make = make
        self._after = after
        self._arrived = asyncio.Event()
        self.services = list[Running]()
        self.calls = list[Call]()
        # What waits for its turn.
        self.queued = set["asyncio.Task[Any]"]()

    def patch(self, patch: pytest.MonkeyPatch) -> None:
        through = Script.through

        async def gated(script: Script, send: Any, **values: Any) -> Any:
            service = self._service_of(script)
            if service is None:
                return await through(script, send, **values)
            return await self._pass(service, script.name, values, partial(through, script, send))

        queued, arrived = self.queued, self._arrived

        class Lock(asyncio.Lock):
            async def acquire(self) -> Literal[True]:
                task = asyncio.current_task()
                assert task is not None
                queued.add(task)
                arrived.set()
                try:
                    return await super().acquire()
                finally:
                    queued.discard(task)

        patch.setattr(Script, "through", gated)
        # Of journals alone.
        own = SimpleNamespace(Lock=Lock, get_running_loop=asyncio.get_running_loop)
        patch.setattr(journal, "asyncio", own)

    async def start(self) -> None:
        """Start another service."""
        self.services.append(Running(await self._make()))

    async def ask(
        self, service: Running, request: Coroutine[Any, Any, Any], *, is_answered: bool
    ) -> None:
        """Let a service start with a request, up to its first script call, or up to its answer,
        while everything else stands still."""
        task = asyncio.get_running_loop().create_task(request)
        service.requests.add(task)
        await self._stand_still()
        while is_answered and not task.done():
            # It may wait for its turn, behind a call of another request.
            own = [call for call in self.calls if call.task is task]
            await self.go_on((own or self.calls)[0], "comes")

    async def go_on(self, call: Call, fate: Fate) -> None:
        """Let a call have this fate, and its service go on up to its next one."""
        self.calls.remove(call)
        call.fate.set_result(fate)
        await self._stand_still()

    async def finish(self) -> None:
        """Let everything that has started come to its end."""
        while self.calls:
            await self.go_on(self.calls[0], "comes")

    async def _pass(
        self, service: Running, name: str, values: dict[str, Any], call: Callable[..., Any]
    ) -> Any:
        task = asyncio.current_task()
        assert task is not None
        waiting = Call(service, task, name, asyncio.get_running_loop().create_future())
        self.calls.append(waiting)
        self._arrived.set()
        fate = await waiting.fate
        reply = None
        if not fate.endswith("before"):
            reply = await call(**values)
            await self._after(service.store, name, values)
        if fate.startswith("ends"):
            await self._end(service)
        if fate.startswith("lost"):
            raise StoreUnavailable()
        return reply

    async def _end(self, service: Running) -> None:
        """The service ends, and another one starts."""
        index = self.services.index(service)
        self.services[index] = Running(await self._make())
        self.calls = [call for call in self.calls if call.service is not service]
        for task in service.tasks:
            task.cancel()
        # Up to where this very call is cancelled, too.
        await asyncio.sleep(0)

    async def _stand_still(self) -> None:
        """Wait until each service waits at a gate, or has nothing to do."""
        while True:
            # Whose turn has come just now gets to know it.
            for _ in range(3):
                await asyncio.sleep(0)
            self._arrived.clear()
            waiting = {call.task for call in self.calls} | self.queued
            busy = {task for service in self.services for task in service.tasks} - waiting
            for service in self.services:
                done = {task for task in service.requests if task.done()}
                service.requests -= done
                for task in done:
                    # What went wrong in a way that nobody expects is the test's failure.
                    if not task.cancelled():
                        task.result()
            busy = {task for task in busy if not task.done()}
            if not busy:
                return
            arriving = asyncio.get_running_loop().create_task(self._arrived.wait())
            await asyncio.wait([*busy, arriving], return_when=asyncio.FIRST_COMPLETED)
            arriving.cancel()

    def _service_of(self, script: Script) -> Running | None:
        return next(
            (service for service in self.services if service.store.scripts[script.name] is script),
            None,
        )
