"""The documents agree with the code, and every link in them leads somewhere.

With WRITE_TABLES=1 in the environment the tables that are made from the code are written instead of
compared.
"""

import os
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import orjson
import pytest

import footfall
from footfall.comments.store import indexes
from footfall.config import Settings
from footfall.driver.rights import FOR_VISITORS, RIGHTS
from footfall.errors import ServiceError
from footfall.limits.pool import Pool
from footfall.limits.pools import Pools
from footfall.routes import TABLE
from footfall.table.prefixes import UI
from footfall.table.rows import Row
from tests.support.key_table import LISTED, PAGE, SITE

ROOT = Path(__file__).parents[1]
# The folders of a checkout, without what tools have put there.
FOLDERS = ("bench", "deploy", "docs", "lua", "service", "tests")
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(each for folder in FOLDERS for each in (ROOT / folder).rglob("*.md"))]
)


def text(name: str) -> str:
    return (ROOT / name).read_text()


def words_of(path: Path) -> str:
    """A document without its code, which may look like links and headings."""
    return re.sub(r"(?ms)^```.*?^```$|`[^`\n]*`", "", path.read_text())


# Links.


def anchors(path: Path) -> set[str]:
    """The anchors of its headings, as code hosts make them."""
    blocks = re.sub(r"(?ms)^```.*?^```$", "", path.read_text())
    headings = re.findall(r"(?m)^#+ (.+)$", blocks)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


def links(path: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", words_of(path))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    for link in links(path):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_a_heading_is_linked_by_its_words() -> None:
    assert "when-redis-is-unreachable-or-has-other-data" in anchors(ROOT / "docs/operations.md")


@pytest.mark.parametrize("name", ["docs/architecture.md", "CONTRIBUTING.md", "bench/README.md"])
def test_every_file_that_is_named_is_there(name: str) -> None:
    """By its present name, in whichever folder it is."""
    there = {
        f"/{path.relative_to(ROOT)}" for folder in FOLDERS for path in (ROOT / folder).rglob("*")
    }
    named = re.findall(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|lua|sh|json))`", text(name))
    assert named
    for each in named:
        assert any(path.endswith(f"/{each}") for path in there), each


def test_every_page_is_named_in_the_readme() -> None:
    named = {(ROOT / link.partition("#")[0]).resolve() for link in links(ROOT / "README.md")}
    assert named >= {*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")} - {ROOT / "README.md"}


def test_the_readme_is_short() -> None:
    assert len(text("README.md").splitlines()) <= 200


def test_the_labels_of_the_admin_ui_are_quoted_as_they_are() -> None:
    labels = set[str]()
    for words in orjson.loads((ROOT / "service/footfall/ui/admin/en.json").read_bytes()).values():
        labels |= {words} if isinstance(words, str) else {*words.values()}
    quoted = re.findall(r"(?<!\*)\*([A-Z0-9][^*]+?)\*(?!\*)", text("docs/administration.md"))
    assert len(quoted) > 30
    for label in (" ".join(label.split()) for label in quoted):
        assert {label, re.sub(r"\d+", "{count}", label)} & labels, label


# Tables.


def is_table(document: str, head: str, rows: list[str]) -> bool:
    """Are these the rows of the table with this head?"""
    before, _, rest = text(document).partition(f"{head}\n")
    rule, *lines = rest.splitlines(keepends=True)
    number = next((i for i, line in enumerate(lines) if not line.startswith("|")), len(lines))
    made = [f"{row}\n" for row in rows]
    if os.environ.get("WRITE_TABLES"):
        (ROOT / document).write_text("".join([before, head, "\n", rule, *made, *lines[number:]]))
        return True
    return lines[:number] == made


POOLS = {
    "rendering": "Comments to render; what waits, in characters",
    "passwords": "Passwords to hash or compare",
    "pages": "Pages of comments that are not cached",
    "feeds": "Feeds that are not cached",
    "statistics": "Answers with statistics of this minute",
    "captchas": "Captchas' tokens to ask about",
    "log_ins": "Logins by other services",
    "mails": "Emails to accounts",
    "retried_mails": "Emails to accounts that wait for another attempt",
    "streams": "Streams of `/api/live`",
    "bulk_actions": "Bulk actions of moderators",
}


def test_every_pool_is_listed() -> None:
    pools, rows = Pools(), []
    for field in fields(Pools):
        pool = getattr(pools, field.name)
        at_once = f"{pool.at_once:,}" if isinstance(pool, Pool) else f"{pool.capacity:,}"
        sizes = (at_once, f"{pool.capacity:,}", f"{pool.each:,}", f"{pool.of_network:,}")
        rows.append(f"| {POOLS[field.name]} | {' | '.join(sizes)} |")
    head = "| Pool | At once | With those that wait | An address, or an account | A /48 |"
    assert is_table("docs/operations.md", head, rows)


def test_what_fails_without_each_right_is_listed() -> None:
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, right in RIGHTS.items():
        alike.setdefault(right.fails, []).append(f"`{name}`")
    rows = [
        f"| {' '.join(names)} | {', '.join(fails)} | {is_ready} |"
        for fails, names in alike.items()
        for is_ready in ["yes" if FOR_VISITORS.isdisjoint(fails) else "no"]
    ]
    assert is_table("docs/operations.md", "| Without | Fails | Is it ready? |", rows)


def settings(document: str) -> list[tuple[str, ...]]:
    return re.findall(r"^\| `([A-Z0-9_]+)` \| (.*?) \| (.*) \|$", text(document), re.MULTILINE)


def test_every_setting_is_listed_as_it_is() -> None:
    expected = [
        (name, f"`{default}`" if default else "", doc)
        for name, _, default, doc in Settings().table({})
    ]
    assert settings("docs/configuration.md") == expected
    chosen = settings("README.md")
    assert chosen == [each for each in expected if each in chosen] != []


# The HTTP status and errno of most errors.
RULE = (200, 1000)


def test_every_error_is_listed() -> None:
    section = text("docs/api.md").partition("\n## Errors\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (?:(\d+) \| (\d+) \| )?", section, re.MULTILINE)
    assert [
        (name, int(status or RULE[0]), int(errno or RULE[1])) for name, status, errno in rows
    ] == [
        (each.__name__, each.status, each.errno)
        for each in sorted(ServiceError.below(), key=lambda each: (each.status, each.errno) == RULE)
    ]


def path_of(row: Row) -> str:
    """As documents name it: without the prefixes of Waline's operations."""
    (prefix, *others) = row.prefixes
    return f"{'' if others or prefix is UI else prefix.path}{row.template}"


def test_every_operation_is_listed() -> None:
    lines = [line for line in text("docs/api.md").splitlines() if line.startswith("| `")]
    for row in TABLE:
        path = rf"{re.escape(path_of(row))}(?:/<id>)?"
        of_type = rf".*type={row.type}\b" if row.type else ""
        alone = rf"\| `{row.method} {path}[?`]{of_type}"
        of_resource = rf"\| `{path}` \|.*`{row.method}`"
        assert any(re.match(rf"{alone}|{of_resource}", line) for line in lines), row.route


def test_every_key_is_listed() -> None:
    used = {name.partition(":")[0] for name in (*PAGE, *SITE)}
    for path in (ROOT / "lua").rglob("*.lua"):
        used |= set(re.findall(r"\{\w+\}:(\w+)", path.read_text()))
    assert used <= LISTED
    # No script has these.
    others = """
        format backup closed moves moved forward action actions undoing key
        asked live notes reports people shared titles refused salt spamseen unsubscribed
        verdict waitingseen
    """
    assert LISTED - used == set(others.split())


def test_every_key_of_comments_has_a_rule() -> None:
    by_type = {"string": indexes.STRINGS, "hash": indexes.HASHES, "stream": ("journal",)}
    by_type["sorted set"] = indexes.INDEXES + indexes.DELETED
    assert {name: type for type, names in by_type.items() for name in names} == PAGE
    assert {*indexes.SITE_INDEXES, *indexes.DERIVED} <= SITE.keys()


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    assert project["dependencies"]
    for requirement in project["dependencies"]:
        name = re.split(r"[\[><=]", requirement)[0]
        assert f"**{name}**" in text("docs/dependencies.md"), name


def test_every_folder_is_in_the_architecture() -> None:
    for path in (ROOT / "service/footfall").iterdir():
        if path.is_dir() and path.name != "__pycache__":
            assert f"| `service/footfall/{path.name}/` |" in text("docs/architecture.md"), path


def test_the_changelogs_newest_version_is_the_packages() -> None:
    newest = re.search(r"^## (\S+)", text("CHANGELOG.md"), re.MULTILINE)
    assert newest
    assert newest[1] == footfall.__version__
