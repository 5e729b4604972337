"""The operations of a site, as they are looked up."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from .prefixes import Prefix
from .rows import Row

# By prefix, path and method.
Operations = Mapping[Prefix, Mapping[str, Mapping[str, Sequence[Row]]]]


def by_prefix(rows: Iterable[Row]) -> Operations:
    found: defaultdict[Prefix, defaultdict[str, defaultdict[str, list[Row]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for row in rows:
        for prefix in row.prefixes:
            found[prefix][row.path][row.method].append(row)
    return found
