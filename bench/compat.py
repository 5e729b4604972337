"""What a view costs by each protocol of another counter, beside `POST /api/article` in one run.

    python -m bench.compat [--rounds N] [--seconds N] [--noisy]

One service that speaks all of them gets the same views of the same pages by each in turn, with the
headers of browsers. It needs wrk and two quiet cores, and prints a table. Each run is checked:
every view that was answered was counted once.
"""

import argparse
import json
import sys
import tempfile
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from math import inf
from pathlib import Path
from urllib.parse import quote

from footfall.model import NO_VIEWS, PROTOCOLS

from . import machine, wrk
from .machine import Cores
from .measure import Bout, Run
from .peer import PATHS_AT_ONCE, Peer
from .peers import Environment, footfall
from .run import describe
from .scenarios import INC, Increment, Op
from .stats import NOISE
from .visitors import SITE

Request = tuple[str, str, bytes]
BROWSERS = replace(INC, headers="browser")


def _json(method: str, target: str, body: object) -> Request:
    return method, target, json.dumps(body).encode()


def _leancloud(path: str) -> Request:
    raised = {"time": {"__op": "Increment", "amount": 1}}
    return _json("PUT", f"/1.1/classes/Counter/{_object_id(path)}", raised)


def _object_id(path: str) -> str:
    return urlsafe_b64encode(path.encode()).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class Codec:
    """`view` is the request that counts a view of a page, `name` the counter that it raises."""

    title: str
    view: Callable[[str], Request]
    name: Callable[[str], str] = str
    type: str = "time"


ARTICLE = Codec(
    "Waline's `POST /api/article`",
    lambda path: _json("POST", "/api/article", {"path": path, "action": "inc"}),
)
CODECS = (
    ARTICLE,
    Codec("LeanCloud's `PUT /1.1/classes/Counter/…`", _leancloud),
    Codec(
        "Open Kounter's `POST /api/counter`",
        lambda path: _json("POST", "/api/counter", {"action": "inc", "target": path}),
    ),
    Codec(
        "Vercount's `POST /api/v2/log`",
        lambda path: _json("POST", "/api/v2/log", {"url": SITE + path}),
    ),
    Codec(
        "GoatCounter's `GET /count`", lambda path: ("GET", f"/count?p={quote(path, safe='')}", b"")
    ),
    Codec(
        "Abacus' `GET /hit/…`",
        lambda path: ("GET", f"/hit/bench/{_key(path)}", b""),
        lambda path: f"bench/{_key(path)}",
        NO_VIEWS,
    ),
    Codec("a badge, `GET /badge/….svg`", lambda path: ("GET", f"/badge{quote(path)}.svg", b"")),
)


def _key(path: str) -> str:
    return path.strip("/").replace("/", "-")


class Speaker(Peer):
    """The same service, asked by another protocol."""

    codec: Codec

    @classmethod
    def of(cls, peer: Peer, codec: Codec) -> "Speaker":
        made = cls(**{field.name: getattr(peer, field.name) for field in fields(Peer)})
        made.codec, made.title = codec, codec.title
        return made

    def ask(self, op: Op) -> Request:
        return self.codec.view(op.path) if isinstance(op, Increment) else super().ask(op)

    def views(self, paths: Sequence[str]) -> int:
        names, type, total = [*map(self.codec.name, paths)], self.codec.type, 0
        for at in range(0, len(names), PATHS_AT_ONCE):
            some = quote(",".join(names[at : at + PATHS_AT_ONCE]))
            rows = self.get(f"/api/article?path={some}&type={type}")["data"]
            total += sum(row[type] for row in rows)
        return total


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.compat", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="how often they take turns")
    parser.add_argument("--seconds", type=float, default=2, help="of each run")
    parser.add_argument("--noisy", action="store_true", help="keep what others spoil")
    options = parser.parse_args(words)
    if not (machine.is_linux() and wrk.program()):
        print("the bench needs Linux, and wrk, which bench/install.sh installs")
        return 2
    with tempfile.TemporaryDirectory(prefix="ffb") as name:
        found = measure(options, Path(name))
    print(table(found))
    return 0 if all(run.is_exact for runs in found.values() for run in runs) else 1


def measure(options: argparse.Namespace, home: Path) -> dict[str, list[Run]]:
    """The runs that count, by the codec's title."""
    environment = Environment(home, Cores.choose(), "everysec")
    noise = inf if options.noisy else NOISE
    found: dict[str, list[Run]] = {codec.title: [] for codec in CODECS}
    with ExitStack() as stack:
        settings = {"COMPAT": ",".join(PROTOCOLS)}
        service = stack.enter_context(footfall(environment, settings=settings))
        bouts = [
            stack.enter_context(
                Bout(BROWSERS, Speaker.of(service, codec), environment.cores, noise).ready()
            )
            for codec in CODECS
        ]
        for number in range(options.rounds):
            for bout in bouts:
                run = bout.run(number, options.seconds)[-1]
                print(describe(run, number), bout.peer.title, file=sys.stderr, flush=True)
                found[bout.peer.title].append(run)
    return found


def table(found: dict[str, list[Run]]) -> str:
    rows = [
        "| A view by | requests/s | ÷ Waline's | its own code | kernel |",
        "|---|---|---|---|---|",
    ]
    usual = _middle([run.played.rate for run in found[ARTICLE.title]])
    for title, runs in found.items():
        rate = _middle([run.played.rate for run in runs])
        cells = (
            title,
            f"{rate:,.0f}",
            f"{rate / usual:.2f}",
            f"{_middle([run.user_us for run in runs]):.1f} µs",
            f"{_middle([run.system_us for run in runs]):.1f} µs",
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
