"""The rules of all keys that follow from comments: one row for each index of a page, and for each
projection of the site.

Scripts keep them (lua/includes/indexes.lua, lua/journal/apply.lua), `footfall check` verifies them,
and docs/redis-keys.md shows this table. indexes.py says the same of one comment, as code.
"""

from typing import NamedTuple


class Rule(NamedTuple):
    """A key's name behind `{p:<page>}:` or `{site}:`, its type in Redis, and what it holds.

    Names that end in `:<…>` stand for many keys.
    """

    name: str
    type: str
    rule: str


PAGE = (
    Rule("path", "string", "is there if any comment is; the page's name is its digest"),
    Rule("version", "string", "a number, not below the version that the site has followed"),
    Rule("longest", "string", "missing, or not below the bytes of any body"),
    Rule(
        "bodies",
        "hash",
        "every stored comment, deleted ones too, with a body that can be read; "
        "the root of every reply is a root of the same page",
    ),
    Rule("private", "hash", "exactly the comments in `bodies`"),
    Rule("likes", "hash", "counts of comments in `bodies`; missing is 0"),
    Rule(
        "held",
        "hash",
        "exactly the comments that are not approved: `waiting` or `spam`, with a "
        "mark (1: people know of it, 0: nobody was told) if it was approved before; `deleted`, "
        "with what it was, and `pinned` if it was",
    ),
    Rule("fingerprints", "hash", "ids of comments in `bodies`"),
    Rule(
        "hidden",
        "hash",
        "`approved` and `held`: how many replies below roots in `deleted` are "
        "still in `replies` and in `heldreplies`; missing is 0",
    ),
    Rule("newest", "zset", "exactly the approved roots that are not pinned, at their time"),
    Rule("liked", "zset", "exactly the comments in `newest`, at their likes"),
    Rule("pinned", "zset", "only roots that are not deleted, at their time"),
    Rule("replies", "zset", "exactly the approved replies"),
    Rule("heldroots", "zset", "exactly the held roots that are not pinned, at their time"),
    Rule("heldliked", "zset", "exactly the comments in `heldroots`, at their likes"),
    Rule("heldreplies", "zset", "exactly the held replies"),
    Rule("mine", "zset", "exactly the held comments of accounts"),
    Rule(
        "nested",
        "zset",
        "exactly the replies to replies, but for those that were deleted, or "
        "went with the reply above them",
    ),
    Rule(
        "deleted", "zset", "only deleted comments; a deleted one is either here, or once in `gone`"
    ),
    Rule("gone", "zset", "only deleted replies, with their root or with what they reply to"),
    Rule("journal", "stream", "nothing that the site has not followed within seconds"),
)

SITE = (
    Rule("recent", "zset", "exactly the approved comments, at their time"),
    Rule("waiting", "zset", "exactly the comments that wait, at their time"),
    Rule("spam", "zset", "exactly the comments held as spam, at their time"),
    Rule("own:<account>", "zset", "exactly the account's held comments"),
    Rule("by:<author>", "zset", "exactly the author's approved comments"),
    Rule("authors", "zset", "exactly the authors who have a list `by`, at its length"),
    Rule(
        "totals",
        "hash",
        "every page that has a path: the version of the last entry of its "
        "journal that was followed, and its comments in `bodies` without those in `held` and the "
        "`approved` ones in `hidden`",
    ),
    Rule("total", "string", "the sum of `totals`"),
    Rule("pages:<account>", "zset", "every page with a comment of the account; others are allowed"),
    Rule(
        "removals",
        "zset",
        "every page with something in `deleted` or `gone`, due within minutes; others are allowed",
    ),
    Rule("changing", "zset", "no change that began minutes ago"),
)


def names(rules: tuple[Rule, ...], type: str) -> tuple[str, ...]:
    """The names of all keys of a type."""
    return tuple(each.name for each in rules if each.type == type)
