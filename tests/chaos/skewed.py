"""The service's command with a wall clock of its own: as many seconds off as a file says just now.

As when an operator or NTP sets a machine's clock: the monotonic clock, by which timeouts are
measured, goes on as it did.
"""

import os
import time
from pathlib import Path

_true_time_ns = time.time_ns
_offset = Path(os.environ["CLOCK_OFFSET_FILE"])


def _skewed_time_ns() -> int:
    return _true_time_ns() + int(_offset.read_text()) * 1_000_000_000


if __name__ == "__main__":
    time.time_ns = _skewed_time_ns

    from footfall.cli.main import main

    main(prog_name="footfall")
