"""Every key's name, and nowhere else.

The braces choose the Cluster slot: keys that one script touches together have the same braces. A
page is named by a digest, never by its path, since a path may hold a brace of its own and would
then choose the slot; and long paths would cost memory in every key.
"""

import re
from base64 import b32hexencode
from collections.abc import Iterator
from hashlib import blake2b
from itertools import chain

# Paths of no site: whoever measures a service counts these, and they are forgotten by themselves.
_TRIAL = re.compile("/\\.trial/([0-9a-f]{32})/")

# Hashes of counters share hash tags in so many groups, so that on a Cluster one call serves every
# hash of a group.
GROUPS = 256
# Redis keeps a small hash packed, in half the memory, until a field is longer than this: its
# default for hash-max-listpack-value, so that operators need not set anything. One long field would
# unpack a bucket for good, so counters with long paths lie in hashes of their own.
PACKED_BYTES = 64
# One such hash a group for names of up to 128 bytes, one for up to 256, and so on: to know what
# counters take, it is enough to know how many lie in which.
_LONG_BITS = range(PACKED_BYTES.bit_length(), 15)
# Of the hash that decides which path lies where.
SEED_BYTES = 16
# What a counter may take for each one that COUNTER_LIMIT allows.
BYTES_EACH = 100


def digest(*parts: str) -> str:
    """80 bits of blake2b as 16 letters and digits: a name for anything, in lower case.

    Enough, since whoever finds two paths with one digest only joins two pages of their own.
    """
    joined = "\0".join(parts).encode()
    return b32hexencode(blake2b(joined, digest_size=10).digest()).decode().lower()


def _hidden(address: str) -> str:
    """A name for an address that does not tell it; found for each view behind a proxy."""
    return blake2b(address.encode(), digest_size=10).hexdigest()


class Keys:
    """Key names under one prefix.

    Counters are spread over so many `buckets`, a power of two of 256 at least. Which path lies
    where depends on a `seed` that only the data set knows, so that nobody outside can fill one
    bucket, or one node of a Cluster. Both are learnt from it before anything is counted.
    """

    def __init__(self, prefix: str, buckets: int, seed: bytes = b"") -> None:
        self.prefix = prefix
        self.buckets = buckets
        self.seed = seed
        # A page's hash of them; otherwise in a data set that a version before has made.
        self.fingerprints = "fingerprints"

    def counts(self, name: str) -> str:
        """The hash that holds a counter; its name is `<type> <path>`."""
        path = name.partition(" ")[2]
        if trial := trial_of(path):
            return self.trial(trial)
        number = self._number(path)
        if bits := _long_bits(name):
            return self._long(number % GROUPS, bits)
        return self.counts_of(number % self.buckets)

    def counts_of(self, bucket: int) -> str:
        return f"{self._group(bucket % GROUPS)}:counts:{bucket // GROUPS:x}"

    def every_counts(self) -> Iterator[str]:
        """All hashes of counters that there may be, trials' left out."""
        yield from self.every_packed()
        yield from chain.from_iterable(self.every_long().values())

    def every_packed(self) -> Iterator[str]:
        return map(self.counts_of, range(self.buckets))

    def every_long(self) -> dict[int, list[str]]:
        """Those of long paths, by what a counter in them weighs."""
        return {
            _weight(bits): [self._long(group, bits) for group in range(GROUPS)]
            for bits in _LONG_BITS
        }

    def trial(self, id: str) -> str:
        """The hash of a trial's counters; lua/counters/add.lua knows it by its ending."""
        return f"{self._group(self._number(id) % GROUPS)}:trial:{id}"

    def _number(self, text: str) -> int:
        packed = blake2b(text.encode(), digest_size=8, key=self.seed).digest()
        return int.from_bytes(packed)

    def _long(self, group: int, bits: int) -> str:
        return f"{self._group(group)}:long:{bits}"

    def _group(self, group: int) -> str:
        return f"{self.prefix}:{{c:{group:02x}}}"

    def cooldown(self, address: str) -> str:
        return f"{self.prefix}:{{i:{_hidden(address)}}}:cooldown"

    def tokens(self, address: str) -> str:
        return f"{self.prefix}:{{i:{_hidden(address)}}}:tokens"

    def new_tokens(self, address: str) -> str:
        return f"{self.prefix}:{{i:{_hidden(address)}}}:newtokens"

    def page(self, page: str, what: str) -> str:
        """`page` is a digest; `what` one of the rows of docs/redis-keys.md."""
        return f"{self.prefix}:{{p:{page}}}:{what}"

    def mine(self, page: str, account: str) -> str:
        return self.page(page, f"mine:{account}")

    def site(self, what: str) -> str:
        return f"{self.prefix}:{{site}}:{what}"

    def own(self, account: str) -> str:
        return self.site(f"own:{account}")

    @property
    def accounts(self) -> str:
        return f"{self.prefix}:{{accounts}}:bodies"

    @property
    def accounts_version(self) -> str:
        """Raised whenever an account changes: what pages show of it is looked up live."""
        return f"{self.prefix}:{{accounts}}:version"

    @property
    def every_key(self) -> str:
        """A pattern for SCAN: whatever lies under this prefix."""
        return f"{self.prefix}:{{*"

    @property
    def every_page(self) -> str:
        """A pattern for SCAN: one key a page, whatever else the page has."""
        return f"{self.prefix}:{{p:*}}:path"

    @property
    def every_bucket(self) -> str:
        """A pattern for SCAN: hashes of counters, but for those of long paths and of trials."""
        return f"{self.prefix}:{{c:*}}:counts*"

    @property
    def every_counter_key(self) -> str:
        """A pattern for SCAN: all hashes of counters, trials' too."""
        return f"{self.prefix}:{{c:*}}:*"

    @staticmethod
    def page_of(path_key: str) -> str:
        """The digest in a key that `every_page` found."""
        return path_key.rpartition("{p:")[2].partition("}")[0]

    @staticmethod
    def group_of(counts_key: bytes) -> bytes:
        """What the counts keys of one Cluster slot have in common, however they are packed."""
        return counts_key.partition(b"{")[2].partition(b"}")[0]


def trial_of(path: str) -> str:
    """The id of the trial that a path belongs to; "" for a path of a site."""
    found = _TRIAL.match(path) if path.startswith("/.trial/") else None
    return found[1] if found else ""


def weight(name: str) -> int:
    """How many of the counters that COUNTER_LIMIT allows this one is; none if it is a trial's."""
    if trial_of(name.partition(" ")[2]):
        return 0
    bits = _long_bits(name)
    return _weight(bits) if bits else 1


def _long_bits(name: str) -> int:
    """The power of two that a long name's bytes fit in; 0 for a name that is packed."""
    length = len(name.encode())
    return min((length - 1).bit_length(), _LONG_BITS[-1]) if length > PACKED_BYTES else 0


def _weight(bits: int) -> int:
    return -(-bytes_of(1 << bits) // BYTES_EACH)


def bytes_of(length: int) -> int:
    """About what a counter takes whose name has so many bytes: of a long one, at most that.

    Redis's allocator adds up to a quarter, and an entry costs 100 bytes besides its name.
    """
    return length * 5 // 4 + 100 if length > PACKED_BYTES else length + 12
