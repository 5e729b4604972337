"""Which requests of an access log are views of pages."""

from pathlib import Path

import pytest

from footfall.transfer.access_log import NO_LINE, LogRow
from footfall.transfer.page_views import EXCLUSIONS, ViewReport, exclusion, page_views
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
        (ROW._replace(method="", path=""), "is no request of HTTP"),
        (ROW._replace(method="POST"), "is no GET"),
        (ROW._replace(method="HEAD"), "is no GET"),
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
        (ROW._replace(type="application/json"), "is no HTML"),
    ],
)
def test_what_is_no_view_has_a_reason(row: LogRow, why: str) -> None:
    assert exclusion(row) == why
    assert why in EXCLUSIONS


def test_the_report_counts_every_line_and_tells_the_first_of_each_reason(tmp_path: Path) -> None:
    new, old = tmp_path / "access.log", tmp_path / "access.log.1"
    new.write_text("\n".join([LINE, "nonsense", LINE.replace("GET", "POST"), "nonsense"]))
    old.write_text("\n".join(["", *[each.replace("23/Nov", "22/Nov") for each in (LINE, LINE)]]))
    report = ViewReport()
    views = list(page_views([Source(new), Source(old)], report))
    assert views == [*[ROW._replace(at=ROW.at - 86_400_000)] * 2, ROW]
    assert (report.views, report.unreadable, report.excluded) == (3, {NO_LINE: 2}, {"is no GET": 1})
    assert report.first == {NO_LINE: f"{new}, line 2", "is no GET": f"{new}, line 3"}
