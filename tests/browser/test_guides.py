"""The guides of docs/moving-in, followed word for word: each theme has the settings that they name,
and a blog that Hexo makes with them shows its views."""

import http.server
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from playwright.sync_api import expect

from tests.support.npm import CACHE, node, npm, unpacked
from tests.support.requirements import give_up

from .conftest import NewVisitor, Start
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


# What a blog is made of, and with each theme the numbers of its guide: the protocol, and where a
# reader sees the page's views.
HEXO = ("hexo@7.3.0", "hexo-generator-index@4.0.0", "hexo-renderer-marked@7.0.1")
RENDERERS = ("hexo-renderer-ejs@2.0.0", "hexo-renderer-pug@3.0.0", "hexo-renderer-stylus@3.0.1")
OF_BUSUANZI = "#busuanzi_value_page_pv"
NUMBERS = [
    ("NexT", "leancloud", ".leancloud-visitors-count"),
    ("NexT", "busuanzi", OF_BUSUANZI),
    ("Fluid", "leancloud", "#leancloud-page-views"),
    ("Fluid", "open-kounter", "#openkounter-page-views"),
    ("Fluid", "busuanzi", OF_BUSUANZI),
    ("Butterfly", "busuanzi", OF_BUSUANZI),
]
INSTALL_SECONDS, MAKE_SECONDS = 300, 120


class Settings(NamedTuple):
    """A block of YAML in a guide, and for which protocol it is."""

    protocol: str
    text: str


def settings_of(theme: str) -> Iterator[Settings]:
    part = GUIDE.read_text().partition(f"## {theme}\n")[2].partition("\n## ")[0]
    protocol = ""
    for named, block in re.findall(r"`COMPAT=([\w-]+)`|```yaml\n(.*?)```", part, re.DOTALL):
        protocol = named or protocol
        if block:
            yield Settings(protocol, block)


def paths(settings: Mapping[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from paths(value, (*before, key))
        else:
            yield (*before, key)


def is_there(home: Path, path: tuple[str, ...]) -> bool:
    """Is it a setting of the theme, perhaps one that is commented out, a script of its, or what its
    templates read though no setting names it?"""
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
    asked = [path for each in settings_of(theme) for path in paths(yaml.safe_load(each.text))]
    assert asked
    assert [path for path in asked if not is_there(home, path)] == []


@pytest.fixture(scope="module")
def hexo() -> Path:
    """A directory with Hexo and the themes, installed once."""
    themes = [package for package, _ in (THEMES[theme] for theme, _, _ in NUMBERS)]
    packages = [*HEXO, *RENDERERS, *dict.fromkeys(themes)]
    home = CACHE / "hexo"
    installed = home / "installed"
    if not installed.exists() or installed.read_text() != " ".join(packages):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        (home / "package.json").write_text(json.dumps({"private": True}))
        command = [*npm(), "install", "--no-audit", "--no-fund", "--loglevel=error", *packages]
        done = subprocess.run(
            command, cwd=home, capture_output=True, text=True, timeout=INSTALL_SECONDS
        )
        if done.returncode:
            give_up(f"npm could not install Hexo: {done.stderr.strip()[-300:]}")
        installed.write_text(" ".join(packages))
    return home


def blog_of(hexo: Path, home: Path, theme: str, settings: str) -> Path:
    """The pages of a blog with this theme, whose settings are these."""
    (home / "source/_posts").mkdir(parents=True)
    (home / "source/_posts/hello.md").write_text("---\ntitle: Hello\n---\nWords.\n")
    (home / "node_modules").symlink_to(hexo / "node_modules")
    shutil.copy(hexo / "package.json", home)
    package = json.loads((home / "package.json").read_text()) | {"hexo": {"version": "7.3.0"}}
    (home / "package.json").write_text(json.dumps(package))
    # NexT counts at the site's own host alone.
    site = {"url": "http://127.0.0.1", "theme": theme.lower(), "permalink": ":title/"}
    (home / "_config.yml").write_text(yaml.safe_dump(site))
    (home / f"_config.{theme.lower()}.yml").write_text(settings)
    make = [*node(), "node_modules/hexo/bin/hexo", "generate"]
    done = subprocess.run(make, cwd=home, capture_output=True, text=True, timeout=MAKE_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "public"


@pytest.fixture
def publish() -> Iterator[Any]:
    """Serves a directory; returns its address."""
    servers: list[http.server.ThreadingHTTPServer] = []

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    def publish(directory: Path) -> str:
        handler = partial(Quiet, directory=str(directory))
        servers.append(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield publish
    for each in servers:
        each.shutdown()
        each.server_close()


@pytest.mark.rare
@pytest.mark.parametrize(("theme", "protocol", "number"), NUMBERS)
def test_a_blog_that_is_made_by_the_guide_shows_its_views(
    hexo: Path,
    tmp_path: Path,
    publish: Any,
    start: Start,
    new_visitor: NewVisitor,
    theme: str,
    protocol: str,
    number: str,
) -> None:
    service = start(COMPAT=protocol, STATISTICS="visitors")
    (text,) = (each.text for each in settings_of(theme) if each.protocol == protocol)
    pages = blog_of(hexo, tmp_path, theme, text.replace("https://count.example", service.url))
    url = publish(pages)
    for views in ("1", "2"):
        visitor = new_visitor()
        # Themes have fonts and scripts on many hosts, which are not asked here.
        visitor.forgive("")
        visitor.open(f"{url}/hello/")
        expect(visitor.page.locator(number).first).to_have_text(views)
