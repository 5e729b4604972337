"""The last change of comments: who, when, and on which way."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ...ids import is_id
from ..noun import Comments

# Who changes comments, for people: the spam filter, and what Footfall does by itself.
By = Literal["author", "moderator", "filter", "readers", "footfall"]
_BY: dict[str, By] = {
    "author": "author",
    "moderator": "moderator",
    "judge": "filter",
    "readers": "readers",
}


class Decided(NamedTuple):
    """`nick` is a moderator's, as it is now; `door` the way on which they decided."""

    by: By
    nick: str
    door: str
    at_ms: int


async def of(comments: Comments, ids: Sequence[str]) -> dict[str, Decided]:
    """The last change of each of these comments, deleted ones too; a new one has none."""
    last = await comments.moderation.decisions([id for id in ids if is_id(id)])
    people = {decision.actor.account for decision in last.values()} - {""}
    accounts = await comments.accounts.store.by_ids(people) if people else {}

    def nick(id: str) -> str:
        account = accounts.get(id)
        return account.nick if account else ""

    return {
        id: Decided(
            _BY.get(decision.actor.by, "footfall"),
            nick(decision.actor.account),
            decision.actor.door,
            decision.at_ms,
        )
        for id, decision in last.items()
    }
