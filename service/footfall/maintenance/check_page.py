"""Do the keys of a page agree with each other? They are read some comments at a time.

Every change of a page is one script call, which raises the page's version. So what is read between
two reads of the same version is consistent, however many comments come meanwhile, and a difference
means that something else than the service has changed the keys.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

from ..store import codec
from ..store.indexes import Place, indexes_of
from .archive import Line
from .backup import STEP_COMMENTS, pairs
from .dataset import DataSet

# How often a page that changes meanwhile is read again, before it is left to the next check.
MAX_TRIES = 100
# Every comment is in exactly one of these indexes.
ONE_OF = ("newest", "pinned", "replies", "heldroots", "heldreplies")
# Hashes in which only some comments have an entry.
SOME = ("likes", "held", "fingerprints")


async def line_problems(data: DataSet, page: str, line: Line) -> AsyncIterator[str]:
    """What is wrong with the comments of a line, which has at least one."""
    name = partial(data.keys.page, page)
    ids = [row[0] for row in line["comments"]]
    bodies = [codec.parse_body(row[1].encode()) for row in line["comments"]]
    for id, _, private, *_ in line["comments"]:
        if not private:
            yield f"private lacks {id}"
    # A comment's possible places are the same for every status; only their scores differ.
    members = defaultdict[str, list[str]](list)
    for id, body in zip(ids, bodies, strict=True):
        for place in indexes_of(id, body, 0, "approved", is_pinned=False):
            members[place.name].append(place.member)
    found = await _at_one_moment(
        data, page,
        ("HMGET", name("held"), *ids), ("HMGET", name("likes"), *ids),
        ("ZMSCORE", name("pinned"), *ids), ("GET", name("longest")),
        *(("ZMSCORE", name(index), *each) for index, each in members.items()),
    )  # fmt: skip
    if found is None:
        return
    held, likes, pinned, longest, *scores = found
    there = {
        (index, member): score
        for (index, each), reply in zip(members.items(), scores, strict=True)
        for member, score in zip(each, reply, strict=True)
    }
    for id, body, status, liked, at in zip(ids, bodies, held, likes, pinned, strict=True):
        length = sum(map(len, body)) + len(body) - 1
        if longest is not None and length > int(longest):
            yield (
                f"comment {id} has {length} bytes, and its longest body is said to have "
                f"{int(longest)}; without the key that says so lengths are asked one by one"
            )
        shown = status.decode() if status else "approved"
        for place in indexes_of(id, body, int(liked or 0), shown, is_pinned=at is not None):
            if text := differing(place, there[place.name, place.member]):
                yield text


async def strays(data: DataSet, page: str, *, is_sound: bool) -> AsyncIterator[str]:
    """Entries that belong to no comment.

    If all comments are in their places, the page `is_sound`: then it is enough to compare the
    lengths of the large indexes.
    """
    names: tuple[str, ...] = SOME
    if not is_sound or not await _are_as_many(data, page):
        names = (*SOME, "private", "liked", "heldliked", *ONE_OF)
    for name in names:
        is_hash = name in (*SOME, "private")
        key, cursor = data.keys.page(page, name), b"0"
        while True:
            walk = "HSCAN" if is_hash else "ZSCAN"
            ((cursor, words),) = await data.redis.ask((walk, key, cursor, "COUNT", STEP_COMMENTS))
            for member, text in await _homeless(data, page, name, words):
                exists = "HEXISTS" if is_hash else "ZSCORE"
                if (await data.redis.ask((exists, key, member)))[0]:
                    yield text
            if cursor == b"0":
                break


def differing(place: Place, score: bytes | None) -> str:
    """What is wrong with an entry that has this score; "" if nothing is."""
    name, member, wanted = place
    if score is None:
        return "" if wanted is None else f"{name} lacks {member}"
    if wanted is None:
        return f"{name} holds {member}, which does not belong there"
    found = float(score)
    return "" if found == wanted else f"{name} has {member} at {found:.0f} instead of {wanted:.0f}"


async def _at_one_moment(
    data: DataSet, page: str, *questions: Sequence[object]
) -> list[Any] | None:
    """The replies to commands about a page, read at one version; None if it changes too fast."""
    version = ("GET", data.keys.page(page, "version"))
    for _ in range(MAX_TRIES):
        before, *found, after = await data.redis.ask(version, *questions, version)
        if before == after:
            return found
    return None


async def _are_as_many(data: DataSet, page: str) -> bool:
    questions = [("HLEN", "bodies"), ("HLEN", "private")]
    questions += [("ZCARD", name) for name in ("liked", "heldliked", *ONE_OF)]
    found = await _at_one_moment(
        data, page, *((count, data.keys.page(page, name)) for count, name in questions)
    )
    if found is None:
        return True
    bodies, private, liked, heldliked, *one_of = found
    newest, _, _, heldroots, _ = one_of
    return bool(bodies == private == sum(one_of) and (liked, heldliked) == (newest, heldroots))


async def _homeless(
    data: DataSet, page: str, name: str, words: list[bytes]
) -> list[tuple[bytes, str]]:
    """(member, what is wrong) for entries whose comment has no body, or another root."""
    if not words:
        return []
    entries = list(pairs(words))
    key = data.keys.page(page, "bodies")
    shorts = [
        value if name == "fingerprints" else member.rpartition(b":")[2] for member, value in entries
    ]
    if name in ("replies", "heldreplies"):
        (bodies,) = await data.redis.ask(("HMGET", key, *shorts))
    else:
        bodies = await data.redis.ask(*(("HEXISTS", key, short) for short in shorts))
    found = []
    for (member, _), short, body in zip(entries, shorts, bodies, strict=True):
        shown = short.decode(errors="replace")
        if not body:
            found.append((member, f"{name} holds {shown}, which has no body"))
        elif isinstance(body, bytes):
            root = codec.root_of(codec.parse_body(body))[: len(short)]
            if member != b"%b:%b" % (root.encode(), short):
                found.append((member, f"{name} holds {shown} below another root than its own"))
    return found
