"""Who has written most: authors by their approved comments, with an account or without."""

from ...model import PUBLIC, Lookups, StoredComment
from ...site import Comments
from ..store.ids import is_id
from .comments import lookups


async def ranking(comments: Comments, size: int) -> tuple[list[int], list[StoredComment], Lookups]:
    """How many approved comments each author of most has, and one of them that says who it is.

    Left out is who has none that is known for approved now.
    """
    ranked = await comments.index.ranking(size)
    accounts = await comments.store.by_ids([id for _, _, id in ranked if is_id(id)])
    approved = {account.id: account for account in accounts if account.status == "approved"}
    numbers = [number for _, number, id in ranked if id in approved]
    faces = [approved[id] for _, _, id in ranked if id in approved]
    return numbers, faces, await lookups(comments, faces, PUBLIC)
