"""What docs/redis-keys.md says of the keys that follow from comments."""

import re

from .serving import ROOT

_TEXT = (ROOT / "docs/redis-keys.md").read_text()


def rules(of: str) -> dict[str, str]:
    """Name -> type, of the keys below `of` for which there is a rule that a check verifies."""
    (shown,) = re.findall(
        r"(?ms)^## What `footfall check` verifies$.*?`ff:\{"
        + re.escape(of)
        + r"\}:…`:\n(.*?)\n\n\w",
        _TEXT + "\nend",
    )
    return {name: _type(of, name) for name in re.findall(r"(?m)^\| `([^`]+)` \|", shown)}


def _type(of: str, name: str) -> str:
    row = rf"(?m)^\| `ff:\{{{re.escape(of)}\}}:{re.escape(name)}` \| ([^|,]+)(?:, expires)? \|"
    (type,) = re.findall(row, _TEXT)
    return str(type)


PAGE, SITE = rules("p:<page>"), rules("site")
