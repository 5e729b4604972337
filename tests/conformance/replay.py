"""Replays one scenario: every row is sent in its order, and every answer compared.

The rules are applied to the recorded answer on one side and to ours on the other; then both must be
equal. Accounts are made and logged in to as they were there.
"""

import difflib
import http.client
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit

from .accounts import UNRECORDED, in_order_of_counts, led_to
from .feeds import FEED, feed_of
from .pages import in_order, number_of, paged
from .people import People
from .recording import HEADERS, Answer, Row, Scenario, scenarios, unwrapped
from .rules import (
    DECISIONS,
    FORMS,
    LOGGED_IN_AGAIN,
    SENT_AGAIN,
    TRANSLATIONS,
    Counts,
    Expected,
    Form,
    Reader,
    Record,
    Translation,
    counter_of,
    first_of,
)

TIMEOUT_SECONDS = 30.0
PATIENCE_SECONDS = 5.0
DAY_MS = 86_400_000

EQUAL, BY_RULE, DIFFERENT = "equal", "equal by rule", "different"
NEEDS_EMPTY = "needs an empty store"


@dataclass(frozen=True)
class Outcome:
    row: Row
    verdict: str
    rules: frozenset[str] = frozenset()
    diff: str = ""


# One side each.


@dataclass
class Recorded:
    """The recording counts ids in whole numbers, and times in whole seconds."""

    scenario: Scenario
    is_ours: bool = False

    def name(self, kind: str, id: Any) -> Any:
        return f"{kind} {id}" if isinstance(id, int) else id

    def names_in(self, text: str) -> str:
        return re.sub(r'#(\d+)(?=[")])', r"#comment \1", text)

    def is_its_time(self, record: Record, time: Any) -> bool:
        born: int = self.scenario.posted[number_of(record)].data["time"]
        return isinstance(time, int) and abs(time - born) <= 1000


@dataclass
class Ours:
    """Ids and times are learnt from the answers in which they come first."""

    names: dict[str, str] = field(default_factory=dict)
    born: dict[str, int] = field(default_factory=dict)
    is_ours: bool = True

    def name(self, kind: str, id: Any) -> Any:
        if not isinstance(id, str) or not re.fullmatch("[a-z0-9]+", id):
            return id
        name = self.names.get(id, id)
        return name if name.startswith(kind) else id

    def names_in(self, text: str) -> str:
        return re.sub(r'#([a-z0-9]+)(?=[")])', lambda found: f"#{self._known(found[1])}", text)

    def _known(self, id: str) -> str:
        return self.names.get(id, id)

    def is_its_time(self, record: Record, ms: Any) -> bool:
        if not isinstance(ms, int) or abs(ms - time.time() * 1000) > DAY_MS:
            return False
        return self.born.setdefault(str(record.get("objectId")), ms) == ms


def _mapped(value: Any, change: Callable[[Record], Record]) -> Any:
    """An answer in which every comment and account is changed; they may contain one another."""
    if isinstance(value, list):
        mapped = [_mapped(each, change) for each in value]
        is_ranking = mapped and isinstance(mapped[0], dict) and "count" in mapped[0]
        return in_order_of_counts(mapped) if is_ranking and "nick" in mapped[-1] else mapped
    if not isinstance(value, dict):
        return value
    if value.keys() & {"orig", "display_name", "otpauth_url", "recovery", "errmsg"}:
        value = change(value)
    return {name: _mapped(each, change) for name, each in value.items()}


def _formed(body: Any, reader: Reader, used: set[str]) -> Any:
    if isinstance(body, str) and body.startswith("<?xml"):
        used.add(FEED)
        return feed_of(body, reader)
    for name, form in FORMS.items():
        before, body = body, _mapped(body, partial(_with_reader, form, reader))
        if body != before:
            used.add(name)
    return body


def _with_reader(form: Form, reader: Reader, record: Record) -> Record:
    return form(record, reader)


# The expected answer.


@cache
def translated(row: Row) -> tuple[Any, frozenset[str]]:
    """A recorded body in our words and in common forms, with the rules that it took."""
    scenario = scenarios()[row.scenario]
    body, used = row.answer.body, set()
    for name, translate in TRANSLATIONS.items():
        before = body
        body = _mapped(body, partial(_of_row, translate, row))
        if body != before:
            used.add(name)
    body = _formed(body, Recorded(scenario), used)
    return body, frozenset(used)


def _of_row(translate: Translation, row: Row, record: Record) -> Record:
    return translate(record, row, scenarios()[row.scenario])


@cache
def _pool(row: Row) -> Mapping[int, Record]:
    """The comments in all recorded pages of the same article, or of the site, nearest row first."""
    scenario = scenarios()[row.scenario]
    alike = [
        other
        for other in scenario.rows
        if other.operation == row.operation
        and (row.operation == "GET recent" or other.asked("path") == row.asked("path"))
        and other.answer.body
        and not _is_refusal(other.answer.body)
    ]
    found: dict[int, Record] = {}
    for other in sorted(alike, key=lambda other: abs(other.index - row.index)):
        page = unwrapped(translated(other)[0])
        for record in page["data"] if isinstance(page, dict) else page:
            found.setdefault(number_of(record), record)
    return found


def _is_refusal(body: Any) -> bool:
    return isinstance(body, dict) and bool(body.get("errno"))


def expectation(row: Row, counts: Counts) -> tuple[Expected, set[str]]:
    """What this row must be answered, and the rules for that."""
    scenario = scenarios()[row.scenario]
    first = first_of(row, scenario)
    body, translations = translated(first or row)
    used = {*translations, *([SENT_AGAIN] if first else [])}
    if row.operation in ("GET list", "GET recent") and not _is_refusal(body):
        body, more = paged(row, body, _pool(row), scenario)
        used |= more
    if row.operation == "GET queue" and not _is_refusal(body):
        body, more = in_order(body)
        used |= more
    expected = Expected(replace(row.answer, body=body))
    for name, decide in DECISIONS.items():
        decided = decide(row, expected, counts, scenario)
        if decided is not None and decided != expected:
            expected = decided
            used.add(name)
    _count(row, expected.answer, counts)
    return expected, used


def _count(row: Row, answer: Answer, counts: Counts) -> None:
    counter = counter_of(row) if row.operation == "POST article" else None
    if counter is None or _is_refusal(answer.body):
        return
    data = answer.body if row.is_bare else answer.body["data"][0]
    counts.now[counter] = next(iter(data.values())) if isinstance(data, dict) else data


# A server.


class Server:
    """Sends what was recorded byte for byte, without a client library that corrects URLs."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._base = parts.path.rstrip("/")
        self._connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT_SECONDS)

    def send(self, method: str, target: str, headers: Mapping[str, str], body: Any) -> Answer:
        self._connection.putrequest(method, self._base + target, skip_accept_encoding=True)
        for name, value in headers.items():
            self._connection.putheader(name, value)
        raw = _bytes(body)
        if raw is not None or method == "POST":
            self._connection.putheader("content-length", str(len(raw or b"")))
        self._connection.endheaders(raw or b"")
        with self._connection.getresponse() as response:
            got = {name.lower(): value for name, value in response.getheaders()}
            kept = {name: got[name] for name in HEADERS if name in got}
            return Answer(response.status, kept, _decoded(response.read()))

    def close(self) -> None:
        self._connection.close()


def _bytes(body: Any) -> bytes | None:
    if body is None:
        return None
    if not isinstance(body, str):
        return json.dumps(body, ensure_ascii=False).encode()
    # The recording, which is UTF-8 itself, shows other bytes as U+FFFD.
    return b"\xff".join(part.encode() for part in body.split("\ufffd"))


def _decoded(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode(errors="replace")


# The replay.


@dataclass
class Replay:
    """The store may hold what other scenarios wrote, unless it `is_empty`."""

    scenario: Scenario
    server: Server
    is_empty: bool = True

    def __post_init__(self) -> None:
        self._ours = Ours()
        self._captured: dict[str, str] = {}
        self._counts = Counts()
        self._people = People(self._patiently)

    def run(self) -> Iterator[Outcome]:
        for row in self.scenario.rows:
            if not self.is_empty and _is_of_site(row):
                yield Outcome(row, NEEDS_EMPTY)
            else:
                yield self._compare(row)

    def _compare(self, row: Row) -> Outcome:
        expected, used = expectation(row, self._counts)
        diff = ""
        if expected.public is not None:
            got = self._send(row, row.headers)
            diff = difference(expected.public, self._read(row, got, used))
            got = self._send(row, self._of_keeper(row))
        else:
            may_log_in = not expected.is_ended
            if may_log_in and self._people.has_ended(row.token):
                used.add(LOGGED_IN_AGAIN)
            got = self._send(row, row.headers, may_log_in=may_log_in)
        diff += difference(expected.answer, self._read(row, got, used))
        self._people.learn(row, got)
        if expected.is_held:
            self._send(replace(row, body={"status": "approved"}), self._of_keeper(row))
        verdict = DIFFERENT if diff else BY_RULE if used else EQUAL
        return Outcome(row, verdict, frozenset(used), diff)

    def _of_keeper(self, row: Row) -> dict[str, str]:
        return {**row.headers, "authorization": f"Bearer {self._people.keeper()}"}

    def _send(self, row: Row, headers: Mapping[str, str], *, may_log_in: bool = True) -> Answer:
        fill = partial(self._filled, may_log_in=may_log_in)
        return self._patiently(
            row.method,
            fill(row.target),
            {name: fill(value) for name, value in headers.items()},
            _filled_in(self._people.body(row), fill),
        )

    def _patiently(self, method: str, target: str, headers: Mapping[str, str], body: Any) -> Answer:
        """Send it as a client that waits if there were too many attempts to log in."""
        while True:
            got = self.server.send(method, target, headers, body)
            if "Too many attempts" not in str(got.body):
                return got
            time.sleep(PATIENCE_SECONDS)

    def _filled(self, text: str, *, may_log_in: bool) -> str:
        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name.startswith("token"):
                return self._people.token(name, may_log_in=may_log_in)
            return self._captured.get(name, name)

        return re.sub(r"\{\{([\w-]+)\}\}", value, text)

    def _read(self, row: Row, got: Answer, used: set[str]) -> Answer:
        """Our answer in common forms; new values in it are learnt."""
        data = unwrapped(got.body)
        for name in row.captures:
            kind = "account" if name.startswith("user") else "comment"
            if name.startswith("token") or not isinstance(data, dict) or "objectId" not in data:
                continue
            self._captured[name] = data["objectId"]
            self._ours.names[data["objectId"]] = f"{kind} {row.data['objectId']}"
        if row.operation == "POST token" and not row.data and isinstance(data, dict):
            self._ours.names.setdefault(data.get("objectId", ""), UNRECORDED)
        headers = dict(got.headers)
        if row.operation == "GET oauth" and "location" in headers:
            headers["location"] = led_to(headers["location"])
        return replace(got, headers=headers, body=_formed(got.body, self._ours, used))


def _is_of_site(row: Row) -> bool:
    is_total = row.operation == "GET count" and not row.asked("url")
    return row.operation == "GET recent" or is_total


def _filled_in(value: Any, fill: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {name: _filled_in(each, fill) for name, each in value.items()}
    return fill(value) if isinstance(value, str) else value


def difference(expected: Answer, got: Answer) -> str:
    """The differences, line by line; "" if there are none."""
    # As JSON: 1, 1.0 and True are equal in Python, and not to a client.
    ours, theirs = _lines(got), _lines(expected)
    found = difflib.unified_diff(theirs, ours, "expected, by the rules", "got", lineterm="", n=4)
    return "\n".join(found)


def _lines(answer: Answer) -> list[str]:
    return json.dumps(vars(answer), indent=1, sort_keys=True, ensure_ascii=False).splitlines()
