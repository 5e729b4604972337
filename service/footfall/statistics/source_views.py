"""How many views came from which source: exactly, or at least so many.

A share of a day has room for some sources: hosts, or hosts and pages (referrals.py). When it is
full, those drop out that have fewest views, with those counted that they may have had before they
came in. So who comes in may have had as many as the last that dropped out. With N views in a share
of k sources that is at most N / k (Metwally, Agrawal and El Abbadi, 2005: Space-Saving).

A share is stored as a hash, and so is the sum of a day: source -> views; "" -> views of all
others; a space and a source -> how many more it may have; a space alone -> how many those may have
that are not in it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

# The name of the others together, and what stands before the host of a number of possible views.
OTHERS, MORE = "", " "
# Of the site, a day.
MAX_SOURCES, MAX_REFERRALS = 1_000, 300


class Source(NamedTuple):
    """A host, or what the list is of; or "" for the others together. Its views, and how many they
    may be at most."""

    host: str
    views: int
    at_most: int

    @property
    def is_exact(self) -> bool:
        return self.at_most == self.views


def views_by_host(part: Mapping[str, int]) -> Counter[str]:
    return Counter({name: views for name, views in part.items() if not name.startswith(MORE)})


class Sources:
    """Shares of a day, or days, together, and the `most` with most views among them."""

    def __init__(
        self, parts: Iterable[Mapping[str, int]] = (), most: int | None = MAX_SOURCES
    ) -> None:
        self._most = most
        self._views = Counter[str]()
        # How many more a host may have that is in no part, and what of it a listed one lacks.
        self._more = 0
        self._known = Counter[str]()
        for part in parts:
            self.add(part)

    def add(self, part: Mapping[str, int]) -> None:
        # What is imported has no other bound than the number of all others.
        more = part.get(MORE, part.get(OTHERS, 0))
        if more:
            views = views_by_host(part)
            self._known.update({host: more - part.get(MORE + host, 0) for host in views})
            self._more += more
            part = views
        # All go into the same counter: adding counters would copy them.
        self._views.update(part)

    def ranked(self) -> list[Source]:
        """Sources with most views, the first ones first, and the others behind them."""
        listed, others, _ = self._ranked()
        return [*listed, Source(OTHERS, others, others)] if others else listed

    def fields(self) -> Counter[str]:
        """The views of sources as they are stored."""
        listed, others, more = self._ranked()
        fields = Counter({source.host: source.views for source in listed})
        fields.update({MORE + each.host: each.at_most - each.views for each in listed})
        fields.update({OTHERS: others, MORE: more})
        return +fields

    def _ranked(self) -> tuple[list[Source], int, int]:
        """Ties are broken consistently: this is repeated, and stored ones stay."""
        ranked = sorted(self._views.items(), key=lambda each: (-each[1], each[0]))
        hosts = [each for each in ranked if each[0] != OTHERS]
        listed = [
            Source(host, views, views + self._more - self._known[host])
            for host, views in hosts[: self._most]
        ]
        rest = hosts[len(listed) :]
        others = self._views[OTHERS] + sum(views for _, views in rest)
        return listed, others, self._more + (rest[0][1] if rest else 0)
