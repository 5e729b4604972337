"""What commands say of one thing has no plural."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from footfall.plurals import number_of
from tests.support.serving import Serving, serving

# "1 comments", and neither "11 comments", "0.1 seconds" nor "1 is".
WRONG = re.compile(r"(?<![\d.,])1 (?!is\b|was\b|has\b)\w+s\b")


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Serving]:
    """A service with one account, one comment on one page, and one counter."""
    with serving(home / "one") as served:
        ask(served, "accounts add ann@example.com --administrator")
        draft = {"comment": "x", "url": "/a", "nick": "Ann", "mail": "ann@example.com"}
        httpx.post(f"{served.url}/api/comment", json=draft)
        httpx.post(f"{served.url}/api/article", json={"path": "/a"})
        yield served


def ask(served: Serving, words: str) -> str:
    return served.ask(*words.split())[1]


def test_a_number_has_its_noun() -> None:
    assert [number_of(n, "reply", "replies") for n in (0, 1, 1.0, 2.5, 1234)] == [
        "0 replies",
        "1 reply",
        "1 reply",
        "2.5 replies",
        "1,234 replies",
    ]


@pytest.mark.rare
def test_no_command_says_one_things(served: Serving) -> None:
    backup = served.directory / "backup.gz"
    lines = [
        f"backup {backup}",
        f"restore --verify {backup}",
        "check",
        "comments rerender",
        "comments delete --words x",
        "comments edit {id} --text y",
        "comments list",
        "counters list",
        "counters delete *",
        "authors show ann@example.com",
        "authors export ann@example.com",
        "log",
        "outbox list",
        "authors anonymize ann@example.com --yes",
        "counters delete * --yes",
    ]
    id = ask(served, "comments list").splitlines()[-1].split()[0]
    for words in lines:
        said = ask(served, words.format(id=id))
        assert not WRONG.search(said), (words, said)
    served.stop()
    served.start()
    assert not WRONG.search(served.output), served.output
