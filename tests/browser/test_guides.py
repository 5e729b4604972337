"""What the guides of docs/moving-in say of themes' settings, held against the published themes."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.npm import CACHE, unpacked

from .packages import FLUID, NEXT

GUIDE = Path(__file__).parents[2] / "docs/moving-in/hexo.md"
# By the heading of the guide: the package, and its SHA-256.
THEMES = {
    "NexT": NEXT,
    "Fluid": FLUID,
    "Butterfly": (
        "hexo-theme-butterfly@5.7.0",
        "80cef791e57532b8e4d847dc0115fb7ed3f1bf535c6f0d288f15aab1612f9456",
    ),
    "Volantis": (
        "hexo-theme-volantis@6.8.3",
        "284ebbfb768e442679fe92f305ee18cec5dc5d0fb04752f5d1decfcbe38d6761",
    ),
    "Redefine": (
        "hexo-theme-redefine@2.9.0",
        "cadd8f407fc7618a0805527931bfd256e0bf2e65bd9c1b1973e265a414f38c97",
    ),
    "Solitude": (
        "hexo-theme-solitude@4.0.0",
        "ed14821231abb3abb9cb57c793f9dbd5d1553d6a645987accc0867c9b123d7a9",
    ),
    "Stellar": (
        "hexo-theme-stellar@1.44.0",
        "a64c8e82065a0392ab5334413bb7861e65314912eb24d96e4aed7e3596ffd3d3",
    ),
}
# Where themes list the scripts whose addresses may be others.
SCRIPTS = ("_vendors.yml", "plugins.yml")


def settings_of(theme: str) -> Iterator[Any]:
    """Each block of YAML in the theme's part of the guide."""
    part = GUIDE.read_text().partition(f"## {theme}\n")[2].partition("\n## ")[0]
    for block in re.findall(r"```yaml\n(.*?)```", part, re.DOTALL):
        yield yaml.safe_load(block)


def paths(settings: Mapping[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from paths(value, (*before, key))
        else:
            yield (*before, key)


def is_there(home: Path, path: tuple[str, ...]) -> bool:
    """Is it a setting of the theme, perhaps one that is commented out, a script of its, or what its
    templates read though no setting says so any more?"""
    text = (home / "_config.yml").read_text()
    found = yaml.safe_load(text)
    first, name = path[0], path[-1]
    for key in path[:-1]:
        found = (found or {}).get(key)
    if name in (found or {}) or (found and re.search(rf"^ +# ?{name}:", text, re.MULTILINE)):
        return True
    scripts = "".join(each.read_text() for each in map(home.joinpath, SCRIPTS) if each.exists())
    if re.search(rf"^{name}:", scripts, re.MULTILINE):
        return True
    read = "".join(read_text(home / "layout") + read_text(home / "source/js"))
    return f"theme.{first}" in read and re.search(rf"\b{name}\b", read) is not None


def read_text(folder: Path) -> list[str]:
    return [each.read_text() for each in folder.rglob("*") if each.is_file()]


@pytest.mark.rare
@pytest.mark.parametrize("theme", THEMES)
def test_a_guide_names_settings_that_its_theme_has(theme: str) -> None:
    package, sha256 = THEMES[theme]
    home = unpacked(package, sha256, CACHE / package)
    asked = [path for block in settings_of(theme) for path in paths(block)]
    assert asked
    assert [path for path in asked if not is_there(home, path)] == []
