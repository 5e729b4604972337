"""Which requests of an access log are views of pages."""

from pathlib import Path

import pytest

from footfall.transfer.access_log import NO_LINE, LogRow
from footfall.transfer.page_views import (
    ASSET,
    EXCLUSIONS,
    NO_GET,
    OTHER_HOST,
    ViewReport,
    exclusion,
    page_views,
)
from footfall.transfer.source import Source
from tests.unit.test_log_rows import LINE, ROW


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?p=12",
        "/posts/a",
        "/posts/a/",
        "/posts/a.html",
        "/index.php",
        "/posts/version-1.2",
        "/about.me/",
        "/posts/apis",
        "/posts/api/",
        "/posts/feed-the-cat",
        "/café",
        "/v1.js/a",
    ],
)
def test_a_page_that_was_shown_is_a_view(path: str) -> None:
    assert exclusion(ROW._replace(path=path)) == ""
    assert exclusion(ROW._replace(path=path, status=304)) == ""


@pytest.mark.parametrize("type", ["", "text/html", "Text/HTML ;charset=x", "application/xhtml+xml"])
def test_only_html_is_a_page(type: str) -> None:
    assert exclusion(ROW._replace(type=type)) == ""


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (ROW._replace(method="", path=""), "is not an HTTP request"),
        (ROW._replace(method="POST"), "is not a GET"),
        (ROW._replace(method="HEAD"), "is not a GET"),
        (ROW._replace(status=404), "was not answered with 200 or 304"),
        (ROW._replace(status=301), "was not answered with 200 or 304"),
        (ROW._replace(status=206), "was not answered with 200 or 304"),
        (ROW._replace(path=""), "names no page"),
        (ROW._replace(path="/a\0b"), "names no page"),
        (ROW._replace(path="/<script>"), "names no page"),
        (ROW._replace(path="/" + "a" * 2048), "names no page"),
        (ROW._replace(path="/api/article"), "is at a path for programs"),
        (ROW._replace(path="/.well-known/security"), "is at a path for programs"),
        (ROW._replace(path="/wp-admin/"), "is at a path for programs"),
        (ROW._replace(path="/feed/"), "is a feed"),
        (ROW._replace(path="/posts/a/feed"), "is a feed"),
        (ROW._replace(path="/sitemap.xml"), "is a feed"),
        (ROW._replace(path="/style.CSS"), "is a file of a page, or a download"),
        (ROW._replace(path="/robots.txt"), "is a file of a page, or a download"),
        (ROW._replace(path="/a.tar.gz"), "is a file of a page, or a download"),
        (ROW._replace(type="application/json"), "is not HTML"),
    ],
)
def test_what_is_no_view_has_a_reason(row: LogRow, why: str) -> None:
    assert exclusion(row) == why
    assert why in EXCLUSIONS


@pytest.mark.parametrize("host", ["", "example.org", "www.Example.org:443"])
def test_a_site_that_is_known_has_views_at_its_own_hosts(host: str) -> None:
    own = frozenset({"example.org"})
    assert exclusion(ROW._replace(host=host), own) == ""
    assert exclusion(ROW._replace(host="shop.example.org"), own) == OTHER_HOST
    assert exclusion(ROW._replace(host="shop.example.org")) == ""


def test_the_report_counts_every_line_and_shows_the_first_of_each_reason(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    other = LINE.replace("/posts/a/", "/posts/b/")
    picture = LINE.replace("/posts/a/", "/a.png")
    lines = [LINE, *["nonsense"] * 5, "", picture, LINE, other, LINE.replace("GET", "POST")]
    path.write_text("\n".join(lines))
    report = ViewReport()
    views = list(page_views(Source(path), frozenset(), report))
    assert views == [(1, ROW), (9, ROW), (10, ROW._replace(path="/posts/b/"))]
    assert (report.views, report.unreadable) == (3, {NO_LINE: 5})
    assert report.excluded == {ASSET: 1, NO_GET: 1}
    assert report.places == {NO_LINE: [f"{path}, line {number}" for number in (2, 3, 4)]}
    assert report.samples == {
        "": ["/posts/a/", "/posts/b/"],
        ASSET: ["/a.png"],
        NO_GET: ["/posts/a/"],
    }
