"""`footfall import access-log` and `footfall import goatcounter`, beside a running service."""

import gzip
import json
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from tests.support.past_logs import GPTBOT, PastRequest, lines
from tests.support.servers import wait_until
from tests.support.serving import Serving, serving

NOTHING_TO_DO = 3
PAGES, VIEWS = 2_000, 60_000


@pytest.fixture
def served(own: Path) -> Iterator[Serving]:
    with serving(own / "s", STATISTICS="visitors", SITE_URL="https://example.org") as served:
        yield served


def days_ago(days: int) -> datetime:
    at = datetime.now(UTC) - timedelta(days)
    return at.replace(hour=10, minute=0, second=0, microsecond=0)


def log(directory: Path, name: str = "access.log") -> str:
    before, day = days_ago(3), days_ago(2)
    requests = [
        *(PastRequest(before, f"/posts/{n % 2}/", f"192.0.2.{n}") for n in range(6)),
        *(PastRequest(day, "/posts/0/", agent=GPTBOT) for _ in range(4)),
        *(PastRequest(day, target) for target in ("/style.css", "/a.png", "/b.png", "/feed/")),
        PastRequest(day, "/\x1b[2J", status=404),
        PastRequest(days_ago(0), "/posts/0/"),
    ]
    path = directory / name
    path.write_text(lines(requests) + "nonsense\n" * 2)
    return str(path)


def ask(served: Serving, *words: str, code: int = 0) -> str:
    found, output = served.ask("import", *words)
    assert found == code, output
    return output


def test_an_import_shows_what_views_are_told_by_and_what_it_stores(served: Serving) -> None:
    path = log(served.directory)
    first, last = (str(days_ago(days).date()) for days in (3, 2))
    rest = f"""\
    lines: 11 views, 5 others, 2 unreadable
    views: {{}} left out
     days: 2 days, {first} to {last}
    pages: 2
"""
    bots = "     bots: 4 ai-crawler\n"
    rules = f"""\
views are such as /posts/0/; /posts/1/
3 others, such as /style.css; /a.png; /b.png: is a file of a page, or a download
1 other, such as /feed/: is a feed
1 other, such as /[2J: was not answered with 200 or 304
2 lines unreadable, such as {path}, line 17; {path}, line 18: is in no known format
1 view left out, {days_ago(0).date()}: of today, which is not over
"""
    dry = served.output_of("import", "access-log", path, "--dry-run")
    head = "Access log, and nothing was stored\n"
    assert dry == (0, head + rest.format("10 new, 1") + bots + rules)
    done = served.output_of("import", "access-log", path)
    assert done == (0, "Access log\n" + rest.format("10 stored, 1") + bots + rules)
    code, again = served.output_of("import", "access-log", path)
    assert code == NOTHING_TO_DO
    assert f"10 views left out, {first} to {last}: of days that have views already\n" in again
    assert again.endswith("nothing to do: every view was left out\n")
    told = json.loads(ask(served, "access-log", path, "--json", "--dry-run").splitlines()[1])
    assert told["views"]["new"] == 0
    assert told["views"]["left_out"]["of days that have views already"] == 10


def test_what_was_imported_is_among_the_statistics_and_counters_stay(served: Serving) -> None:
    httpx.post(f"{served.url}/article", json={"path": "/posts/0/"}).raise_for_status()
    ask(served, "access-log", log(served.directory))
    code, output = served.output_of("statistics", "/posts/0/", "--days", "4", "--csv")
    rows = [line.split(",")[1] for line in output.splitlines()[1:]]
    assert (code, rows) == (0, ["3", "4", "0", "1"])
    site = served.output_of("statistics", "--days", "4", "--csv")[1].splitlines()[1:]
    assert [line.split(",")[1] for line in site] == ["6", "4", "0", "1"]
    count = httpx.get(f"{served.url}/article", params={"path": "/posts/0/"})
    assert count.json() == 1
    assert served.ask("check")[0] == 0


def test_counters_rise_if_that_is_said(served: Serving) -> None:
    httpx.post(f"{served.url}/article", json={"path": "/posts/0/"}).raise_for_status()
    for code in (0, NOTHING_TO_DO):
        ask(served, "access-log", log(served.directory), "--counters", code=code)
        count = httpx.get(f"{served.url}/article", params={"path": "/posts/0/"})
        assert count.json() == 1 + 3 + 4
        output = served.output_of("check")[1]
        assert output.endswith("2 counters, 0 problems\n"), output


def test_a_log_in_a_pipe_is_the_same_log(served: Serving) -> None:
    path = Path(log(served.directory))
    ask(served, "access-log", str(path))
    code, output = served.ask("import", "access-log", "-", stdin=gzip.compress(path.read_bytes()))
    assert (code, "10 views left out" in output) == (NOTHING_TO_DO, True), output


def test_goatcounters_export_is_imported(served: Serving) -> None:
    path = served.directory / "export.csv"
    head = "2Path,Title,Event,User-Agent,Browser,System,Session,Bot,Referrer,Referrer scheme,"
    at = days_ago(4).isoformat()
    row = f"/posts/0/,A,false,,,,s1,0,news.example.com/x,h,,,true,{at}\n"
    path.write_text(f"{head}Screen size,Location,FirstVisit,Date\n{row}")
    output = ask(served, "goatcounter", str(path))
    assert "GoatCounter's export\n" in output
    assert "views: 1 stored, 0 left out" in output


@pytest.mark.rare
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["access-log"], "Missing argument 'FILE...'"),
        (["access-log", "nowhere.log"], "there is no file nowhere.log"),
        (["access-log", "{empty}"], "nothing was imported: no line is a view of a page"),
        (["access-log", "{cut}"], "cut.gz: it was cut off"),
        (["access-log", "{log}", "{cut}"], "nothing was imported"),
        (["goatcounter", "{log}"], "it is not a CSV export of GoatCounter, version 1 or 2"),
        (["goatcounter", "{empty}"], "it is not a CSV export of GoatCounter"),
    ],
    ids=lambda value: None,
)
def test_files_that_cannot_be_imported_are_refused_in_a_sentence(
    served: Serving, words: list[str], said: str
) -> None:
    files = {name: served.directory / name for name in ("empty", "cut.gz")}
    files["empty"].write_bytes(b"")
    path = log(served.directory)
    files["cut.gz"].write_bytes(gzip.compress(Path(path).read_bytes())[:-20])
    named = {"empty": files["empty"], "cut": files["cut.gz"], "log": path}
    code, output = served.ask("import", *(word.format(**named) for word in words))
    assert code in (1, 2)
    assert said in output
    assert "0 views" not in served.output_of("statistics")[1]
    assert served.output_of("statistics")[0] == NOTHING_TO_DO


def test_nothing_is_imported_where_no_statistics_are_kept(served: Serving) -> None:
    served.environ["STATISTICS"] = "off"
    assert "STATISTICS=off keeps no days" in ask(served, "access-log", __file__, code=1)


def test_the_sites_own_links_are_no_sources_if_it_is_known(served: Serving) -> None:
    path = log(served.directory)
    says = "links of the site itself are among the sources"
    assert says not in ask(served, "access-log", path, "--dry-run")
    del served.environ["SITE_URL"]
    assert says in ask(served, "access-log", path, "--dry-run")
    named = ("--host", "www.example.org")
    assert says not in ask(served, "access-log", path, "--dry-run", *named)


@pytest.mark.rare
def test_an_import_that_is_killed_again_and_again_is_whole_in_the_end(served: Serving) -> None:
    path, start = served.directory / "large.log", days_ago(9)
    path.write_text(
        lines(
            PastRequest(start + timedelta(seconds=9 * n), f"/{n * 7 % PAGES}", f"192.0.2.{n % 250}")
            for n in range(VIEWS)
        )
    )

    def views(*words: str) -> int:
        output = served.output_of("statistics", *words, "--days", "10", "--csv")[1]
        rows = output.splitlines()[1:]
        return sum(int(row.split(",")[1]) for row in rows if row[:1].isdigit())

    def of_pages() -> list[int]:
        return [views(f"/{page}") for page in range(0, PAGES, 400)]

    for is_far in (lambda: sum(of_pages()) > 0, lambda: views() > 0):
        process = served.run("import", "access-log", str(path))
        wait_until(is_far, "some views")
        process.send_signal(signal.SIGKILL)
        process.communicate()
    for codes in ((0, NOTHING_TO_DO), (NOTHING_TO_DO,)):
        assert served.ask("import", "access-log", str(path))[0] in codes
        assert of_pages() == [VIEWS // PAGES] * 5
        assert views() == VIEWS
    assert served.output_of("check")[1].endswith(" 0 problems\n")
