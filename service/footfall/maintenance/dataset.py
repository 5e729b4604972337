"""What all of maintenance works on: a whole data set, key by key and comment by comment."""

from dataclasses import dataclass

from ..driver.client import Connected
from ..driver.keys import Keys
from ..store.comments import Comments


@dataclass(frozen=True, slots=True)
class DataSet:
    """Where it lies, what its keys are called, and the comments of each page.

    `app.data_set` makes one of a store. What an operation needs besides, it asks for by name.
    """

    redis: Connected
    keys: Keys
    comments: Comments
