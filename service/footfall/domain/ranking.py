"""Who has written most: authors by their approved comments, with an account or without."""

from ..model import PUBLIC, Showing
from ..store.ids import is_id
from .comments import with_authors
from .service import Service


async def ranking(service: Service, size: int) -> tuple[list[int], Showing]:
    """How many approved comments each author of most has, and one of them that says who it is.

    Left out is who has none that is known for approved now.
    """
    ranked = await service.site_index.ranking(size)
    found = await service.comments.by_ids([id for _, _, id in ranked if is_id(id)])
    approved = {each.id: each for each in found if each.status == "approved"}
    numbers = [number for _, number, id in ranked if id in approved]
    faces = [approved[id] for _, _, id in ranked if id in approved]
    return numbers, await with_authors(service, faces, PUBLIC)
