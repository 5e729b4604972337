"""Common traits of comments, and the groups that these form: one wave of spam is one group.

A group has one trait that all its comments share, so that a sentence can name it. Comments with
nearly the same text are found by MinHash: texts share a band of their signatures about as often as
they share words.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Literal, NamedTuple, get_args
from zlib import crc32

from ...hosts import source_of
from ...model import Comment
from ...netaddr import limit_key, network_key
from ...render.links import linked

# The surest sign of one sender first: strangers may share an address.
Kind = Literal["account", "mail", "host", "text", "address"]
_KINDS: tuple[Kind, ...] = get_args(Kind)

MAX_GROUPS = 50
MAX_SAMPLES = 3
# Of one comment.
MAX_HOSTS = 8
MAX_COMPARED_CHARACTERS = 2000
MAX_COMPARED_WORDS = 200

# A signature's bands, and the numbers in each: texts that share half of their pairs of words share
# a band in half of all cases, and texts that share a twentieth of them next to never.
_BANDS, _ROWS = 6, 3
_FACTORS = [crc32(b"%d" % n) | 1 for n in range(_BANDS * _ROWS)]
_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
# Chinese, Japanese and Korean are written without spaces: there, each character is a word.
_DENSE = "\u2e80-\uffef\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_DENSE}]|[^\W\d_{_DENSE}]+")


class Trait(NamedTuple):
    """An author, an address, a linked host, or a shared text: then `value` is an arbitrary name."""

    kind: Kind
    value: str


class Group(NamedTuple):
    """Comments by their places in the list that was grouped. `samples` are the most usual of them,
    and then those that have the least in common with the others."""

    trait: Trait
    members: Sequence[int]
    samples: Sequence[int]


def groups_of(comments: Sequence[Comment], own_hosts: Container[str]) -> list[Group]:
    """The largest groups first; a comment is in one group at most, and in none alone."""
    traits = [_traits(comment, own_hosts) for comment in comments]
    for place, trait in _alike([comment.source for comment in comments]):
        traits[place].append(trait)
    having = defaultdict[Trait, list[int]](list)
    for place, each in enumerate(traits):
        for trait in each:
            having[trait].append(place)
    # Where all have one address, it is a proxy's.
    all_of_them = len(comments)
    sizes = [
        (-len(members), _KINDS.index(trait.kind), members[0], trait)
        for trait, members in having.items()
        if trait.kind != "address" or len(members) < all_of_them
    ]
    heapify(sizes)
    groups, left = list[Group](), set(range(len(comments)))
    while sizes and len(groups) < MAX_GROUPS:
        size, kind, first, trait = heappop(sizes)
        members = [place for place in having[trait] if place in left]
        if len(members) < 2:
            continue
        if len(members) < -size:
            # Some are in a larger group already.
            heappush(sizes, (-len(members), kind, first, trait))
            continue
        left.difference_update(members)
        groups.append(Group(trait, members, _samples(members, traits)))
    return groups


def _traits(comment: Comment, own_hosts: Container[str]) -> list[Trait]:
    mail = (comment.mail or "").strip().lower()
    home = limit_key(comment.address)
    links = [comment.link or "", *linked(comment.html)]
    hosts = dict.fromkeys(source_of(link, own_hosts) for link in links)
    traits = [
        Trait("account", comment.account),
        # Nobody has proved an email that was typed, so it does not join an account's comments.
        Trait("mail", "" if comment.account else mail),
        Trait("address", network_key(home) or home),
        *(Trait("host", host) for host in list(hosts)[:MAX_HOSTS]),
    ]
    return [trait for trait in traits if trait.value]


def _samples(members: Sequence[int], traits: Sequence[Sequence[Trait]]) -> list[int]:
    shared = Counter(trait for place in members for trait in traits[place])
    odd_first = sorted(members, key=lambda place: sum(shared[trait] for trait in traits[place]))
    return [odd_first[-1], *odd_first[:-1][: MAX_SAMPLES - 1]]


def _alike(texts: Sequence[str]) -> Iterator[tuple[int, Trait]]:
    """Which texts are nearly the same, as a trait of each; also by others that lie between them."""
    above = list(range(len(texts)))

    def head(place: int) -> int:
        while above[place] != place:
            above[place] = place = above[above[place]]
        return place

    first = dict[tuple[int, ...], int]()
    for place, text in enumerate(texts):
        for band in _bands(text):
            above[head(place)] = head(first.setdefault(band, place))
    for place in range(len(texts)):
        yield place, Trait("text", str(head(place)))


def _bands(text: str) -> Iterator[tuple[int, ...]]:
    bare = _ADDRESS.sub(" ", text[:MAX_COMPARED_CHARACTERS]).casefold()
    words = _WORD.findall(bare)[:MAX_COMPARED_WORDS]
    if not words:
        return
    pieces = {" ".join(words[at : at + 2]) for at in range(max(len(words) - 1, 1))}
    hashes = [crc32(piece.encode(errors="replace")) for piece in pieces]
    signature = [min(number * factor & 0xFFFFFFFF for number in hashes) for factor in _FACTORS]
    for at in range(0, len(signature), _ROWS):
        yield at, *signature[at : at + _ROWS]
