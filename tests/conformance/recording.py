"""The recorded exchanges: rows in sequence, each scenario on an empty store.

What an answer left out for length is an object with a name in "$". A value of an earlier answer
that a request needs is `{{name}}`. Recorded ids are whole numbers, counted per scenario.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

FILE = Path(__file__).with_name("exchanges.jsonl")
HEADERS = ("access-control-allow-origin", "allow", "content-type", "location", "vary")


@dataclass(frozen=True)
class Answer:
    """The parts of an HTTP answer that two servers can have in common; `body` is decoded JSON."""

    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, eq=False)
class Row:
    """One request with its recorded answer. `name` says which in its scenario, and is unique."""

    index: int
    scenario: str
    name: str
    method: str
    target: str
    headers: Mapping[str, str]
    body: Any
    captures: Mapping[str, str]
    answer: Answer

    @property
    def id(self) -> str:
        return f"{self.scenario}/{self.name}"

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def is_bare(self) -> bool:
        """Is it in the variant without prefix? An id after the path makes it like /api."""
        return self.path in ("/article", "/comment", "/token")

    @property
    def operation(self) -> str:
        """The route's last word, with the query's `type` if that selects the operation."""
        word = self.path.removeprefix("/api").split("/")[1]
        kind = self.query.get("type", [""])[-1]
        if self.path.endswith("/comment/rss"):
            word = "feed"
        elif word == "comment" and self.method == "GET":
            word = {"count": "count", "recent": "recent", "list": "queue"}.get(kind, "list")
        return f"{self.method} {word}"

    @cached_property
    def query(self) -> Mapping[str, list[str]]:
        return parse_qs(self.target.partition("?")[2], keep_blank_values=True, errors="replace")

    def asked(self, name: str, default: str = "") -> str:
        return self.query.get(name, [default])[0]

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of a JSON object that was sent as one; none of any other body."""
        return self.body if isinstance(self.body, dict) else {}

    @property
    def form(self) -> Mapping[str, Any]:
        """The same for a form."""
        if isinstance(self.body, str):
            return {name: values[0] for name, values in parse_qs(self.body).items()}
        return self.fields

    @property
    def token(self) -> str:
        """The name of the token it was sent with: "token-1", or "" for none that is known."""
        return self.headers.get("authorization", "").partition("{{")[2].removesuffix("}}")

    @property
    def data(self) -> Any:
        """The recorded answer without its envelope."""
        return unwrapped(self.answer.body)


def unwrapped(body: Any) -> Any:
    return body.get("data") if isinstance(body, dict) and "errno" in body else body


def wrapped_like(body: Any, data: Any) -> Any:
    """`data` in an envelope if `body` has one."""
    return body | {"data": data} if isinstance(body, dict) and "errno" in body else data


@dataclass(frozen=True)
class Scenario:
    name: str
    settings: Mapping[str, str]
    rows: Sequence[Row]
    # Number of a comment -> the row that posted it.
    posted: Mapping[int, Row] = field(repr=False)


@cache
def scenarios() -> Mapping[str, Scenario]:
    grouped: dict[str, list[Any]] = {}
    for line in FILE.read_text().splitlines():
        exchange = json.loads(line)
        grouped.setdefault(exchange["scenario"], []).append(exchange)
    return {name: _scenario(name, exchanges) for name, exchanges in grouped.items()}


def _scenario(name: str, exchanges: list[Any]) -> Scenario:
    seen: Counter[str] = Counter()
    rows = []
    for index, exchange in enumerate(exchanges):
        step = exchange["step"]
        seen[step] += 1
        # "seed" stands for many steps, and a few others were recorded twice.
        unique = step if seen[step] == 1 and step != "seed" else f"{step} {seen[step]}"
        rows.append(_row(index, name, unique, exchange))
    posted = {
        row.data["objectId"]: row
        for row in rows
        if row.operation == "POST comment" and row.answer.body["errno"] == 0
    }
    return Scenario(name, exchanges[0]["settings"], rows, posted)


def _row(index: int, scenario: str, name: str, exchange: Any) -> Row:
    request, response = exchange["request"], exchange["response"]
    return Row(
        index=index,
        scenario=scenario,
        name=name,
        method=request["method"],
        target=request["path"],
        headers=request["headers"],
        body=_whole(request["body"]),
        captures=exchange.get("captures", {}),
        answer=Answer(response["status"], response["headers"], response["body"]),
    )


def _whole(value: Any) -> Any:
    """The same with long strings at full length, of which the recording kept the two ends."""
    if not isinstance(value, dict):
        return value
    if "$long_string" in value:
        long = value["$long_string"]
        head, tail = long["head"], long["tail"]
        assert head[-1] == tail[0], "the middle cannot be told from the ends"
        return head + head[-1] * (long["length"] - len(head) - len(tail)) + tail
    return {name: _whole(each) for name, each in value.items()}
