"""The plain way to write it: Starlette, redis-py, one command a request, defaults throughout.

    python bench/plain.py PORT SOCKET

h11, asyncio's own event loop, the access log, Request.json and JSONResponse: what a first version
of such a service looks like, and what the others are compared with.
"""

import os
import sys
from pathlib import Path

import uvicorn
from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

SCRIPT = (Path(__file__).parent / "programs" / "increment.lua").read_text()


def application(redis: Redis) -> Starlette:
    increment = redis.register_script(SCRIPT)

    async def change(request: Request) -> JSONResponse:
        body = await request.json()
        delta = -1 if body.get("action") == "desc" else 1
        count = await increment(keys=["counts"], args=[f"time {body['path']}", delta])
        return JSONResponse({"errno": 0, "errmsg": "", "data": [{"time": count}]})

    async def read(request: Request) -> JSONResponse:
        paths = request.query_params["path"].split(",")
        counts = await redis.hmget("counts", [f"time {path}" for path in paths])
        rows = [{"time": int(count or 0)} for count in counts]
        return JSONResponse({"errno": 0, "errmsg": "", "data": rows})

    return Starlette(
        routes=[
            Route("/api/article", change, methods=["POST"]),
            Route("/api/article", read, methods=["GET"]),
        ]
    )


def main(port: int, socket: str) -> None:
    redis = Redis(unix_socket_path=socket)
    # The access log is on, as by default, but goes nowhere: a terminal would be slower still.
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    uvicorn.run(application(redis), port=port, http="h11", loop="asyncio", ws="none")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
