"""Each system's file is read as the same thread, as far as the system can express it."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from footfall.transfer import formats, wordpress
from footfall.transfer.report import ImportReport
from footfall.transfer.rows import AccountRow, CommentRow, CounterRow, ImportRow, Refusal
from footfall.transfer.source import Damaged, Source
from footfall.transfer.values import html_block, path_of
from tests.support.importing import DATA, database

# nick -> text, time, parent, status
ANN = ("Ann", "First", "12:50:15", "", "approved")
BOB = ("Bob", "Thanks", "12:51:15", "Ann", "approved")
CY = ("Cy", "Me too", "12:52:15", "Bob", "approved")
DEE = ("Dee", "Hold me", "12:53:15", "", "waiting")
EVE = ("Eve", "Buy now", "12:54:15", "", "spam")
GONE = ("", "", "12:55:15", "", "deleted")

THREADS = {
    "waline.json": ("waline", [ANN, BOB, CY, DEE, EVE]),
    "waline-mongodb.json": ("waline", [ANN, BOB, CY, DEE, EVE]),
    "valine.jsonl": ("valine", [ANN, BOB, CY, EVE]),
    "twikoo.json": ("twikoo", [ANN, BOB, CY, EVE]),
    "artalk.json": ("artalk", [ANN, BOB, CY, DEE]),
    "disqus.xml": (
        "disqus",
        [
            ANN,
            BOB,
            CY,
            EVE,
            ("Fay", "Gone", "12:55:15", "Ann", "deleted"),
            ("Gus", "Below", "12:56:15", "Fay", "approved"),
        ],
    ),
    "wordpress.xml": ("wordpress", [ANN, BOB, CY, DEE, EVE]),
    "commento.json": (
        "commento",
        [ANN, BOB, CY, DEE, ("", *EVE[1:]), ("", "[deleted]", *GONE[2:])],
    ),
    "remark42.json": ("remark42", [ANN, BOB, CY, ("deleted", "", "12:55:15", "Ann", "deleted")]),
    "isso.json": ("isso-json", [ANN, BOB, CY]),
    "isso.db": ("isso", [ANN, BOB, CY, DEE, GONE]),
    "comments.ndjson": ("ndjson", [ANN, BOB, CY]),
}


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    return Source(database(tmp_path) if request.param == "isso.db" else DATA / request.param)


def read(source: Source) -> list[ImportRow]:
    found = formats.guess(source)
    assert found is not None
    return list(found.read(source))


def told(rows: list[ImportRow]) -> Iterator[tuple[str, str, str, str, str]]:
    comments = {row.source: row for row in rows if isinstance(row, CommentRow)}
    for row in sorted(comments.values(), key=lambda row: row.at or 0):
        assert row.at is not None
        assert path_of(row.path) in ("/hello/", "/日本/")
        seconds = row.at // 1000 - 1635379200
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        above = comments[row.parents[0]].nick if row.parents else ""
        yield row.nick, row.text, clock, above, row.status


@pytest.mark.parametrize(
    ("source", "name", "thread"),
    [pytest.param(file, *expected, id=file) for file, expected in THREADS.items()],
    indirect=["source"],
)
def test_a_thread_is_read_as_it_was(
    source: Source, name: str, thread: list[tuple[str, ...]]
) -> None:
    found = formats.guess(source)
    assert found
    assert found.name == name
    rows = list(told(read(source)))
    assert [(nick, clock, above, status) for nick, _, clock, above, status in rows] == [
        (nick, clock, above, status) for nick, _, clock, above, status in thread
    ]
    for row, expected in zip(rows, thread, strict=True):
        assert expected[1] in row[1]


@pytest.mark.parametrize(
    "source",
    [
        file
        for file in THREADS
        if file not in ("valine.jsonl", "disqus.xml", "isso.json", "wordpress.xml")
    ],
    indirect=True,
)
def test_likes_and_pins_are_read(source: Source) -> None:
    ann, _, cy, *_ = sorted(
        (row for row in read(source) if isinstance(row, CommentRow)), key=lambda row: row.at or 0
    )
    knows_pins = source.path.name not in ("commento.json", "isso.db")
    assert (ann.likes, ann.is_pinned, cy.likes, cy.is_pinned) == (3, knows_pins, 1, False)


@pytest.mark.parametrize(
    "source",
    [
        "waline.json",
        "waline-mongodb.json",
        "valine-counters.json",
        "twikoo-counters.json",
        "comments.ndjson",
    ],
    indirect=True,
)
def test_counters_are_read_with_texts_and_twice(source: Source) -> None:
    found = [row for row in read(source) if isinstance(row, CounterRow) and row.type == "time"]
    assert {row.path: row.number for row in sorted(found)} == {"/hello/": 120, "/日本/": 7}


@pytest.mark.parametrize("source", ["waline.json"], indirect=True)
def test_accounts_are_read_with_their_passwords_and_second_factors(source: Source) -> None:
    ann, gus, han = (row for row in read(source) if isinstance(row, AccountRow))
    assert (ann.source, ann.nick, ann.role, ann.label) == ("7", "Ann", "administrator", "author")
    assert (ann.totp, ann.identities) == ("JBSWY3DPEHPK3PXP", {"github": "ann"})
    assert ann.password.startswith("$2a$08$")
    assert gus.password.startswith("$P$B")
    assert han.role.startswith("verify:")


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        ("wordpress.xml", {("6", "is not a comment but a pingback")}),
        ("disqus.xml", {("1008", "belongs to a thread without an address")}),
        ("valine-counters.json", {("row 2", "has no page")}),
        ("isso.db", {("7", "belongs to no thread")}),
    ],
    indirect=["source"],
)
def test_a_row_that_cannot_be_used_is_named(source: Source, refused: set[tuple[str, str]]) -> None:
    found = {(row.where, row.why) for row in read(source) if isinstance(row, Refusal)}
    assert found == refused


def test_an_identifier_names_a_page_of_disqus_where_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "disqus.xml"
    threads = '<thread dsq:id="1"><id>mt_1949</id>{}</thread><thread dsq:id="2"><id />{}</thread>'
    links = (f"<link>https://tin.example/{name}/</link>" for name in ("comics", "new"))
    posts = (f'<post dsq:id="1{n}"><thread dsq:id="{n}" /></post>' for n in (1, 2))
    file.write_text(
        '<disqus xmlns="http://disqus.com" xmlns:dsq="http://disqus.com/disqus-internals">'
        f"{threads.format(*links)}{''.join(posts)}</disqus>"
    )
    for page_by, first in (("address", "https://tin.example/comics/"), ("identifier", "mt_1949")):
        rows = read(Source(file, page_by=page_by))
        pages = [row.path for row in rows if isinstance(row, CommentRow)]
        assert pages == [first, "https://tin.example/new/"]


def test_a_table_is_read_by_its_columns() -> None:
    columns = {
        "url": "page",
        "nick": "who",
        "comment": "words",
        "insertedAt": "written",
        "pid": "answers",
    }
    source = Source(DATA / "comments.csv", columns=columns)
    assert list(told(read(source))) == [
        (nick, text, *rest)
        for (nick, _, *rest), text in zip(
            (ANN, BOB, CY), ("First **post**", "Thanks, **Ann**", "Me too"), strict=True
        )
    ]
    columns = {"time": "views", "reaction0": "likes"}
    assert read(Source(DATA / "counters.csv", columns=columns)) == [
        CounterRow("/hello/", "time", 120),
        CounterRow("/hello/", "reaction0", 4),
        CounterRow("/日本/", "time", 7),
    ]


def test_what_a_database_writes_for_nothing_is_nothing(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("url,comment,nick,mail,link,time\n/p,NULL,NULL,NULL,\\N,\n")
    (row,) = read(Source(file))
    assert isinstance(row, CommentRow)
    assert (row.text, row.nick, row.mail, row.link, row.notes) == ("NULL", "NULL", "", "", ())


def test_names_and_links_that_were_stored_as_html_are_text(tmp_path: Path) -> None:
    """As Valine up to 1.4, Isso and WordPress store them."""
    valine, isso, wordpress = (tmp_path / name for name in ("valine", "isso.db", "wordpress"))
    link = "https://tj.example/?a=1&amp;b=2"
    valine.write_text(
        '{"objectId":"1","nick":"Tom &amp; O&#39;Brien","mail":"t@x.example","mailMd5":"",'
        f'"link":"{link}","comment":"<p>R &amp; D</p>","url":"/a"}}'
    )
    database(tmp_path).rename(isso)
    with sqlite3.connect(isso) as db:
        db.execute("UPDATE comments SET author = 'Tom &amp; O''Brien', website = ?", (link,))
    wordpress.write_text(
        '<rss xmlns:wp="http://wordpress.org/export/1.2/"><channel><item><link>/a</link>'
        "<wp:comment><wp:comment_author><![CDATA[Tom &amp; O&#039;Brien]]></wp:comment_author>"
        f"<wp:comment_author_url><![CDATA[{link}]]></wp:comment_author_url>"
        "<wp:comment_date>2020-01-02 03:04:05</wp:comment_date>"
        "<wp:comment_content>R &amp;amp; D</wp:comment_content></wp:comment></item></channel></rss>"
    )
    for file in (valine, isso, wordpress):
        row, *_ = read(Source(file))
        assert isinstance(row, CommentRow)
        assert (row.nick, row.link) == ("Tom & O'Brien", "https://tj.example/?a=1&b=2")
        assert "R &amp; D" in row.text or file is isso


@pytest.mark.parametrize(
    ("written", "html"),
    [
        ("one\ntwo\n\nthree", "<p>one<br>\ntwo</p>\n<p>three</p>"),
        (
            "See:\n<pre>a\n  b\n\n\n  c</pre>\nend",
            "<p>See:\n<pre>a\n  b\n&#10;&#10;  c</pre>\nend</p>",
        ),
        ("<ul>\n<li>a</li>\n  <li>b</li>\n</ul>", "<ul>\n<li>a</li>\n  <li>b</li>\n</ul>"),
        (
            "<blockquote>\na\nb\n</blockquote>\nc\nd",
            "<blockquote>\na<br>\nb\n</blockquote>\nc<br>\nd",
        ),
        ("a <b>b</b>\n<code>c</code>", "<p>a <b>b</b><br>\n<code>c</code></p>"),
        ("<p>a</p>\n\nb\n\n<div>c</div>", "<p>a</p>\n<p>b</p>\n<div>c</div>"),
        (
            "<table>\n<tr>\n<td>a\nb</td>\n</tr>\n</table>",
            "<table>\n<tr>\n<td>a<br>\nb</td>\n</tr>\n</table>",
        ),
        ("<PRE>a\nb</PRE>", "<PRE>a\nb</PRE>"),
    ],
)
def test_line_breaks_are_those_of_wordpress(written: str, html: str) -> None:
    assert html_block(written, has_lines=True) == html


def test_an_attachment_is_as_public_as_its_post_in_another_file(tmp_path: Path) -> None:
    def item(id: int, status: str, parent: int, comment: str = "") -> str:
        return (
            f"<item><link>/{id}</link><wp:post_id>{id}</wp:post_id><wp:status>{status}</wp:status>"
            f"<wp:post_parent>{parent}</wp:post_parent>{comment}</item>"
        )

    def file(name: str, items: str) -> Source:
        path = tmp_path / name
        path.write_text(
            '<rss xmlns:wp="http://wordpress.org/export/1.2/"><channel>'
            + items
            + "</channel></rss>"
        )
        return Source(path)

    said = "<wp:comment><wp:comment_content>x</wp:comment_content></wp:comment>"
    posts = file("1", item(1, "publish", 0) + item(2, "private", 0))
    photos = file("2", "".join(item(10 + of, "inherit", of, said) for of in (1, 2, 3)))
    _, files = formats.chosen([photos, posts], ImportReport(), "wordpress")
    rows = [row for each in files for row in wordpress.read(each)]
    assert [row.hidden for row in rows if isinstance(row, CommentRow)] == [
        "",
        "belongs to a private post",
        "belongs to an attachment of a missing post",
    ]


def test_comentario_has_pages_and_authors_apart(tmp_path: Path) -> None:
    file = tmp_path / "comentario.json"
    file.write_text(
        '{"version":3,"comments":[{"id":"2","parentId":"1","pageId":"p","markdown":"*Hi*","score":2,'
        '"isSticky":true,"createdTime":"2023-01-02T03:04:05Z","userCreated":"u"},{"id":"1",'
        '"pageId":"p","html":"<p>Ho</p>","createdTime":"2023-01-02","authorName":"Bo"}],'
        '"pages":[{"id":"p","domainId":"d","path":"/p/"}],"commenters":[{"id":"u","name":"Ann",'
        '"email":"ann@example.com","websiteUrl":"https://ann.example"}]}'
    )
    reply, root = read(Source(file))
    assert isinstance(reply, CommentRow)
    assert (reply.path, reply.text, reply.nick, reply.mail, reply.link, reply.parents) == (
        *("/p/", "*Hi*", "Ann", "ann@example.com"),
        *("https://ann.example", ("1",)),
    )
    assert (reply.likes, reply.is_pinned) == (2, True)
    assert isinstance(root, CommentRow)
    assert (root.text, root.is_html, root.nick) == ("<p>Ho</p>", True, "Bo")


@pytest.mark.parametrize("prefix", ["wl_", "", 'odd" '])
def test_a_database_of_waline_is_read_whatever_its_tables_are_called(
    prefix: str, tmp_path: Path
) -> None:
    file = tmp_path / "waline.sqlite"
    quoted = prefix.replace('"', '""')
    with sqlite3.connect(file) as db:
        # The names are this test's own.
        script = f"""
            CREATE TABLE "{quoted}Comment" (id INTEGER PRIMARY KEY, pid INTEGER, nick TEXT,
                comment TEXT, url TEXT, insertedAt TEXT, status TEXT);
            CREATE TABLE "{quoted}Counter" (id INTEGER PRIMARY KEY, time INTEGER, url TEXT);
            CREATE TABLE "{quoted}Users" (id INTEGER PRIMARY KEY, display_name TEXT, email TEXT);
            CREATE VIEW "OtherComment" AS SELECT * FROM missing;
            INSERT INTO "{quoted}Comment" VALUES (7, 6, 'Ann', 'Hi', '/p', '2023-01-02', 'waiting');
            INSERT INTO "{quoted}Counter" VALUES (1, 12, '/p');
            INSERT INTO "{quoted}Users" VALUES (1, 'Bob', 'bob@example.com');
        """  # noqa: S608
        db.executescript(script)
    user, comment, counter = read(Source(file))
    assert isinstance(user, AccountRow)
    assert isinstance(comment, CommentRow)
    assert (user.nick, user.mail) == ("Bob", "bob@example.com")
    assert (comment.source, comment.parents, comment.status) == ("7", ("6",), "waiting")
    assert counter == CounterRow("/p", "time", 12)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"code":401,"error":"Unauthorized."}', "an error message, not an export: Unauthorized."),
        ('{"errno":1000,"errmsg":"No such thing"}', "not an export: No such thing"),
        ('{"message":"Not Found","documentation_url":"https://x"}', "not an export: Not Found"),
        ("<!DOCTYPE html><html><body>Log in</body></html>", "a web page"),
        ("\n<html>", "a web page"),
        ("2Path,Title,Event,", "GoatCounter's export: use `footfall import goatcounter`"),
    ],
)
def test_a_file_says_what_it_is(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "export"
    file.write_text(content)
    with pytest.raises(Damaged, match=re.escape(said)):
        formats.chosen([Source(file)], ImportReport())


def test_a_database_of_artalk_says_how_to_export_it(tmp_path: Path) -> None:
    file = tmp_path / "artalk.db"
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE comments (id INTEGER PRIMARY KEY, content TEXT, page_key TEXT)")
    with pytest.raises(Damaged, match="Artalk's database: export it with `artalk export`"):
        formats.chosen([Source(file)], ImportReport())


@pytest.mark.parametrize("before", ["\n", "\ufeff\n \t"])
def test_blanks_before_the_declaration_of_xml_are_skipped(before: str, tmp_path: Path) -> None:
    file = tmp_path / "disqus.xml"
    file.write_text(before + (DATA / "disqus.xml").read_text())
    assert read(Source(file)) == read(Source(DATA / "disqus.xml"))


def test_a_comment_of_commento_without_markdown_has_its_html(tmp_path: Path) -> None:
    file = tmp_path / "commento.json"
    file.write_text('{"comments":[{"commentHex":"1","url":"/p","html":"<p>Hi</p>"}]}')
    (row,) = read(Source(file))
    assert isinstance(row, CommentRow)
    assert (row.text, row.is_html) == ("<p>Hi</p>", True)


def test_html_stays_one_block_whatever_it_contains() -> None:
    (bob, *_) = (row for row in read(Source(DATA / "valine.jsonl")) if isinstance(row, CommentRow))
    assert "\n\n" not in bob.text
    assert bob.text.startswith("<p>")
    assert "<code>a\n&#10;b</code>" in bob.text
    (bob, *_) = (row for row in read(Source(DATA / "wordpress.xml")) if isinstance(row, CommentRow))
    assert bob.text == ("<p>Thanks, <strong>Ann</strong></p>\n<p>and<br>\ngood *bye*</p>")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    with sqlite3.connect(empty) as db:
        db.execute("CREATE TABLE other (id)")
    with pytest.raises(Damaged, match="no such table"):
        read(Source(empty))
