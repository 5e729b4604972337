"""`python -m footfall`, which prints its peak memory at its end.

The kernel's number for child processes is no use: it includes the parent's memory before exec.
"""

import atexit
import re
from pathlib import Path

from footfall.cli.main import main


def print_peak() -> None:
    match = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert match is not None
    print(f"at most {int(match[1]) * 1024} bytes")


if __name__ == "__main__":
    atexit.register(print_peak)
    main()
