"""`footfall import vercount`, from a server that answers as Vercount does."""

import gzip
import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from footfall.transfer.download import CannotFetch
from footfall.transfer.vercount import Site, fetch_views, pages_of
from tests.support.serving import serving

SITE = {"site_pv": 1_000, "site_uv": 70}
BLOG = "https://blog.example"


@dataclass
class Vercount:
    """The views of its pages, which pages it was asked for, and what goes wrong next."""

    views: dict[str, int] = field(default_factory=dict)
    sitemap: str = ""
    asked: list[str] = field(default_factory=list)
    troubles: list[tuple[int, str]] = field(default_factory=list)
    url: str = ""
    moved_to: str = ""


@pytest.fixture
def vercount() -> Iterator[Vercount]:
    made = Vercount()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            status, told = 200, made.sitemap
            if parts.path == "/api/v2/log":
                page = parse_qs(parts.query)["url"][0]
                made.asked.append(page)
                numbers = {"page_pv": made.views[page], **SITE}
                told = json.dumps({"status": "success", "message": "ok", "data": numbers})
                if made.troubles:
                    status, told = made.troubles.pop(0)
            body = told.encode()
            self.send_response(301 if made.moved_to else status)
            if made.moved_to:
                self.send_header("Location", made.moved_to)
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


def pages_with(vercount: Vercount, number: int) -> list[str]:
    vercount.views = {f"{BLOG}/{n}/": n for n in range(1, number + 1)}
    return [*vercount.views]


def fetched(vercount: Vercount, pages: list[str], table: Path) -> Site:
    return fetch_views(
        pages, table, lambda share: None, server=vercount.url, wait=lambda seconds: None
    )


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("<urlset><url><loc> {}/a/ </loc></url><url><loc>{}/b?x=1&amp;y=2</loc></url></urlset>", 2),
        ("<urlset><url><loc><![CDATA[{}/a/]]></loc></url><url><loc>{}/a/</loc></url></urlset>", 1),
        ("<urlset><url><loc>/a/</loc></url><loc>ftp://x.example/{}{}</loc></urlset>", 0),
        ("no XML", 0),
    ],
)
def test_a_sitemap_names_pages(tmp_path: Path, text: str, pages: int) -> None:
    file = tmp_path / "sitemap.xml"
    file.write_text(text.format(BLOG, BLOG))
    found = pages_of(str(file))
    assert len(found) == pages
    assert all(page.startswith(BLOG) and "&amp;" not in page for page in found)


def test_a_sitemap_of_sitemaps_names_the_pages_of_each(vercount: Vercount, tmp_path: Path) -> None:
    vercount.sitemap = f"<urlset><loc>{BLOG}/a/</loc></urlset>"
    index = tmp_path / "index.xml"
    places = "".join(f"<loc>{vercount.url}/{n}.xml</loc>" for n in (1, 2, 1))
    index.write_text(f"<sitemapindex>{places}<loc>{index}</loc></sitemapindex>")
    assert pages_of(str(index)) == [f"{BLOG}/a/"]
    with pytest.raises(CannotFetch, match="cannot be read"):
        pages_of(str(tmp_path / "none.xml"))


def test_what_passes_is_waited_for_and_a_fetch_goes_on(vercount: Vercount, tmp_path: Path) -> None:
    pages, table = pages_with(vercount, 5), tmp_path / "views.csv"
    vercount.troubles = [(429, ""), (503, "")]
    assert fetched(vercount, pages[:2], table) == Site(1_000 - 3, 70)
    assert vercount.asked == [pages[0]] * 3 + [pages[1]]
    # A line of which only a part was written is fetched again.
    with table.open("a") as file:
        file.write(pages[2])
    vercount.asked.clear()
    assert fetched(vercount, pages, table) == Site(1_000 - 15, 70)
    assert vercount.asked == pages[2:]
    vercount.asked.clear()
    assert fetched(vercount, pages, table) == Site(1_000 - 15, 70)
    assert vercount.asked == pages[:1]


@pytest.mark.parametrize(
    ("status", "told", "words"),
    [
        (400, '{"status":"error","message":"Invalid url"}', "answered 400: Invalid url"),
        (200, "[]", "without a JSON object"),
        (
            200,
            '{"data":{"page_pv":"7","site_pv":1,"site_uv":1}}',
            "not answer with numbers of views",
        ),
        (
            200,
            '{"data":{"page_pv":-1,"site_pv":1,"site_uv":1}}',
            "not answer with numbers of views",
        ),
    ],
)
def test_what_is_no_answer_is_said(
    vercount: Vercount, tmp_path: Path, status: int, told: str, words: str
) -> None:
    vercount.troubles = [(status, told)]
    with pytest.raises(CannotFetch, match=words):
        fetched(vercount, pages_with(vercount, 1), tmp_path / "views.csv")


@pytest.mark.parametrize(
    "text", [b"dear,diary\n", b"\xff\xfe\n", b"path,time\n/a,many\n", b"path,time\n/a\n"]
)
def test_another_file_is_not_written_over(vercount: Vercount, tmp_path: Path, text: bytes) -> None:
    (tmp_path / "diary").write_bytes(text + b"more")
    with pytest.raises(CannotFetch, match="name another file"):
        fetched(vercount, pages_with(vercount, 1), tmp_path / "diary")
    assert (tmp_path / "diary").read_bytes() == text + b"more"


def test_a_sitemap_leads_to_no_other_host(vercount: Vercount) -> None:
    """Which may be in the network of this machine, where strangers are not."""
    elsewhere = vercount.url.replace("127.0.0.1", "localhost")
    vercount.sitemap = f"<sitemapindex><loc>{elsewhere}/1.xml</loc></sitemapindex>"
    assert pages_of(f"{vercount.url}/sitemap.xml") == []
    vercount.moved_to = f"{elsewhere}/sitemap.xml"
    with pytest.raises(CannotFetch, match=r"127\.0\.0\.1 redirects to localhost"):
        pages_of(f"{vercount.url}/sitemap.xml")


def test_a_sitemap_may_be_compressed_and_names_no_file_of_this_machine(tmp_path: Path) -> None:
    secret, file = tmp_path / "secret", tmp_path / "sitemap.xml.gz"
    secret.write_text(f"<urlset><loc>{BLOG}/secret/</loc></urlset>")
    file.write_bytes(gzip.compress(f"<urlset><loc>{BLOG}/a/</loc></urlset>".encode()))
    assert pages_of(str(file)) == [f"{BLOG}/a/"]
    file.write_text(f"<sitemapindex><loc>{secret}</loc></sitemapindex>")
    assert pages_of(str(file)) == []
    file.write_bytes(gzip.compress(b"<urlset>")[:-9])
    with pytest.raises(CannotFetch, match="cannot be read"):
        pages_of(str(file))


def test_the_command_stores_views_and_says_what_the_site_had(
    home: Path, vercount: Vercount
) -> None:
    vercount.views = {f"{BLOG}/a/": 5, f"{BLOG}/%E4%BD%A0/": 7}
    places = "".join(f"<loc>{page}</loc>" for page in vercount.views)
    vercount.sitemap = f"<urlset>{places}</urlset>"
    words = "import", "vercount", f"{vercount.url}/sitemap.xml", "--server", vercount.url
    start = {"SITE_PV_START": "988", "SITE_UV_START": "70"}
    with serving(home / "vercount", COMPAT="busuanzi", STATISTICS="visitors", **start) as served:
        code, said = served.ask(*words)
        assert (code, "counters: 2 stored" in said) == (0, True), said
        assert "SITE_PV_START=988 and SITE_UV_START=70" in said
        asked = {"path": "/a/,/你/"}
        assert httpx.get(f"{served.url}/article", params=asked).json() == [5, 7]
        read = {"url": f"{BLOG}/a/"}
        told = httpx.get(f"{served.url}/api/v2/log", params=read).json()["data"]
        assert told == {"site_pv": 1_000, "site_uv": 70, "page_pv": 5}
        assert served.ask("import", "vercount", "none.xml")[0] == 1
