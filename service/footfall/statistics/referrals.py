"""Referrals: views of a page that came from a source, and so the sources of a page and the pages of
a source.

They are kept as the site's sources are (source_views.py), by source and path with a space in
between. A source is a host, and has the path of its page behind that where the referrer has one. A
page is counted in one group; so what a group has dropped is of none of the pages of another.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..driver.client import RedisClient
from ..driver.keys import GROUPS, Keys
from ..driver.scripts import Scripts
from .source_views import MAX_REFERRALS, MORE, OTHERS, Source, Sources

# A name of a source has none.
_BETWEEN = " "
# As in lua/counters/count.lua and lua/views/rename_referrals.lua.
MAX_NAME_BYTES = 300
# Days that are renamed together.
AT_ONCE = 16


class Referral(NamedTuple):
    """Views of a page from a source, a host and maybe its page's path; and how many they may be at
    most."""

    source: str
    path: str
    views: int
    at_most: int


class Referrals(NamedTuple):
    """Referrals of a period, those with most views first; `is_whole` if these are all."""

    listed: Sequence[Referral]
    is_whole: bool

    def sources_of(self, path: str) -> list[Source]:
        """From where a page was visited."""
        return self._by(lambda each: each.source, lambda each: each.path == path)

    def pages_of(self, host: str) -> list[Source]:
        """Pages that were visited from a host, by path."""
        return self._by(lambda each: each.path, lambda each: host_of(each.source) == host)

    def origins_in(self, host: str) -> list[Source]:
        """The pages of a host from which this site was visited."""
        return self._by(lambda each: each.source, lambda each: host_of(each.source) == host)

    def _by(
        self, name_of: Callable[[Referral], str], is_asked: Callable[[Referral], bool]
    ) -> list[Source]:
        views, at_most = Counter[str](), Counter[str]()
        for each in filter(is_asked, self.listed):
            views[name_of(each)] += each.views
            at_most[name_of(each)] += each.at_most
        return [Source(name, number, at_most[name]) for name, number in views.most_common()]


def host_of(source: str) -> str:
    return source.partition("/")[0]


def name_of(source: str, path: str) -> str:
    """As a referral is stored, like lua/counters/count.lua; "" for one that is too long."""
    for each in (source, host_of(source)):
        name = f"{each}{_BETWEEN}{path}"
        if len(name.encode(errors="replace")) <= MAX_NAME_BYTES:
            return name
    return OTHERS


def referrals_in(days: Sources) -> Referrals:
    """What several days have together."""
    ranked = days.ranked()
    # Of anything else in the hash, nothing is known.
    named = [each for each in ranked if each.host and not each.host.startswith(_BETWEEN)]
    split = ((each.host.partition(_BETWEEN), each) for each in named)
    listed = [Referral(name[0], name[2], each.views, each.at_most) for name, each in split]
    return Referrals(listed, is_whole=len(named) == len(ranked))


def together(shares: Iterable[Mapping[str, int]]) -> Counter[str]:
    """The shares of a day as they are stored."""
    views, more, others, unlisted = Counter[str](), Counter[str](), 0, 0
    for share in shares:
        for name, number in share.items():
            if name == MORE:
                unlisted = max(unlisted, number)
            elif name == OTHERS:
                others += number
            elif name.startswith(MORE):
                more[name.removeprefix(MORE)] += number
            else:
                views[name] += number
    # Ties are broken consistently, as this is repeated.
    ranked = sorted(views, key=lambda name: (-views[name], name))
    listed, rest = ranked[:MAX_REFERRALS], ranked[MAX_REFERRALS:]
    fields = Counter({name: views[name] for name in listed})
    fields.update({MORE + name: more[name] for name in listed})
    fields[OTHERS] = others + sum(views[name] for name in rest)
    fields[MORE] = max([unlisted, *(views[name] + more[name] for name in rest)])
    return +fields


class ReferralNames:
    """The pages' names in stored referrals. Raises StoreUnavailable."""

    def __init__(self, redis: RedisClient, scripts: Scripts, keys: Keys) -> None:
        self._redis = redis
        self._rename = scripts["views/rename_referrals"]
        self._keys = keys

    async def rename(
        self, new: Mapping[str, str], days: Sequence[int], open_days: Sequence[int]
    ) -> None:
        """Call pages by their new paths, or with "" forget them, on these days such as 20261123; of
        the open ones, groups may have shares.

        Of a day with shares, the sum loses the old names alone: somebody may be storing it from
        these shares, and will again.
        """
        shares = {self._keys.referrals_in(g, day): day for day in open_days for g in range(GROUPS)}
        there = await self._there([*shares])
        await self._each(there, new, adds=True)
        growing = {self._keys.referrals(day) for day in map(shares.__getitem__, there)}
        sums = await self._there([self._keys.referrals(day) for day in days])
        await self._each([key for key in sums if key in growing], new, adds=False)
        await self._each([key for key in sums if key not in growing], new, adds=True)

    async def _there(self, keys: Sequence[str]) -> list[str]:
        sizes = await self._redis.ask_each(*(("HLEN", key) for key in keys), of_masters=True)
        return [key for key, size in zip(keys, sizes, strict=True) if size]

    async def _each(self, keys: Sequence[str], new: Mapping[str, str], *, adds: bool) -> None:
        names = [word for pair in new.items() for word in pair]
        for first in range(0, len(keys), AT_ONCE):
            some = keys[first : first + AT_ONCE]
            await asyncio.gather(
                *(self._rename(referrals=key, adds=int(adds), names=names) for key in some)
            )
