"""Commands change nothing but what they were asked to change, and say by their exit status if that
was nothing.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from tests.support.importing import DATA
from tests.support.serving import Serving, serving

NOTHING = 3
NONE = "0" * 32
# Whose ids commands get by these names.
names = dict[str, str]()


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Serving]:
    """A service with an administrator, a guest, somebody banned, two comments and an import."""
    with serving(home / "nothing") as served:
        for words in (
            "accounts add mara@example.com --administrator",
            "accounts add tom@example.com",
            "accounts add ann@example.com",
            "accounts ban ann@example.com",
            "bans add 192.0.2.1",
            f"import {DATA / 'disqus.xml'}",
        ):
            assert ask(served, words)[0] == 0
        for name in ("first", "second"):
            draft = {"comment": name, "url": "/a", "nick": "Ann", "mail": "a@example.com"}
            answer = httpx.post(f"{served.url}/api/comment", json=draft).json()
            names[name] = answer["data"]["objectId"]
        httpx.post(f"{served.url}/api/article", json={"path": "/a"})
        yield served


def ask(served: Serving, words: str) -> tuple[int, str]:
    code, output = served.ask(*words.format(**names).split())
    return code, output.partition("\n")[2]


def stored(served: Serving) -> dict[bytes, Any]:
    """Every key that lasts, with its content."""
    with Redis(unix_socket_path=f"{served.environ['DATA_DIR']}/redis.sock") as redis:
        return {key: redis.dump(key) for key in sorted(redis.keys()) if redis.ttl(key) < 0}


@pytest.mark.parametrize(
    "words",
    [
        "accounts promote mara@example.com",
        "accounts demote tom@example.com",
        "accounts demote ann@example.com",
        "accounts ban ann@example.com",
        "accounts unban mara@example.com",
        "accounts unban tom@example.com",
        "bans add 192.0.2.1",
        "bans remove 192.0.2.2",
        "bans remove mara@example.com",
        "comments approve {first}",
        "comments approve {first} {second}",
        "comments approve {first} --status spam",
        "comments unpin {first}",
        "comments spam --words nobody-wrote-this",
        "comments delete --words nobody-wrote-this",
        "comments delete --words nobody-wrote-this --yes",
        "comments approve --author nobody@example.com --json",
        "comments edit {first} --text first --nick Ann",
        "comments rerender",
        "counters delete /none/* --yes",
        "counters prune --below 1",
        "outbox retry --all",
        "outbox drop --all",
        f"import {DATA / 'disqus.xml'}",
    ],
    ids=lambda words: words.replace(f"{DATA}/", ""),
)
def test_what_is_so_already_is_left_as_it_is(served: Serving, words: str) -> None:
    before = stored(served)
    code, said = ask(served, words)
    assert (code, "nothing to do: " in said) == (NOTHING, True), said
    assert stored(served) == before


@pytest.mark.parametrize(
    "words",
    [
        "accounts ban nobody@example.com",
        "accounts promote ann@example.com",
        "accounts delete nobody --yes",
        "authors delete nobody@example.com",
        "authors delete nobody@example.com --yes",
        "authors anonymize 0000000000000000 --yes",
        f"comments approve {NONE}",
        f"comments delete {NONE}",
        f"comments edit {NONE} --text x",
        "comments undo nothing",
        "outbox drop 1-1",
        "outbox retry 1-1",
    ],
)
def test_what_is_not_there_is_an_error_and_leaves_no_trace(served: Serving, words: str) -> None:
    before = stored(served)
    assert ask(served, words)[0] == 1
    assert stored(served) == before


def test_what_had_nothing_to_do_is_named_beside_what_was_done(served: Serving) -> None:
    ask(served, "comments hold {first}")
    code, said = ask(served, "comments approve {first} {second}")
    assert (code, said.splitlines()[:2]) == (
        0,
        ["1 done, 1 unchanged", f"unchanged: {names['second']}"],
    )
    code, said = ask(served, "comments approve {first} {second} --json")
    lines = said.splitlines()
    assert code == NOTHING
    assert set(json.loads(lines[0])["results"].values()) == {"unchanged"}
