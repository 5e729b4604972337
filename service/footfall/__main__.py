"""`python -m footfall` is `footfall`."""

from .cli import main

main(prog_name="footfall")
