"""Data that older formats have in other places.

In format 3 a page's `withdrawn` has the marks of unpublished comments that were approved before,
and its `outbox` changes of comments that are not in the site's outbox yet.
"""

from ..comments.store.comments import Step
from .dataset import DataSet

# The format with these keys.
WITHDRAWN = 3


async def marked(data: DataSet, page: str, step: Step) -> Step:
    """The same step, in which unpublished comments have their marks after their status."""
    ids = [id for id, *_, status, _ in step.comments if status != b"approved"]
    if not ids:
        return step
    key = data.keys.page(page, "withdrawn")
    (scores,) = await data.redis.ask(("ZMSCORE", key, *ids))
    marks = {
        id: b" %d" % round(float(score))
        for id, score in zip(ids, scores, strict=True)
        if score is not None
    }
    comments = [
        (id, *rest, status + marks.get(id, b""), pin) for id, *rest, status, pin in step.comments
    ]
    return step._replace(comments=comments)
