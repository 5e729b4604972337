"""Ranking of authors by their approved comments, with an account or without."""

from ...ids import is_id
from ...model import PUBLIC, Lookups, StoredComment
from ..noun import Comments
from .comments import lookups


async def ranking(comments: Comments, size: int) -> tuple[list[int], list[StoredComment], Lookups]:
    """The authors with most approved comments, with their numbers, and one comment each for name
    and avatar.

    Authors whose comments are not known to be approved now are left out.
    """
    ranked = await comments.index.ranking(size)
    accounts = await comments.store.by_ids([id for _, _, id in ranked if is_id(id)])
    approved = {account.id: account for account in accounts if account.status == "approved"}
    numbers = [number for _, number, id in ranked if id in approved]
    faces = [approved[id] for _, _, id in ranked if id in approved]
    return numbers, faces, await lookups(comments, faces, PUBLIC)
