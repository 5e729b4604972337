"""The permissions that Redis must give this service: each command, how to try it, and what fails
without it.

Categories of ACL differ between servers and releases, so each command is named and tried. The tests
compare the table with all that scripts and this package send, and take each one away to see what
fails (tests/integration/test_rights_taken.py).
"""

from collections.abc import Iterable
from typing import NamedTuple

# What visitors do: a service on which one of these fails is not ready.
COUNTS, VIEWS, LOGINS = "counts", "counting", "logins"
PAGES, COMMENTS = "pages of comments", "new comments"
FOR_VISITORS = frozenset({COUNTS, VIEWS, PAGES, COMMENTS, LOGINS})
# What else may fail: one operation, or what goes on behind requests.
RECENT, LIKES, MODERATION, UPKEEP = "recent comments", "likes", "moderation", "upkeep"
# Of the test keys.
KINDS = ("hash", "members", "entries", "text", "numbers", "sketch")

_WRITING = (COMMENTS, LIKES, LOGINS)


class Right(NamedTuple):
    """A command with arguments that try it on a test key, and what fails without it."""

    tried: str
    fails: tuple[str, ...] = (UPKEEP,)


# In an order in which each finds what it needs. The names of KINDS stand for keys.
_RIGHTS = (
    Right("HSET hash a 1", _WRITING),
    Right("HSETNX hash b 1", (COMMENTS,)),
    Right("HINCRBY hash a 1", (VIEWS,)),
    Right("HGET hash a", (COUNTS, PAGES, RECENT, MODERATION, *_WRITING)),
    Right("HMGET hash a b", (VIEWS, PAGES, COMMENTS)),
    Right("HEXISTS hash a", (COMMENTS,)),
    Right("HLEN hash", (PAGES, COMMENTS, LOGINS)),
    Right("HSTRLEN hash a", (RECENT,)),
    Right("HSCAN hash 0", (VIEWS,)),
    Right("HDEL hash a", (VIEWS, COMMENTS, LOGINS)),
    Right("ZADD members 1 a", _WRITING),
    Right("ZINCRBY members 1 a"),
    Right("ZSCORE members a", (RECENT, LIKES, LOGINS, MODERATION)),
    Right("ZMSCORE members a", (PAGES, RECENT, LIKES, MODERATION)),
    Right("ZCARD members", (VIEWS, PAGES, MODERATION)),
    Right("ZCOUNT members 0 1", (MODERATION,)),
    Right("ZRANGE members 0 0", (PAGES, COMMENTS, LOGINS, MODERATION)),
    Right("ZREVRANGE members 0 0", (PAGES, RECENT)),
    Right("ZRANGEBYLEX members - +", (PAGES, MODERATION)),
    Right("ZLEXCOUNT members - +", (MODERATION,)),
    Right("ZSCAN members 0"),
    Right("ZREM members a", (COMMENTS, LOGINS)),
    Right("ZREMRANGEBYRANK members 0 0", (LOGINS,)),
    Right("ZREMRANGEBYSCORE members 0 1", (LOGINS,)),
    Right("XADD entries 1-1 a 1", (COMMENTS,)),
    Right("XRANGE entries - +", (COMMENTS,)),
    Right("XREVRANGE entries + -"),
    Right("XLEN entries"),
    Right("XGROUP CREATE entries group 0"),
    Right("XREADGROUP GROUP group one COUNT 1 STREAMS entries >"),
    Right("XAUTOCLAIM entries group one 60000 0-0"),
    Right("XACK entries group 1-1"),
    Right("XDEL entries 1-1"),
    Right("SET text 1", _WRITING),
    Right("GET text", (RECENT, MODERATION, *_WRITING)),
    Right("MGET text", (PAGES,)),
    Right("GETDEL text"),
    Right("INCRBY text 1"),
    Right("TYPE text"),
    Right("PTTL text"),
    Right("SADD numbers 1"),
    Right("SCARD numbers"),
    Right("SMEMBERS numbers"),
    Right("SMISMEMBER numbers 1"),
    Right("SSCAN numbers 0"),
    Right("PFADD sketch 1"),
    Right("PFCOUNT sketch"),
    Right("PFMERGE sketch sketch"),
    # A test key that may not be removed does not stay for good.
    Right("PEXPIRE text 60000", (VIEWS, LOGINS)),
    Right("RENAME text sketch"),
    Right("DEL hash members entries text numbers sketch"),
)


def name_of(tried: str) -> str:
    """Such as +hset, or +xgroup|create, as ACL has it."""
    command, first, *_ = tried.lower().split()
    return f"+{command}|{first}" if command == "xgroup" else f"+{command}"


RIGHTS = {name_of(right.tried): right for right in _RIGHTS}
# Without it no script runs.
RIGHTS["+evalsha"] = Right("", (VIEWS, PAGES, MODERATION, *_WRITING))


def failing(rights: Iterable[str]) -> list[str]:
    """What fails without these, each once."""
    fails = (what for name in rights if name in RIGHTS for what in RIGHTS[name].fails)
    return list(dict.fromkeys(fails))
