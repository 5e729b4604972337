"""Typical calls of each Lua script, for bench/scripts.py: values by the names in their headers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from redis import Redis

from footfall.accounts.store import codec as account_codec
from footfall.accounts.store.bans import MAX_BANS
from footfall.comments.store import codec
from footfall.comments.store.comments import MAX_PAGE_BYTES, MAX_REPLIES
from footfall.comments.store.deleted import STEP_BYTES
from footfall.comments.store.deletions import STEP_REPLIES
from footfall.comments.store.projections import Applying, CommentChange, JournalEntry
from footfall.driver.keys import Keys
from footfall.driver.rights import KINDS as TRIED_KEYS
from footfall.driver.rights import RIGHTS
from footfall.ids import SHORT, IdGenerator
from footfall.model import Account, Ban, Comment, Credentials, Session
from footfall.notifications.store.outbox import CONSUMER, GROUP
from footfall.statistics.audience import KINDS
from footfall.statistics.source_views import MAX_REFERRALS
from footfall.tasks import Task

from . import seed
from .scenarios import article, path

Values = Mapping[str, Any]
Cases = dict[str, Callable[[int], Values]]

SECRET = account_codec.credentials_body(Credentials("$argon2id$" + "x" * 87))

# What a moderator leaves as it is, and who they are.
UNCHANGED = ("before", "body", "secrets", "outdated", "fingerprint", "lengths")
BY_MODERATOR = {"only": "", "seen": "", "by": "moderator", "actor": "admin panel 0123456789abcdef"}

NOW_MS = 1_700_000_000_000
_generator = IdGenerator()

# A page of so many roots, of which every seventh is held. Redis writes them itself, some at a time:
# to send them would take longer.
LONG_ROOTS, STEP_ROOTS = 350_000, 10_000
LONG_KEYS = ("bodies", "likes", "held", "newest", "liked", "heldroots", "heldliked")
LONG_PAGE = """
local bodies, likes, held, newest, liked = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local heldroots, heldliked = KEYS[6], KEYS[7]
for n = ARGV[1] + 1, ARGV[1] + ARGV[2] do
  local id, like_count, is_held = string.format('%016d', n), n % 4, n % 7 == 0
  redis.call('HSET', bodies, id, string.rep('x', 100))
  redis.call('HSET', likes, id, like_count)
  if is_held then redis.call('HSET', held, id, 'waiting') end
  redis.call('ZADD', is_held and heldroots or newest, n, id)
  redis.call('ZADD', is_held and heldliked or liked, like_count, id)
end
"""


def every_case(calls: int) -> Cases:
    """A script's typical calls, each a function of its number n; later scripts read what earlier
    ones wrote."""
    comments, roots = thread(2 * calls)
    replies = [_reply_to(comment) for comment in comments]
    return {
        **_accounts(),
        **_outbox(),
        **_counters(),
        **_moves(comments),
        **_given(),
        **_views(),
        **_imports(),
        **_site(),
        **_published(comments, replies),
        **_pages(calls),
        **_changes(comments, roots, calls),
        # Last of all, since they remove comments.
        **_deletions(replies),
    }


def _counters() -> Cases:
    """Changes of counters, and views of an hour that is open."""
    return {
        "counters/add, 1 change": _add(1),
        "counters/add, 64 changes": _add(64),
        "counters/remove, 1 counter": lambda n: {
            "numbers": _numbers(n),
            "counts": _bucket(n),
            "judged": [f"time {path(n)}", 1],
        },
        "counters/recount, 264 hashes": lambda n: {
            "numbers": _numbers(n),
            "counts": [_bucket(n + i) for i in range(264)],
            "mends": 1,
        },
        "counters/count, 1 first view": _count(1),
        "counters/count, 64 first views": _count(64),
        "counters/count, 1 known view": _count(1, plain=True),
        "counters/count, 64 known views": _count(64, plain=True),
    }


def _moves(comments: Sequence[Comment]) -> Cases:
    """A page's counters and comments, on their way to another page."""
    return {
        "counters/take, 11 counters": lambda n: {
            "moving": f"moving:{n}",
            "numbers": _numbers(n),
            "places": [_bucket(n)] * 11 + [f"hours:{n}", f"hours:{n}:taken"],
            "id": n,
            "to": path(n),
            "arrived": "",
            "counters": 11,
            "names": [f"time {path(n)}", *(f"reaction{i} {path(n)}" for i in range(10))],
        },
        "comments/take, 1 comment": lambda n: {
            "move": f"{n:08d}",
            "now": NOW_MS + n,
            "by": "move",
            "actor": "",
            "journal": f"journal:take:{n}",
            "comments": [comments[n].id[:SHORT], "", "", f"{n:016d}", codec.body(comments[n])],
        },
    }


def _given() -> Cases:
    """A page's counters, where they arrive."""
    days = (1, 23, 7, 1, "23 seo")
    return {
        "counters/give, 1 counter": lambda n: {
            "given": "given",
            "numbers": _numbers(n),
            "counter": _bucket(n),
            "hours": f"hours:{n}",
            "spare": "spare",
            "places": [_bucket(n), f"days:{n}", f"bots:{n}"],
            "page": f"{n:016d}",
            "id": n,
            "given_ms": 60_000,
            "name": f"time {path(n)}",
            "counters": 1,
            "months": 1,
            "current": 1,
            "hour": 2026112316,
            "day_ms": 60_000,
            "words": [f"time {path(n)}", 7, 0, 60_000, *days, 2, 60_000, 1, 2026112316, 7],
        }
    }


def _views() -> Cases:
    """Views by hour, day and visitor."""
    return {
        "views/visit, 1 visitor": lambda n: {
            "shares": ["site", "visitors", "audience"],
            "field": "v20261123",
            "day_ms": 60_000,
            "kinds": " ".join(KINDS),
            "visitors": [1, n, "Chrome\nWindows\ndesktop\nDE\nde\n"],
        },
        "views/keep, 24 hours": lambda n: {
            "sums": f"hours:{n}",
            "kept_ms": 60_000,
            "counted": [word for hour in range(24) for word in (hour, 7)],
        },
        "views/read, 1 month": lambda n: {
            "counter": _bucket(n),
            "views": [f"days:{n}", f"bots:{n}", f"hours:{n}"],
            "name": f"time {path(n)}",
        },
        # There and back, of a list that `prepare` has filled.
        "views/rename_referrals, 1 page of 300": lambda n: {
            "referrals": "referrals of a day",
            "adds": 1,
            "names": [path(n % 2), path(1 - n % 2)],
        },
    }


def _imports() -> Cases:
    """Counts that another counter kept."""
    return {
        "counters/import, 1 counter": lambda n: {
            "done": f"imported:{n}",
            "numbers": _numbers(n),
            "counts": [_bucket(n)],
            "way": "max",
            "number": 1,
            "kept": 60,
            "hour": 0,
            "days_ms": 60_000,
            "merged": [1, f"time {path(n)}", 5, 0],
        },
        "views/import, 1 page": lambda n: {
            "files": f"files:{n}",
            "numbers": _numbers(n),
            "pages": [f"past:{n}", f"last:{n}", f"this:{n}", f"bots:{n}", _bucket(n)],
            "step": f"{'0' * 32} 0",
            "kept_ms": 60_000,
            "counts": 0,
            "changes": [f"time {path(n)}", 23, 9, 4, 60_000, 1, "ai-crawler", 2],
        },
        "views/import_site, 24 hours": lambda n: {
            "files": f"files:{n}",
            "sums": [f"views:{n}"] * 24,
            "step": f"{'0' * 32} 0",
            "kept_ms": 60_000,
            "changes": [word for hour in range(24) for word in ("add", hour, 7, 60_000)],
        },
    }


def _site() -> Cases:
    """Lists and limits of the whole site."""
    return {
        "site/try": lambda n: (
            {name: f"tried:{name}" for name in TRIED_KEYS}
            | {"commands": [right.tried for right in RIGHTS.values() if right.tried]}
        ),
        "rate_limit/take_tokens": lambda n: {
            "buckets": [f"bucket:{n}"],
            "spends": [NOW_MS * 1000 + n, 1, 10_000, 10_000_000],
        },
        "site/list, page 100 of three indexes": lambda n: {
            "indexes": [f"bench:{name}" for name in ("recent", "waiting", "spam")],
            "first": 990,
            "size": 10,
            "behind": "",
            "at": 0,
        },
        "site/ban": lambda n: {
            "value": f"192.0.{n // 256}.{n % 256}",
            "before": "",
            "ban": account_codec.ban_body(Ban("", NOW_MS, "spam", NOW_MS, "admin")),
            "now": NOW_MS + n,
            "most": MAX_BANS,
            "entry": ["by", "admin", "did", "ban", "id", n, "was", "", "now", ""],
        },
        "site/catch": lambda n: {"now": NOW_MS + n, "numbers": [f"192.0.{n // 256}.{n % 256}", 3]},
    }


def _published(comments: Sequence[Comment], replies: Sequence[Comment]) -> Cases:
    """New comments, and what the journal tells of them."""
    return {
        "comments/publish": lambda n: _publish(comments[n], n),
        "comments/publish, a reply to a reply": lambda n: _publish(
            replies[n], len(comments) // 2 + n
        ),
        "journal/apply, 1 comment": lambda n: _apply(comments[n], n),
        "journal/cut, 1 entry": lambda n: {"journal": f"journal:{n}", "applied": 2 * NOW_MS},
        "journal/restate, 1 comment": lambda n: {
            "now": NOW_MS + n,
            "by": "check",
            "actor": "",
            "journal": f"journal:restate:{n}",
            "comments": [comments[n].id[:SHORT], "-", "-"],
        },
        "journal/swept": lambda n: {"page": f"{n:016d}", "known": "", "due": NOW_MS + n},
    }


def _pages(calls: int) -> Cases:
    """Pages of comments, short and long."""
    return {
        "comments/page, 10 x (1+4)": lambda n: {
            "ranked": "newest",
            "heldranked": "heldroots",
            "first": n % 50,
            "size": 10,
            "order": "insertedAt_desc",
            "sees": "public",
            "account": "",
            "root": "",
            "after": "",
            "most": MAX_REPLIES,
            "room": MAX_PAGE_BYTES,
        },
        "comments/page, 300,000 roots, 50,000 held": lambda n: {
            **{name: f"long:{name}" for name in ("bodies", "likes", "held")},
            "ranked": "long:liked",
            "heldranked": "long:heldliked",
            "first": n * LONG_ROOTS // calls,
            "size": 10,
            "order": "like_desc",
            "sees": "all",
            "account": "",
            "root": "",
            "after": "",
            "most": MAX_REPLIES,
            "room": MAX_PAGE_BYTES,
        },
    }


def _changes(comments: Sequence[Comment], roots: Sequence[Comment], calls: int) -> Cases:
    """Changes of comments that stay."""
    return {
        "comments/mend, 1 change": lambda n: {
            "version": f"mended:{n}",
            "wrong": ["likes"],
            "known": "",
            "now": NOW_MS,
            "changes": [1, 3, "HSET", n, 1],
        },
        "comments/replace, 1 body": lambda n: {
            "now": NOW_MS + n,
            "changes": [comments[n].id[:SHORT], codec.body(comments[n]), codec.body(comments[n])],
        },
        "comments/touch": lambda n: {
            "now": NOW_MS + n,
            "most": 100,
            "journal": f"journal:touch:{n}",
        },
        "comments/like": lambda n: {
            "id": comments[n % calls].id[:SHORT],
            "delta": 1,
            "sees": "public",
            "account": "",
            "room": MAX_PAGE_BYTES,
            "now": NOW_MS + n,
        },
        "comments/moderate": lambda n: _moderate(
            comments[n // 2], n, status="approved" if n % 2 else "waiting"
        ),
        "comments/moderate, other words": lambda n: _rewrite(comments[n], n),
        "comments/moderate, a pin": lambda n: _moderate(roots[n % 10], n, pin=1 - n // 10 % 2),
        "comments/copy, 64 comments": lambda n: {
            "cursor": "",
            "echo": "",
            "count": 1,
            "bytes": 1 << 16,
            "ids": [comment.id[:SHORT] for comment in comments[n % calls :][:64]],
        },
    }


def _deletions(replies: Sequence[Comment]) -> Cases:
    """Comments deleted, restored, deleted by their authors, and removed."""
    return {
        "comments/delete, 1 comment": lambda n: _delete(
            replies[n], n, journal=f"journal:delete:{n}"
        ),
        "comments/restore, 1 comment": lambda n: _delete(
            replies[n], n, at=replies[n].at, journal=f"journal:restore:{n}"
        ),
        "comments/delete, by its author": lambda n: _delete(
            replies[n], n, by="author", actor="", journal=f"journal:own:{n}"
        ),
        "comments/remove, 1 comment": lambda n: {
            "head": replies[n].id[:SHORT],
            "before": 2 * NOW_MS,
            "comments": [
                replies[n].id[:SHORT],
                replies[n].parent[:SHORT],
                f"{len(replies) + n:016d}",
            ],
        },
    }


def _publish(each: Comment, n: int) -> Values:
    return {
        "id": each.id[:SHORT],
        "at": each.at,
        "article": each.path,
        "body": codec.body(each),
        "secrets": codec.secrets(each),
        "status": "approved",
        "parent": each.parent[:SHORT],
        "root": each.root[:SHORT],
        "needs": each.parent[:SHORT],
        "fingerprint": f"{n:016d}",
        "liking": 0,
        "pin": 0,
        "mark": "",
        "decision": "",
        "by": "author",
        "actor": "",
        "journal": f"journal:{n}",
    }


def _apply(each: Comment, n: int) -> Values:
    change = CommentChange(
        each.id[:SHORT], "", "approved", "", False, False, "", "", each.author, each.author
    )
    entry = JournalEntry(NOW_MS + n, "publish", "author", "", n, (), [change])
    applying = Applying(Keys("bench", 512), each.id[SHORT:], [entry], tells=True)
    return {
        "lists": applying.lists,
        "page": each.id[SHORT:],
        "change": f"{n:016d}",
        "entries": applying.words,
    }


def _moderate(each: Comment, n: int, **values: Any) -> Values:
    return {
        **dict.fromkeys(UNCHANGED, ""),
        **BY_MODERATOR,
        "id": each.id[:SHORT],
        "at": each.at,
        "root": each.root[:SHORT],
        "status": "",
        "pin": "",
        "now": NOW_MS + n,
        "journal": f"journal:moderate:{n}",
        **values,
    }


def _rewrite(each: Comment, n: int) -> Values:
    body, secrets = codec.body(each), codec.secrets(each)
    return _moderate(
        each,
        n,
        by="author",
        actor="",
        before=body + secrets,
        body=body,
        secrets=secrets,
        outdated=f"{n:016d}",
        fingerprint=f"{n:016d}",
        lengths="12 13",
    )


def _delete(each: Comment, n: int, **values: Any) -> Values:
    return {
        "id": each.id[:SHORT],
        "root": each.root[:SHORT],
        "parent": each.parent[:SHORT],
        "begins": 1,
        "now": NOW_MS + n,
        "most": STEP_REPLIES,
        "bytes": STEP_BYTES,
        **BY_MODERATOR,
        **values,
    }


def _add(changes: int) -> Callable[[int], Values]:
    return lambda n: {
        "counts": [key for i in range(changes) for key in (_bucket(n + i), _numbers(n + i))],
        "changes": [word for i in range(changes) for word in (f"time {path(n + i)}", 1)],
    }


def _count(views: int, *, plain: bool = False) -> Callable[[int], Values]:
    """Views of an hour that is open, by known visitors; or of which nothing is known."""
    return lambda n: {
        "site": "site",
        "sources": "sources",
        "referrals": "referrals",
        "numbers": _numbers(n),
        "counts": [key for i in range(views) for key in _viewed(n + i, plain=plain)],
        "day": 23,
        "hour": 2026112316,
        "latest": 2026112317,
        "oldest": 2026112016,
        "hours_ms": 60_000,
        "days_ms": 60_000,
        "day_ms": 60_000,
        "plain": views if plain else 0,
        "changes": [word for i in range(views) for word in _view(n + i, plain=plain)],
    }


def thread(comments: int) -> tuple[list[Comment], list[Comment]]:
    """(all comments, only the roots)"""
    generator, written, roots = IdGenerator(), list[Comment](), list[Comment]()
    for each in seed.comments_of(article(2), comments):
        is_root = each.root is None
        made = seed.comment(each, generator, "" if is_root else roots[-1].id)
        written.append(made)
        if is_root:
            roots.append(made)
    return written, roots


def _reply_to(parent: Comment) -> Comment:
    id = _generator.new(parent.at, parent.path)
    return replace(parent, id=id, parent=parent.id, root=parent.root or parent.id)


def _bucket(n: int) -> str:
    return f"counts:{n % 512}"


def _viewed(n: int, *, plain: bool) -> tuple[str, ...]:
    """The keys of a view."""
    page = path(n)
    month, day = "202611", "20261123"
    days, hours, bots = f"days:{page}:{month}", f"hours:{page}", f"bots:{page}:{month}"
    if plain:
        return (_bucket(n),)
    return _bucket(n), _numbers(n), days, hours, bots, f"read:{day}", f"visitors:{page}:{day}"


def _view(n: int, *, plain: bool) -> tuple[object, ...]:
    """The arguments of a view by one who is known, or new now and then."""
    rest = () if plain else ("first", "", 1, 0, n % 4_096)
    return f"time {path(n)}", 1, *rest


def _numbers(n: int) -> str:
    return f"numbers:{n % 256}"


def _account(n: int) -> dict[str, Any]:
    body = account_codec.account_body(Account("", "guest", "Somebody", f"{n}@example.com"))
    return {"id": f"{n:016d}", "mail": f"{n}@example.com", "body": body, "secret": SECRET}


def _register(n: int) -> Values:
    new = _account(n)
    body = new.pop("body")
    roles = {"founds": 0, "administers": 0}
    return {**new, "first": body, "other": body, **roles, "follows": "", "known_by": []}


def _log_in(n: int) -> Values:
    facts = Session("", NOW_MS, 0, "password", "Firefox140.0", "Windows 10", "192.0.2.0/24")
    known = _account(n)
    del known["mail"]
    return {
        **known,
        "now": NOW_MS,
        "ends": NOW_MS + 86_400_000,
        "sessions": f"sessions:{n}",
        "logins": f"logins:{n}",
        "session": "s",
        "facts": account_codec.session_body(facts),
        "keep": 50,
        "follows": 0,
        "old_secret": SECRET,
    }


def _change(n: int) -> Values:
    known = _account(n)
    return {
        **known,
        "sessions": f"sessions:{n}",
        "logins": f"logins:{n}",
        "old_body": known["body"],
        "old_secret": SECRET,
        "old_mail": known["mail"],
        "administers": 0,
        "session": "",
        "revokes": 1,
        "keeps": 0,
        "unseen_since": n + 1,
        "lost": 0,
        "known_by": [],
        "follows": "",
    }


def _accounts() -> Cases:
    """The life of an account, step by step."""
    return {
        "accounts/register": _register,
        "accounts/find": lambda n: {"mail": f"{n}@example.com"},
        "accounts/log_in": _log_in,
        "accounts/end_sessions": lambda n: {
            "sessions": f"sessions:{n}",
            "logins": f"logins:{n}",
            "session": "s",
            "others": 1,
        },
        "accounts/change": _change,
        "accounts/remember": lambda n: {
            "id": f"{n:016d}",
            "place": f"{n % 32}",
            "now": NOW_MS,
            "lasts": 2_592_000_000,
            "keep": 16,
        },
        "accounts/seen": lambda n: {"id": f"{n:016d}", "since": n + 1},
    }


def _outbox() -> Cases:
    """Calls on streams that `prepare` has filled."""
    task = Task("mail", "0" * 32, "", "approved", "author", NOW_MS).dump()
    return {
        "outbox/settle": lambda n: {
            "outbox": "jobs",
            "group": GROUP,
            "entry": f"{n + 1}-0",
            "error": "",
            "follow": [],
        },
        "outbox/weekly": lambda n: {"weekly": f"weekly:{n}", "week": 20261123, "tasks": [task]},
        "outbox/mark_unnotified": lambda n: {"id": f"{n:016d}"},
        "outbox/gather": lambda n: {
            "id": f"{n:032d}",
            "now": NOW_MS + n,
            "every": 600_000,
            "most": 10_000,
            "waits": False,
        },
        "outbox/digest": lambda n: {"now": NOW_MS + n * 600_000, "every": 600_000, "task": task},
        "outbox/wake, 1 task": lambda n: {"now": NOW_MS, "most": 1},
        "outbox/again": lambda n: {"entry": f"{n + 1}-0", "task": task},
    }


def prepare(redis: Redis, calls: int) -> None:
    """Add the entries that the outbox's scripts take, one with a known id for each call; a day of
    referrals; and a page with many roots."""
    redis.xgroup_create("bench:jobs", GROUP, "0", mkstream=True)
    filling = redis.pipeline()
    for n in range(calls):
        for key in ("jobs", "undelivered"):
            filling.xadd(f"bench:{key}", {"task": "{}"}, f"{n + 1}-0")
        filling.zadd("bench:retries", {f"task {n}": n})
    referrals = [word for n in range(MAX_REFERRALS) for word in (f"a.example {path(n)}", 7)]
    filling.hset("bench:referrals of a day", items=referrals)
    filling.execute()
    redis.xreadgroup(GROUP, CONSUMER, {"bench:jobs": ">"}, calls)
    names = [f"bench:long:{name}" for name in LONG_KEYS]
    for first in range(0, LONG_ROOTS, STEP_ROOTS):
        redis.eval(LONG_PAGE, len(names), *names, first, STEP_ROOTS)
