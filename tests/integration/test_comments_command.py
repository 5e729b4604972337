"""`footfall comments` and `footfall log`: what operators see and change by command."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.serving import Serving, serving

NONE = "0" * 32


@pytest.fixture
def served(own: Path, data_set: dict[str, str]) -> Iterator[Serving]:
    with serving(own / "s", **data_set) as served:
        yield served


def post(served: Serving, text: str, **fields: str) -> str:
    draft = {"comment": text, "url": "/a", "nick": "Ann", "mail": "ann@example.com", **fields}
    answer = httpx.post(f"{served.url}/api/comment", json=draft).json()
    assert answer["errno"] == 0, answer
    id: str = answer["data"]["objectId"]
    return id


def ask(served: Serving, *words: str, code: int = 0) -> list[str]:
    """The output of a command, without the line about the data set."""
    found, output = served.ask(*words)
    assert found == code, output
    return [line for line in output.splitlines() if not line.startswith("Data set: ")]


def objects(lines: list[str]) -> list[Any]:
    return [json.loads(line) for line in lines if line.startswith("{")]


def texts(served: Serving) -> list[str]:
    page = httpx.get(f"{served.url}/api/comment", params={"path": "/a"}).json()["data"]
    return [root["orig"] for root in page["data"]]


def test_comments_are_found_by_what_is_known_of_them(served: Serving) -> None:
    ids = [post(served, text) for text in ("Hello\x1b[31m", "world")]
    other = post(served, "hello there", url="/b", mail="Ed@example.com")
    lines = ask(served, "comments", "list")
    assert [line.split()[0] for line in lines] == [other, ids[1], ids[0]]
    assert "\x1b" not in lines[2]
    for words, found in (
        (("--words", "HELLO"), [other, ids[0]]),
        (("--words", "HELLO", "--page", "/a"), [ids[0]]),
        (("--author", "ed@example.com"), [other]),
        (("--status", "spam"), []),
        (("--most", "1"), [other]),
        ((ids[0],), [ids[0]]),
    ):
        listed = objects(ask(served, "comments", "list", "--json", *words))
        assert [each["id"] for each in listed] == found, words
    (shown,) = objects(ask(served, "comments", "show", "--json", other))
    assert (shown["mail"], shown["page"], shown["text"]) == ("Ed@example.com", "/b", "hello there")
    assert ask(served, "comments", "show", NONE, code=1) == [f"there is no comment {NONE}"]


def test_comments_are_moderated_and_the_log_says_so(served: Serving) -> None:
    ids = [post(served, text) for text in ("first", "second", "third")]
    lines = ask(served, "comments", "spam", "--page", "/a", "--words", "ir")
    assert lines[0] == "2 done"
    assert texts(served) == ["second"]
    name = lines[1].rpartition(" ")[2]
    assert ask(served, "comments", "undo", name) == ["2 done"]
    assert texts(served) == ["third", "second", "first"]
    ask(served, "comments", "pin", ids[0])
    assert texts(served)[0] == "first"
    ask(served, "comments", "unpin", ids[0])
    lines = ask(served, "comments", "hold", *ids[:2], NONE, code=1)
    assert lines[:2] == ["1 missing, 2 done", f"missing: {NONE}"]
    assert texts(served) == ["third"]
    ask(served, "comments", "approve", "--status", "waiting")
    assert len(texts(served)) == 3
    ask(served, "comments", "edit", ids[1], "--text", "**other**", "--nick", "Anna")
    assert texts(served)[1] == "**other**"
    entries = objects(ask(served, "log", "--json", "--most", "3"))
    assert [(entry["by"], entry["did"]) for entry in entries] == [
        ("console", "edit"),
        ("console", "moderate"),
        ("console", "moderate"),
    ]
    assert re.search(r"console  edit  \w{32}  approved, 6 characters", ask(served, "log")[0])
    assert served.ask("check")[0] == 0


def test_nothing_is_deleted_without_yes(served: Serving) -> None:
    root = post(served, "first")
    post(served, "reply", pid=root, rid=root)
    post(served, "second")
    lines = ask(served, "comments", "delete", root)
    assert lines[-1].endswith("Nothing was deleted; --yes does it.")
    assert len(texts(served)) == 2
    (done,) = objects(ask(served, "comments", "delete", root, "--yes", "--json"))
    assert done["results"] == {root: "done"}
    assert texts(served) == ["second"]
    ask(served, "comments", "undo", done["undo"])
    assert texts(served) == ["second", "first"]
    assert "can no longer be undone" in ask(served, "comments", "undo", done["undo"], code=1)[-1]
    assert served.ask("check")[0] == 0


def test_an_empty_result_has_a_message(served: Serving) -> None:
    assert ask(served, "comments", "list") == ["there are no comments"]
    assert ask(served, "log") == ["no moderation yet"]
    for line in ("approve --status waiting", "delete --words x"):
        said = ask(served, "comments", *line.split(), code=3)
        assert said == ["nothing to do: no comment matches"]
    for words in (("approve",), ("delete", "--yes")):
        assert "name IDs, or use" in ask(served, "comments", *words, code=2)[-1]
    assert "use --text, --nick" in ask(served, "comments", "edit", NONE, code=2)[-1]
    assert ask(served, "comments", "edit", NONE, "--text", "x", code=1)[0] == "1 missing"
