"""What all operations of this package work on: a whole data set."""

from dataclasses import dataclass

from ..driver.client import Connected
from ..driver.keys import Keys
from ..store.bans import Bans
from ..store.comments import Comments


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set's Redis, its keys' names, and the comments of its pages, its bans.

    `app.data_set` makes one of a store. What an operation needs besides is an argument of its own.
    """

    redis: Connected
    keys: Keys
    comments: Comments
    bans: Bans
