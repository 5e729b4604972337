"""Makes the data sets and backups of an older format that are in this directory, with its own code.

    python tests/data/formats/make.py FORMAT CHECKOUT

CHECKOUT is a directory with the version that had the format: for 2 that before the commit "Call
keys what they hold, and number the data's format", for 3 that before the journals. Of a format `N`
it writes `N.commands.gz`, every key as the commands that make it; `N.backup.gz`, and for 3 also
`3.secrets.gz`, by `footfall backup`; and `N.answers.gz`, what that version said about it.
"""

import asyncio
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PREFIX = "ff"
PATHS = ("/a", "/über}{uns/ a,b", "/empty")
LONG = "/" + "long" * 200
# What an answer about a comment has to say, whatever else versions add to it.
FIELDS = ("objectId", "pid", "rid", "orig", "nick", "link", "like", "status", "sticky", "user_id")
MARA = {"display_name": "Mara", "email": "Mara@example.com", "password": "mara's own"}
TOM = {"display_name": "Tom", "email": "tom@example.com", "password": "tom's own"}
# Nobody listens there, so what is sent fails and waits.
NOWHERE = "http://127.0.0.1:1/"

# The client: a name for the answers, and what the site takes for an account.
People = Mapping[str, Any]


async def answers(site: Any, people: People) -> dict[str, Any]:
    """What a service says about everything, by what it was asked; the tests ask a later one."""
    told: dict[str, Any] = {
        "counters": await site.get("/article", path=[*PATHS, LONG], type="time,reaction0"),
        "total": await site.get("/comment", type="count"),
        "recent": _brief(await site.get("/comment", type="recent", count=50)),
    }
    for name, by in people.items():
        for path in PATHS:
            told[f"count {path} {name}"] = await site.get("/comment", by=by, type="count", url=path)
            for order in ("insertedAt_desc", "like_desc"):
                page = await site.page(path, by=by, sortBy=order, pageSize=50)
                told[f"page {path} {order} {name}"] = [page["count"], _brief(page["data"])]
    return told


async def more_answers(site: Any, people: People) -> dict[str, Any]:
    """The same about what the second format did not have."""
    told: dict[str, Any] = {}
    for status in ("approved", "waiting", "spam"):
        queue = await site.get(
            "/api/comment", by=people["administrator"], type="list", status=status, pageSize=50
        )
        told[f"queue {status}"] = _brief(queue["data"]["data"])
    own = await site.get("/api/comment", by=people["guest"], type="list", owner="mine", pageSize=50)
    told["own"] = _brief(own["data"]["data"])
    ranking = await site.get("/api/user", pageSize=10)
    told["ranking"] = [(each["nick"], each["count"]) for each in ranking["data"]]
    accounts = await site.get("/api/user", by=people["administrator"], page=1)
    told["accounts"] = [
        (account["objectId"], account["display_name"], account["email"], account["type"])
        for account in accounts["data"]["data"]
    ]
    bans = await site.get("/api/ban", by=people["administrator"])
    told["bans"] = [(ban["value"], ban["reason"]) for ban in bans["data"]["data"]]
    told["log"] = [
        [each.id, each.fields] for each in await site.service.comments.log.newest(50, "")
    ]
    return told


def _brief(comments: Any) -> Any:
    return [
        {name: comment[name] for name in FIELDS if name in comment}
        | ({"replies": _brief(comment["children"])} if "children" in comment else {})
        for comment in comments
    ]


async def log_in(site: Any, person: Mapping[str, str]) -> str:
    answer = await site.send("POST", "/api/token", person)
    assert answer["errno"] == 0, answer
    token: str = answer["data"]["token"]
    return token


# How an older version is made to write.


async def write_2(sites: Any) -> dict[str, Any]:
    """Accounts were only in tests then, and so was who moderates."""
    from tests.conftest import ADMIN, BOB

    site = await sites(COMMENT_AUDIT="true", FORBIDDEN_WORDS="casino")
    await write(site, ADMIN, BOB)
    return await answers(site, {"anybody": None, "guest": BOB, "administrator": ADMIN})


async def write_3(sites: Any) -> dict[str, Any]:
    site = sites.without_accounts(COMMENT_AUDIT="true", FORBIDDEN_WORDS="casino")
    for person in (MARA, TOM):
        assert (await site.send("POST", "/api/user", person))["errno"] == 0
    mara, tom = await log_in(site, MARA), await log_in(site, TOM)
    kept = await write(site, mara, tom)
    await site.settled()
    store: Any = sites.store
    await deliver(site)
    # This one is approved and held again before anybody is told, and the next one after that.
    for id in (kept["untold"], kept["told"], kept["spam"]):
        await moderate(site, id, mara, status="approved")
        if id != kept["untold"]:
            await site.settled()
            await deliver(site)
        await moderate(site, id, mara, status="spam" if id == kept["spam"] else "waiting")
    await site.settled()
    await deliver(site)
    gone = await site.post("deleted", url="/a", mail="cy@example.com")
    await moderate(site, gone["objectId"], mara, status="approved")
    assert (await site.send("DELETE", f"/api/comment/{gone['objectId']}", by=mara))["errno"] == 0
    await moderate(site, kept["edited"], tom, comment="other words of Tom's")
    for value in ("192.0.2.7", "203.0.113.0/24"):
        await site.send("POST", "/api/ban", {"value": value, "reason": "spam"}, by=mara)
    await store.unsubscribed.add("a" * 16, "")
    await store.unsubscribed.add("b" * 16, "0" * 32)
    # What happens now waits in the site's outbox, and what a crash has left in the page's own.
    await moderate(site, kept["waiting"], mara, status="approved")
    await site.settled()
    store.outbox.collect = never_comes
    await site.post("its event is left on the page", url="/a", mail="cy@example.com")
    await site.settled()
    told = await answers(site, people(mara, tom)) | await more_answers(site, people(mara, tom))
    scores = dict(
        await store.redis.client.zrange(
            store.keys.page(kept["told"][16:], "withdrawn"), 0, -1, withscores=True
        )
    )
    told["withdrawn"] = {id.decode(): int(score) for id, score in scores.items()}
    assert told["withdrawn"] == {kept["told"][:16]: 1, kept["spam"][:16]: 1, kept["untold"][:16]: 0}
    return told


async def never_comes(page: str, now_ms: int) -> int:
    return 0


def people(mara: str, tom: str) -> People:
    return {"anybody": None, "guest": tom, "administrator": mara}


async def write(site: Any, administrator: Any, guest: Any) -> dict[str, str]:
    """Comments in all states on two pages, and counters; ids by what becomes of them later."""
    kept = dict[str, str]()
    for url in PATHS[:2]:
        first = await site.post(f"first on {url} <b>&</b>", url=url, link="https://ann.example")
        below = await site.reply(first, "a reply", url=url, by=guest)
        nested = await site.reply(below, "a reply to the reply", url=url, mail="cy@example.com")
        await site.reply(nested, "a reply below that", url=url)
        held = await site.reply(nested, "a reply of Tom's that waits", url=url, by=guest)
        pinned = await site.post("pinned and approved", url=url, by=guest)
        waiting = await site.post("pinned and waiting", url=url, mail="cy@example.com")
        root = await site.post("a root of Tom's that waits", url=url, by=guest)
        await site.reply(root, "a reply below what waits", url=url)
        spam = await site.post("casino", url=url, mail="eve@example.com")
        for each in (first, below, nested, pinned):
            await moderate(site, each["objectId"], administrator, status="approved")
        for each in (pinned, waiting):
            await moderate(site, each["objectId"], administrator, sticky=True)
        for each, number in ((first, 3), (nested, 2), (pinned, 1), (spam, 1)):
            for _ in range(number):
                await moderate(site, each["objectId"], administrator, like=True)
        kept |= {"waiting": root["objectId"], "edited": held["objectId"]}
    for name in ("told", "untold", "spam"):
        kept[name] = (await site.post(f"held again: {name}", url="/a"))["objectId"]
    for path in (*PATHS[:2], LONG, "/a"):
        await site.count(path)
        await site.count(path, type="reaction0")
    return kept


async def moderate(site: Any, id: str, by: Any, **fields: Any) -> None:
    answer = await site.send("PUT", f"/api/comment/{id}", fields, by=by)
    assert answer["errno"] == 0, answer


async def deliver(site: Any) -> None:
    """Work off the outbox, once: a webhook that fails is left for later."""
    from footfall.app import create_delivery
    from footfall.config import Settings

    settings = Settings.from_env(
        {
            "WEBHOOK": NOWHERE,
            "SMTP_HOST": "127.0.0.1",
            "SMTP_PORT": "1",
            "SENDER_EMAIL": "blog@example.com",
        }
    )
    delivery: Any = create_delivery(settings, site.service)
    await delivery._outbox.begin()
    while await delivery.step() or delivery._running:
        await asyncio.gather(*delivery._running)


async def written(
    number: int, url: str, write: Callable[[Any], Awaitable[dict[str, Any]]]
) -> dict[str, Any]:
    """Make a data set and write to it; what `write` returns."""
    from footfall.driver.client import connect
    from footfall.store.store import Store
    from tests.conftest import Sites

    options: dict[str, Any] = {"tells": True} if number > 2 else {}
    store: Any = Store(connect(url, timeout=60), prefix=PREFIX, buckets=256, **options)
    await store.create()
    sites = Sites(store)
    told = await write(sites)
    await sites.close()
    await store.redis.close()
    return told


def commands(server: Any, home: Path) -> Iterator[list[str]]:
    """Every key, as the commands of an append-only file that the server writes again."""
    with server.admin() as admin:
        admin.config_set("aof-use-rdb-preamble", "no")
        admin.bgrewriteaof()
        while admin.info("persistence")["aof_rewrite_in_progress"]:
            pass
    (file,) = home.glob("appendonlydir/*.base.aof")
    with file.open("rb") as raw:
        while line := raw.readline():
            words = []
            for _ in range(int(line[1:])):
                words.append(raw.read(int(raw.readline()[1:])).decode())
                raw.readline()
            # Servers before Redis 7 do not know what such commands say besides.
            length = {"XSETID": 3, "XGROUP": 5}.get(words[0], len(words))
            if words[0] != "SELECT":
                yield words[:length]


def main() -> None:
    number, checkout = int(sys.argv[1]), Path(sys.argv[2]).resolve()
    if "IN_CHECKOUT" not in os.environ:
        sources = f"{checkout}/service:{checkout}"
        environ = os.environ | {"PYTHONPATH": sources, "IN_CHECKOUT": "1"}
        subprocess.run([sys.executable, "-P", __file__, *sys.argv[1:]], env=environ, check=True)
        return
    from tests.support.servers import programs, running

    with tempfile.TemporaryDirectory(prefix="ff") as name:
        home = Path(name) / "r"
        with running(programs()["valkey"], home) as server:
            told = asyncio.run(written(number, server.url, {2: write_2, 3: write_3}[number]))
            environ = os.environ | {"REDIS_URL": server.url, "KEY_PREFIX": PREFIX}
            kinds = {"backup": [], "secrets": ["--with-secrets"]}
            for kind, options in list(kinds.items())[: number - 1]:
                file = HERE / f"{number}.{kind}.gz"
                file.unlink(missing_ok=True)
                command = [sys.executable, "-P", "-m", "footfall", "backup", *options, str(file)]
                subprocess.run(command, env=environ, cwd=name, check=True)
            lines = list(commands(server, home))
    pack(f"{number}.commands.gz", lines)
    pack(f"{number}.answers.gz", told.items())


def pack(name: str, lines: Iterable[object]) -> None:
    """Write a gzip of JSON lines, which is the same each time."""
    with gzip.GzipFile(HERE / name, "wb", mtime=0) as packed:
        for line in lines:
            packed.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


if __name__ == "__main__":
    main()
