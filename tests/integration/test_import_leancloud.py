"""`footfall import leancloud`, from a server that answers as LeanCloud's REST API does."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from footfall.model import NO_VIEWS
from footfall.transfer import asking, leancloud
from footfall.transfer.download import CannotFetch
from footfall.transfer.leancloud import LeanCloud
from tests.support.serving import Serving, serving

APP_ID, APP_KEY = "id-MdYXbMMI", "key"
NOTHING_TO_DO = 3
# What it answers instead of objects: (status, body), or None to hang up.
Trouble = tuple[int, bytes] | None


@dataclass
class Storage:
    """Its objects by class, what it was asked, and what goes wrong next."""

    classes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    sorts: bool = True
    key: str = APP_KEY
    url: str = ""

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, bytes]:
        found = self.classes.get(path.rpartition("/")[2])
        if found is None:
            return 404, b'{"code":101,"error":"Class or object doesn\'t exists."}'
        after = json.loads(query.get("where", "{}")).get("objectId", {}).get("$gt", "")
        rest = [each for each in found if each["objectId"] > after or not self.sorts]
        rest = rest[: int(query["limit"])]
        told: dict[str, Any] = {"results": rest}
        if query.get("count"):
            told["count"] = len(found)
        return 200, json.dumps(told).encode()


@pytest.fixture
def storage() -> Iterator[Storage]:
    made = Storage()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            made.asked.append(query)
            if made.troubles:
                trouble = made.troubles.pop(0)
                if trouble is None:
                    self.close_connection = True
                    return
                status, body = trouble
            elif (self.headers["X-LC-Id"], self.headers["X-LC-Key"]) != (APP_ID, made.key):
                status, body = 401, b'{"code":401,"error":"Unauthorized."}'
            else:
                status, body = made.answer(parts.path, query)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made.url = f"http://127.0.0.1:{server.server_port}"
        yield made
        server.shutdown()


def counters(number: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"objectId": f"{n:024x}", "url": f"/{n}/", "time": n + 1, **more} for n in range(number)
    ]


Fetch = Callable[..., int]


@pytest.fixture
def fetch(storage: Storage, tmp_path: Path) -> Fetch:
    def fetched(class_name: str = "Counter", key: str = APP_KEY) -> int:
        storage.key = key if key.endswith(",master") else APP_KEY
        made = LeanCloud(f"{storage.url}/", APP_ID, key, wait=lambda seconds: None)
        return made.fetch(class_name, tmp_path / "kept", lambda share: None)

    return fetched


def kept(tmp_path: Path, name: str = "kept") -> list[str]:
    first, *lines = (tmp_path / name).read_text().splitlines()
    assert first.startswith("#filetype:JSON-streaming;class=Counter")
    return [json.loads(line)["objectId"] for line in lines]


def ids(storage: Storage) -> list[str]:
    return [each["objectId"] for each in storage.classes["Counter"]]


def test_all_objects_are_fetched_a_thousand_at_a_time(
    storage: Storage, fetch: Fetch, tmp_path: Path
) -> None:
    storage.classes["Counter"] = counters(2_345)
    assert fetch() == 2_345
    assert kept(tmp_path) == ids(storage)
    assert [query["limit"] for query in storage.asked] == ["0", "1000", "1000", "1000", "1000"]


def test_what_passes_is_waited_for(storage: Storage, fetch: Fetch, tmp_path: Path) -> None:
    storage.classes["Counter"] = counters(3)
    storage.troubles = [(429, b'{"code":429,"error":"Too many requests."}'), (503, b""), None]
    assert fetch() == 3
    assert kept(tmp_path) == ids(storage)


def test_a_fetch_that_was_broken_off_goes_on_behind_what_it_has(
    storage: Storage, fetch: Fetch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leancloud, "PAGE_OBJECTS", 10)
    storage.classes["Counter"] = counters(25)
    good: list[Trouble] = [(200, json.dumps({"results": [], "count": 25}).encode())]
    first = (200, json.dumps({"results": counters(10)}).encode())
    storage.troubles = [*good, first, *[(503, b"")] * asking.TRIES]
    with pytest.raises(CannotFetch, match="answered 503"):
        fetch()
    assert kept(tmp_path, "kept.part") == ids(storage)[:10]
    assert not (tmp_path / "kept").exists()
    # It ended in the middle of a line.
    with (tmp_path / "kept.part").open("ab") as file:
        file.write(b'{"objectId": "00')
    assert fetch() == 25
    assert kept(tmp_path) == ids(storage)
    assert not (tmp_path / "kept.part").exists()


def test_a_whole_file_is_fetched_anew_with_what_has_changed(
    storage: Storage, fetch: Fetch, tmp_path: Path
) -> None:
    storage.classes["Counter"] = counters(3)
    fetch()
    storage.classes["Counter"][0]["time"] = 99
    storage.classes["Counter"].pop()
    storage.troubles = [(200, b'{"results":[],"count":2}'), *[(503, b"")] * asking.TRIES]
    with pytest.raises(CannotFetch, match="answered 503"):
        fetch()
    assert len(kept(tmp_path)) == 3
    assert fetch() == 2
    assert kept(tmp_path) == ids(storage)
    assert '"time":99' in (tmp_path / "kept").read_text()
    # LeanCloud has closed: what is kept stays.
    storage.classes.clear()
    assert fetch() == 0
    assert kept(tmp_path)


def test_the_master_key_brings_what_another_key_did_not(
    storage: Storage, fetch: Fetch, tmp_path: Path
) -> None:
    storage.classes["Counter"] = counters(3)[1:]
    fetch()
    storage.classes["Counter"] = counters(3)
    assert fetch(key="m,master") == 3
    assert kept(tmp_path) == ids(storage)
    storage.troubles = [(200, b'{"results":[],"count":3}'), *[(503, b"")] * asking.TRIES]
    with pytest.raises(CannotFetch, match="answered 503"):
        fetch(key="m,master")
    with pytest.raises(CannotFetch, match="started with another class, server or key"):
        fetch()


@pytest.mark.rare
@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ((200, b"<html>"), "without a JSON object"),
        ((200, b"[1]"), "without a JSON object"),
        ((200, b'{"results": 1}'), "not answer with a list of objects"),
        ((200, b'{"results": [1]}'), "not answer with a list of objects"),
        ((200, b'{"results": [{"objectId": 7}]}'), "not answer with a list of objects"),
        ((403, b'{"code":403,"error":"Forbidden to find by class permissions."}'), "Forbidden"),
        ((400, b"{}"), "answered 400"),
    ],
)
def test_what_is_no_answer_is_said(
    storage: Storage, fetch: Fetch, trouble: Trouble, said: str
) -> None:
    storage.classes["Counter"] = counters(3)
    storage.troubles = [(200, b'{"results":[],"count":3}'), trouble]
    with pytest.raises(CannotFetch, match=said):
        fetch()


def test_a_wrong_key_is_said(storage: Storage, fetch: Fetch) -> None:
    with pytest.raises(CannotFetch, match="answered 401: Unauthorized"):
        fetch(key="other")


def test_a_server_that_never_ends_is_left(storage: Storage, fetch: Fetch) -> None:
    storage.classes["Counter"], storage.sorts = counters(3), False
    with pytest.raises(CannotFetch, match="does not sort"):
        fetch()


def test_an_answer_has_a_bound(
    storage: Storage, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MAX_ANSWER_BYTES", 1_000)
    storage.classes["Counter"] = counters(100)
    with pytest.raises(CannotFetch, match="more than 1,000 bytes"):
        fetch()


def test_another_file_is_not_written_over(storage: Storage, fetch: Fetch, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("my diary\n")
    with pytest.raises(CannotFetch, match="name another file"):
        fetch()
    assert (tmp_path / "kept").read_text() == "my diary\n"


def test_a_file_of_one_class_is_not_gone_on_with_for_another(
    storage: Storage, fetch: Fetch, tmp_path: Path
) -> None:
    """Ids are of all classes: those before the last one would be left out in silence."""
    storage.classes["Counter"] = counters(3)
    storage.classes["Comment"] = [{"objectId": "0", "url": "/0/", "comment": "Early."}]
    fetch()
    with pytest.raises(CannotFetch, match="name another file"):
        fetch("Comment")
    assert kept(tmp_path) == ids(storage)


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Serving]:
    with serving(home / "leancloud", COMPAT="leancloud") as served:
        yield served


def test_the_command_stores_what_it_fetches(served: Serving, storage: Storage) -> None:
    storage.classes["Counter"] = [
        {"objectId": "a", "url": "/2020/%E4%BD%A0/", "time": 5, "title": "You"},
        {"objectId": "b", "target": "/fluid/", "time": 7},
        {"objectId": "c", "target": "site-pv", "time": 100},
        # Two first visitors at once made two objects.
        {"objectId": "d", "url": "/twice/", "time": 9},
        {"objectId": "e", "url": "/twice/", "time": 2},
    ]
    words = "import", "leancloud", storage.url, "--app-id", APP_ID, "--app-key"
    code, said = served.ask(*words, APP_KEY, "--dry-run")
    assert (code, "nothing was stored" in said) == (0, True), said
    code, said = served.ask(*words, APP_KEY)
    assert (code, "counters: 4 stored" in said) == (0, True), said
    asked = {"path": "/2020/你/,/fluid/,/twice/"}
    assert httpx.get(f"{served.url}/article", params=asked).json() == [5, 7, 9]
    asked = {"path": "site-pv", "type": NO_VIEWS}
    assert httpx.get(f"{served.url}/article", params=asked).json() == 100
    assert served.ask(*words, APP_KEY)[0] == NOTHING_TO_DO
    # Tried early, and repeated on the day of the move.
    held = str(served.directory / "held.json")
    assert served.ask(*words, APP_KEY, "--keep", held)[0] == NOTHING_TO_DO
    storage.classes["Counter"][3]["time"] = 20
    code, said = served.ask(*words, APP_KEY, "--keep", held)
    assert (code, "UTC: everything is fetched again" in said) == (0, True), said
    assert httpx.get(f"{served.url}/article", params={"path": "/twice/"}).json() == 20
    code, said = served.ask(*words, "other")
    assert (code, "answered 401: Unauthorized" in said) == (1, True), said
    code, said = served.ask(*words, APP_KEY, "--class", "Comment")
    assert (code, "there is no Comment there" in said) == (1, True), said
    assert served.ask("import", "leancloud", "file:///etc/passwd", *words[3:], APP_KEY)[0] == 2


def test_a_check_says_what_is_missing_and_stores_nothing(served: Serving, storage: Storage) -> None:
    storage.classes["Counter"] = [
        {"objectId": "a", "url": "/checked/", "time": 5},
        {"objectId": "b", "url": "/%E4%BD%A0/checked/", "time": 1_200},
        {"objectId": "c", "title": "of no page", "time": 3},
    ]
    words = "import", "leancloud", storage.url, "--app-id", APP_ID, "--app-key", APP_KEY
    httpx.post(f"{served.url}/article", json={"path": "/checked/"})
    code, said = served.ask(*words, "--check")
    assert code == 1
    assert "2 counters compared: 1,205 views there, 1 here" in said
    assert "lower here: time /checked/: 5 there, 1 here" in said
    assert "lower here: time /你/checked/: 1,200 there, 0 here" in said
    assert "1 counter refused, such as line 4: has no page" in said
    assert "2 counters lower here than there" in said
    assert served.ask(*words)[0] == 0
    # Somebody has viewed a page since.
    httpx.post(f"{served.url}/article", json={"path": "/checked/"})
    code, said = served.ask(*words, "--check", "--json")
    told = json.loads(said.splitlines()[-1])
    assert code == 0
    assert [told[each] for each in ("compared", "there", "here", "lower")] == [2, 1205, 1206, 0]
    assert served.ask(*words, "--check", "--class", "Comment")[0] == 2
