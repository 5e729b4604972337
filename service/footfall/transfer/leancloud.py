"""Fetches a class of LeanCloud's storage by its REST API, one object a line.

LeanCloud stops on 2027-01-12. It allows an application a few requests per second, so a large class
takes a while: objects come in the order of their ids and are stored in a file beside the wanted
one, and an interrupted fetch continues after the last one there. When it is complete it replaces
the wanted file. So a file is always complete, and the next fetch requests everything again: counts
rise, and an object's id does not tell whether it has changed.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from ..model import OnShare
from .asking import OK, SLEEP, Asking, Wait
from .download import CannotFetch

# The maximum of one request.
PAGE_OBJECTS = 1_000
# LeanCloud's words for a class that nothing was ever stored in.
NO_CLASS = 101
# After a master key, which can read everything.
MASTER = ",master"


class LeanCloud:
    """`server` is the address that sites have as serverURLs; `wait` waits between attempts."""

    def __init__(self, server: str, app_id: str, app_key: str, wait: Wait = SLEEP) -> None:
        """The key may be the master key followed by ",master", which can read everything."""
        self._is_master = app_key.endswith(MASTER)
        headers = {"X-LC-Id": app_id, "X-LC-Key": app_key, "Accept": "application/json"}
        self._asking = Asking(server, headers, wait)

    def fetch(self, class_name: str, file: Path, on_progress: OnShare) -> int:
        """Write all objects to the file again; their number.

        Raises CannotFetch, OSError: the file stays as it was, and `unfinished(file)` has what was
        fetched.
        """
        head = _head(self._asking.server, class_name, is_master=self._is_master)
        _require(file, head.partition(b";key=")[0])
        part = unfinished(file)
        last, number = _kept(part, head)
        with self._asking:
            whole = self._asked(class_name, {"limit": "0", "count": "1"})
            total = whole.get("count", 0) if whole else 0
            with part.open("ab") as lines:
                if not lines.tell():
                    lines.write(head)
                for objects in self._pages(class_name, last):
                    lines.write(b"".join([orjson.dumps(row) + b"\n" for row in objects]))
                    number += len(objects)
                    on_progress(min(1.0, number / max(total, number, 1)))
                lines.flush()
                os.fsync(lines.fileno())
        if number:
            # An empty server removes nothing from the file.
            part.replace(file)
        return number

    def _pages(self, class_name: str, last: str) -> Iterator[list[dict[str, Any]]]:
        server = self._asking.server
        while True:
            # Not by an offset: objects that arrive meanwhile would move the others.
            asked = {"limit": str(PAGE_OBJECTS), "order": "objectId"}
            if last:
                asked["where"] = orjson.dumps({"objectId": {"$gt": last}}).decode()
            answer = self._asked(class_name, asked)
            objects = answer.get("results") if answer else []
            if not isinstance(objects, list) or not all(map(_is_object, objects)):
                raise CannotFetch(f"{server} did not answer with a list of objects")
            if not objects:
                return
            yield objects
            if objects[-1]["objectId"] <= last:
                raise CannotFetch(f"{server} does not sort its objects: it is not LeanCloud")
            last = objects[-1]["objectId"]

    def _asked(self, class_name: str, params: Mapping[str, str]) -> dict[str, Any]:
        """The answer; {} if there is no such class."""
        status, body = self._asking.get(f"/1.1/classes/{class_name}", params)
        if body.get("code") == NO_CLASS:
            return {}
        if status != OK:
            message = str(body.get("error", ""))[:200]
            raise CannotFetch(f"{self._asking.server} answered {status}: {message}")
        return body


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("objectId"), str)


def unfinished(file: Path) -> Path:
    """Where a file is made."""
    return file.with_name(f"{file.name}.part")


def _head(server: str, class_name: str, *, is_master: bool) -> bytes:
    """The first line of a file, as LeanCloud's own exports have one: objects of two classes, of two
    servers, or that two keys may read, must not be taken for each other's."""
    about = f"class={class_name};server={server};key={'master' if is_master else 'app'}"
    return f"#filetype:JSON-streaming;{about}\n".encode()


def _require(file: Path, head: bytes) -> None:
    """Raises CannotFetch for a file of something else."""
    if file.exists():
        with file.open("rb") as lines:
            if lines.readline(len(head) + 1).rstrip(b"\n;") != head:
                raise CannotFetch(f"{file} was not fetched from this class: name another file")


def _kept(file: Path, head: bytes) -> tuple[str, int]:
    """The id of the last object in a file, and the number of objects; a partial line is cut. Raises
    CannotFetch for a file of something else."""
    last, number, end = "", 0, 0
    if file.exists():
        with file.open("rb") as lines:
            first = lines.readline(len(head) + 1)
            if not head.startswith(first):
                raise CannotFetch(
                    f"{file} was started with another class, server or key: remove it, or name "
                    "another file"
                )
            end = len(first) if first == head else 0
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                last, number, end = _id_in(line, file), number + 1, end + len(line)
        with file.open("rb+") as lines:
            lines.truncate(end)
    return last, number


def _id_in(line: bytes, file: Path) -> str:
    try:
        row = orjson.loads(line)
    except ValueError:
        row = None
    if not _is_object(row):
        raise CannotFetch(f"{file} has something else than objects of LeanCloud: name another file")
    return str(row["objectId"])
