"""Entries of a page's keys that belong to no comment, or to one that should not have them."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from ..comments.store.mending import Fix
from ..comments.store.status import STORED
from ..counters import MAX_COUNT
from .dataset import DataSet
from .findings import Finding, removal
from .moment import IndexedComment, PageSnapshot, moment_of

# A member and its value, or score.
Pair = tuple[bytes, bytes]
# The problem of an entry: a clause after its name, or "".
Rule = Callable[[PageSnapshot, bytes, bytes], str]


def strays(
    data: DataSet, page: str, name: str, pairs: Sequence[Pair]
) -> Callable[[], Awaitable[tuple[bytes, list[Finding]] | None]]:
    """Checks these entries of a key: the page's version, and their problems; None if the page has
    changed meanwhile."""
    shorts = {pair[0]: _short_of(name, pair) for pair in pairs}
    wanted = list(dict.fromkeys(shorts.values()))
    entries = [(name, member) for member in shorts]

    async def look() -> tuple[bytes, list[Finding]] | None:
        moment = await moment_of(data, page, wanted, entries)
        if moment is None:
            return None
        return moment.version, list(_findings(moment, name, shorts))

    return look


def _short_of(name: str, pair: Pair) -> bytes:
    """The comment that an entry is about."""
    return pair[1] if name == "fingerprints" else pair[0].rpartition(b":")[2]


def _findings(moment: PageSnapshot, name: str, shorts: Mapping[bytes, bytes]) -> Iterator[Finding]:
    for member, short in shorts.items():
        value, stored = moment.found[name, member], moment.comments[short]
        # It may have disappeared or changed since it was met.
        if value is None or stored.is_leaving or (name == "fingerprints" and value != short):
            continue
        shown = member.decode(errors="replace")
        if stored.body is None:
            yield Finding(f"{name} holds {shown}, which has no body", [removal(name, member)])
        elif text := RULES.get(name, _indexed(name))(moment, member, short):
            yield Finding(f"{name} holds {shown}{text}", [_fix(name, member)])


def _fix(name: str, member: bytes) -> Fix:
    if name == "held":
        # Whatever it was: moderators decide.
        return Fix(name, ("HSET", member, "waiting"))
    return removal(name, member)


def _anything(_moment: PageSnapshot, _member: bytes, _short: bytes) -> str:
    return ""


def _liked(moment: PageSnapshot, member: bytes, _short: bytes) -> str:
    value = moment.found["likes", member] or b""
    is_count = value.isdigit() and len(value) <= len(str(MAX_COUNT)) and int(value) <= MAX_COUNT
    return "" if is_count else f" with {value[:32]!r}, not a count"


def _held(moment: PageSnapshot, member: bytes, _short: bytes) -> str:
    value = moment.found["held", member] or b""
    return "" if STORED.fullmatch(value) else f" as {value[:32]!r}, which is not a status"


def _deleted(moment: PageSnapshot, _member: bytes, short: bytes) -> str:
    return "" if moment.comments[short].status == "deleted" else ", which is not deleted"


def _gone(moment: PageSnapshot, member: bytes, short: bytes) -> str:
    if text := _deleted(moment, member, short):
        return text
    head, stored = member.partition(b":")[0], moment.comments[short]
    if stored.parsed and head not in (stored.root, stored.parent):
        return ", which went with another comment"
    return ""


def _indexed(name: str) -> Rule:
    """The rule of an index of comments that are not deleted."""

    def rule(moment: PageSnapshot, member: bytes, short: bytes) -> str:
        stored = moment.comments[short]
        places = stored.places(short)
        if places is None or name == "nested" and _may_be_nested(stored, member, short):
            return ""
        wanted = {place.member.encode(): place.score for place in places if place.name == name}
        if wanted.get(member) is not None:
            return ""
        if name in ("replies", "heldreplies") and member not in wanted:
            return " below another root than its own"
        return ", which does not belong there"

    return rule


def _may_be_nested(stored: IndexedComment, member: bytes, short: bytes) -> bool:
    """A deleted reply stays there if it went with its root."""
    return stored.status == "deleted" and member == b"%b:%b" % (stored.parent, short)


RULES: dict[str, Rule] = {
    "private": _anything,
    "fingerprints": _anything,
    "likes": _liked,
    "decided": _anything,
    "held": _held,
    "deleted": _deleted,
    "gone": _gone,
}
