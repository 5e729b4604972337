"""What each Lua script, each encoder and each construct of a comment costs by itself.

    python -m bench.scripts [--write FILE | --against FILE]

A script's cost is the commands that it calls and Redis's own times: `used_cpu` of the server and
`usec_per_call` of EVALSHA, over calls one after the other. An encoder's is the functions that it
calls and CPU time, the least of several runs. A construct's are the functions called, the
microseconds and the bytes of HTML for a byte of its most expensive comment.

--against compares what is counted with stored figures and fails if something has grown. Times are
for people to read: on a busy machine they say little.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from redis import Redis

from footfall.comments.store import codec
from footfall.comments.store.threads import PageReply
from footfall.counting.api import counts_reply
from footfall.driver.scripts import parse_header, sources
from footfall.ids import SHORT
from footfall.model import PUBLIC, Account, Comment, Lookups, StoredComment
from footfall.render.markdown import render
from footfall.render.view import DisplayOptions, View
from footfall.table.variants import WALINE

from . import constructs, lane, seed
from .cases import Values, every_case, prepare, thread
from .machine import Cores
from .peers import Environment, redis_server
from .results import lines
from .scenarios import REPLIES

CALLS = 2_000
LOOPS = 2_000
# What is the same on every machine, and how many times the stored figure it may be. Versions of
# Python and libraries differ by a few calls.
COUNTED = {"commands": 1.05, "calls": 1.15, "calls_a_byte": 1.15, "bytes_a_byte": 1.0}
TRIES = 3

# name -> what -> figure
Figures = dict[str, dict[str, float]]

# Scripts, called as Redis gets them, by the names in their headers, without the service's own code.


def _scripts(redis: "Redis") -> tuple[Figures, dict[str, str]]:
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
        for arg in header.args:
            value = given[arg.name]
            words += value if arg.is_list else [int(value) if arg.type == "flag" else value]
        yield named, words


def _cost(
    redis: "Redis", text: str, calls: Iterator[tuple[Sequence[Any], Sequence[Any]]]
) -> dict[str, float]:
    sha = redis.script_load(text)
    prepared = list(islice(calls, CALLS))
    # The least of a few pieces, since others on the machine can only add.
    least, commands = float("inf"), 0
    before = redis.info("cpu")
    for piece in range(TRIES):
        redis.config_resetstat()
        for keys, words in prepared[piece::TRIES]:
            redis.evalsha(sha, len(keys), *keys, *words)
        stats = redis.info("commandstats")
        called = stats.pop("cmdstat_evalsha")
        least = min(least, called["usec"] / called["calls"])
        # CONFIG RESETSTAT counts itself.
        commands += sum(stat["calls"] for stat in stats.values()) - 1
    after = redis.info("cpu")
    cpu = sum(after[kind] - before[kind] for kind in ("used_cpu_user", "used_cpu_sys"))
    return {
        "commands": round(commands / CALLS, 2),
        "redis_us": round(least, 2),
        "with_socket_us": round(cpu * 1e6 / CALLS, 1),
    }


# Encoders.


def encoders() -> dict[str, Callable[[], object]]:
    look = DisplayOptions(avatar=lambda nick, mail, link: seed.AVATAR)
    view = View(PUBLIC, look)
    comments, _ = thread(50)
    stored = [codec.body(comment) for comment in comments]
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
    ids = " ".join(comment.id[:SHORT] for comment in comments).encode()
    replies = [REPLIES if len(comments) > 1 else 0] * sum(not comment.root for comment in comments)
    return PageReply(b"1", len(comments), len(replies), 0, ids, stored, replies, [], [], [])


def _encoders() -> Figures:
    return {
        name: {"calls": constructs.calls(call), "cpu_us": round(_least(call), 3)}
        for name, call in encoders().items()
    }


def _least(call: Callable[[], object], times: int = 7) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.process_time_ns()
        for _ in range(LOOPS // 10):
            call()
        best = min(best, (time.process_time_ns() - start) / (LOOPS // 10) / 1000)
    return best


# The command.


def measure() -> tuple[Figures, dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="ffb") as name, ExitStack() as stack:
        environment = Environment(Path(name), Cores.choose())
        _, socket = stack.enter_context(redis_server(environment, environment.directory("scripts")))
        redis = stack.enter_context(Redis(unix_socket_path=socket))
        found, left = _scripts(redis)
    return found | _encoders() | constructs.figures(), left


def worse(now: Figures, stored: Figures) -> list[str]:
    """A line for each counted figure that is above the stored one."""
    return [
        f"{name}: {what} is {figures[what]:g}; stored is {stored[name][what]:g}"
        for name, figures in sorted(now.items())
        for what, band in COUNTED.items()
        if what in figures
        and what in stored.get(name, {})
        and figures[what] > stored[name][what] * band
    ]


async def main(words: Sequence[str]) -> int:
    """Runs in an event loop, since the fast path looks for one, but never gives it a turn."""
    parser = argparse.ArgumentParser(prog="bench.scripts")
    parser.add_argument("--write", type=Path, help="store the figures in this file")
    parser.add_argument("--against", type=Path, help="compare with figures stored in this file")
    options = parser.parse_args(words)
    found, left = measure()
    for name, figures in found.items():
        print(f"{name:42}", "  ".join(f"{what} {value:g}" for what, value in figures.items()))
    for script, reason in left.items():
        print(f"not measured: {script}: {reason}")
    if options.write:
        options.write.write_text(lines(found) + "\n")
    if options.against:
        far = worse(found, json.loads(options.against.read_text()))
        print("\n".join(far) or "nothing has grown")
        return 1 if far else 0
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
