"""The program `footfall`, which is `python -m footfall`, too."""

import sys

from .cli import probe


def main() -> None:
    words = sys.argv[1:]
    if probe.is_probe(words):
        raise SystemExit(probe.probe(words))
    from .cli.main import main as command

    command(prog_name="footfall")


if __name__ == "__main__":
    main()
