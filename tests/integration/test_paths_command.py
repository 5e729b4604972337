"""`footfall paths`: pages that get another path, or join another page, while services run."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from footfall.cli import backup as commands
from footfall.comments.store.moves import MoveNote
from footfall.config import Settings
from footfall.data.store import Store
from footfall.driver.client import connect
from footfall.maintenance.backup import backup
from footfall.process.process import now_ms
from tests.support.backups import silent
from tests.support.serving import Serving, serving

from .test_comments_command import ask, post


@pytest.fixture
def served(own: Path, data_set: dict[str, str]) -> Iterator[Serving]:
    with serving(own / "s", PATHS="slash", **data_set) as served:
        yield served


@asynccontextmanager
async def opened(served: Serving) -> AsyncIterator[Store]:
    environ = served.environ
    redis = connect(environ["REDIS_URL"], timeout=60)
    store = Store(redis, prefix=environ["KEY_PREFIX"], buckets=256, tells=True)
    await store.open()
    if redis.is_cluster:
        await redis.client.initialize()
    yield store
    await store.redis.close()


def view(served: Serving, *paths: str) -> None:
    for path in paths:
        httpx.post(f"{served.url}/article", json={"path": path}).raise_for_status()


def views(served: Serving, *paths: str) -> list[int]:
    found = [httpx.get(f"{served.url}/article", params={"path": path}).json() for path in paths]
    assert all(isinstance(number, int) for number in found), found
    return found


def test_a_page_moves_and_moves_back(served: Serving) -> None:
    view(served, "/a", "/a", "/b")
    post(served, "Hello", url="/a")
    (line,) = ask(served, "paths", "move", "/a", "/new")
    assert line == (
        "2 views, 0 other counts and 1 comment would move from /a to /new, which had 0 views, "
        "0 other counts and 0 comments; nothing was written, --yes does it"
    )
    assert views(served, "/a", "/new") == [2, 0]
    for source, target in (("/a", "/new"), ("/new", "/a"), ("/a", "/b")):
        (line,) = ask(served, "paths", "move", source, target, "--yes")
        assert f"2 views, 0 other counts and 1 comment moved from {source} to {target}" in line
    assert views(served, "/a", "/b", "/new") == [0, 3, 0]
    page = httpx.get(f"{served.url}/api/comment", params={"path": "/b"}).json()["data"]
    assert [each["orig"] for each in page["data"]] == ["Hello"]
    assert "moved" not in "".join(ask(served, "paths", "move", "/a", "/b", "--yes", code=3))
    assert ask(served, "check")[-1].endswith(" 0 problems")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("/a", "/a"), "FROM and TO are the same"),
        (("/a", "github.com/u/r"), "TO should be a page if FROM is one"),
        (("/a", "/b/"), "TO is counted as /b: name that"),
        (("", "/b"), "a path has 1 to"),
        (("/a", "/" + "b" * 5_000), "a path has 1 to"),
    ],
)
def test_what_cannot_be_moved_is_said(served: Serving, words: tuple[str, str], what: str) -> None:
    assert what in "".join(ask(served, "paths", "move", *words, code=2))


def test_spellings_of_one_page_are_merged(served: Serving, data_set: dict[str, str]) -> None:
    with serving(served.directory.parent / "before", **data_set) as before:
        view(before, "/x/", "/x/", "/x", "/y", "/z/index.html")
        post(before, "Hello", url="/comments/only/")
    *pages, said = ask(served, "paths", "merge")
    assert sorted(pages) == ["/comments/only/  →  /comments/only", "/x/  →  /x"]
    assert said == "2 pages would move; nothing was written, --yes does it"
    assert views(served, "/x") == [1]
    assert ask(served, "paths", "merge", "--yes")[-1] == "2 pages moved"
    assert views(served, "/x", "/y") == [3, 1]
    page = httpx.get(f"{served.url}/api/comment", params={"path": "/comments/only/"}).json()
    assert [each["orig"] for each in page["data"]["data"]] == ["Hello"]
    assert "nothing to do" in "".join(ask(served, "paths", "merge", "--yes", code=3))
    assert ask(served, "check")[-1].endswith(" 0 problems")


async def test_no_backup_lacks_what_is_on_its_way(
    served: Serving, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view(served, "/a")
    async with opened(served) as store:
        note = MoveNote("/a", "/b", "admin", now_ms())

        async def while_a_page_moves(*args: Any, **values: Any) -> Any:
            await store.moves.start(note)
            await store.moves.end(note)
            return await backup(*args, **values)

        monkeypatch.setattr(commands, "backup", while_a_page_moves)
        settings, said = Settings.from_env(served.environ), list[str]()
        again = partial(
            commands.back_up,
            settings,
            str(own / "b"),
            keep=None,
            has_secrets=False,
            on_progress=silent,
            say=said.append,
        )
        with pytest.raises(commands.CommandFailed, match="a page was moved meanwhile"):
            await again()
        assert not (own / "b").exists()
        await store.moves.start(note)
        with pytest.raises(commands.CommandFailed, match="a page is being moved"):
            await again()
        last = await store.backups.last()
        assert last
        assert last.error.startswith("a page is being moved")


async def test_a_page_takes_part_in_one_move_at_a_time(served: Serving) -> None:
    view(served, "/a", "/b", "/c")
    async with opened(served) as store:
        await store.moves.start(MoveNote("/a", "/c", "admin", now_ms()))
        for source, target in (("/c", "/d"), ("/b", "/a"), ("/a", "/d"), ("/b", "/c")):
            (line,) = ask(served, "paths", "move", source, target, "--yes", code=1)
            assert "/a is being moved to /c: wait" in line
        # The same again goes on with it.
        (line,) = ask(served, "paths", "move", "/a", "/c", "--yes")
        assert views(served, "/a", "/b", "/c") == [0, 1, 2]
        assert await store.moves.under_way() == []


def test_a_page_is_closed_opened_and_listed(served: Serving) -> None:
    assert ask(served, "paths", "closed") == ["no page is closed"]
    assert ask(served, "paths", "close", "/a/") == ["/a: closed"]
    assert ask(served, "paths", "close", "/a", code=3) == ["nothing to do: /a: closed, as before"]
    assert refusal(served, "/a") == "Comments on this page are closed"
    ask(served, "paths", "close", "--all", "--after", "30")
    # Opened again, it does not close with all others.
    assert ask(served, "paths", "open", "/a") == ["/a: open"]
    assert refusal(served, "/a") == ""
    assert ask(served, "paths", "closed") == ["closed after 30 days  all other pages", "open  /a"]
    assert ask(served, "paths", "open", "--all") == ["all pages: open"]
    for wrong in ([], ["/a", "--all"], ["/a", "--after", "-1"]):
        ask(served, "paths", "close", *wrong, code=2)


def refusal(served: Serving, path: str) -> str:
    draft = {"comment": "Hello", "url": path}
    message: str = httpx.post(f"{served.url}/api/comment", json=draft).json()["errmsg"]
    return message
