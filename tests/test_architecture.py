"""The rules about the code that a machine can check."""

import ast
import functools
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from statistics import median

import pytest

from footfall.site import Site
from tests.defects import DEFECTS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "service/footfall"
BENCH = ROOT / "bench"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Modules outside of folders that import nothing of the service but each other.
GROUND = {"callbacks", "counters", "environment", "errors", "hosts", "ids", "interruption"}
GROUND |= {"markup", "model", "netaddr", "pages", "patterns", "permissions", "plurals"}
GROUND |= {"setting_texts", "tasks", "unsupported_settings"}
# What the service is built with -> what of it that knows. No noun is among this.
KERNEL = {
    "telemetry": set[str](),
    "driver": {"telemetry"},
    "limits": {"driver", "telemetry"},
    "http": {"limits", "telemetry"},
    "render": set[str](),
    "notify": {"render", "telemetry"},
    "outside": {"telemetry"},
    "process": {"driver", "limits", "render", "telemetry"},
    "values": {"render"},
    "outbox_settings": {"notify", "values"},
    "site_settings": {"outbox_settings", "values"},
    "table": {"http", "limits", "outside", "process", "render", "site_settings", "telemetry"},
}
# Noun -> the nouns that it knows. Each has a house: its folder, with a floor for its operations,
# one for its rules and one for what is in Redis.
NOUNS = {
    "accounts": set[str](),
    "statistics": set[str](),
    "counting": {"statistics"},
    "comments": {"accounts", "counting", "statistics"},
    "notifications": {"accounts", "comments"},
}
# What joins the nouns, from bottom to top: it imports what is before it, and all of the above.
JOINED = ["data", "site", "owner", "compat", "routes", "config", "monitoring", "tracing", "asgi"]
JOINED += ["maintenance", "stores", "transfer", "app", "advice", "loadtest", "server", "cli"]
# Floor -> the floors, of any house, and the parts of the kernel that it may use.
STORE = {"store", "driver", "limits"}
RULES = STORE | {"rules", "notify", "outbox_settings", "outside", "process", "render"}
RULES |= {"site_settings", "telemetry"}
API = {"api", "rules", "http", "limits", "outside", "process", "render", "table"}
API |= {"site_settings", "telemetry"}
FLOORS = {"ground": {"store", "driver"}, "store": STORE, "rules": RULES, "api": API}
# The small houses have all floors in one folder: module -> its floor; all others have that of "".
# What all floors know is the ground's.
HOUSES = {
    "counting": {"": "store", "api": "api", "fast": "api", "rules": "rules", "clients": "ground"},
    "statistics": {
        "": "store",
        "answers": "api",
        "api": "api",
        "pages_api": "api",
        "keeper": "rules",
        "reports": "rules",
        "live_views": "rules",
        "most_read": "rules",
        "page_list": "rules",
        "noun": "rules",
        "titles": "rules",
        "totals": "rules",
        **dict.fromkeys(
            (
                "agents",
                "audience",
                "calendar",
                "moment",
                "moments",
                "source_views",
                "sources",
                "visitors",
            ),
            "ground",
        ),
    },
}
# The modules of the driver that carry bytes: nouns use scripts, batches and pipelines instead.
TRANSPORT = {"url", "cluster", "durability", "connection"}
# Modules that put nouns together, or open and close them, have the whole store; no others have.
TOGETHER = {"app", "stores", "server", "cli"}
# package -> the folders that may import it.
OUTSIDE = {
    "starlette": {"asgi", "http", "monitoring", "owner", "routes", "table", "tracing"},
    "redis": {"driver"},
    "uvicorn": {"http", "server"},
    "prometheus_client": {"monitoring"},
    "opentelemetry": {"tracing"},
    "click": {"cli"},
    "nh3": {"render"},
    "markdown_it": {"render"},
    "jinja2": {"render"},
    "re2": {"patterns", "render"},
    "httpx2": {"notify", "outside", "transfer"},
    "authlib": {"outside"},
    "joserfc": {"accounts", "outside"},
    "aiosmtplib": {"notify"},
    "idna": {"notify"},
    "babel": {"http"},
    "apprise": {"notify"},
}


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def floor_of(parts: Sequence[str]) -> str:
    """The floor of a module of a house; "ground" if it is pure; "" for all other modules."""
    house, second = parts[0], parts[1] if len(parts) > 1 else ""
    if house not in NOUNS:
        return ""
    if floors := HOUSES.get(house):
        return floors.get(second, floors[""])
    # What a noun is made of is a matter of its rules.
    return "rules" if second == "noun" else second


def may_import(folder: str) -> Container[str]:
    """The folders, or modules outside of any, that one may import."""
    everywhere = GROUND | {folder, "__version__"}
    if folder in GROUND:
        return everywhere
    if folder in KERNEL:
        return everywhere | KERNEL[folder]
    everywhere |= KERNEL.keys()
    if folder in NOUNS:
        return everywhere | NOUNS[folder]
    if folder in JOINED:
        return everywhere | NOUNS.keys() | {*JOINED[: JOINED.index(folder)]}
    # The start of a process, which imports the rest when it is known what that is.
    return everywhere | {*JOINED, "first_process"}


def imports(path: Path) -> Iterator[str]:
    """Absolute names of all imported modules, ours that start with "footfall."."""
    package = ("footfall", *path.relative_to(ROOT / "service/footfall").parts[:-1])
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{name.name}" for name in node.names)


def wrong_imports(name: str, imported: Iterable[str]) -> Iterator[str]:
    """What a module imports and may not, by absolute names."""
    me = name.split(".")[1:] or ["__init__"]
    folder, floor = me[0], floor_of(me)
    for wanted in imported:
        first, *other = wanted.split(".")
        if first != "footfall":
            if folder not in OUTSIDE.get(first, {folder}):
                yield wanted
            continue
        whole = folder not in TOGETHER and wanted == "footfall.data.store.Store"
        bytes = "store" in me and other[0] == "driver" and other[1] in TRANSPORT
        if other[0] not in may_import(folder) or whole or bytes:
            yield wanted
        elif floor in FLOORS and other[0] not in GROUND:
            below = floor_of(other) or other[0]
            if below not in FLOORS[floor] | {"ground"}:
                yield wanted


def test_a_folder_imports_only_what_it_may() -> None:
    wrong = {
        name: found
        for path in MODULES
        if (found := [*wrong_imports(name := name_of(path), imports(path))])
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("statistics.reports", "accounts.rules.passwords.Passwords"),
        ("statistics.reports", "notifications.store.outbox.Outbox"),
        ("accounts.rules.changes", "comments.rules.refresh"),
        ("table.endpoint", "counting.rules.Counting"),
        ("driver.client", "limits.pool.Pool"),
        ("model", "render.view.View"),
        ("data.size", "site.Site"),
        ("comments.store.journal", "data.store.Store"),
        ("comments.store.journal", "driver.cluster"),
        ("comments.store.journal", "comments.rules.live"),
        ("comments.rules.live", "http.client.Headers"),
        ("comments.api.live", "comments.store.comments.CommentStore"),
        ("counting.batch", "counting.rules.Counting"),
        ("cli.serve", "__main__"),
    ],
)
def test_an_import_against_the_streets_is_found(module: str, imported: str) -> None:
    wanted = f"footfall.{imported}"
    assert [*wrong_imports(f"footfall.{module}", ["footfall.model.Viewer", wanted])] == [wanted]


def test_a_package_is_imported_where_it_belongs() -> None:
    assert [*wrong_imports("footfall.comments.rules.live", ["asyncio", "redis"])] == ["redis"]


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside of functions, and those for types alone, count like all others."""
    assert circles({name_of(path): set(imports(path)) for path in MODULES}) == []


def test_a_circle_is_found_however_long_it_is() -> None:
    wanted = {
        "a": {"os.path", "b.thing"},
        "b": {"c", "d.x"},
        "c": {"a.thing"},
        "d": {"e"},
        "e": {"d.y", "f"},
        "f": {"f.g"},
        "f.g": {"h"},
        "h": set[str](),
    }
    assert circles(wanted) == [["a", "b", "c"], ["d", "e"]]


def name_of(path: Path) -> str:
    """A module's absolute name; a package's, of its __init__.py."""
    parts = path.relative_to(ROOT / "service").with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def circles(imported: Mapping[str, set[str]]) -> list[list[str]]:
    """Modules of which each imports, by some way, all others of its list; by what each imports,
    which may be something in a module."""
    direct = {
        name: {each for wanted in names for each in _executed(wanted, imported, name)} - {name}
        for name, names in imported.items()
    }
    behind = {name: _reached(name, direct) for name in direct}
    found = {
        tuple(sorted(each for each in behind[name] if name in behind[each]))
        for name in direct
        if name in behind[name]
    }
    return sorted(map(list, found))


def _executed(name: str, modules: Container[str], by: str) -> Iterator[str]:
    """The modules that run when `by` imports this: its own, and the packages around that."""
    while name := _module_of(name, modules):
        if not f"{by}.".startswith(f"{name}."):
            yield name
        name = name.rpartition(".")[0]


def _module_of(name: str, modules: Container[str]) -> str:
    """The module that has this name, or in which it is; "" for one that is not ours."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def _reached(start: str, direct: Mapping[str, set[str]]) -> set[str]:
    found, left = set[str](), [start]
    while left:
        new = direct[left.pop()] - found
        found |= new
        left += new
    return found


def test_every_module_says_what_it_is() -> None:
    silent = [
        path.relative_to(ROOT)
        for path in MODULES
        if path.read_text() and not ast.get_docstring(tree_of(path))
    ]
    assert silent == []


def test_a_docstring_stands_alone() -> None:
    """It says what the thing is without its name, and without the docstring above it."""
    leaning = ("The same", "Of ", "Those ", "Its ")
    found = [
        f"{path.relative_to(PACKAGE)}: {text.splitlines()[0]}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and (text := ast.get_docstring(node) or "").startswith(leaning)
    ]
    assert found == []


def test_a_site_is_eight_nouns() -> None:
    assert len(fields(Site)) == 8


@pytest.mark.parametrize(("whole", "number"), [("Site", 41), ("Comments", 176)])
def test_few_functions_take_a_whole(whole: str, number: int) -> None:
    """What needs one part gets one part. Who makes this number larger should know why, and who
    makes it smaller writes the smaller one here."""
    takers = [
        f"{path.relative_to(PACKAGE)}: {node.name}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any(
            each.annotation and ast.unparse(each.annotation).strip("'") == whole
            for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        )
    ]
    assert len(takers) == number, takers


def test_no_module_is_longer_than_a_sitting() -> None:
    lengths = {
        str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in MODULES
    }
    assert {name: lines for name, lines in lengths.items() if lines > 500} == {}


def test_functions_are_short() -> None:
    lengths = {
        f"{path.relative_to(PACKAGE)}: {name}": lines
        for path in MODULES
        for name, lines in functions(tree_of(path))
    }
    assert median(lengths.values()) <= 6
    for path in sorted(BENCH.rglob("*.py")):
        lengths |= {
            f"{path.relative_to(ROOT)}: {n}": lines for n, lines in functions(tree_of(path))
        }
    assert [name for name, lines in lengths.items() if lines > 40] == []


def functions(node: ast.AST, above: str = "") -> Iterator[tuple[str, int]]:
    """The lines of each function, by its name and those of what is around it."""
    for child in ast.iter_child_nodes(node):
        name = above
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{above}.{child.name}".removeprefix(".")
            if not isinstance(child, ast.ClassDef):
                yield name, (child.end_lineno or 0) - child.lineno + 1
        yield from functions(child, name)


def test_keys_are_named_in_one_place() -> None:
    for path in MODULES:
        if path.name != "keys.py":
            assert not re.search(r"\{\{[pci]:|\{\{site\}|\{\{accounts", path.read_text()), path


def test_every_defect_of_the_past_can_be_put_back() -> None:
    for defect in DEFECTS:
        path, _, name = defect.test.partition("::")
        assert (ROOT / defect.file).read_text().count(defect.right) == 1, defect.what
        assert (ROOT / path).read_text().count(f"def test_{name}") == 1, defect.what


def test_tests_look_for_programs_in_one_place() -> None:
    """So that a machine without one skips what needs it."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if path.name != "requirements.py":
            literal = r'subprocess(?:\.\w+|_exec)\(\s*\[?\s*"'
            assert not re.search(r"\bwhich\(|" + literal, path.read_text()), path


def test_nothing_asks_which_variant_it_speaks() -> None:
    """It asks the variant for a value or a function, so that another one is an entry in a table."""
    names = r"(?:WALINE|BARE|ADMIN_UI)"
    asks = re.compile(rf"\b(?:is|is not|in|==|!=) \(?{names}\b|\b{names} (?:is|in|not in|==|!=) ")
    for path in MODULES:
        assert not asks.search(path.read_text()), path
