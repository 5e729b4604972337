"""Other counters' protocols, a file each: codecs onto the same counters as Waline's operations.

They have no store and no keys of their own. COMPAT selects those that a site speaks.
"""

from collections.abc import Collection, Mapping, Sequence

from ..table.rows import Row
from . import abacus, badges, busuanzi, goatcounter, leancloud, open_kounter

# By the names in COMPAT (model.PROTOCOLS).
ROWS: Mapping[str, Sequence[Row]] = {
    "leancloud": leancloud.ROWS,
    "open-kounter": open_kounter.ROWS,
    "busuanzi": busuanzi.ROWS,
    "goatcounter": goatcounter.ROWS,
    "abacus": abacus.ROWS,
    # The last: one of its paths starts with any host.
    "badges": badges.ROWS,
}


def rows_of(protocols: Collection[str]) -> list[Row]:
    """The operations of these protocols."""
    return [row for name, rows in ROWS.items() if name in protocols for row in rows]
