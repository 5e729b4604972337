"""The names of all keys; no other module makes one.

The part in braces, the hash tag, decides the Cluster slot: keys that one script touches together
have the same tag. A page is named by a digest of its path, which may be long and contain braces.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple

from ..ids import SHORT, digest

# The number of hash tags for hashes of counters: on a Cluster one script call serves all hashes of
# a group.
GROUPS = 256
# Redis keeps a small hash packed, in half the memory, while no field is longer than this, its
# default for hash-max-listpack-value. One longer field would unpack the hash for good, so counters
# with longer names are in hashes of their own.
MAX_PACKED_BYTES = 64
# Each group has one such hash for names of up to 128 bytes, one for up to 256, and so on: then the
# number of its fields tells how much memory its counters take.
_LONG_BITS = range(MAX_PACKED_BYTES.bit_length(), 15)
# The key of the digest that decides which bucket a path is in.
SEED_BYTES = 16
# COUNTER_LIMIT counts in this unit: a counter that takes more memory weighs more than 1.
WEIGHT_UNIT_BYTES = 100


def _hidden(address: str) -> str:
    """A digest of an address, so that keys do not contain it; hexdigest, since it is faster."""
    return blake2b(address.encode(), digest_size=10).hexdigest()


class Keys:
    """Key names under one prefix.

    Counters are spread over `buckets` hashes, a power of two, at least 256. A secret `seed` assigns
    paths to buckets, so that clients cannot fill one bucket, or one node of a Cluster. Both are
    read from the data set before anything is counted.
    """

    def __init__(self, prefix: str, buckets: int, seed: bytes = b"") -> None:
        self.prefix = prefix
        self.buckets = buckets
        self.seed = seed

    def counts(self, name: str) -> str:
        """The hash that holds a counter; its name is `<type> <path>`."""
        path = name.partition(" ")[2]
        number = self._number(path)
        if bits := _long_bits(name):
            return self._long(number % GROUPS, bits)
        return self.counts_of(number % self.buckets)

    def counts_of(self, bucket: int) -> str:
        return f"{self._group(bucket % GROUPS)}:counts:{bucket // GROUPS:x}"

    @property
    def hashes(self) -> int:
        """The maximum number of hashes for counters."""
        return GROUPS * self._group_hashes

    def hash_at(self, place: int) -> str:
        """One of these, at a place from 0 on; those of a group are neighbours."""
        group, at = divmod(place, self._group_hashes)
        packed = self.buckets // GROUPS
        if at < packed:
            return self.counts_of(at * GROUPS + group)
        return self._long(group, _LONG_BITS[at - packed])

    def every_counts(self) -> Iterator[str]:
        """All hashes that may have counters."""
        return map(self.hash_at, range(self.hashes))

    def counts_in(self, group: int) -> list[str]:
        """All hashes of one group, of GROUPS, that may have counters."""
        name = self._group(group)
        packed = [f"{name}:counts:{at:x}" for at in range(self.buckets // GROUPS)]
        return packed + [self._long(group, bits) for bits in _LONG_BITS]

    @property
    def _group_hashes(self) -> int:
        return self.buckets // GROUPS + len(_LONG_BITS)

    def numbers(self, group: int) -> str:
        """The hash with the number of a group's counters, by the kinds of WEIGHTS, and as `views` a
        share of the sum of all view counters."""
        return f"{self._group(group)}:numbers"

    @staticmethod
    def shares_beside(key: bytes, day: int) -> tuple[bytes, ...]:
        """The share of the site's statistics, of its sources and referrals on a day, and of all
        numbers, of the group that a key belongs to."""
        group = key.partition(b"}")[0] + b"}:"
        of_day = group + b"sources:%d" % day, group + b"referrals:%d" % day
        return group + b"site", *of_day, group + b"numbers"

    @staticmethod
    def numbers_beside(counts_key: str) -> str:
        """The key of the numbers of the group that this hash belongs to."""
        return f"{counts_key.partition('}')[0]}}}:numbers"

    def views(self, path: str) -> "ViewKeys":
        """The prefix of a page's view keys is one, so that one script changes all of them."""
        return ViewKeys(self._group(self.group(path)), digest(path))

    def read_in(self, group: int, day: int) -> str:
        """The pages most viewed on a day, of a group, of GROUPS."""
        return f"{self._group(group)}:read:{day}"

    def share(self, group: int) -> str:
        """A group's share of the site's statistics: fields as in site_views."""
        return f"{self._group(group)}:site"

    def visitors_in(self, group: int, day: int) -> str:
        """A share of the site's visitors of a day."""
        return f"{self._group(group)}:visitors:{day}"

    def audience_in(self, group: int, day: int) -> str:
        """A share of what the site's visitors of a day are."""
        return f"{self._group(group)}:audience:{day}"

    def sources_in(self, group: int, day: int) -> str:
        """A group's share of the hosts from where visitors came on a day."""
        return f"{self._group(group)}:sources:{day}"

    def referrals_in(self, group: int, day: int) -> str:
        """A group's share of the pages to which visitors came from elsewhere on a day."""
        return f"{self._group(group)}:referrals:{day}"

    def site_views(self, month: int) -> str:
        """The site's views by hour, and visitors and views by bots by day, of a month."""
        return self.site(f"views:{month}")

    def sources(self, day: int) -> str:
        """The hosts from where visitors came on a day."""
        return self.site(f"sources:{day}")

    def referrals(self, day: int) -> str:
        """The pages to which visitors came from elsewhere on a day, and from where."""
        return self.site(f"referrals:{day}")

    def audience(self, day: int) -> str:
        """What the site's visitors of a day are."""
        return self.site(f"audience:{day}")

    @property
    def shared(self) -> str:
        """The word in the link by which somebody may see the statistics."""
        return self.site("shared")

    @property
    def titles(self) -> str:
        """The titles of pages, by path."""
        return self.site("titles")

    @property
    def live(self) -> str:
        """Counts of pages in the last minutes."""
        return self.site("live")

    @property
    def notes(self) -> str:
        """What an owner has noted on days such as 20261123."""
        return self.site("notes")

    def most_read(self, day: int) -> str:
        """The pages most viewed on a day that is over; with 0, ever."""
        return self.site(f"read:{day}" if day else "read")

    @property
    def held_back(self) -> str:
        """Is something being restored, so that nothing may be removed?"""
        return self.site("undoing")

    def visitor_salt(self, day: int) -> str:
        """With what visitors of a day are distinguished."""
        return self.site(f"salt:{day}")

    def files_in(self, group: int, month: int) -> str:
        """How many lines of files that start in a month were imported into a group's pages."""
        return f"{self._group(group)}:files:{month}"

    def site_files(self, month: int) -> str:
        """How many lines of such files were imported into the site's sums; and of which import its
        days of that month are."""
        return self.site(f"files:{month}")

    def moving(self, path: str) -> str:
        """The counters of a page that are on their way to another one."""
        return f"{self._beside(path)}:moving:{digest(path)}"

    @staticmethod
    def taken(key: str) -> str:
        """Where a key with a page's views stays until they have arrived at another page."""
        return f"{key}:taken"

    def given(self, path: str) -> str:
        """What has arrived in this page's group from other pages."""
        return f"{self._beside(path)}:given"

    def spare(self, path: str) -> str:
        return f"{self._beside(path)}:spare"

    def group(self, path: str) -> int:
        """The number of the group that has the views of a page."""
        return self._number(path) % GROUPS

    def _beside(self, path: str) -> str:
        """The prefix of a page's view keys, so that one script changes all of them."""
        return self._group(self.group(path))

    def _number(self, text: str) -> int:
        packed = blake2b(text.encode(), digest_size=8, key=self.seed).digest()
        return int.from_bytes(packed)

    def _long(self, group: int, bits: int) -> str:
        return f"{self._group(group)}:long:{bits}"

    def _group(self, group: int) -> str:
        return f"{self.prefix}:{{c:{group:02x}}}"

    def tokens(self, bucket: str) -> str:
        return f"{self.prefix}:{{i:{_hidden(bucket)}}}:tokens"

    def page(self, page: str, what: str) -> str:
        """`page` is a digest; `what` one of the rows of docs/redis-keys.md."""
        return f"{self.prefix}:{{p:{page}}}:{what}"

    def site(self, what: str) -> str:
        return f"{self.prefix}:{{site}}:{what}"

    def reports(self, comment: str) -> str:
        """Digests of addresses from which a comment was reported; of its short id, as this stays
        when its page moves."""
        return self.site(f"reports:{comment[:SHORT]}")

    def verdict(self, comment: str) -> str:
        """What a language model has said of a comment, of its short id."""
        return self.site(f"verdict:{comment[:SHORT]}")

    def asked(self, day: int) -> str:
        """How often a language model was asked on a day, since 1970."""
        return self.site(f"asked:{day}")

    def probe(self, number: int) -> str:
        """A key that never exists; the numbers lie in most slots."""
        return f"{self.prefix}:{{probe:{number}}}:none"

    def pages_of(self, account: str) -> str:
        return self.site(f"pages:{account}")

    def own(self, account: str) -> str:
        return self.site(f"own:{account}")

    def by(self, author: str) -> str:
        return self.site(f"by:{author}")

    def account(self, what: str) -> str:
        """`what` is one of the rows of docs/redis-keys.md; all accounts share a slot."""
        return f"{self.prefix}:{{accounts}}:{what}"

    def imported(self, counts_key: str, of: str) -> str:
        """How much of an import the group of this hash has."""
        return f"{counts_key.partition('}')[0]}}}:imported:{of}"

    @property
    def accounts(self) -> str:
        return self.account("bodies")

    @property
    def every_key(self) -> str:
        """A pattern for SCAN: all keys under this prefix."""
        return f"{self.prefix}:{{*"

    @property
    def every_page(self) -> str:
        """A pattern for SCAN: the key `path` of each page."""
        return f"{self.prefix}:{{p:*}}:path"

    @property
    def every_thread(self) -> str:
        """A pattern for SCAN: the keys `path` and `bodies` of each page, which damage may have
        parted; no other key starts so."""
        return f"{self.prefix}:{{p:*}}:[pb][ao]*"

    @property
    def every_journal(self) -> str:
        """A pattern for SCAN: the key `journal` of each page that has one."""
        return f"{self.prefix}:{{p:*}}:journal"

    @property
    def every_counter_key(self) -> str:
        """A pattern for SCAN: all hashes of counters."""
        return f"{self.prefix}:{{c:*}}:[cl]*"

    @staticmethod
    def page_of(key: str) -> str:
        """The digest in a page's key."""
        return key.rpartition("{p:")[2].partition("}")[0]

    @staticmethod
    def group_of(counts_key: bytes) -> bytes:
        """The hash tag of a key, which may be packed: keys with the same tag share a slot."""
        return counts_key.partition(b"{")[2].partition(b"}")[0]


class ViewKeys(NamedTuple):
    """The keys of a page's views, which lie in one slot."""

    group: str
    page: str  # A digest.

    def days(self, month: int) -> str:
        """Views of each day of a month such as 202611."""
        return f"{self.group}:days:{self.page}:{month}"

    @property
    def hours(self) -> str:
        return f"{self.group}:hours:{self.page}"

    def bots(self, month: int) -> str:
        """Views by bots, by day of the month and class."""
        return f"{self.group}:bots:{self.page}:{month}"

    def of_months(self, months: Iterable[int]) -> list[str]:
        """Days and bots of each month in turn."""
        return [key for month in months for key in (self.days(month), self.bots(month))]

    def visitors(self, day: int) -> str:
        """As numbers of a day such as 20261123."""
        return f"{self.group}:visitors:{self.page}:{day}"

    def read(self, day: int) -> str:
        """The pages most viewed on a day, of the group that has the views of this one."""
        return f"{self.group}:read:{day}"


def weight(name: str) -> int:
    """How many counters of COUNTER_LIMIT this one counts for."""
    bits = _long_bits(name)
    return _weight(bits) if bits else 1


def _long_bits(name: str) -> int:
    """n for a long name of up to 2^n bytes; 0 for a name that a packed hash may have."""
    length = len(name.encode())
    return min((length - 1).bit_length(), _LONG_BITS[-1]) if length > MAX_PACKED_BYTES else 0


def _weight(bits: int) -> int:
    return -(-bytes_of(1 << bits) // WEIGHT_UNIT_BYTES)


def bytes_of(length: int) -> int:
    """The approximate memory in bytes of a counter whose name has `length` bytes.

    For a long name it is an upper bound: Redis's allocator adds up to a quarter, and an entry of an
    unpacked hash costs 100 bytes in addition to its name.
    """
    return length * 5 // 4 + 100 if length > MAX_PACKED_BYTES else length + 12


# Kinds of hashes, as lua/includes/kind_of.lua names them -> the weight of a counter in them.
WEIGHTS = {"counts": 1} | {f"long:{bits}": _weight(bits) for bits in _LONG_BITS}
