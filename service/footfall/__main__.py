"""`python -m footfall` is `footfall`."""

from .cli.main import main

main(prog_name="footfall")
