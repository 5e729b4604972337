"""Backups in memory, and a store's whole content, to be compared."""

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from io import BytesIO
from typing import Any, cast

from footfall.comments.store.indexes import HASHES, STRINGS
from footfall.counters import is_view_counter, viewed_page
from footfall.data.store import Store
from footfall.maintenance.backup import backup, pairs
from footfall.maintenance.check import check
from footfall.maintenance.compare import compare
from footfall.maintenance.restore import restore
from footfall.statistics.store import every_month
from footfall.stores import data_set
from tests.conftest import ADMIN, BOB, Site, Sites


def silent(label: str, share: float) -> None:
    assert 0 <= share <= 1, label


async def taken(store: Store, *, on_progress: Any = silent, has_secrets: bool = False) -> BytesIO:
    """A backup in memory; fails if anything was left out of it as damaged."""
    file, left_out = BytesIO(), list[str]()
    await back_up(
        store, file, on_progress=on_progress, complain=left_out.append, has_secrets=has_secrets
    )
    assert left_out == []
    return BytesIO(file.getvalue())


async def back_up(
    store: Store,
    file: BytesIO,
    *,
    on_progress: Any = silent,
    complain: Any,
    has_secrets: bool = False,
) -> None:
    about = {"by": "test", "made": "now", "born": store.data_set_id.decode()}
    await backup(
        data_set(store),
        file,
        has_secrets=has_secrets,
        about=about,
        on_progress=on_progress,
        complain=complain,
    )


async def restored(
    store: Store, file: BytesIO, *, replaces: bool = False, on_progress: Any = silent
) -> list[str]:
    """Restore a backup; what the command would say about it."""
    reopen, said = partial(store.open, is_being_restored=True), list[str]()
    data = data_set(store)
    await restore(
        data, file, reopen=reopen, replaces=replaces, on_progress=on_progress, say=said.append
    )
    return said


async def differences(store: Store, file: BytesIO) -> list[str]:
    return [text async for text in compare(data_set(store), file, on_progress=silent)]


async def report(store: Store, *, repair: bool = False, has_sums: bool = True) -> list[str]:
    """What `footfall check` says: the problems, and a summary last.

    Without `has_sums` it believes the numbers and sums of the 256 groups of counters, most of its
    work.
    """
    data = data_set(store)
    if not has_sums:
        data = replace(data, numbers=cast(Any, Believed()), views_ever=cast(Any, Believed()))
    return [str(line) async for line in check(data, repair=repair)]


class Believed:
    async def problems(self, *, repair: bool) -> AsyncIterator[str]:
        for problem in list[str]():
            yield problem

    async def undated_in(self) -> int:
        return 0


# What a restore makes again: the data set's id.
ANEW = ("{site}:format",)
# Keys that a restore leaves out or makes again: one is found out again, one depends on where the
# counters lie, and the others expire.
LEFT_OUT = ("longest", "numbers", "ever", "tokens", "decided", "filtered")

# Hashes of numbers, and what no backup has, since it tells visitors apart.
NUMBERED = ("site", "views:", "sources:")
# Views of pages, which are compared with their open hours added to their days.
OF_PAGES = ("days:", "hours:", "bots:")
OF_VISITORS = ("visitors:", "salt:")


async def everything(store: Store) -> dict[str, Any]:
    """Key without prefix -> its content; all counters together, since buckets may differ."""
    found, counters = dict[str, Any](), dict[bytes, bytes]()
    async for keys in store.redis.scan(store.keys.every_key):
        for key in keys:
            name = key.decode().removeprefix(f"{store.keys.prefix}:")
            what = name.partition("}:")[2]
            if name in ANEW or what in LEFT_OUT or what.startswith((*OF_VISITORS, *OF_PAGES)):
                continue
            elif what.startswith((*NUMBERED, "read")):
                await _add_share(store, key, found.setdefault(what, Counter()))
                continue
            if ":counts:" in name or ":long:" in name:
                counters |= await _hash(store, key)
            elif what in (*HASHES, "totals", "mails", "credentials", "bans", "closed"):
                values = await _hash(store, key)
                if what == "totals":
                    # Without the versions: likes raise them, and the site does not follow likes.
                    values = {page: words.split()[1] for page, words in values.items()}
                values.pop(b"version", None)
                # A 0 is the same as a field that does not exist.
                found[name] = {k: v for k, v in values.items() if v != b"0"}
            elif what in ("log", "journal", "outbox"):
                (found[name],) = await store.redis.ask(("XRANGE", key, "-", "+"))
            elif what in (*STRINGS, "total", "key", "ever"):
                (found[name],) = await store.redis.ask(("GET", key))
            else:
                (members,) = await store.redis.ask(("ZRANGE", key, 0, -1, "WITHSCORES"))
                found[name] = list(pairs(members))
    paths = [viewed_page(name.decode()) for name in counters if is_view_counter(name.decode())]
    found["views"] = dict(zip(paths, await store.views.of_pages(paths, every_month()), strict=True))
    return {**{name: value for name, value in found.items() if value}, "counters": counters}


async def _add_share(store: Store, key: bytes, total: Counter[bytes]) -> None:
    """Shares of the site's numbers are added up, wherever they are."""
    if b"}:read" in key:
        (members,) = await store.redis.ask(("ZRANGE", key, 0, -1, "WITHSCORES"))
        total.update({path: int(score) for path, score in pairs(members)})
    else:
        total.update({at: int(n) for at, n in (await _hash(store, key)).items() if n != b"0"})


async def _hash(store: Store, key: bytes) -> dict[bytes, bytes]:
    ((_, words),) = await store.redis.ask(("HSCAN", key, 0, "COUNT", 100_000))
    return dict(pairs(words))


async def busy(make_site: Sites) -> Site:
    """A site with comments in all states, likes, pins and counters, on pages with odd names."""
    site = await make_site(COMMENT_AUDIT="true")
    for n in range(12):
        url = f"/{n % 3}" if n % 3 else "/über}{uns/ a,b"
        root = await site.post(f"root {n} <b>&</b>", by=BOB if n % 4 == 3 else None, url=url)
        reply = await site.reply(root, f"reply {n}", url=url, by=BOB if n % 2 else None)
        for each in (root, reply)[: n % 3]:
            target = f"/comment/{each['objectId']}"
            await site.send("PUT", target, {"status": "approved"}, by=ADMIN)
            await site.send("PUT", target, {"like": True})
        if n % 5 == 0:
            await site.send("PUT", f"/comment/{root['objectId']}", {"sticky": True}, by=ADMIN)
        if n % 4 == 0:
            await site.send("PUT", f"/comment/{reply['objectId']}", {"status": "spam"}, by=ADMIN)
            await site.send("PUT", f"/comment/{reply['objectId']}", {"like": True})
            await site.send("PUT", f"/comment/{reply['objectId']}", {"like": False})
        await site.count(url)
        await site.count(f"/many/{n}", type="reaction1")
        await site.send("POST", "/api/ban", {"value": f"192.0.2.{n}", "reason": "x"}, by=ADMIN)
        await site.store.comments.closings.set(f"/closed/{n}", n - 1)
        # Of every other reply to the reply readers were not told that it was approved.
        below = await site.reply(reply, f"reply to reply {n}", url=url, by=BOB)
        if n % 3:
            for status in ("approved", "waiting"):
                await site.send(
                    "PUT", f"/comment/{below['objectId']}", {"status": status}, by=ADMIN
                )
            if n % 2:
                await site.store.outbox.mark_unnotified(below["objectId"])
    await site.settled()
    return site
