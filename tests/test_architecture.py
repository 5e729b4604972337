"""The rules about the code that a machine can check."""

import ast
import functools
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from statistics import median

import pytest

from footfall.site import Site
from tests.defects import DEFECTS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "service/footfall"
MODULES = sorted(PACKAGE.rglob("*.py"))

# floor or folder -> those it may import; cli may import everything. http knows no operation, api no
# Redis, rules no HTTP, store no transport and driver no noun.
ALLOWED = {
    "ids": set[str](),
    "counters": {"model"},
    "permissions": {"errors", "model"},
    "tasks": set[str](),
    "callbacks": set[str](),
    "markup": set[str](),
    "model": set[str](),
    "errors": set[str](),
    "netaddr": set[str](),
    "patterns": {"setting_texts"},
    "plurals": set[str](),
    "setting_texts": set[str](),
    "unsupported_settings": set[str](),
    "telemetry": {"errors"},
    "outside": {"errors", "model", "patterns", "telemetry"},
    "loadtest": {"model", "plurals"},
    "values": {"model", "netaddr", "patterns", "render", "setting_texts"},
    "environment": {"patterns", "setting_texts", "unsupported_settings"},
    "pages": set[str](),
    "config": {"environment", "model", "netaddr", "outbox_settings", "pages", "patterns"}
    | {"setting_texts", "values"},
    "outbox_settings": {"environment", "notify", "setting_texts", "values"},
    "notify": {"markup", "model", "outbox_settings", "plurals", "render", "telemetry"},
    "advice": {"config", "environment", "patterns", "unsupported_settings"},
    "render": {"markup", "model"},
    "driver": {"callbacks", "errors", "model", "plurals", "telemetry"},
    "limits": {"callbacks", "driver", "errors", "model", "netaddr", "plurals", "telemetry"},
    "ground": {"driver", "model", "netaddr", "patterns", "store"},
    "store": {
        "callbacks",
        "driver",
        "errors",
        "ground",
        "limits",
        "markup",
        "model",
        "netaddr",
        "plurals",
    },
    "rules": {
        "callbacks",
        "config",
        "driver",
        "errors",
        "ground",
        "limits",
        "markup",
        "model",
        "netaddr",
        "notify",
        "outbox_settings",
        "outside",
        "patterns",
        "plurals",
        "render",
        "store",
        "telemetry",
    },
    "http": {"errors", "limits", "model", "netaddr", "patterns", "telemetry"},
    "api": {
        "callbacks",
        "config",
        "rules",
        "errors",
        "ground",
        "http",
        "limits",
        "markup",
        "model",
        "netaddr",
        "outside",
        "pages",
        "patterns",
        "plurals",
        "render",
        "telemetry",
    },
    "tracing": {"http"},
    "maintenance": {
        "rules",
        "driver",
        "errors",
        "ground",
        "markup",
        "model",
        "pages",
        "plurals",
        "render",
        "store",
    },
    "transfer": {
        "rules",
        "driver",
        "errors",
        "ground",
        "http",
        "maintenance",
        "markup",
        "model",
        "pages",
        "plurals",
        "render",
        "store",
    },
    "app": {
        "__version__",
        "config",
        "rules",
        "driver",
        "errors",
        "ground",
        "http",
        "limits",
        "maintenance",
        "model",
        "netaddr",
        "notify",
        "outside",
        "pages",
        "patterns",
        "render",
        "store",
        "stores",
        "telemetry",
        "transfer",
    },
    "stores": {
        "__version__",
        "config",
        "rules",
        "driver",
        "errors",
        "ground",
        "maintenance",
        "model",
        "netaddr",
        "render",
        "store",
        "telemetry",
    },
    "asgi": {"__version__", "api", "config", "http", "netaddr", "rules", "telemetry", "tracing"},
    "server": {
        "__version__",
        "api",
        "app",
        "asgi",
        "config",
        "rules",
        "driver",
        "errors",
        "ground",
        "http",
        "limits",
        "model",
        "netaddr",
        "plurals",
        "store",
        "stores",
        "telemetry",
        "tracing",
    },
}
# What every noun knows: everything may import it.
GROUND = {"ids", "counters", "permissions", "tasks"}
# A noun is a house of its own: its folder has a floor for its operations, one for its rules and one
# for what is in Redis.
NOUNS = {"accounts", "comments", "notifications"}
# The small houses have all floors in one folder: module -> the floor whose rules it has; all others
# have the one of "".
HOUSES = {
    "counting": {"": "store", "api": "api", "rules": "rules", "clients": "ground"},
    "statistics": {
        "": "store",
        "answers": "api",
        "api": "api",
        "keeper": "rules",
        "reports": "rules",
        "most_read": "rules",
        "noun": "rules",
        "totals": "rules",
        **dict.fromkeys(
            ("agents", "calendar", "moment", "moments", "source_views", "sources", "visitors"),
            "ground",
        ),
    },
    "monitoring": {"": "api", "vitals": "rules"},
    "owner": {"": "api", "overview": "rules", "counter_search": "rules"},
    **dict.fromkeys(("compat", "routes", "table"), {"": "api"}),
    **dict.fromkeys(("process", "site"), {"": "rules"}),
    "site_settings": {"": "config"},
}
# The modules of the driver that carry bytes: nouns use scripts, batches and pipelines instead.
TRANSPORT = {"url", "cluster", "durability", "connection"}
# Modules that put nouns together, or open and close them, have the whole store; no others have.
TOGETHER = {"app", "stores", "server", "cli"}
# package -> the folders that may import it.
OUTSIDE = {
    "starlette": {"api", "asgi", "http", "tracing"},
    "redis": {"driver"},
    "uvicorn": {"http", "server"},
    "prometheus_client": {"api"},
    "opentelemetry": {"tracing"},
    "click": {"cli"},
    "nh3": {"render"},
    "markdown_it": {"render"},
    "jinja2": {"render"},
    "re2": {"patterns", "render"},
    "httpx2": {"notify", "outside", "transfer"},
    "authlib": {"outside"},
    "joserfc": {"outside", "rules"},
    "aiosmtplib": {"notify"},
    "idna": {"notify"},
    "babel": {"http"},
    "apprise": {"notify"},
}


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def folder_of(path: Path) -> str:
    return floor_of(path.relative_to(ROOT / "service/footfall").with_suffix("").parts)


def floor_of(parts: Sequence[str]) -> str:
    """The floor of a module of a noun, else its folder."""
    second = parts[1] if len(parts) > 1 else ""
    if parts[0] in NOUNS:
        # What a noun is made of is a matter of its rules.
        return "rules" if second == "noun" else second
    if parts[0] not in HOUSES:
        return parts[0]
    floors = HOUSES[parts[0]]
    return floors.get(second, floors[""])


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


def wrong_imports(path: Path) -> Iterator[str]:
    folder = folder_of(path)
    for name in imports(path):
        parts = name.split(".")
        is_ours = parts[0] == "footfall" and len(parts) > 1
        floor = floor_of(parts[1:]) if is_ours else ""
        if is_ours and folder in ALLOWED and floor not in ALLOWED[folder] | {folder} | GROUND:
            yield f"{folder} must not import {name}"
        if (
            "store" in path.parts
            and parts[1:2] == ["driver"]
            and TRANSPORT.intersection(parts[2:3])
        ):
            yield f"the store knows the transport: {name}"
        if folder not in TOGETHER and name == "footfall.store.store.Store":
            yield "wants all nouns at once"
        if folder not in OUTSIDE.get(parts[0], {folder}):
            yield f"{folder} must not import {name}"


def test_a_folder_imports_only_what_it_may() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {reason}" for path in MODULES for reason in wrong_imports(path)
    ]
    assert wrong == []


def test_an_import_that_is_not_allowed_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test of the rules: they can be broken."""
    package = tmp_path / "service/footfall"
    source = "from footfall.driver import cluster\nfrom ..cli import log\nimport starlette\n"
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (package / "store").mkdir(parents=True)
    path = package / "store" / "notes.py"
    path.write_text(source + "from .store import Store\n")
    assert list(wrong_imports(path)) == [
        "the store knows the transport: footfall.driver.cluster",
        "store must not import footfall.cli.log",
        "store must not import starlette",
        "wants all nouns at once",
    ]


# Folders that import each other, of which no more may come.
BOTH_WAYS = {
    ("accounts", "comments"),
    ("comments", "notifications"),
    ("comments", "store"),
    ("counting", "table"),
}


def both_ways(imported: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    """Folders, or modules outside of any, that import each other; by what each module imports."""
    streets = {
        (name.split(".")[1], wanted.split(".")[1])
        for name, names in imported.items()
        for wanted in names
        if name.count(".") and wanted.startswith("footfall.")
    }
    return {(a, b) for a, b in streets if a < b and (b, a) in streets}


def test_no_other_folders_import_each_other() -> None:
    assert both_ways({name_of(path): set(imports(path)) for path in MODULES}) == BOTH_WAYS


def test_two_folders_that_import_each_other_are_found() -> None:
    wanted = {
        "footfall.statistics.reports": {"footfall.counters.VIEWS", "orjson"},
        "footfall.statistics.store": {"footfall.notifications.store.outbox.Task"},
        "footfall.notifications.api.outbox": {"footfall.statistics.api", "footfall.model.Viewer"},
        "footfall.counters": {"footfall.model.NO_VIEWS"},
    }
    assert both_ways(wanted) == {("notifications", "statistics")}


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


def test_a_site_is_eight_nouns_and_few_functions_take_it_whole() -> None:
    """What needs one noun gets one noun. Who makes this number larger should know why, and who
    makes it smaller writes the smaller one here."""
    assert len(fields(Site)) == 8
    takers = [
        f"{path.relative_to(PACKAGE)}: {node.name}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any(
            each.annotation and ast.unparse(each.annotation).strip("'") == "Site"
            for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        )
    ]
    assert len(takers) == 44, takers


def test_no_module_is_longer_than_a_sitting() -> None:
    lengths = {
        str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in MODULES
    }
    assert {name: lines for name, lines in lengths.items() if lines > 350} == {}


def test_functions_are_short() -> None:
    lengths = {
        f"{path.relative_to(PACKAGE)}: {name}": lines
        for path in MODULES
        for name, lines in functions(tree_of(path))
    }
    assert median(lengths.values()) <= 6
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


def test_nothing_asks_which_dialect_it_speaks() -> None:
    """It asks the dialect for a value or a function, so that another one is an entry in a table."""
    names = r"(?:WALINE|BARE|OWN_PAGES)"
    asks = re.compile(rf"\b(?:is|is not|in|==|!=) \(?{names}\b|\b{names} (?:is|in|not in|==|!=) ")
    for path in MODULES:
        assert not asks.search(path.read_text()), path
