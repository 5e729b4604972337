"""What it costs to delete a long thread: `python -m bench.deleting [replies…]`.

For each number of replies: how long the answer took, how long until the page, its counts and the
site's lists have nothing of it, and until it is removed; how long Redis was busy with one script at
most, and by how much the worker's memory grew. One service with its own private Redis.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from redis import Redis

from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.ids import IdGenerator
from footfall.model import Comment

OWNER = {"display_name": "Mara", "email": "mara@example.com", "password": "an old garden gate"}
PATH = "/long"
# Comments that are stored together, and how long anything may take.
BATCH_COMMENTS = 500
PATIENCE_SECONDS = 600


@contextmanager
def service(home: Path) -> Iterator[tuple[str, int]]:
    """Its address, and its process."""
    environ = {**os.environ, "PORT": "0", "DATA_DIR": str(home / "data"), "COUNTER_RATE": "0"}
    command = [sys.executable, "-m", "footfall", "serve"]
    with subprocess.Popen(
        command, env=environ, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        found = next(filter(None, (re.search(r"listens on (\S+)", line) for line in lines)))
        try:
            yield found[1], process.pid
        finally:
            process.terminate()


async def fill(url: str, replies: int) -> str:
    """Store a root with so many replies, every tenth of which waits; the root's id."""
    store, ids, at = Store(connect(url, timeout=30), prefix="ff", buckets=256), IdGenerator(), 0
    await store.create()

    def comment(root: str) -> Comment:
        nonlocal at
        at += 1
        id = ids.new(1_700_000_000_000 + at, PATH)
        words = f"Reply {at}, of the length that replies mostly have"
        return Comment(
            id,
            PATH,
            1_700_000_000_000 + at,
            f"<p>{words}</p>\n",
            words,
            nick="Ann",
            mail="ann@example.com",
            parent=root,
            root=root,
            author=f"{at % 100:016d}",
        )

    root = comment("")
    await store.comments.publish(root, "approved", "")
    for first in range(0, replies, BATCH_COMMENTS):
        some = [comment(root.id) for _ in range(min(BATCH_COMMENTS, replies - first))]
        await asyncio.gather(
            *(
                store.comments.publish(each, "approved" if n % 10 else "waiting", "")
                for n, each in enumerate(some)
            )
        )
    await store.background.finished()
    await store.redis.close()
    return root.id


def ask(method: str, url: str, token: str = "", body: object = None) -> object:
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    sent = json.dumps(body).encode() if body is not None else None
    with urlopen(Request(url, sent, headers, method=method), timeout=PATIENCE_SECONDS) as answer:
        found: object = json.loads(answer.read())["data"]
        return found


def seconds_until(holds: Callable[[], bool], since: float) -> float:
    while not holds():
        if time.monotonic() - since > PATIENCE_SECONDS:
            raise TimeoutError("it took too long")
        time.sleep(0.02)
    return time.monotonic() - since


def peak_mb(pid: int) -> float:
    match = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert match
    return int(match[1]) / 1024


def measure(replies: int) -> str:
    with tempfile.TemporaryDirectory(prefix="ffb") as name, service(Path(name)) as (url, pid):
        ask("POST", f"{url}/api/user", body=OWNER)
        token = ask("POST", f"{url}/api/token", body=OWNER)["token"]  # type: ignore[index]
        socket = Path(name) / "data/redis.sock"
        root = asyncio.run(fill(f"unix://{socket}", replies))
        with Redis(unix_socket_path=str(socket)) as redis:
            redis.config_set("slowlog-log-slower-than", 500)
            redis.config_set("slowlog-max-len", 10_000)
            redis.slowlog_reset()
            (bodies,) = redis.keys("ff:{p:*}:bodies")
            before, started = peak_mb(pid), time.monotonic()
            ask("DELETE", f"{url}/api/comment/{root}", token)
            answered = time.monotonic() - started
            page = ask("GET", f"{url}/api/comment?path={PATH}")
            assert page["count"] == 0, page  # type: ignore[index]
            lists = [f"ff:{{site}}:{name}" for name in ("recent", "waiting")]
            left = seconds_until(lambda: not any(map(redis.zcard, lists)), started)
            removed = seconds_until(lambda: not redis.hlen(bodies), started)
            slowest = max((each["duration"] for each in redis.slowlog_get(10_000)), default=0)
        return (
            f"{replies:>8,} replies: answered after {answered * 1000:.1f} ms; gone from the site's "
            f"lists after {left:.1f} s, removed after {removed:.0f} s; slowest command of Redis "
            f"{slowest / 1000:.1f} ms; the worker's peak rose by {peak_mb(pid) - before:.1f} MB"
        )


def main(words: Sequence[str]) -> None:
    for replies in map(int, words or ("100", "15000", "100000")):
        print(measure(replies), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
