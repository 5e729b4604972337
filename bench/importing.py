"""How long an import takes, in how much memory, and what readers notice of it meanwhile.

    python -m bench.importing [COMMENTS COUNTERS]

It makes an archive of Waline's, starts a service with its private Redis, imports the archive beside
it while a reader counts a view every few milliseconds, and then imports it again. The figures go to
results/importing.json, with how busy the machine was before.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import httpx

from tests.support.serving import Serving, serving

from .machine import TICK
from .results import lines

RESULTS = Path(__file__).parent / "results/importing.json"
WORDS = ("lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit", "sed")
PAUSE_SECONDS = 0.02
PAGES = 500


def rows_of(comments: int, counters: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """(table, record): a third are roots, a comment has 30 words, a counter's path 24 letters."""
    random = Random(1)
    for n in range(1, comments + 1):
        row = {
            "objectId": n,
            "url": f"/post/{n % PAGES}/",
            "nick": f"n{n % 1000}",
            "comment": " ".join(random.choices(WORDS, k=30)) + " **bold**",
            "mail": f"m{n % 1000}@example.com",
            "insertedAt": 1_635_425_415_000 + n,
            "ua": "Mozilla/5.0 (X11; Linux x86_64; rv:91.0) Gecko/20100101 Firefox/91.0",
        }
        if n > PAGES and n % 3:
            row["pid"] = n - PAGES
        yield "Comment", row
    for n in range(counters):
        yield "Counter", {"objectId": n, "url": f"/some/longer/path/{n:06}", "time": n % 1000 + 1}


def write(path: Path, comments: int, counters: int) -> None:
    with path.open("w") as file:
        for table, row in rows_of(comments, counters):
            file.write(json.dumps({"table": table, **row}) + "\n")


def used_by(process: int) -> tuple[int, float]:
    """The most memory that the process had so far, in bytes, and its seconds of CPU; 0 if it has
    ended."""
    try:
        match = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
        ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:
        return 0, 0.0
    return int(match[1]) * 1024 if match else 0, sum(map(int, ticks)) / TICK


async def timed(served: Serving, path: Path) -> dict[str, Any]:
    """Import a file, and count views meanwhile: seconds, bytes, and the views' milliseconds."""
    started, used, took = time.monotonic(), (0, 0.0), list[float]()
    process = served.run("import", str(path), "--json")
    async with httpx.AsyncClient() as client:
        while process.poll() is None:
            asked = time.perf_counter()
            answer = await client.post(f"{served.url}/article", json={"path": "/view"})
            answer.raise_for_status()
            took.append((time.perf_counter() - asked) * 1000)
            used = max(used, used_by(process.pid))
            await asyncio.sleep(PAUSE_SECONDS)
    told = json.loads(process.communicate()[0].splitlines()[-1])
    took.sort()
    return {
        "seconds": round(time.monotonic() - started, 1),
        "cpu_seconds": round(used[1], 1),
        "peak_mb": used[0] >> 20,
        "views": len(took),
        "view_ms_median": round(took[len(took) // 2], 1),
        "view_ms_p99": round(took[len(took) * 99 // 100], 1),
        "comments": told["comments"],
        "counters": told["counters"],
    }


def main(comments: int = 100_000, counters: int = 1_000_000) -> None:
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="ff") as name, serving(Path(name, "s")) as served:
        path = Path(name, "archive.ndjson")
        write(path, comments, counters)
        first, again = (asyncio.run(timed(served, path)) for _ in range(2))
        found = {"load": round(load, 1), "cores": os.cpu_count(), "first": first, "again": again}
    print(json.dumps(found, indent=1))
    if (comments, counters) == (100_000, 1_000_000):
        RESULTS.write_text(f"{lines(found)}\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
