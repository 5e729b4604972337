"""An operation's work for a request, in callbacks instead of coroutines.

The function `fast` of an operation's row makes a FastRequest. The protocol class answers it without
ASGI (fast_cycle.py), which costs several times the work itself; an endpoint awaits the same
callbacks (`answered`). So the rule of an operation exists once, whichever way its requests come.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol

from ..callbacks import awaited
from ..http.connection import FirstLines
from ..http.response import Reply, Response
from ..limits.clients import PoolClient, pool_client_of
from ..model import Caller
from ..telemetry.metrics import Route
from .answers import Answered

# A callback that gets Redis's numbers in the order of the request, or what went wrong.
Done = Callable[[list[int] | Exception], None]
# Makes an answer that takes longer, when it is this client's turn: a finished Reply, or plain data.
Making = Callable[[PoolClient], Coroutine[None, None, Any]]
# Makes the answer of these numbers: a finished Reply, plain data, or what will make it.
Answering = Callable[[list[int]], Any]


class Operation(Protocol):
    """What the protocol class needs of an operation to answer it (fast_requests.py)."""

    @property
    def route(self) -> Route: ...

    @property
    def status(self) -> int: ...

    @property
    def first_lines(self) -> FirstLines: ...

    def finish(self, data: Any) -> Reply | Response: ...

    def whole(self, reply: Reply) -> Response: ...

    def refuse(self, error: BaseException, language: str) -> Response: ...


class FastRequest:
    """A parsed request, without what depends on the visitor.

    One object, since a busy site has thousands of them, which are colder than any cache.
    """

    __slots__ = ("answer", "language", "operation")

    # Only for these two is the client made out: a change, and what is made when it is their turn.
    is_change = False
    takes_turns = True
    # Set during preparation; `lang` of the query is the language of errors.
    operation: Operation
    language: str

    def __init__(self, answer: Answering) -> None:
        self.answer = answer

    def send(self, client: Any, done: Done) -> None:
        """Query Redis with the next batch, for this client (context.Clients) if it is a change.
        This default sends nothing, for operations of several round trips."""
        done([])

    def kept_bytes(self, text_bytes: int) -> int:
        """Approximate memory in addition to these objects, if it was parsed from this many
        characters. A byte becomes four in a string with a wide character, and more in many short
        strings."""
        return 6 * text_bytes


async def answered(request: FastRequest, client: Any, caller: Caller) -> Answered:
    """The answer, for an endpoint. Raises the operation's errors."""
    answer = request.answer(await awaited(partial(request.send, client)))
    finished: Answered = await answer(pool_client_of(caller)) if callable(answer) else answer
    return finished
