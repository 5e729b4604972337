"""The newest comments of the site, cached until one of them changes.

An answer is cached with the ids in it and the versions of their pages. Every request reads both
from Redis in one round trip: likes, pins and moderation raise a page's version, new and removed
comments change the ids. So an answer is never stale.
"""

from functools import partial
from hashlib import blake2b
from typing import NamedTuple

from orjson import Fragment

from ...errors import Unavailable
from ...http.params import MAX_RECENT, RawRequest
from ...http.response import Reply
from ...limits.answer_cache import CachedAnswer
from ...limits.clients import PoolClient, pool_client_of
from ...model import PUBLIC, Caller, Viewer
from ...render.view import View
from ...table.context import ParseContext
from ...table.fast import FastRequest
from ...table.fields import Fields, FieldValues, Integer
from ...table.rows import Declared
from ...table.schemas import A_COMMENT, AnswerSchema, list_of
from ...table.variants import Variant, content
from ...table.who import ANYBODY
from ..noun import Comments
from ..rules import comments as domain

operation = Declared[Comments]("comments")

# How often the ids may change between two reads before the answer is 503.
MAX_READS = 5


class Recent(NamedTuple):
    """The `number` newest comments, 1 to MAX_RECENT; as their variant has it."""

    number: int
    variant: Variant

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Recent":
        return cls(values["count"], request.variant)


RECENT = Fields(Recent.of, (Integer("count", "How many comments", 10, MAX_RECENT),), source="query")


RECENT_ANSWER = AnswerSchema(list_of(A_COMMENT), list_of(A_COMMENT))


def fast_recent(comments: Comments, parsed: Recent) -> FastRequest:
    return FastRequest(lambda numbers: partial(_common, comments, parsed))


@operation(
    "comment_recent",
    "GET",
    "/comment",
    RECENT,
    ANYBODY,
    RECENT_ANSWER,
    envelope=content,
    type="recent",
    fast=fast_recent,
)
async def recent(comments: Comments, parsed: Recent, caller: Caller) -> list[Fragment]:
    """Comments, newest first, as this viewer sees them."""
    newest = await comments.recent.newest(parsed.number, caller.viewer)
    async with comments.process.pools.pages.turn(pool_client_of(caller)):
        _, stored = await _listing(comments, parsed, newest.ids, caller.viewer)
    return stored


async def _common(comments: Comments, parsed: Recent, client: PoolClient) -> Reply:
    """The comments as the public sees them.

    Raises Unavailable if they come in faster than they can be read; TooManyAtOnce, Busy.
    """
    cached = comments.recent_ids.get(parsed, ())
    for _ in range(MAX_READS):
        ids, versions = await comments.recent.newest(parsed.number, PUBLIC, cached)
        if ids == cached:
            break
        # These versions are of the pages of the ids that were known before.
        cached = comments.recent_ids[parsed] = ids
    else:
        raise Unavailable()

    async def make() -> CachedAnswer:
        made_of, data = await _listing(comments, parsed, ids, PUBLIC)
        body = parsed.variant.content_envelope.body(data)
        text = repr((ids, made_of)).encode()
        tag = b'"%b-%b"' % (blake2b(text, digest_size=8).hexdigest().encode(), comments.salt())
        return CachedAnswer((ids, made_of), body, tag)

    pool = comments.process.pools.pages
    finished = await comments.page_cache.find_or_make(parsed, (ids, versions), make, pool, client)
    return finished.body, finished.tag


async def _listing(
    comments: Comments, parsed: Recent, ids: tuple[str, ...], viewer: Viewer
) -> tuple[tuple[int, ...], list[Fragment]]:
    versions, stored, live = await domain.recent(comments, ids, parsed.number, viewer)
    view = View(viewer, comments.display, parsed.variant.date)
    return versions, [Fragment(json) for json in view.elsewhere(stored, live)]
