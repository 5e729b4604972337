"""What the service uses of uvicorn's that uvicorn promises to nobody, each with the reason.

The protocol class is uvicorn's, so any new version may break it. These tests say what is missing or
called otherwise; `.ci/run uvicorn` runs them with the newest version.
"""

import ast
import asyncio
import inspect
from collections.abc import Iterator
from importlib.metadata import version
from types import FunctionType
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from footfall.http import connection, protocol
from footfall.server import server
from footfall.table.fast_cycle import FastCycle

# Of a connection.
PROTOCOL = {
    "__init__": "is called with what uvicorn's server gives to each connection",
    "connection_made": "sets transport, flow, client and scheme",
    "connection_lost": "ends the cycle, and forgets the connection",
    "data_received": "is replaced: it feeds the parser, and bounds what a head may take",
    "eof_received": "is replaced: who half-closes is answered still",
    "on_message_begin": "begins a request that is passed on",
    "on_url": "is replaced: the URL is held",
    "on_header": "takes each header of a request that is passed on",
    "on_headers_complete": "makes the cycle of a request that is passed on",
    "on_body": "takes the body of a request that is passed on",
    "on_message_complete": "ends a request that was passed on",
    "on_response_complete": "is called by cycles, and starts the next one of the pipeline",
    "_start_asgi_task": "is called with each cycle whose turn it is, and with None for a hot one",
    "_unset_keepalive_if_required": "takes back the time-out of an idle connection",
    "_unsupported_upgrade_warning": "logs that there are no WebSockets",
    "pause_writing": "is told that the client reads too slowly",
    "resume_writing": "is told that the client reads again",
    "shutdown": "is replaced: uvicorn's closes connections with a request on its way",
    "timeout_keep_alive_task": "says whether there is a time-out to take back",
    "client": "is the address that is connected, and its port",
    "cycle": "is the last request, hot or not",
    "pipeline": "has the cycles that wait, the newest first",
    "flow": "is uvicorn's FlowControl",
    "logger": "takes the lines about bytes that are not a request",
    "loop": "is the event loop",
    "parser": "is httptools', and knows method and version of the request that was read",
    "server_state": "has the headers that each answer begins with",
    "transport": "takes the answers of the fast path",
}
# Of the request that ASGI answers.
CYCLE = {
    "transport": "is replaced by one whose close() is gentle",
    "keep_alive": "is set to False where the connection ends after the answer",
    "message_event": "wakes who reads a body that is refused",
    "more_body": "says that the body has not come yet",
    "response_started": "says that it is too late for Connection: close",
    "response_complete": "says that the next request has its turn",
}
# What uvicorn asks of any cycle that the connection has, and so of a hot one.
ASKED_OF_CYCLES = {"disconnected", "keep_alive", "message_event", "response_complete"}
FLOW = {
    "write_paused": "says that the client reads too slowly for the fast path",
    "pause_reading": "keeps the client from sending more than waits already",
}
STATE = {
    "connections": "has all connections, which are counted, timed and drained",
    "default_headers": "has the date, and is a new list once a second",
}
SERVER = {
    "capture_signals": "is replaced: signals are handled here",
    "on_tick": "is called ten times a second",
    "shutdown": "is called when the listener closes",
    "serve": "runs the service",
    "config": "has the protocol class and its time-out",
    "force_exit": "stops at once",
    "lifespan": "has the state that connections are made with",
    "server_state": "has the connections",
    "servers": "are asyncio's, closed before the backlog is emptied",
    "should_exit": "stops in an orderly way",
}


def config() -> uvicorn.Config:
    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    made = uvicorn.Config(app, lifespan="off", log_config=None)
    made.load()
    return made


def a_server() -> uvicorn.Server:
    made = uvicorn.Server(config())
    # As Server.serve() starts.
    made.lifespan = made.config.lifespan_class(made.config)
    made.servers = []
    return made


def a_connection() -> HttpToolsProtocol:
    loop = asyncio.new_event_loop()
    try:
        return HttpToolsProtocol(
            config=config(), server_state=ServerState(), app_state={}, _loop=loop
        )
    finally:
        loop.close()


def a_cycle() -> RequestResponseCycle:
    parameters = list(inspect.signature(RequestResponseCycle).parameters)
    return RequestResponseCycle(**dict.fromkeys(parameters))  # type: ignore[arg-type]


def a_flow() -> FlowControl:
    return FlowControl(asyncio.Transport())


USED = {a_connection: PROTOCOL, a_cycle: CYCLE, a_flow: FLOW, ServerState: STATE, a_server: SERVER}


CASES = [(make, name, reason) for make, names in USED.items() for name, reason in names.items()]


@pytest.mark.parametrize(
    ("make", "name", "reason"),
    CASES,
    ids=[f"{make.__name__.removeprefix('a_')}-{name}" for make, name, _ in CASES],
)
def test_it_is_there(make: Any, name: str, reason: str) -> None:
    made = make()
    kind = type(made)
    said = f"uvicorn {version('uvicorn')}: {kind.__module__}.{kind.__name__} has no {name}, which"
    assert hasattr(made, name), f"{said} {reason}"


def test_a_request_that_is_passed_on_gets_its_url_after_its_start() -> None:
    made = a_connection()
    made.on_message_begin()
    assert made.url == b""


def test_a_status_has_its_line() -> None:
    assert STATUS_LINE[200] == b"HTTP/1.1 200 OK\r\n"


def test_the_server_has_a_state_for_connections_and_a_class_that_makes_them() -> None:
    made = a_server()
    assert made.lifespan.state == {}
    assert made.config.http_protocol_class is HttpToolsProtocol
    assert made.config.timeout_keep_alive > 0


@pytest.mark.parametrize("theirs", [HttpToolsProtocol, uvicorn.Server])
def test_what_is_replaced_is_called_as_before(theirs: type) -> None:
    ours = protocol.HttpProtocol if theirs is HttpToolsProtocol else server.Server
    replaced = 0
    for name, function in inspect.getmembers(ours, inspect.isfunction):
        if name != "__init__" and isinstance(before := getattr(theirs, name, None), FunctionType):
            replaced += function is not before
            assert [*inspect.signature(function).parameters] == [
                *inspect.signature(before).parameters
            ], f"{theirs.__name__}.{name}"
    assert replaced >= 3


def test_uvicorn_asks_a_cycle_for_nothing_that_a_hot_one_has_not() -> None:
    """Of bodies alone: those belong to requests that were passed on, whose cycles are uvicorn's."""
    asked = {
        node.attr
        for node in ast.walk(ast.parse(inspect.getsource(HttpToolsProtocol)))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self.cycle"
    }
    assert asked - {"body", "more_body"} == ASKED_OF_CYCLES
    assert all(hasattr(FastCycle, name) for name in ASKED_OF_CYCLES)


def test_nothing_else_of_a_connection_is_used() -> None:
    """So that the table above is whole, and has nothing that is no longer used."""
    used = {*own_names(connection), *own_names(protocol)}
    theirs = {*vars(a_connection()), *vars(HttpToolsProtocol)}
    assert used & theirs - PROTOCOL.keys() == set()
    assert PROTOCOL.keys() - used == set()


def own_names(module: Any) -> Iterator[str]:
    """What methods of a module's classes use of their own object, and what they replace."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in OWN:
            yield node.attr


OWN = {"self", "super()", "HttpToolsProtocol"}
