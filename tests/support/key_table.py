"""The tables of docs/redis-keys.md: which keys there are, and which of them a check verifies."""

import re

from .serving import ROOT

_SECTIONS = re.split(r"(?m)^## ", (ROOT / "docs/redis-keys.md").read_text())[1:]


def _keys(heading: str) -> dict[str, str]:
    """Name -> type, of the table below a heading."""
    (section,) = [each for each in _SECTIONS if each.startswith(heading)]
    return dict(re.findall(r"(?m)^\| `([^`]+)` \| ([^|,]+)(?:, expires)? \|", section))


# Those that follow from comments: `footfall check` verifies them.
PAGE, SITE = _keys("Comments of a page"), _keys("Lists of the site")
# The first words of all names.
LISTED = {
    re.split("[:<]", name)[0]
    for section in _SECTIONS
    for name in re.findall(r"(?m)^\| `([^`]+)` \|", section)
}
