"""Pages that the server makes whole, for a site's owner: templates of ui/admin, by Jinja.

Whatever is filled in is escaped, but for charts, which charts.py has escaped. Loaded when somebody
opens such a page: Jinja takes 11 MB, which a service that only counts does not need.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

FOLDER = Path(__file__).parents[1] / "ui/admin"


def filled(name: str, values: Mapping[str, object]) -> bytes:
    """The page of this template; a value that it lacks is a defect."""
    return _environment().get_template(name).render(values).encode(errors="replace")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
