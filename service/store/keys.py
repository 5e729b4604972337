"""Every key's name, and nowhere else.

The braces choose the Cluster slot: keys that one script touches together have the same braces. A
page is named by a digest, never by its path, since a path may hold a brace of its own and would
then choose the slot; and long paths would cost memory in every key.
"""

import re
from base64 import b32hexencode
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

# Paths of no site: whoever measures a service counts these, and they are forgotten by themselves.
TRIAL = re.compile("/\\.trial/([0-9a-f]{32})/")

# Buckets of counters share hash tags in so many groups, so that on a Cluster one call serves every
# bucket of a group.
GROUPS = 256


def digest(*parts: str) -> str:
    """80 bits of blake2b as 16 letters and digits: a name for anything, in lower case.

    Enough, since whoever finds two paths with one digest only joins two pages of their own.
    """
    joined = "\0".join(parts).encode()
    return b32hexencode(blake2b(joined, digest_size=10).digest()).decode().lower()


def _hidden(address: str) -> str:
    """A name for an address that does not tell it; found for each view behind a proxy."""
    return blake2b(address.encode(), digest_size=10).hexdigest()


class Layout(NamedTuple):
    """So many buckets of counters, a power of two of 256 at least; how often that was changed."""

    buckets: int
    generation: int = 0

    def bucket(self, path: bytes) -> int:
        """A path's; its group is the same in every layout."""
        return crc32(path) & (self.buckets - 1)

    @property
    def counts(self) -> str:
        """What the hashes of this layout are called, and those of no other."""
        return f"counts.{self.generation}" if self.generation else "counts"


class Keys:
    """Key names under one prefix.

    `layout` is how counters are spread over hashes, and `next` how they will be, while they are
    being moved.
    """

    def __init__(self, prefix: str, buckets: int) -> None:
        self.prefix = prefix
        self.layout = Layout(buckets)
        self.next: Layout | None = None
        # The buckets that are known to have been moved to the next layout.
        self._moved: set[int] = set()

    def arrange(self, layout: Layout, next: Layout | None) -> None:
        if (layout, next) != (self.layout, self.next):
            self.layout, self.next, self._moved = layout, next, set()

    def moved(self, path: str) -> None:
        """A path's bucket is not where it was any more."""
        if self.next:
            self._moved.add(self.layout.bucket(path.encode()))

    def counts(self, path: str) -> str:
        """The hash that holds a path's counters."""
        if path.startswith("/.trial/") and (trial := TRIAL.match(path)):
            return self.trial(trial[1])
        bucket = self.layout.bucket(path.encode())
        if self.next and bucket in self._moved:
            return self.counts_of(self.next.bucket(path.encode()), self.next)
        return self.counts_of(bucket)

    def counts_of(self, bucket: int, layout: Layout | None = None) -> str:
        """One of a layout's hashes, of the one that is in force by default."""
        layout = layout or self.layout
        return f"{self.prefix}:{{c:{bucket % GROUPS:02x}}}:{layout.counts}:{bucket // GROUPS:x}"

    def every_counts(self) -> Iterator[str]:
        """All hashes of counters that there may be, trials' left out."""
        return map(self.counts_of, range(self.layout.buckets))

    def trial(self, id: str) -> str:
        """The hash of a trial's counters; lua/counters/add.lua knows it by its ending."""
        return f"{self.prefix}:{{c:{id[:2]}}}:trial:{id}"

    def gate(self, address: str) -> str:
        return f"{self.prefix}:{{i:{_hidden(address)}}}:gate"

    def bucket(self, address: str) -> str:
        return f"{self.prefix}:{{i:{_hidden(address)}}}:bucket"

    def page(self, page: str, what: str) -> str:
        """`page` is a digest; `what` one of the rows of the README's table."""
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
        """A pattern for SCAN: all hashes of counters in this layout."""
        return f"{self.prefix}:{{c:*}}:{self.layout.counts}:*"

    @property
    def every_bucket_ever(self) -> str:
        """A pattern for SCAN: hashes of counters in all layouts, and strings in place of them."""
        return f"{self.prefix}:{{c:*}}:counts*"

    @staticmethod
    def page_of(path_key: str) -> str:
        """The digest in a key that `every_page` found."""
        return path_key.rpartition("{p:")[2].partition("}")[0]

    @staticmethod
    def group_of(counts_key: bytes) -> bytes:
        """What the counts keys of one Cluster slot have in common, however they are packed."""
        return counts_key.partition(b"{")[2].partition(b"}")[0]
