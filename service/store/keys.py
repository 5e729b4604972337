"""Every key's name, and nowhere else.

The braces choose the Cluster slot: keys that one script touches together have the same braces. A
page is named by a digest, never by its path, since a path may hold a brace of its own and would
then choose the slot; and long paths would cost memory in every key.
"""

import re
from base64 import b32hexencode
from collections.abc import Iterator
from hashlib import blake2b
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


class Keys:
    """Key names under one prefix.

    Counters are spread over so many `buckets`, a power of two of 256 at least: a new data set's are
    given here, and those of another are learnt from it before anything is counted.
    """

    def __init__(self, prefix: str, buckets: int) -> None:
        self.prefix = prefix
        self.buckets = buckets

    def counts(self, path: str) -> str:
        """The hash that holds a path's counters."""
        if path.startswith("/.trial/") and (trial := TRIAL.match(path)):
            return self.trial(trial[1])
        return self.counts_of(crc32(path.encode()) & (self.buckets - 1))

    def counts_of(self, bucket: int) -> str:
        return f"{self.prefix}:{{c:{bucket % GROUPS:02x}}}:counts:{bucket // GROUPS:x}"

    def every_counts(self) -> Iterator[str]:
        """All hashes of counters that there may be, trials' left out."""
        return map(self.counts_of, range(self.buckets))

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
        """A pattern for SCAN: all hashes of counters, trials' left out."""
        return f"{self.prefix}:{{c:*}}:counts:*"

    @staticmethod
    def page_of(path_key: str) -> str:
        """The digest in a key that `every_page` found."""
        return path_key.rpartition("{p:")[2].partition("}")[0]

    @staticmethod
    def group_of(counts_key: bytes) -> bytes:
        """What the counts keys of one Cluster slot have in common, however they are packed."""
        return counts_key.partition(b"{")[2].partition(b"}")[0]
