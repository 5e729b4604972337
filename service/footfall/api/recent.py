"""The newest comments of the site: made once, and sent again while they are what they were.

An answer is kept with the ids in it and the versions of the pages that they are on. Every request
asks Redis for both in one round trip: likes, pins and moderation raise a page's version, and what
comes or goes changes the ids. So an answer is never stale.
"""

from hashlib import blake2b
from typing import NamedTuple

from orjson import Fragment

from ..domain import comments
from ..domain.page_cache import Finished
from ..domain.service import Service
from ..errors import Unavailable
from ..http import envelope
from ..http.params import MAX_RECENT, Form, RawRequest
from ..http.response import Reply
from ..model import PUBLIC, Caller, Viewer
from ..render.view import View

# Comments that come in between two looks, before it is said to come back later.
MAX_LOOKS = 5


class Recent(NamedTuple):
    number: int
    is_dated: bool

    @classmethod
    def parse(cls, asked: RawRequest, service: Service) -> "Recent":
        form = Form(asked.query)
        number = form.integer("count", 10, MAX_RECENT)
        form.done()
        return cls(number, asked.is_bare)


async def recent(service: Service, asked: Recent, caller: Caller) -> object:
    """Raises Unavailable when comments come in faster than they can be read."""
    if caller.viewer.account is None:
        return await _common(service, asked)
    looked = await service.recent.look(asked.number, caller.viewer)
    async with service.page_cache.turns:
        _, found = await _listing(service, asked, looked.ids, caller.viewer)
    return found


async def _common(service: Service, asked: Recent) -> Reply:
    """As everybody sees them."""
    known = service.recent_ids.get(asked, ())
    for _ in range(MAX_LOOKS):
        ids, versions = await service.recent.look(asked.number, PUBLIC, known)
        if ids == known:
            break
        # The versions were asked of the pages that it was about before.
        known = service.recent_ids[asked] = ids
    else:
        raise Unavailable()

    async def make() -> Finished:
        made_of, data = await _listing(service, asked, ids, PUBLIC)
        body = envelope.bare(data) if asked.is_dated else envelope.enveloped(data)
        words = repr((ids, made_of)).encode()
        tag = b'"%b-%b"' % (blake2b(words, digest_size=8).hexdigest().encode(), service.salt())
        return Finished((ids, made_of), body, tag)

    finished = await service.page_cache.find_or_make(asked, (ids, versions), make)
    return finished.body, finished.tag


async def _listing(
    service: Service, asked: Recent, ids: tuple[str, ...], viewer: Viewer
) -> tuple[tuple[int, ...], list[Fragment]]:
    versions, showing = await comments.recent(service, ids, asked.number, viewer)
    view = View(viewer, service.display, asked.is_dated)
    return versions, [Fragment(each) for each in view.elsewhere(showing)]
