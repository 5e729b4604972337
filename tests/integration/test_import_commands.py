"""`footfall import` and `footfall export`, beside a running service."""

import gzip
import http.server
import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.importing import DATA
from tests.support.servers import wait_until
from tests.support.serving import Serving, serving

COMMENTS, COUNTERS = 600, 8_000
NOTHING_TO_DO = 3


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Serving]:
    with serving(home / "import") as served:
        yield served


def ask(served: Serving, *words: str, code: int = 0) -> str:
    found, output = served.ask(*words)
    assert found == code, output
    return output


def test_an_import_says_what_it_would_do_and_what_it_has_done(served: Serving) -> None:
    path, report = str(DATA / "disqus.xml"), served.directory / "report"
    dry = ask(served, "import", path, "--dry-run", "--json", "--report", str(report))
    told = json.loads(dry.splitlines()[-1])
    assert (told["format"], told["dry"], told["comments"]["stored"]) == ("disqus", True, 5)
    assert [json.loads(line)["why"] for line in report.read_text().splitlines()] == [
        "was deleted there",
        "belongs to a thread without an address",
        *["clients have to ask for the path"] * 2,
        "replies to a deleted comment: it moves up",
    ]
    assert "nothing was stored" in ask(served, "import", path, "--dry-run")
    first, again = ask(served, "import", path), ask(served, "import", path, code=NOTHING_TO_DO)
    tried = ask(served, "import", path, "--dry-run", code=NOTHING_TO_DO)
    assert " comments: 0 stored, 5 there, 1 changed, 2 refused\n" in tried
    assert "Disqus\n comments: 5 stored, 0 there, 1 changed, 2 refused\n" in first
    assert " comments: 0 stored, 5 there, 1 changed, 2 refused\n" in again
    assert "1 comment refused, such as 1006: was deleted there" in first
    page = httpx.get(f"{served.url}/api/comment", params={"path": "/hello/"}).json()["data"]
    assert page["count"] == 4


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"url": "/vain", "time": "many"}', "every row was refused"),
        ('{"url": "/vain", "comment": "", "nick": "Ann"}', "every row was refused"),
        ('{"url": "/vain", "time": 0}', "the file has no object or row to import"),
        ("[]", "the file has no object or row to import"),
    ],
)
def test_an_import_that_takes_nothing_fails(served: Serving, content: str, said: str) -> None:
    path = served.directory / "vain.json"
    path.write_text(content)
    for more in ([], ["--dry-run"]):
        assert said in ask(served, "import", str(path), "--format", "ndjson", *more, code=1)


def test_another_encoding_is_refused_before_anything_is_stored(served: Serving) -> None:
    path = served.directory / "gbk.csv"
    rows = [
        "url,nick,comment,insertedAt",
        "/gbk,张三,这篇文章写得很好，谢谢分享,2021-10-28 20:50:15",
    ]
    path.write_bytes("\n".join(rows).encode("gbk"))
    assert "With gb18030 that is: /gbk,张三" in ask(served, "import", str(path), code=1)
    page = f"{served.url}/api/comment?path=/gbk"
    assert httpx.get(page).json()["data"]["count"] == 0
    ask(served, "import", str(path), "--encoding", "gb18030")
    (comment,) = httpx.get(page).json()["data"]["data"]
    assert comment["nick"] == "张三"


def test_rows_without_a_date_are_refused_or_as_old_as_the_file(served: Serving) -> None:
    path = served.directory / "undated.json"
    path.write_text('{"url": "/undated", "comment": "When?", "nick": "Ann", "insertedAt": "soon"}')
    ask(served, "import", str(path), code=1)
    first, again = (
        ask(served, "import", str(path), "--undated", "now", code=code)
        for code in (0, NOTHING_TO_DO)
    )
    assert "1 stored, 0 there" in first
    assert "0 stored, 1 there" in again
    said = ask(served, "import", "http://127.0.0.1:9/x", "--undated", "now", code=2)
    assert "needs a file, whose date" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.json"], "there is no file nowhere.json"),
        (["{png}"], "the format is unknown"),
        (["{png}", "--format", "nonsense"], "use --format with one of waline-sqlite, isso, valine"),
        (["{cut}"], "nothing was imported from"),
        (["{cut}", "--map", "comment"], "--map takes pairs"),
        (["{cut}", "--map", "url=a", "--map", "url=b"], "--map takes each name once"),
        (["{cut}", "--format", "waline", "--map", "url=a"], "this is Waline's archive"),
        (["{cut}", "--utc-offset", "noon"], "is not an offset such as"),
        (["{cut}", "--encoding", "utf-99"], "unknown encoding"),
        (["http://user:secret@127.0.0.1:9/x"], "an address with a password would be logged"),
        (["http://127.0.0.1:9/x"], "127.0.0.1 could not be asked"),
    ],
    ids=lambda value: None,
)
def test_a_file_that_cannot_be_imported_is_refused_in_a_sentence(
    served: Serving, words: list[str], said: str
) -> None:
    png, cut = served.directory / "x.png", served.directory / "cut.json"
    png.write_bytes(b"\x89PNG\r\n\x1a\n")
    cut.write_bytes((DATA / "waline.json").read_bytes()[:900])
    code, output = served.ask("import", *(word.format(png=png, cut=cut) for word in words))
    assert code in (1, 2)
    assert said in output
    assert "secret" not in output


class Files(http.server.BaseHTTPRequestHandler):
    """Serves Waline's archive, compressed, behind redirects of several kinds."""

    def do_GET(self) -> None:
        where = {"/moved": "/archive", "/round": "/round", "/out": "file:///etc/passwd"}
        if self.path in where:
            self.send_response(302)
            self.send_header("Location", where[self.path])
            self.end_headers()
            return
        self.send_response(200 if self.path == "/archive" else 404)
        self.end_headers()
        self.wfile.write(gzip.compress((DATA / "waline.json").read_bytes()))

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_file_is_fetched_and_never_from_anywhere_else(served: Serving, address: str) -> None:
    for path, code, said in (
        ("moved", 0, "5 stored"),
        ("none", 1, "answered 404"),
        ("round", 1, "answered 302"),
        ("out", 1, "answered 302"),
    ):
        # As processes: uvloop leaves what was fetched from open at the end of a loop.
        found, output = served.ask_process("import", f"{address}/{path}")
        assert (found, said in output) == (code, True), output


def test_an_export_is_a_new_file_that_only_its_owner_can_read(served: Serving) -> None:
    name = str(served.directory / "export.json")
    assert "of Comment, " in ask(served, "export", name)
    assert "is there already" in ask(served, "export", name, code=1)
    assert json.loads(Path(name).read_text())["type"] == "waline"
    assert Path(name).stat().st_mode & 0o777 == 0o600
    assert "a table has one kind" in ask(served, "export", "--format", "csv", code=2)
    # The standard output is a file to it.
    code, output = served.ask_process("export", "--format", "csv", "--only", "counters")
    lines = output.splitlines()
    assert code == 0
    assert any(line.startswith("url,time,reaction0") for line in lines)


@pytest.mark.rare
def test_an_import_that_is_killed_again_and_again_is_whole_in_the_end(served: Serving) -> None:
    path = served.directory / "large.ndjson"
    with path.open("w") as file:
        for n in range(1, COMMENTS + 1):
            row = {
                "objectId": n,
                "url": "/kill",
                "comment": f"words {n}",
                "nick": f"n{n % 7}",
                "mail": f"{n % 7}@example.com",
                "insertedAt": 1635425415 + n,
                "pid": n - 1 if n % 3 else "",
            }
            file.write(json.dumps(row) + "\n")
        file.writelines(f'{{"url":"/kill/{n}","time":{n % 9 + 1}}}\n' for n in range(COUNTERS))

    def stored() -> int:
        found = httpx.get(f"{served.url}/api/comment", params={"type": "count", "url": "/kill"})
        return int(found.json()["data"][0])

    def counted() -> int:
        paths = ",".join(f"/kill/{n}" for n in range(0, COUNTERS, 200))
        answer = httpx.get(f"{served.url}/api/article", params={"path": paths}).json()
        return sum(each["time"] for each in answer["data"])

    for is_far, what in (
        (lambda: stored() > 200, "some comments"),
        (lambda: counted() > 0, "some counters"),
    ):
        process = served.run("import", str(path), "--counters", "sum")
        wait_until(is_far, what)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    for codes in ((0, NOTHING_TO_DO), (NOTHING_TO_DO,)):
        assert served.ask("import", str(path), "--counters", "sum")[0] in codes
        assert stored() == COMMENTS
        assert counted() == sum(n % 9 + 1 for n in range(0, COUNTERS, 200))
    assert ask(served, "check").splitlines()[-1].endswith(" 0 problems")
