"""Pages made by the server: the demonstration page, and those of the admin UI, which are in
ui/admin, by Jinja.

Values are escaped, except charts, which charts.py has escaped. Imported on first use: Jinja takes
11 MB, which a service that only counts does not need.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

UI = Path(__file__).parents[1] / "ui"


def filled(name: str, values: Mapping[str, object]) -> bytes:
    """The page of this template; a value that it lacks is a defect."""
    return _environment().get_template(name).render(values).encode(errors="replace")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader([UI / "admin", UI]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
