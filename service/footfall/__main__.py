"""The program `footfall`, which is `python -m footfall`, too."""

import os
import signal
import sys

from .cli import probe


def _end(number: int, frame: object) -> None:
    # At once, since nothing has begun; an exception might be lost in what Python does just then.
    os._exit(0)


def main() -> None:
    words = sys.argv[1:]
    if probe.is_probe(words):
        raise SystemExit(probe.probe(words))
    if words[:1] == ["serve"]:
        # Before anything else: the first process of a container that handles no signal has none,
        # and until the service answers it may wait for Redis.
        signal.signal(signal.SIGTERM, _end)
    from .cli.main import main as command

    command(prog_name="footfall")


if __name__ == "__main__":
    main()
