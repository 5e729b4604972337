"""Results of operations that are more than plain data, which each API variant writes in its own
way."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orjson import Fragment

from ..http.response import Headers, Reply, Response


@dataclass(frozen=True, slots=True)
class NewSession:
    """The session that a login has started; with the token "" the one that was there has ended."""

    token: str
    # Makes what identifies the browser to the account from now on.
    device: Callable[[], Awaitable[str]] | None = None
    # How long that is valid.
    device_seconds: int = 0
    # The browser keeps it after it is closed.
    is_remembered: bool = False
    # A page of another site has requested the login, and receives it.
    is_handed: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """Data, with details that API variants write differently or leave out."""

    data: Any
    headers: Headers = ()
    session: NewSession | None = None
    # What an authenticator reads from a QR code.
    qr_text: str = ""


@dataclass(frozen=True, slots=True)
class Streamed:
    """The JSON of the data in pieces, if its length is not known in advance."""

    pieces: AsyncGenerator[bytes]


# Data, which orjson writes as it is. A Fragment in it is JSON already.
JsonObject = Mapping[str, object]
Data = JsonObject | Sequence[JsonObject | Fragment | int | str] | Fragment | str | int | None
# What an operation returns. A Reply or a Response is finished.
Answered = Data | Answer | Streamed | Reply | Response
