"""`footfall statistics`, beside a service that counts."""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from tests.support.serving import Serving, serving


@pytest.fixture
def served(own: Path) -> Iterator[Serving]:
    with serving(own / "s", STATISTICS="views") as served:
        yield served


def view(served: Serving, path: str, times: int) -> None:
    for _ in range(times):
        httpx.post(f"{served.url}/article", json={"path": path}).raise_for_status()


def test_each_day_has_a_bar_and_all_add_up(served: Serving) -> None:
    view(served, "/a", 4)
    view(served, "/b", 1)
    code, output = served.output_of("statistics", "--days", "3")
    *days, total = output.splitlines()
    today = datetime.now(UTC)
    assert (code, len(days)) == (0, 3)
    assert days[-1] == f"{today:%a %Y-%m-%d}  5  {'█' * 40}"
    assert days[0].split()[-1] == "0"
    assert total.split() == ["in", "all", "5"]
    assert served.output_of("statistics", "/a", "--days", "1")[1].splitlines()[0].split()[2] == "4"
    assert served.output_of("check")[0] == 0


def test_a_program_reads_days_between_commas(served: Serving) -> None:
    view(served, "/a, b", 2)
    code, output = served.output_of("statistics", "/a, b", "--csv", "--days", "400")
    rows = list(csv.DictReader(output.splitlines()))
    assert (code, len(rows), rows[-1]["views"]) == (0, 400, "2")
    assert rows[-1]["day"] == f"{datetime.now(UTC):%Y-%m-%d}"
    assert sum(int(row["views"]) for row in rows) == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no view of the site is known from these 14 days"),
        (("/none\x1b[2J",), "no view of /none?[2J is known from these 14 days"),
    ],
)
def test_where_nothing_is_known_it_says_so(
    served: Serving, words: tuple[str, ...], says: str
) -> None:
    code, output = served.ask("statistics", *words)
    assert (code, says in output) == (3, True), output


def test_it_says_if_nothing_is_kept(served: Serving) -> None:
    served.environ["STATISTICS"] = "off"
    code, output = served.ask("statistics")
    assert (code, "STATISTICS=off keeps none" in output) == (3, True), output


def test_a_time_zone_that_is_none_is_refused_with_the_settings_name(served: Serving) -> None:
    served.environ["TIMEZONE"] = "Mars/Olympus"
    code, output = served.ask("statistics")
    assert (code, "TIMEZONE" in output, "'Mars/Olympus' is not a time zone" in output) == (
        1,
        True,
        True,
    )


def test_a_page_is_forgotten_with_its_days_and_not_with_its_count(served: Serving) -> None:
    view(served, "/a", 2)
    code, output = served.output_of("statistics", "/a", "--erase")
    assert (code, "Its counter is 2 as before" in output) == (0, True)
    assert served.ask("statistics", "/a")[0] == 3
    code, output = served.ask("statistics", "/a", "--erase")
    assert (code, "there are no statistics of /a" in output) == (3, True)
    # A command knows a page by each spelling that clients have.
    view(served, "/2020/你/?fbclid=1", 2)
    assert served.ask("statistics", "/2020/%E4%BD%A0/")[0] == 0
    assert served.ask("statistics", "/2020/%E4%BD%A0/", "--erase")[0] == 0
    assert served.output_of("check")[0] == 0
    code, output = served.ask("statistics", "--erase")
    assert (code, "--erase needs the PATH of a page" in output) == (2, True)
