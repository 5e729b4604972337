"""What differs on purpose between the recorded answers and ours, each by name and with its reason.

A form brings both sides to one spelling. A translation turns what was recorded into what we send.
A decision says, for the rows it concerns, what our answer must be instead, and that is asserted.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import md5
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qs

from footfall.errors import UnsupportedMediaType

from .recording import Answer, Row, Scenario, unwrapped, wrapped_like

Record = dict[str, Any]
F = TypeVar("F")

COUNTERS = ("time", *(f"reaction{n}" for n in range(9)))
JSON = {
    "access-control-allow-origin": "*",
    "content-type": "application/json; charset=utf-8",
    "vary": "Origin",
}
# What Waline says, and nothing after it.
FIRST_WORDS = ("Comment too fast!", "Duplicate Content")
# Readers write this in place of a value that no two servers have alike.
ITS_TIME = "its time"


class Reader(Protocol):
    """Reads one side's comments: their ids, and when each was written."""

    is_ours: bool

    def name(self, kind: str, id: Any) -> Any:
        """ "comment 8" for the eighth id, else the value itself."""

    def names_in(self, text: str) -> str:
        """A comment's text with the ids in its links by name."""

    def is_its_time(self, record: Record, time: Any) -> bool: ...


@dataclass(frozen=True)
class Rule:
    name: str
    reason: str
    kind: str


@dataclass
class Counts:
    """The values of counters here, and how far decisions have moved them from the recording."""

    now: dict[tuple[str, str], int] = field(default_factory=dict)
    shift: dict[tuple[str, str], int] = field(default_factory=dict)

    def move(self, counter: tuple[str, str], by: int) -> None:
        self.shift[counter] = self.shift.get(counter, 0) + by


@dataclass(frozen=True)
class Expected:
    """`public`: the public asks first, if the answer itself is an administrator's.

    `is_held`: the comment waits now, and is approved before the next row, which was recorded so.

    `is_ended`: it is sent with a token that has ended.
    """

    answer: Answer
    public: Answer | None = None
    is_held: bool = False
    is_ended: bool = False


Form = Callable[[Record, Reader], Record]
Translation = Callable[[Record, Row, Scenario], Record]
Decision = Callable[[Row, Expected, Counts, Scenario], Expected | None]

RULES: dict[str, Rule] = {}
FORMS: dict[str, Form] = {}
TRANSLATIONS: dict[str, Translation] = {}
DECISIONS: dict[str, Decision] = {}


def _rule(kind: str, table: dict[str, F], name: str, reason: str) -> Callable[[F], F]:
    def add(function: F) -> F:
        RULES[name] = Rule(name, reason, kind)
        table[name] = function
        return function

    return add


def form(name: str, reason: str) -> Callable[[Form], Form]:
    return _rule("form", FORMS, name, reason)


def translation(name: str, reason: str) -> Callable[[Translation], Translation]:
    return _rule("translation", TRANSLATIONS, name, reason)


def decision(name: str, reason: str) -> Callable[[Decision], Decision]:
    return _rule("decision", DECISIONS, name, reason)


def page_rule(name: str, reason: str, kind: str = "translation") -> str:
    """The name of a rule that is not applied record by record, but to whole pages or scenarios."""
    RULES[name] = Rule(name, reason, kind)
    return name


# Forms: both sides to one spelling.


@form("ids", "Ids are opaque lower-case alphanumeric strings, one type everywhere.")
def _ids(record: Record, reader: Reader) -> Record:
    kind = "comment" if "comment" in record else "account"
    named = {name: reader.name(kind, record[name]) for name in ("objectId",) if name in record}
    named |= {
        name: reader.name("comment", record[name]) for name in ("pid", "rid") if name in record
    }
    if "user_id" in record:
        named["user_id"] = reader.name("account", record["user_id"])
    texts = {name: reader.names_in(record[name]) for name in ("comment", "orig") if name in record}
    return record | named | texts


@form("time", "No two replays have the same clock. One comment has the same time in every answer.")
def _time(record: Record, reader: Reader) -> Record:
    if "time" not in record or not reader.is_its_time(record, record["time"]):
        return record
    return record | {"time": ITS_TIME}


@form(
    "insertedAt", "insertedAt is ISO 8601 with Z and milliseconds; Waline has two spellings of it."
)
def _inserted_at(record: Record, reader: Reader) -> Record:
    if "insertedAt" not in record:
        return record
    return record | {"insertedAt": _moment(record, reader)}


def _moment(record: Record, reader: Reader) -> Any:
    text = record["insertedAt"]
    # SQLite's spelling, which is not allowed here.
    if not reader.is_ours and re.fullmatch(r"[\d-]{10} [\d:]{8}", text):
        text = f"{text.replace(' ', 'T')}.000Z"
    if not isinstance(text, str) or not re.fullmatch(r"[\d-]{10}T[\d:]{8}\.\d{3}Z", text):
        return text
    moment = datetime.fromisoformat(text)
    ms = round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
    return ITS_TIME if reader.is_its_time(record, ms) else text


@form("addr", "A region comes from a file that an operator may have; the recording had one.")
def _addr(record: Record, reader: Reader) -> Record:
    return {name: value for name, value in record.items() if name != "addr" or value is None}


@form("version", "Moderators get the version of a comment, by which they decide on what they read.")
def _version(record: Record, reader: Reader) -> Record:
    if not (reader.is_ours and re.fullmatch("[0-9a-f]{32}", str(record.get("version")))):
        return record
    return {name: value for name, value in record.items() if name != "version"}


@form("first words", "An error starts with Waline's words, and adds when to retry and what to do.")
def _first_words(record: Record, reader: Reader) -> Record:
    said = record.get("errmsg")
    if not reader.is_ours or not isinstance(said, str):
        return record
    return record | {
        "errmsg": next(
            (first_word for first_word in FIRST_WORDS if said.startswith(first_word)), said
        )
    }


# Translations: what was recorded, as we send it.


@translation("objectId of PUT", "PUT answers with objectId, where Waline on SQL says id.")
def _object_id(record: Record, row: Row, scenario: Scenario) -> Record:
    if row.operation != "PUT comment":
        return record
    return {"objectId" if name == "id" else name: value for name, value in record.items()}


@translation(
    "no null pid and rid", "pid and rid are absent on roots; 3.x clients take null for a reply."
)
def _no_null_parents(record: Record, row: Row, scenario: Scenario) -> Record:
    return _without_null(record, "pid", "rid")


@translation("no null user_id", "A field without a value is absent, as with Waline on MongoDB.")
def _no_null_user(record: Record, row: Row, scenario: Scenario) -> Record:
    return _without_null(record, "user_id")


def _without_null(record: Record, *names: str) -> Record:
    return {n: value for n, value in record.items() if n not in names or value is not None}


@translation(
    "sticky is a boolean",
    "sticky is a boolean: for a comment that never was sticky it is false, not null.",
)
def _sticky(record: Record, row: Row, scenario: Scenario) -> Record:
    return record | {"sticky": bool(record["sticky"])} if "sticky" in record else record


@translation(
    "links in the page", "The sanitiser removes xlink:show, an SVG attribute without effect."
)
def _links(record: Record, row: Row, scenario: Scenario) -> Record:
    if "comment" not in record:
        return record
    return record | {"comment": record["comment"].replace(' xlink:show="new"', "")}


@translation(
    "avatar of no mail",
    "Without an email, Waline hashes the words undefined and null; we hash an empty text.",
)
def _avatar(record: Record, row: Row, scenario: Scenario) -> Record:
    avatar = record.get("avatar")
    for word in ("undefined", "null"):
        if isinstance(avatar, str):
            avatar = avatar.replace(md5_of(word), md5_of(""))
    return record if avatar is None else record | {"avatar": avatar}


def md5_of(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


@translation("not liked", "An unpublished comment cannot be liked.")
def _not_liked(record: Record, row: Row, scenario: Scenario) -> Record:
    number = record.get("objectId", record.get("id"))
    unseen = [each for each in scenario.rows[: row.index] if _is_held_like(each)]
    gone = sum(1 for each in unseen if each.data["id"] == number)
    return record | {"like": record["like"] - gone} if gone else record


# Translations of a whole page of comments, in pages.py.

TIES = page_rule(
    "equal sort keys",
    "Comments with equal keys are sorted by age, in the direction of the sort; Waline "
    "sorts by whole seconds.",
)
BLANK = page_rule(
    "blank page, size, count, order",
    "0, less than 0 and blank mean the first page and the default; a blank value is not echoed.",
)


# Decisions: what we answer instead.

SENT_AGAIN = page_rule(
    "repeated",
    "If an author sends the same text again within a minute, the answer is the stored comment.",
    "decision",
)
LOGGED_IN_AGAIN = page_rule(
    "logged in again",
    "A logout, a new password or role, and a ban end tokens, so the replay logs in again.",
    "decision",
)


def first_of(row: Row, scenario: Scenario) -> Row | None:
    """The row that posted what this one was refused for posting again, a moment later."""
    refused = {"errno": 1000, "errmsg": "Duplicate Content"}
    if row.operation != "POST comment" or row.answer.body != refused:
        return None
    return next(
        other
        for other in scenario.rows[: row.index]
        if (other.path, other.body) == (row.path, row.body) and other.data
    )


def _says(row: Row, data: Any) -> Answer:
    """A success, in the row's variant."""
    body = data if row.is_bare else {"errno": 0, "errmsg": "", "data": data}
    return Answer(200, JSON, body)


def _refused(**fields: str) -> Expected:
    return Expected(Answer(200, JSON, {"errno": 1001, "errmsg": fields}))


def _error(status: int, errmsg: str, **headers: str) -> Answer:
    return Answer(status, JSON | headers, {"errno": status, "errmsg": errmsg})


def counter_of(row: Row) -> tuple[str, str] | None:
    """(path, type) that a POST article names in any way; None if it names no path."""
    fields = _named(row)
    path, type = fields.get("path"), fields.get("type", "time")
    return (path, type) if isinstance(path, str) and path and isinstance(type, str) else None


def _named(row: Row) -> Mapping[str, Any]:
    if row.body is None:
        return {name: values[0] for name, values in row.query.items()}
    if not isinstance(row.body, str):
        return row.fields
    if row.body.startswith("{") and row.body.endswith("}"):
        fields: dict[str, Any] = json.loads(row.body)
        return fields
    match = re.search(r'name="path"\s+(.*)\r|<path>(.*)</path>', row.body)
    if match:
        return {"path": match[1] or match[2]}
    return {name: values[0] for name, values in parse_qs(row.body).items()}


def _kind(row: Row) -> str:
    return row.headers.get("content-type", "").partition(";")[0]


def _is_error(answer: Answer) -> bool:
    return isinstance(answer.body, dict) and bool(answer.body.get("errno"))


@decision(
    "counts moved",
    "A decision about earlier rows, which were rejected or counted only here, has changed the "
    "count.",
)
def _moved(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation not in ("GET article", "POST article") or _is_error(so_far.answer):
        return None
    data = so_far.answer.body if row.is_bare else unwrapped(so_far.answer.body)
    if row.operation == "POST article":
        counter = counter_of(row)
        moved = _plus(data, [counter[0]], [counter[1]], counts) if counter else data
    else:
        types = ",".join(row.query.get("type", ["time"])).split(",")
        paths = ",".join(row.query.get("path", [])).split(",")
        if "path" not in row.query:
            return None
        moved = _plus(data, paths, types, counts)
    body = wrapped_like(so_far.answer.body, moved) if not row.is_bare else moved
    return replace(so_far, answer=replace(so_far.answer, body=body))


def _plus(data: Any, paths: list[str], types: list[str], counts: Counts) -> Any:
    """Counts in any of the forms they are sent in, each with its shift."""
    if isinstance(data, list):
        return [_plus(each, [path], types, counts) for each, path in zip(data, paths, strict=True)]
    if isinstance(data, dict):
        return {type: _plus(n, paths, [type], counts) for type, n in data.items()}
    return data + counts.shift.get((paths[0], types[0]), 0) if isinstance(data, int) else data


@decision("URL of 20 kB", "Every input is bounded, and the error is JSON that a page can read.")
def _long_url(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if len(row.target) <= 16 * 1024:
        return None
    return Expected(_error(431, "Request Header Fields Too Large"))


@decision("405", "A method that a route lacks gets 405 with Allow, not 200.")
def _verbs(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation not in ("PUT article", "DELETE article", "PATCH article"):
        return None
    return Expected(_error(405, "Method Not Allowed", allow="GET, POST, HEAD, OPTIONS"))


@decision(
    "HEAD", "A HEAD has the headers of its GET, as HTTP requires; Waline leaves the type out."
)
def _head(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    return Expected(Answer(200, JSON, "")) if row.method == "HEAD" else None


@decision("too long", "A path, a list of paths or a page number beyond its bound is a 1001.")
def _too_long(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if len(row.target) > 16 * 1024:
        return None
    for name, value in [*((n, row.asked(n)) for n in row.query), *row.fields.items()]:
        paths = value.split(",") if name in ("path", "url") and isinstance(value, str) else []
        if len(paths) > 200:
            return _refused(**{name: f"{name} should be at most 200 paths"})
        if any(len(path) > 2048 for path in paths):
            return _refused(**{name: f"{name} should be at most 2048 characters long"})
        if name == "page" and value.isdigit() and int(value) > 1_000_000_000:
            return _refused(page="page need an integer under your options")
    return None


@decision("counter types", "A type that is not a counter's is a 1001, in reads and in changes.")
def _types(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation not in ("GET article", "POST article") or _errno(row) == 1001:
        return None
    allowed = ",".join(f'"{counter}"' for counter in COUNTERS)
    if row.operation == "POST article":
        type = row.fields.get("type", "time")
        types = [type]
        if type == "url":
            # Waline gave the row another path, and so lost the count.
            counts.move((row.fields["path"], "time"), 1)
    else:
        types = ",".join(row.query.get("type", ["time"])).split(",")
    if None in types:
        return _refused(type="type need a string")
    if all(type in COUNTERS for type in types):
        return None
    return _refused(type=f"type need in an array of [{allowed}]")


def _errno(row: Row) -> int:
    return row.answer.body.get("errno", 0) if isinstance(row.answer.body, dict) else 0


@decision("no path", "A POST without a path is a 1001, not a count of nothing.")
def _no_path(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation != "POST article" or _errno(row) or not _is_pathless(row):
        return None
    if row.fields.get("path") == "":
        # The one of them that could be read back: as the path "".
        counts.move(("", "time"), -1)
    return _refused(path="path can not be blank")


def _is_pathless(row: Row) -> bool:
    if isinstance(row.body, str) and row.body.startswith("["):
        return False
    return not _named(row).get("path")


@decision("query as body", "Without a body, the fields are read from the query.")
def _query(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation != "POST article" or row.body is not None or "path" not in row.query:
        return None
    return _counted_here(row, counts)


@decision(
    "text/plain", "JSON is also read as text/plain, which needs no preflight, and without a type."
)
def _plain(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation != "POST article" or not isinstance(row.body, str):
        return None
    if _kind(row) not in ("text/plain", ""):
        return None
    return _counted_here(row, counts)


def _counted_here(row: Row, counts: Counts) -> Expected:
    counter = counter_of(row)
    assert counter is not None
    counts.move(counter, 1)
    count = counts.now.get(counter, 0) + 1
    return Expected(_says(row, count if row.is_bare else [{counter[1]: count}]))


@decision(
    "415", "Bodies are JSON, forms or multipart; for any other type the error names what to send."
)
def _kinds(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if _kind(row) not in ("text/xml", "application/octet-stream"):
        return None
    counter = counter_of(row)
    if counter and _kind(row) == "text/xml":
        # To Waline, XML was a body like any other, without fields that it knew.
        counts.move(counter, -1)
    return Expected(_error(415, UnsupportedMediaType.text))


@decision("many changes", "A JSON list is a list of changes; to Waline it has no fields.")
def _list(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation != "POST article" or not str(row.body).startswith("["):
        return None
    answers = []
    for entry in json.loads(row.body):
        counter = (entry["path"], entry.get("type", "time"))
        counts.now[counter] = counts.now.get(counter, 0) + 1
        counts.move(counter, 1)
        answers.append(counts.now[counter] if row.is_bare else {counter[1]: counts.now[counter]})
    return Expected(_says(row, answers))


@decision(
    "nothing to take back",
    "desc on a counter that was never raised answers with an object whose count is 0.",
)
def _desc(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if unwrapped(so_far.answer.body) != [0] or row.fields.get("action") != "desc":
        return None
    return replace(so_far, answer=_says(row, [{row.fields["type"]: 0}]))


@decision("views only rise", "Only an administrator may count views down.")
def _views(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    counter = counter_of(row) if row.operation == "POST article" else None
    if counter is None or counter[1] != "time" or row.fields.get("action") != "desc":
        return None
    return replace(so_far, public=_error(401, "Unauthorized"))


@decision("count of the site", "A blank url counts the whole site, like an absent one.")
def _site(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation != "GET count" or row.query.get("url") != [""]:
        return None
    return Expected(_recorded(f"{row.path}?type=count", scenario))


@decision(
    "count by path", "The API variant without prefix also accepts path for the article's url."
)
def _by_path(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation != "GET count" or not row.is_bare or "path" not in row.query:
        return None
    if "url" in row.query:
        return None
    return Expected(_recorded(row.target.replace("&path=", "&url="), scenario))


def _recorded(target: str, scenario: Scenario) -> Answer:
    """The answer to the public for another target, in the same scenario."""
    return next(row.answer for row in scenario.rows if row.target == target and not row.token)


@decision(
    "queue of a path",
    "Only an administrator reads the moderation queue, also with a path in the query.",
)
def _queue(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation != "GET queue" or "path" not in row.query or row.token:
        return None
    return Expected(_error(401, "Unauthorized"))


@decision("edits wait", "An author's edit waits for approval where a new comment would.")
def _edits(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation != "PUT comment" or row.fields.keys() != {"comment"}:
        return None
    if not scenario.settings.get("COMMENT_AUDIT"):
        return None
    body = so_far.answer.body
    held = wrapped_like(body, unwrapped(body) | {"status": "waiting"})
    return Expected(replace(so_far.answer, body=held), is_held=True)


@decision(
    "likes of held comments",
    "A like of a comment that the caller cannot see is answered like one of a missing comment, "
    "and not counted.",
)
def _held_likes(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    return Expected(_says(row, "")) if _is_held_like(row) else None


def _is_held_like(row: Row) -> bool:
    if row.operation != "PUT comment" or row.fields.keys() != {"like"} or row.token:
        return False
    return bool(row.data) and row.data["status"] != "approved"
