"""Imports: what readers and administrators see of an imported file, once and however often."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from footfall.accounts.rules.mails import canonical
from footfall.counters import MAX_COUNT
from tests.conftest import Site, Sites
from tests.support.importing import DATA, database, imported, problems
from tests.support.losing import lost_replies

# `footfall check` needs more commands than fakeredis has.
ON = ("valkey", "cluster")

ANN_AT = 1635425415000
FILES = (
    "waline.json",
    "waline-mongodb.json",
    "valine.jsonl",
    "twikoo.json",
    "artalk.json",
    "disqus.xml",
    "wordpress.xml",
    "commento.json",
    "remark42.json",
    "isso.json",
    "isso.db",
    "comments.ndjson",
)


@pytest.fixture
def site(make_site: Sites) -> Site:
    return make_site.without_accounts()


def file(name: str, directory: Path) -> Path:
    return database(directory) if name == "isso.db" else DATA / name


def written(directory: Path, *rows: dict[str, Any]) -> Path:
    """A file of rows in Waline's format, one a line."""
    path = directory / "rows.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def row(id: int | str, text: str = "x", **fields: Any) -> dict[str, Any]:
    at = "2021-10-28T12:50:15Z"
    return {"objectId": id, "url": "/p", "comment": text, "nick": "Ann", "insertedAt": at, **fields}


def why(lines: list[bytes]) -> dict[str, str]:
    return {each["row"]: each["why"] for each in map(json.loads, lines)}


@pytest.mark.parametrize("name", FILES)
async def test_a_thread_is_stored_once_however_often_it_is_imported(
    site: Site, name: str, tmp_path: Path
) -> None:
    path = file(name, tmp_path)
    first = (await imported(site, path)).summary()["comments"]
    page = await site.page("/hello/")
    (ann,) = page["data"]
    bob, cy = ann["children"][:2]
    assert (ann["nick"], bob["nick"], cy["nick"]) == ("Ann", "Bob", "Cy")
    assert re.fullmatch("<p>First <(strong|b)>post</(strong|b)></p>\n?", ann["comment"])
    assert ann["time"] // 1000 == ANN_AT // 1000
    assert (bob["pid"], cy["pid"]) == (ann["objectId"], bob["objectId"])
    assert (await problems(site.store)) == []
    again = (await imported(site, path)).summary()["comments"]
    assert (again["stored"], again["there"]) == (0, first["stored"])
    assert await site.page("/hello/") == page
    assert (await problems(site.store)) == []


async def test_walines_archive_is_imported_with_everything_in_it(site: Site) -> None:
    report = await imported(site, DATA / "waline.json")
    (ann,) = (await site.page("/hello/"))["data"]
    assert (ann["like"], ann["sticky"], ann["type"], ann["label"]) == (
        3,
        True,
        "administrator",
        "author",
    )
    assert (ann["children"][0]["browser"], ann["children"][1]["like"]) == ("Firefox91.0", 1)
    assert await site.service.comments.index.held() == (1, 1)
    paths = {"path": "/hello/,/日本/", "type": "time,reaction0"}
    assert (await site.get("/api/article", **paths))["data"] == [
        {"time": 120, "reaction0": 4},
        {"time": 7, "reaction0": 0},
    ]
    found = await site.service.accounts.store.by_mail(canonical("ann@example.com"))
    assert found
    assert found.credentials.totp == "JBSWY3DPEHPK3PXP"
    assert found.credentials.password.startswith("$2a$08$")
    assert report.numbers["accounts", "stored"] == 3
    # Levels and the ranking count the authors.
    assert await site.service.comments.index.tallies([found.id]) == {found.id: 1}


async def test_a_version_rises_so_that_readers_see_it_at_once(site: Site, tmp_path: Path) -> None:
    await imported(site, written(tmp_path, row(1)))
    before = await site.http.get("/api/comment", params={"path": "/p"})
    await imported(site, written(tmp_path, row(1), row(2)))
    after = await site.http.get("/api/comment", params={"path": "/p"})
    assert before.headers["etag"] != after.headers["etag"]
    assert after.json()["data"]["count"] == 2
    # No version of a page comes twice, so an import's is at least the time.
    assert await site.service.comments.store.version("/p") > 1_700_000_000_000


async def test_threads_stay_whole_whatever_is_wrong_with_their_rows(
    site: Site, tmp_path: Path
) -> None:
    lines = list[bytes]()
    circle = [row(1, "a", pid=3), row(2, "b", pid=1), row(3, "c", pid=2), row(4, "tail", pid=3)]
    others = [
        row(5, "own parent", pid=5),
        row(6, "orphan", pid=99),
        row(7, "by its root", pid=98, rid=9),
        row(8, "of another page", pid=10),
        row(9, "root"),
        row(10, "there", url="/q"),
        row(11, "", pid=9),
        row(12, "below nothing", pid=11),
        row(13, "", url="/q"),
        row(16, "", pid=17, url="/q", insertedAt=None),
        row(17, "younger", pid=16, url="/q"),
        row(14, "first", pid=13, url="/q"),
        row(15, "second", pid=14, url="/q"),
        row(9, "again"),
    ]
    await imported(site, written(tmp_path, *circle, *others), lines=lines)
    threads = {
        root["orig"]: [child["orig"] for child in root["children"]]
        for path in ("/p", "/q")
        for root in (await site.page(path, pageSize=100))["data"]
    }
    assert threads == {
        "a": ["b", "c", "tail"],
        "own parent": [],
        "orphan": [],
        "of another page": [],
        "root": ["by its root", "below nothing"],
        "there": [],
        "first": ["second"],
        "younger": [],
    }
    assert why(lines) == {
        **dict.fromkeys(("1", "5", "16"), "replies to itself through others: now a root"),
        **dict.fromkeys(("6", "8"), "replies to a missing comment: now a root"),
        **dict.fromkeys(("11", "13"), "has no text"),
        **dict.fromkeys(("12", "14", "17"), "replies to a deleted comment: it moves up"),
        "7": "replies to a missing comment: it replies to its root",
        "9": "has the ID of an earlier row",
    }
    assert (await problems(site.store)) == []


async def test_dates_are_bounded_and_the_same_however_often(site: Site, tmp_path: Path) -> None:
    lines = list[bytes]()
    path = written(
        tmp_path,
        row(1),
        row(2, insertedAt="1901-02-03 04:05:06"),
        row(3, insertedAt="soon"),
        row(4, insertedAt="3021-01-01"),
        row(5, insertedAt=0),
    )
    await imported(site, path, lines=lines)
    times = {each["orig"]: each["time"] for each in (await site.page())["data"]}
    found = {each["time"] for each in (await site.page())["data"]}
    assert (len(times), found) == (1, {0, ANN_AT})
    assert why(lines) == {
        "2": "is from before 1970: it gets the earliest possible date",
        "3": "has no readable date",
        "4": "is from the future: it gets the file's last valid date",
        "5": "has no readable date",
    }
    site.clock.now += 86_400_000
    assert (await imported(site, path)).numbers["comments", "there"] == 3


async def test_foreign_data_is_sanitised_like_new_comments(site: Site, tmp_path: Path) -> None:
    lines = list[bytes]()
    path = written(
        tmp_path,
        row(
            1,
            "<script>alert(1)</script><b onclick=x()>b</b>",
            nick="<b>Ann</b>",
            link="javascript:alert(1)",
            mail="m" * 300,
            ua="u" * 2000,
            ip="nowhere",
        ),
        row(2, url='/"><script>'),
        row(3, url=""),
        row(4, comment=None),
        row(5, "y" * 70_000),
        row(6, nick="n" * 1000, like=-3),
    )
    await imported(site, path, lines=lines)
    six, five, one = (await site.page())["data"]
    assert (one["comment"], one["nick"], one["link"]) == ("<b>b</b>", "bAnn/b", None)
    assert (len(five["orig"]), len(six["nick"]), six["like"]) == (16_384, 128, 0)
    found = why(lines)
    assert found["2"] == found["3"] == "has no valid page"
    assert found["4"] == "has no text"
    assert "COMMENT_LENGTH" in found["5"]
    assert [json.loads(line)["why"].split(":")[0] for line in lines if b'"row":"1"' in line] == [
        "has a name with characters that no name may contain",
        "has a mail of more than 254 characters",
        "has an unsafe link",
        "has a user agent of more than 1024 characters",
        "has an invalid IP address",
    ]


async def test_a_dry_run_reports_everything_and_stores_nothing(site: Site) -> None:
    lines = list[bytes]()
    report = await imported(site, DATA / "disqus.xml", is_dry=True, lines=lines)
    assert (await site.page("/hello/"))["count"] == 0
    assert report.numbers["comments", "read"] == 7
    assert why(lines)["1007"].startswith("replies to a deleted comment")


@pytest.mark.parametrize("way", ["max", "sum", "replace"])
@pytest.mark.parametrize("name", ["waline.json", "disqus.xml", "valine-counters.json"])
async def test_a_dry_run_tells_what_the_run_will_do(make_site: Sites, name: str, way: Any) -> None:
    site = make_site.without_accounts()
    await site.count("/hello/")
    for _ in range(2):
        trial = await imported(site, DATA / name, way, is_dry=True)
        report = await imported(site, DATA / name, way)
        assert (trial.numbers, trial.reasons) == (report.numbers, report.reasons)
    assert not report.stored()


@pytest.mark.parametrize(
    ("way", "once", "twice"), [("max", 120, 130), ("sum", 243, 243), ("replace", 238, 238)]
)
async def test_counters_are_merged_as_asked_for(
    site: Site, way: Any, once: int, twice: int
) -> None:
    """The file says 120 and 118 for one page, as Waline's races leave it."""
    await site.count("/hello/")
    await site.count("/hello/")
    await site.count("/hello/")
    await site.count("/hello/", type="reaction0")
    await imported(site, DATA / "waline.json", way)
    assert await site.get("/article", path="/hello/") == (once if way != "sum" else 241)
    for _ in range(10):
        await site.count("/hello/")
    report = await imported(site, DATA / "waline.json", way)
    assert await site.get("/article", path="/hello/") == (twice if way != "sum" else 251)
    assert report.numbers["counters", "stored"] == (1 if way == "replace" else 0)


async def test_counters_that_readers_could_not_make_are_refused(site: Site, tmp_path: Path) -> None:
    lines = list[bytes]()
    path = written(
        tmp_path,
        {"url": "/p", "stars": 3},
        {"url": "/p", "time": -1},
        {"url": "/p", "time": MAX_COUNT + 1},
        {"url": "", "time": 1},
        {"url": "/" * 3000, "time": 1},
        {"url": "/" + "ü" * 2000, "time": 5},
        *[{"url": "/q", "time": MAX_COUNT}] * 1200,
    )
    report = await imported(site, path, lines=lines)
    assert report.numbers["counters", "stored"] == 2
    assert await site.get("/article", path="/q") == MAX_COUNT
    assert await site.service.counting.counters.read([f"time /{'ü' * 2000}"]) == [5]
    assert sorted(why(lines).values()) == [
        "has a type that is not in COUNTER_TYPES",
        "has no valid page",
        "has several counts of one address: the largest is taken",
        "is below zero, or too large",
        "is neither a comment nor a counter nor an account",
    ]


async def test_an_account_that_exists_keeps_its_own_values(
    make_site: Sites, tmp_path: Path
) -> None:
    site, lines = await make_site(), list[bytes]()
    path = tmp_path / "waline.json"
    archive = (DATA / "waline.json").read_text()
    path.write_text(archive.replace("ann@example.com", "admin@example.com"))
    await imported(site, path, lines=lines)
    (ann,) = (await site.page("/hello/"))["data"]
    assert (ann["nick"], ann["user_id"]) == ("Admin", "admin")
    assert why(lines)["7"] == "has the email of an account here: that one is used"


async def test_the_name_of_a_page_is_what_clients_send(site: Site, tmp_path: Path) -> None:
    """Of themes that pass location.href, in what Waline, Valine and Footfall write."""
    address = "https://b.example/post/1/"
    first, other, last = (
        {"objectId": id, "url": address, "comment": "x", "insertedAt": "2021-10-28"}
        for id in ("1", "2", "3" * 32)
    )
    counter = {"objectId": "0" * 16, "url": address, "time": 1234}
    waline, valine, own, table = (tmp_path / name for name in ("w", "v", "f", "t"))
    data = {"Comment": [first], "Counter": [counter]}
    waline.write_text(json.dumps({"type": "waline", "version": 1, "data": data}))
    valine.write_text("\n".join(json.dumps({**row, "ACL": None}) for row in (other, counter)))
    lines = [{"table": "Comment", **last}, {"table": "Counter", **counter}]
    own.write_text("\n".join(json.dumps(row, separators=(",", ":")) for row in lines))
    for number, file in enumerate((waline, valine, own), 1):
        report = await imported(site, file)
        assert not [1 for _, outcome, _ in report.reasons if outcome == "renamed"]
        assert (await site.page(address))["count"] == number
        assert await site.get("/article", path=address) == 1234

    table.write_text(f"url,time\n{address},7\nhttps://b.example/post/1/#top,7\n")
    report = await imported(site, table)
    assert report.examples["counters", "renamed", "clients have to ask for the path"] == (
        "//b.example/post/1/ to /post/1/"
    )
    assert await site.get("/article", path="/post/1/") == 7


async def test_pages_of_an_application_are_pages_and_places_in_a_page_are_none(
    site: Site, tmp_path: Path
) -> None:
    home = "https://spa.example/"
    urls = {"#!/alpha": 1, "#!/beta": 2, "#/gamma": 3, "#place": 4, "": 5, "c/#comments": 6}
    counts = [{"url": home + url, "time": number} for url, number in urls.items()]
    counts += [{"url": "/c/#top", "time": 8}, {"url": "key#1", "time": 9}]
    await imported(site, written(tmp_path, *counts), "sum")
    asked = ["/#!/alpha", "/#!/beta", "/#/gamma", "/", "/c/", "key#1"]
    assert await site.get("/article", path=asked) == [1, 2, 3, 9, 14, 9]


async def test_accounts_without_email_name_or_password_keep_their_comments(
    site: Site, tmp_path: Path
) -> None:
    users = [
        {"table": "Users", "objectId": f"u{n}", "createdAt": "2021-10-01", **more}
        for n, more in enumerate(
            [
                {"email": "", "display_name": "Ann"},
                {"email": "none", "display_name": ""},
                {"email": "cy@example.com", "display_name": ""},
            ]
        )
    ]
    said = [row(n, comment=f"c{n}", user_id=f"u{n}", nick="") for n in range(3)]
    for _ in range(2):
        await imported(site, written(tmp_path, *users, *said))
    comments = (await site.page("/p"))["data"]
    assert {each["orig"]: each["nick"] for each in comments} == {
        "c0": "Ann",
        "c1": "Anonymous",
        "c2": "cy",
    }
    assert len({each["user_id"] for each in comments}) == 3
    assert (await problems(site.store)) == []


async def test_hashes_of_passwords_are_kept_if_log_ins_support_them(
    site: Site, tmp_path: Path
) -> None:
    hashes = {
        "1": "$2a$08$abcdefghijklmnopqrstuuLBYRWqTJvlWbWLK9SaZS5CtNwYQcXhe",
        "2": "$P$B0123456789abcdefghijklmnopqrst",
        "3": "plain",
        # A login with such a hash would keep a thread busy for hours.
        "4": "$2a$31$abcdefghijklmnopqrstuuLBYRWqTJvlWbWLK9SaZS5CtNwYQcXhe",
        "5": "$P$z0123456789abcdefghijklmnopqrst",
    }
    lines = list[bytes]()
    rows = [
        {
            "table": "Users",
            "objectId": id,
            "display_name": id,
            "email": f"{id}@example.com",
            "password": hash,
            "type": "guest",
            "createdAt": "2021-10-01",
        }
        for id, hash in hashes.items()
    ]
    late = {**rows[0], "objectId": "6", "createdAt": 1_700_000_000_000_000}
    await imported(
        site, written(tmp_path, *rows, late, {"table": "Users", "email": "none"}), lines=lines
    )
    for id in hashes:
        found = await site.service.accounts.store.by_mail(f"{id}@example.com")
        assert found is not None
        assert found.credentials.password == (hashes[id] if id in "12" else "")
    assert set(why(lines)) == {"3", "4", "5", "6", "none"}
    assert why(lines)["6"] == "has a date in the future"


async def test_an_import_is_followed_whatever_becomes_of_its_process(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = written(tmp_path, *(row(n, mail="a@example.com") for n in range(5)))
    with lost_replies(monkeypatch, "journal/apply", is_done=False):
        await imported(site, path)
        await site.settled()
    assert (await problems(site.store)) != []
    await site.service.comments.journal.follow_all()
    assert (await problems(site.store)) == []
    await imported(site, path)
    (ranked,) = await site.service.comments.index.ranking(10)
    assert ranked[1] == 5


async def test_an_identity_that_belongs_to_another_account_here_is_left_out(
    site: Site, tmp_path: Path
) -> None:
    archive = json.loads((DATA / "waline.json").read_text())
    users = archive["data"]["Users"]
    known = next(user for user in users if user.get("github"))
    other = {**known, "objectId": "999", "email": "another@example.com", "2fa": None}
    users.append(other)
    path = tmp_path / "waline.json"
    path.write_text(json.dumps(archive))
    report = await imported(site, path)
    assert report.numbers["accounts", "stored"] == len(users)
    owner = await site.store.accounts.by_identity("github", known["github"])
    assert owner is not None
    assert owner.account.mail == known["email"]
    stored = await site.store.accounts.by_mail("another@example.com")
    assert stored is not None
    assert not stored.credentials.identities


async def test_what_tells_two_pages_apart_is_kept_and_what_is_joined_is_said(
    make_site: Sites, tmp_path: Path
) -> None:
    site, lines = make_site.without_accounts(PATHS="index,slash"), list[bytes]()
    home = "https://tin.example"
    addresses = [
        ("/article.php?id=1", 5),
        ("/article.php?id=2", 7),
        ("/a/?utm_source=mail", 30),
        ("/a/index.html", 4),
        ("/a", 100),
        ("/a", 90),
        ("/b#top", 1),
        ("/b", 1),
    ]
    comments = [row(n, url=home + address) for n, (address, _) in enumerate(addresses)]
    counts = [{"url": home + address, "time": number} for address, number in addresses]
    trial = await imported(site, written(tmp_path, *comments, *counts), is_dry=True)
    report = await imported(site, written(tmp_path, *comments, *counts), lines=lines)
    assert trial.reasons == report.reasons
    asked = "/article.php?id=1,/article.php?id=2,/a,/b"
    assert await site.get("/article", path=asked) == [5, 7, 30 + 4 + 100, 1]
    pages = asked.split(",")
    assert [(await site.page(path))["count"] for path in pages] == [1, 1, 4, 2]
    named = "of 3 addresses, such as //tin.example/a and //tin.example/a/index.html"
    assert {
        (each["row"], each["why"])
        for each in map(json.loads, lines)
        if each["outcome"] != "renamed"
    } == {
        (f"/a {named}", "has comments of several addresses"),
        (f"time /a {named}", "has counts of several addresses: they are added up"),
        ("time /a", "has several counts of one address: the largest is taken"),
        ("time /b", "has several counts of one address: the largest is taken"),
    }
    report = await imported(site, written(tmp_path, *counts), "replace")
    assert await site.get("/article", path=asked) == [5, 7, 30 + 4 + 190, 2]
