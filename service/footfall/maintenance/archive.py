"""The file of a backup: one gzip of JSON lines, with a digest of all lines at its end.

The first line is a header, the last but one has the totals, the last the digest of all lines before
it. So a reader at the end knows that nothing was truncated or changed. The digest does not prove
the author, so every line is validated before it is used. Only one line at a time is in memory, and
the ids of one page's comments.

Every reply in a file hangs below a root of its page. On a page that changed during its backup, some
may not; a restore leaves these out. Any other file with such a reply is rejected.
"""

import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any, BinaryIO

import orjson

from ..comments.store.status import LASTING
from ..counters import MAX_COUNT
from ..ids import SHORT, digest, is_id
from ..model import Body, OnShare
from ..plurals import number_of
from .entries import (
    is_account,
    is_ban,
    is_closing,
    is_count,
    is_credentials,
    is_logged,
    is_page_views,
    is_site_views,
    is_unsubscribed,
    place_in_log,
)
from .threads import Above, Threads

Line = dict[str, Any]

FORMAT = 1
DIGEST_BYTES = 32
# A line gets comments until it has this many bytes; a single comment may have more.
LINE_BYTES = 1 << 18
# The longest line.
MAX_LINE_BYTES = 1 << 25
# gzip's level, 1 to 9: it makes three quarters of the size of level 1, in twice the time.
COMPRESSION_LEVEL = 4
# An account or an author, as scripts and journals read them.
_NAME = re.compile(b"[0-9A-Za-z][0-9A-Za-z_-]*|")
_PROOF = b'{"digest":"'
# Lines that have several of one kind, by their names or in order, and what each has to be.
_NAMED: Mapping[str, Callable[[object], bool]] = {
    "counters": is_count,
    "views": is_page_views,
    "accounts": is_account,
    "credentials": is_credentials,
    "bans": is_ban,
    "closed": is_closing,
}
_LISTED = {"log": is_logged, "unsubscribed": is_unsubscribed}


class Damaged(Exception):
    """The file is not a backup, or is damaged."""


@dataclass
class Totals:
    """The amounts in a file. In a file `comments` are its rows: a comment that had to be read twice
    counts twice, and once when it is reported."""

    counters: int = 0
    pages: int = 0
    comments: int = 0
    accounts: int = 0

    def __post_init__(self) -> None:
        self._repeated = 0
        # The lines of a page follow each other.
        self._page, self._known = "", set[str]()

    def add(self, line: Line) -> None:
        self.counters += len(line.get("counters", ()))
        self.pages += line.get("end", False)
        self.comments += len(line.get("comments", ()))
        self.accounts += len(line.get("accounts", ()))
        if "comments" in line:
            if line["path"] != self._page:
                self._page, self._known = line["path"], set()
            ids = {row[0] for row in line["comments"]}
            self._repeated += len(line["comments"]) - len(ids - self._known)
            self._known |= ids

    def __str__(self) -> str:
        comments = self.comments - self._repeated
        return (
            f"{number_of(self.counters, 'counter')}, {number_of(comments, 'comment')} on "
            f"{number_of(self.pages, 'page')}, {number_of(self.accounts, 'account')}"
        )


def proof_of(digest: blake2b) -> bytes:
    return b'%b%b"}\n' % (_PROOF, digest.hexdigest().encode())


def lines(
    file: BinaryIO,
    on_progress: OnShare | None = None,
    strays: set[str] | None = None,
    totals: Totals | None = None,
) -> Iterator[Line]:
    """The header, the content, and at last the totals, once the digest was checked.

    `file` is read from its start, unless it is a pipe; `on_progress` gets the share that was read,
    `strays` the ids of replies to leave out, and `totals`, which are empty, the amounts. Raises
    Damaged.
    """
    length = _rewound(file)
    digest = blake2b(digest_size=DIGEST_BYTES)
    last: Line | None = None
    is_proved, totals = False, totals or Totals()
    pages = _Pages(set() if strays is None else strays)
    number = 0
    for number, raw in enumerate(_unpacked(file), 1):
        if is_proved:
            raise Damaged(f"something follows its end, from line {number} on")
        if raw.startswith(_PROOF):
            if last is None or raw != proof_of(digest):
                raise Damaged(f"the lines before {number} were changed")
            is_proved = True
            continue
        digest.update(raw)
        line = pages.parse(raw, number)
        if "totals" in line:
            last = line
        else:
            totals.add(line)
            yield line
        if on_progress and length and number % 100 == 0:
            on_progress(file.tell() / length)
    if last is None or not is_proved:
        raise Damaged(f"it was cut off after {number_of(number, 'line')}")
    if last["totals"] != asdict(totals):
        raise Damaged(f"it has {totals}, unlike its own totals")
    yield last


def _rewound(file: BinaryIO) -> int:
    """The length of a file that is at its start now; 0 for a pipe."""
    if not file.seekable():
        return 0
    length = file.seek(0, 2)
    file.seek(0)
    return length


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    try:
        with gzip.GzipFile(fileobj=file, mode="rb") as unpacked:
            while raw := unpacked.readline(MAX_LINE_BYTES + 1):
                if len(raw) > MAX_LINE_BYTES:
                    raise Damaged(f"it has a line of more than {MAX_LINE_BYTES:,} bytes")
                yield raw
    except EOFError:
        raise Damaged("it was cut off") from None
    except (gzip.BadGzipFile, zlib.error):
        raise Damaged("it was changed, is encrypted, or never was a backup") from None


class _Pages:
    """Parses lines in turn, page by page, and collects strays that are left out
    by a restore."""

    def __init__(self, strays: set[str]) -> None:
        self._strays = strays
        # The last page, and if more lines of it are to come.
        self._page, self._is_open, self._has_moved = "", False, False
        self._threads = Threads()
        # Of the log's last entry; Redis takes only increasing ones.
        self._logged = (0, 0)

    def parse(self, raw: bytes, number: int) -> Line:
        """A line, validated. Raises Damaged."""
        parents = dict[str, Above]()
        try:
            line = orjson.loads(raw)
            is_known = _is_header(line) if number == 1 else _is_content(line, parents)
            if is_known:
                self._follow(line, parents, number)
        except ValueError as error:
            raise Damaged(f"line {number} cannot be read: {error}") from None
        if not is_known:
            raise Damaged(f"line {number} is of no kind that a backup has")
        parsed: Line = line
        return parsed

    def _follow(self, line: Line, parents: Mapping[str, Above], number: int) -> None:
        for entry in line.get("log", ()):
            if place_in_log(entry) <= self._logged:
                raise ValueError("its log is not in order")
            self._logged = place_in_log(entry)
        page = digest(line["path"]) if "path" in line else ""
        if self._is_open and page != self._page:
            raise ValueError("the page before it has no end")
        if not page:
            return
        if not self._is_open:
            if page <= self._page:
                raise ValueError("its page was there before, or should have been")
            self._page, self._has_moved, self._threads = page, False, Threads()
        for id, above in parents.items():
            self._threads.add(id, above, number)
        self._has_moved |= line["moved"]
        self._is_open = not line["end"]
        if not self._is_open:
            self._end()

    def _end(self) -> None:
        for stray in self._threads.strays():
            if not self._has_moved:
                raise Damaged(f"line {stray.line} has the comment {stray.id}, and {stray.why}")
            self._strays.add(stray.id + self._page)


def _is_header(line: Any) -> bool:
    match line:
        case {"footfall": int(version), "by": str(by), "id": str()}:
            if version != FORMAT:
                raise ValueError(
                    f"it has format {version} and was made by Footfall {by[:32]}; "
                    f"this one reads format {FORMAT}"
                )
            return True
    return False


def _is_content(line: Any, parents: dict[str, Above]) -> bool:
    """`found` gets the parent of each comment of the line."""
    match line:
        case {
            "path": str(path),
            "version": version,
            "comments": list(rows),
            "fingerprints": dict(fingerprints),
            "end": bool(),
            "moved": bool(),
            **rest,
        }:
            page = digest(path)
            for row in rows:
                above = check_row(page, row)
                parents[row[0]] = above
            are_ids = all(isinstance(id, str) for id in fingerprints.values())
            return not rest and is_count(version) and are_ids
        case {
            "totals": {"counters": _, "pages": _, "comments": _, "accounts": _, **rest} as totals
        }:
            return not rest and all(map(is_count, totals.values()))
        case {"site_views": site, **rest}:
            return not rest and is_site_views(site)
        case dict() if len(line) == 1:
            return _is_list(*next(iter(line.items())))
    return False


def _is_list(kind: str, content: object) -> bool:
    """A line with several of one kind."""
    if isinstance(content, dict) and kind in _NAMED:
        return all(map(_NAMED[kind], content.values()))
    return isinstance(content, list) and kind in _LISTED and all(map(_LISTED[kind], content))


def count_of(text: bytes) -> int:
    """A count as Redis stores it. Raises ValueError for anything else."""
    # The length is checked first, since int() rejects thousands of digits.
    if not text.isdigit() or len(text) > len(str(MAX_COUNT)) or int(text) > MAX_COUNT:
        raise ValueError(f"{text[:32]!r} is not a count")
    return int(text)


def check_row(page: str, row: Any) -> Above:
    """The parent of a comment. Raises ValueError with the problem."""
    match row:
        case [str(id), str(body), str(private), likes, str(status), bool()]:
            pass
        case _:
            raise ValueError("this is not a comment")
    if not is_id(id + page):
        raise ValueError("this is not an id")
    if not LASTING.fullmatch(status):
        raise ValueError(f"the unknown status {status[:32]!r}")
    if not is_count(likes):
        raise ValueError(f"{str(likes)[:32]} likes")
    if private and not isinstance(orjson.loads(private), dict):
        raise ValueError("its private half is not an object")
    return _above(page, body)


def _above(page: str, body: str) -> Above:
    pieces = body.encode().split(b"\n")
    if len(pieces) != len(Body._fields):
        raise ValueError("its body is not in five pieces")
    stored = Body(*pieces)
    if not (_NAME.fullmatch(stored.account.encode()) and _NAME.fullmatch(stored.tally)):
        raise ValueError("its author has a name that no author has")
    person, content, agent, region = (orjson.loads(b"{%b}" % piece) for piece in pieces[:-1])
    for texts in (person, agent, region):
        if not all(isinstance(text, str | None) for text in texts.values()):
            raise ValueError("its author is described by something else than texts")
    match content:
        case {"comment": str(), "orig": str(), "time": int(), "pid": str(pid), "rid": str(rid)}:
            if not (is_id(pid) and is_id(rid) and pid[SHORT:] == rid[SHORT:] == page):
                raise ValueError("it replies to a comment of another page")
            return pid[:SHORT], rid[:SHORT]
        case {"comment": str(), "orig": str(), "time": int(), **rest} if not rest.keys() & {
            "pid",
            "rid",
        }:
            return ()
    raise ValueError("its body lacks a text")
