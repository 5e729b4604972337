"""What an operation does with a request, in callbacks instead of coroutines.

The function `fast` of an operation's row makes a FastRequest. The protocol class answers it without
ASGI (fast_cycle.py), which costs several times the work itself; an endpoint waits for the same
callbacks (`answered`). So the rule of an operation exists once, whichever way its requests come.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..callbacks import awaited
from ..domain.counters import change
from ..domain.site import Site

# A callback that gets Redis's numbers in the order of the request, or what went wrong.
Done = Callable[[list[int] | Exception], None]
# Sends what a client wants of Redis with the next batch; the client is known by its key for the
# rate limit, which is "" if it has none.
Send = Callable[[str, Done], None]
# Makes the answer of these numbers: a finished Reply, plain data, or a coroutine that will return
# one of them.
Answering = Callable[[list[int]], Any]


def send_nothing(client_key: str, done: Done) -> None:
    """For operations that need several round trips, so that nothing goes with the batch."""
    done([])


@dataclass(frozen=True, slots=True)
class FastRequest:
    """A parsed request, without what depends on the visitor."""

    answer: Answering
    send: Send = send_nothing
    # How many counters it reads or changes; only for a change is the client's key made out.
    size: int = 0
    is_change: bool = False


def reading(site: Site, names: Sequence[str], answer: Answering) -> FastRequest:
    """Reads these counters, and answers their counts."""
    read = site.counters.reading(names)

    def send(client_key: str, done: Done) -> None:
        site.counters.fetch(read, done)

    return FastRequest(answer, send, read.size)


def changing(site: Site, changes: Sequence[tuple[str, str, int]], answer: Answering) -> FastRequest:
    """Makes these (path, type, delta) changes as anybody may, and answers the new counts."""
    packed = site.counters.change(changes)
    return FastRequest(answer, partial(change, site, packed), packed.size, is_change=True)


async def answered(request: FastRequest, client_key: str) -> Any:
    """The answer, for an endpoint. Raises what the operation refuses."""
    answer = request.answer(await awaited(partial(request.send, client_key)))
    return await answer if isinstance(answer, Coroutine) else answer
