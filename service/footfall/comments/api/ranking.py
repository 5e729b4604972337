"""What Waline lists under `/user`: accounts for administrators, for others the authors of most
comments."""

import orjson

from ...accounts.api.accounts import LISTING, Listing, list_accounts
from ...errors import BadRequest
from ...model import PUBLIC, Caller
from ...render.view import View
from ...table import schemas
from ...table.answers import Data
from ...table.rows import Declared
from ...table.who import ANYBODY
from ..noun import Comments
from ..rules.ranking import ranking

operation = Declared[Comments]("comments")

DEFAULT_RANKED, MAX_RANKED = 20, 50


@operation("user_list", "GET", "/user", LISTING, ANYBODY, schemas.USERS)
async def list_users(comments: Comments, parsed: Listing, caller: Caller) -> Data:
    if caller.viewer.is_administrator:
        return await list_accounts(comments.accounts, parsed)
    size = parsed.size or DEFAULT_RANKED
    if size > MAX_RANKED:
        raise BadRequest({"pageSize": "pageSize need an integer under your options"})
    numbers, newest, live = await ranking(comments, size)
    faces = map(orjson.loads, View(PUBLIC, comments.display).elsewhere(newest, live))
    return [
        {
            "count": number,
            **({"level": comments.display.level(number)} if comments.display.levels else {}),
            **{name: face[name] or "" for name in ("nick", "link", "avatar")},
        }
        for number, face in zip(numbers, faces, strict=True)
    ]
