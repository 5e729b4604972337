"""What each Lua script, each encoder and each construct of a comment costs by itself.

    python -m bench.scripts [--write FILE | --against FILE | --add FILE]

A script's cost is Redis's own: `used_cpu` of the server and `usec_per_call` of EVALSHA, over calls
one after the other. An encoder's cost is CPU time, the least of several runs, and instructions if
the machine lets `perf stat` count them. A construct's are the microseconds and the bytes of HTML
for a byte of its most expensive comment.

--against compares with stored figures, and fails if one is far above them and above what most
figures of its kind have become, so that a slower machine is no failure. Instructions decide if both
sides have them, since they do not depend on how busy the machine is. Bytes of HTML may not grow.

--add stores what a file has no figures of yet, as if that had been measured with the others:
divided by what most figures of its kind have become. Others stay as they are.
"""

import argparse
import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from redis import Redis

from footfall.api.dialects import WALINE
from footfall.counting.api import counts_reply
from footfall.driver.scripts import parse_header, sources
from footfall.model import PUBLIC, Account, Comment, Lookups, StoredComment
from footfall.render.markdown import render
from footfall.render.view import DisplayOptions, View
from footfall.store import codec
from footfall.store.ids import SHORT
from footfall.store.threads import PageReply

from . import constructs, lane, seed
from .cases import Values, every_case, prepare, thread
from .machine import Cores
from .peers import Environment, redis_server
from .results import lines
from .scenarios import REPLIES

CALLS = 2_000
LOOPS = 2_000
# A figure may be so many times the stored one, besides the general rise of its kind: this catches
# blunders, not trends.
BAND = {"redis_us": 2.5, "cpu_us": 2.5, "us_a_byte": 2.5, "instructions": 1.15, "bytes_a_byte": 1.0}
# Figures that are the same on every machine.
COUNTED = {"instructions", "bytes_a_byte"}
TRIES = 3

# name -> what -> figure
Figures = dict[str, dict[str, float]]

# Scripts, called as Redis gets them, by the names in their headers, without the service's own code.


def _scripts(redis: "Redis") -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """(figures by case, why others have none by script)"""
    found, left = {"(an empty script)": _cost(redis, "return 1", iter([((), ())] * CALLS))}, {}
    texts = sources()
    cases = every_case(CALLS)
    prepare(redis, CALLS)
    for name, values in cases.items():
        script = name.partition(",")[0]
        found[name] = _cost(redis, texts[script], _calls(texts[script], values))
    for script in texts.keys() - {name.partition(",")[0] for name in cases}:
        left[script] = "no case calls it"
    return found, left


def _calls(
    text: str, values: Callable[[int], Values]
) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
    """KEYS and ARGV of each call, in the header's order. A KeyError names what a case lacks."""
    header = parse_header(text)
    keys = [each for each in header.keys if not each.is_list]
    values(0)
    for n in range(CALLS):
        given = values(n)
        named = [f"bench:{given.get(each.name, each.name)}" for each in keys]
        named += [key for each in header.keys if each.is_list for key in given[each.name]]
        words: list[Any] = []
        for each in header.args:
            value = given[each.name]
            words += value if each.is_list else [int(value) if each.type == "flag" else value]
        yield named, words


def _cost(
    redis: "Redis", text: str, calls: Iterator[tuple[Sequence[Any], Sequence[Any]]]
) -> dict[str, float]:
    sha = redis.script_load(text)
    prepared = list(islice(calls, CALLS))
    # The least of a few pieces, since others on the machine can only add.
    least = float("inf")
    before = redis.info("cpu")
    for piece in range(TRIES):
        redis.config_resetstat()
        for keys, words in prepared[piece::TRIES]:
            redis.evalsha(sha, len(keys), *keys, *words)
        stats = redis.info("commandstats")["cmdstat_evalsha"]
        least = min(least, stats["usec"] / stats["calls"])
    after = redis.info("cpu")
    cpu = sum(after[kind] - before[kind] for kind in ("used_cpu_user", "used_cpu_sys"))
    return {"redis_us": round(least, 2), "with_socket_us": round(cpu * 1e6 / CALLS, 1)}


# Encoders.


def encoders() -> dict[str, Callable[[], object]]:
    look = DisplayOptions(avatar=lambda nick, mail, link: seed.AVATAR)
    view = View(PUBLIC, look)
    comments, _ = thread(50)
    stored = [codec.body(each) for each in comments]
    first = StoredComment(comments[0].id, comments[0].path, codec.parse_body(stored[0]))
    found = [_found(comments[:1], stored[:1]), _found(comments, stored)]
    by_accounts = [
        codec.body(replace(each, account=f"{n:016d}")) for n, each in enumerate(comments)
    ]
    authors = Lookups(
        {
            f"{n:016d}": Account(f"{n:016d}", "guest", "Somebody", "somebody@example.com")
            for n in range(len(comments))
        }
    )
    theirs = _found(comments, by_accounts).threads(comments[0].id[SHORT:])
    (one, page), live = [each.threads(comments[0].id[SHORT:]) for each in found], Lookups()
    reply, counts = counts_reply(("time",), WALINE), list(range(1_000, 1_050))
    return {
        "PageReply.threads, 10 x (1+4)": lambda: found[1].threads(comments[0].id[SHORT:]),
        "view.threads, 1 comment": lambda: view.threads(one, live),
        "view.threads, 10 x (1+4)": lambda: view.threads(page, live),
        "view.threads, 10 x (1+4), all by accounts": lambda: view.threads(theirs, authors),
        "view.elsewhere, 1 comment": lambda: view.elsewhere([first], live),
        "answer of 1 count": lambda: reply([4]),
        "answer of 50 counts": lambda: reply(counts),
        "codec.body": lambda: codec.body(comments[1]),
        "codec.parse_body": lambda: codec.parse_body(stored[1]),
        "markdown.render, a sentence": lambda: render(comments[0].source),
        **lane.joining(found[1]),
        **lane.encoders(),
    }


def _found(comments: Sequence[Comment], stored: Sequence[bytes]) -> PageReply:
    """What the page script returns for these comments."""
    ids = " ".join(each.id[:SHORT] for each in comments).encode()
    replies = [REPLIES if len(comments) > 1 else 0] * sum(not each.root for each in comments)
    return PageReply(b"1", len(comments), len(replies), 0, ids, stored, replies, [], [], [])


def _encoders() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name, call in encoders().items():
        found[name] = {"cpu_us": round(_least(call), 3)}
        instructions = _instructions(name)
        if instructions is not None:
            found[name]["instructions"] = instructions
    return found


def _least(call: Callable[[], object], times: int = 7) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.process_time_ns()
        for _ in range(LOOPS // 10):
            call()
        best = min(best, (time.process_time_ns() - start) / (LOOPS // 10) / 1000)
    return best


def _instructions(name: str) -> int | None:
    """Instructions of one call: the difference between a process with many and one with none."""
    often, never = _counted(name, LOOPS), _counted(name, 0)
    return None if often is None or never is None else max(round((often - never) / LOOPS), 0)


def _counted(name: str, loops: int) -> int | None:
    if not _can_count():
        return None
    encode = [sys.executable, "-m", "bench.scripts", "--encode", name, "--loops", str(loops)]
    return _instructions_of(encode)


@cache
def _can_count() -> bool:
    """Is there a perf that may count on this machine? It is tried once."""
    return bool(shutil.which("perf")) and _instructions_of(["true"]) is not None


def _instructions_of(program: Sequence[str]) -> int | None:
    command = ["perf", "stat", "-x,", "-e", "instructions:u", *program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    found = re.search(r"^(\d+),[^,]*,instructions", done.stderr, re.MULTILINE)
    return int(found[1]) if found else None


# The command.


def measure() -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="ffb") as name, ExitStack() as stack:
        environment = Environment(Path(name), Cores.choose())
        _, socket = stack.enter_context(redis_server(environment, environment.directory("scripts")))
        redis = stack.enter_context(Redis(unix_socket_path=socket))
        found, left = _scripts(redis)
    return found | _encoders() | constructs.figures(), left


def worse(now: dict[str, dict[str, float]], stored: dict[str, dict[str, float]]) -> list[str]:
    """A line for each figure that is beyond its band."""
    lines = []
    for what, band in BAND.items():
        ratios = {
            name: figures[what] / stored[name][what]
            for name, figures in sorted(now.items())
            if what in figures
            and stored.get(name, {}).get(what)
            and not (what == "cpu_us" and {"instructions"} <= figures.keys() & stored[name].keys())
        }
        allowed = band
        if ratios and what not in COUNTED:
            allowed *= max(median(ratios.values()), 1.0)
        lines += [
            f"{name}: {what} is {ratio:.2f} times the stored {stored[name][what]:g}; "
            f"allowed is {allowed:.2f} times"
            for name, ratio in ratios.items()
            if ratio > allowed
        ]
    return lines


def added(now: Figures, stored: Figures) -> Figures:
    """The stored figures, and those of what is new on the scale of these."""
    scales = {what: _rise(now, stored, what) for what in BAND}
    scales["with_socket_us"] = _rise(now, stored, "with_socket_us")
    fresh = {
        name: {what: float(f"{value / scales[what]:.4g}") for what, value in figures.items()}
        for name, figures in now.items()
        if name not in stored
    }
    every = stored | fresh
    # In the order in which they are measured; what is measured no more comes last.
    return {name: every[name] for name in (*now, *stored)}


def _rise(now: Figures, stored: Figures, what: str) -> float:
    """What most of these figures have become; nothing for what is the same on every machine."""
    if what in COUNTED:
        return 1.0
    ratios = [
        now[name][what] / stored[name][what]
        for name in now.keys() & stored.keys()
        if what in now[name] and stored[name].get(what)
    ]
    return median(ratios) if ratios else 1.0


async def main(words: Sequence[str]) -> int:
    """Runs in an event loop, since the fast path looks for one, but never gives it a turn."""
    parser = argparse.ArgumentParser(prog="bench.scripts")
    parser.add_argument("--write", type=Path, help="store the figures in this file")
    parser.add_argument("--against", type=Path, help="compare with figures stored in this file")
    parser.add_argument("--add", type=Path, help="store what is new beside the others in this file")
    parser.add_argument("--encode", help=argparse.SUPPRESS)
    parser.add_argument("--loops", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.encode:
        call = encoders()[options.encode]
        for _ in range(options.loops):
            call()
        return 0
    found, left = measure()
    for name, figures in found.items():
        print(f"{name:42}", "  ".join(f"{what} {value:g}" for what, value in figures.items()))
    for script, reason in left.items():
        print(f"not measured: {script}: {reason}")
    if not any("instructions" in figures for figures in found.values()):
        print("instructions: this machine does not let perf count them")
    if options.write:
        options.write.write_text(lines(found) + "\n")
    if options.add:
        every = added(found, json.loads(options.add.read_text()))
        options.add.write_text(lines(every) + "\n")
    if options.against:
        far = worse(found, json.loads(options.against.read_text()))
        print("\n".join(far) or "nothing is far above the stored figures")
        return 1 if far else 0
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
