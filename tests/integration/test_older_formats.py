"""Data sets of older formats are refused in words, and can be moved by backup and restore."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from footfall.comments.store.ids import SHORT
from footfall.driver.client import connect
from footfall.driver.keys import digest
from footfall.errors import Duplicate
from footfall.model import PUBLIC, Viewer
from footfall.store.store import FORMAT, Store
from tests.conftest import ADMIN, BOB, EVERYWHERE, Site, Sites, server_of
from tests.data.formats.make import MARA, TOM, answers, more_answers
from tests.support.backups import differences, report, restored
from tests.support.formats import answers_of, backup_of, load
from tests.support.serving import Serving, started

ON = EVERYWHERE

WORDS = "`footfall backup --with-secrets FILE` and then `footfall restore --replace FILE`"
LONG = "/" + "long" * 200
# By the hash that holds them: some had been moved when the last move was interrupted.
COUNTERS: Mapping[str, Mapping[str, int]] = {
    "{c:00}:counts.1:0": {"time /a": 3, "reaction0 /a": 1},
    "{c:a7}:counts.1:1": {"time /b": 4},
    "{c:a7}:counts.2:3": {f"time {LONG}": 5},
}
# Of the data sets that older versions have made: what they hold, and who asks about them.
HELD = {
    2: "6 counters, 23 comments on 2 pages, 3 accounts",
    3: "6 counters, 24 comments on 2 pages, 2 accounts",
}
PEOPLE: Mapping[int, Mapping[str, str | None]] = {
    2: {"anybody": None, "guest": BOB.mail, "administrator": ADMIN.mail},
    3: {"anybody": None, "guest": TOM["email"], "administrator": MARA["email"]},
}
UNSENT = "29 notifications not sent yet, and not in the backup: let the service send them before"


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest) -> str:
    if kind == "cluster":
        there: str = request.getfixturevalue("cluster").url
        return there
    return server_of(kind, request.getfixturevalue("servers")).url


@pytest.fixture
async def first(store: Store, own: Path, url: str) -> Serving:
    """A service on a data set of format 1, whose counters are in other hashes."""
    prefix, redis = f"old{own.name[-8:]}", store.redis.client
    await redis.hset(
        f"{prefix}:{{site}}:format",
        mapping={"buckets": 512, "born": "0123abcd", "generation": 1, "next": 1024},
    )
    for name, counters in COUNTERS.items():
        await redis.hset(f"{prefix}:{name}", mapping=dict(counters))
    await redis.set(f"{prefix}:{{c:a7}}:counts:3", "moved")
    return Serving(own, REDIS_URL=url, KEY_PREFIX=prefix)


@pytest.fixture
def older(number: int, own: Path, url: str, kind: str, request: pytest.FixtureRequest) -> Serving:
    """A service on a data set that an older version has made."""
    prefix = f"of{number}{own.name[-8:]}"
    load(
        number,
        request.getfixturevalue("cluster")
        if kind == "cluster"
        else server_of(kind, request.getfixturevalue("servers")),
        prefix,
    )
    return Serving(own, REDIS_URL=url, KEY_PREFIX=prefix)


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


def site_of(store: Store) -> tuple[Sites, Site]:
    """A site on which a token is somebody's email address."""

    async def viewer_of(token: str) -> Viewer:
        _, accounts = await store.accounts.listed(0, 10)
        return next((Viewer(account) for account in accounts if account.mail == token), PUBLIC)

    sites = Sites(store)
    return sites, sites._made("127.0.0.1", {}, viewer_of)


async def answers_now(store: Store, number: int) -> dict[str, Any]:
    """What this version says about the same, as JSON has it."""
    sites, site = site_of(store)
    people = PEOPLE[number]
    told = await answers(site, people)
    if number > 2:
        told |= await more_answers(site, people)
    await sites.close()
    if number > 2:
        # The version before left out whose newest comment was held again.
        told["ranking"] = told["ranking"][: len(answers_of(number)["ranking"])]
        # And listed accounts by age, the oldest first.
        told["accounts"].reverse()
    return dict(orjson.loads(orjson.dumps(told)))


def is_refused(served: Serving) -> bool:
    """Is the data set refused in words, by every command that would not find its data?"""
    for command in ("serve", "check"):
        code, output = served.ask(command)
        assert code == 1, output
        assert WORDS in output
        assert "Traceback" not in output
    return True


def taken_along(served: Serving, file: str, *options: str) -> str:
    """Back up the data and restore it in its place; returns the backup's last line."""
    code, output = served.ask("backup", *options, file)
    assert code == 0, output
    code, refusal = served.ask("restore", file)
    assert (code, "--replace" in refusal) == (1, True)
    assert served.ask("restore", "--replace", file)[0] == 0
    assert served.ask("restore", "--compare", file)[0] == 0
    return output.splitlines()[-1]


@pytest.mark.rare
@pytest.mark.cluster
async def test_counters_of_the_first_format_can_be_moved(first: Serving, own: Path) -> None:
    assert is_refused(first)
    file = str(own / "file")
    held = taken_along(first, file)
    assert held.endswith(f"4 counters, 0 comments on 0 pages, 0 accounts in {file}")
    with started(first):
        counts = httpx.get(f"{first.url}/article", params={"path": ["/a", "/b", LONG, "/c"]})
        assert counts.json() == [3, 4, 5, 0]


@pytest.mark.parametrize("number", [2, 3])
async def test_a_data_set_of_an_older_version_is_taken_along(
    older: Serving, own: Path, number: int
) -> None:
    assert is_refused(older)
    file = str(own / "file")
    held = taken_along(older, file, "--with-secrets")
    assert held.endswith(f"{HELD[number]} in {file}")
    assert older.ask("check")[0] == 0
    before = answers_of(number)
    marks = before.pop("withdrawn", {})
    async with opened(older) as store:
        assert await answers_now(store, number) == before
        assert await marks_in(store) == marks
    with started(older):
        assert httpx.get(f"{older.url}/article", params={"path": LONG}).json() == 1
        same = {
            "comment": "first on /a <b>&</b>",
            "url": "/a",
            "nick": "Ann",
            "mail": "ann@example.com",
            "link": "https://ann.example",
        }
        answer = httpx.post(f"{older.url}/api/comment", json=same).json()
        assert answer["errmsg"] == Duplicate.text


@pytest.mark.parametrize(
    ("number", "name"), [(2, "backup"), (3, "backup"), (3, "secrets")], ids=str
)
async def test_a_backup_of_an_older_version_is_restored(
    store: Store, number: int, name: str
) -> None:
    file = BytesIO(backup_of(number, name).read_bytes())
    assert await restored(store, file, replaces=True) == []
    assert await differences(store, file) == []
    assert (await report(store))[-1].endswith(" 0 problems")
    before = answers_of(number)
    # Files of these formats do not say who was told of what.
    before.pop("withdrawn", {})
    assert await answers_now(store, number) == before
    site = Sites(store).without_accounts()
    for person in (MARA, TOM) if number > 2 else ():
        answer = await site.send("POST", "/api/token", person)
        assert (answer["errno"] == 0) == (name == "secrets")


@pytest.mark.parametrize("number", [3])
async def test_nobody_is_told_again_after_the_move(older: Serving, own: Path, number: int) -> None:
    code, output = older.ask("backup", str(own / "file"))
    assert code == 0
    assert UNSENT in output.splitlines()
    assert older.ask("restore", "--replace", str(own / "file"))[0] == 0
    marks = answers_of(number)["withdrawn"]
    async with opened(older) as store:
        sites, site = site_of(store)
        administrator = PEOPLE[number]["administrator"]
        for short in marks:
            id = short + digest("/a")
            await site.send("PUT", f"/comment/{id}", {"status": "approved"}, by=administrator)
        await site.settled()
        tasks = [entry.task for entry in await store.outbox.take(10)]
        assert {task.id[:SHORT]: int(task.seen) for task in tasks} == marks
        await sites.close()


async def marks_in(store: Store) -> dict[str, int]:
    """Short id -> is known of, of held comments on one page that were approved before."""
    _, held = await store.redis.client.hscan(store.keys.page(digest("/a"), "held"), count=1000)
    words = {id.decode(): each.split() for id, each in held.items()}
    return {id: int(mark) for id, (_, *marks) in words.items() for mark in marks}


@pytest.mark.parametrize("number", [3])
async def test_a_later_format_is_refused_too(older: Serving, number: int, store: Store) -> None:
    key = f"{older.environ['KEY_PREFIX']}:{{site}}:format"
    await store.redis.client.hset(key, "number", FORMAT + 1)
    for command in ("serve", "check", "backup"):
        code, output = older.ask(command)
        assert (code, "install a later one" in output) == (1, True), output
        assert "Traceback" not in output
