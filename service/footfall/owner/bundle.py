"""The scripts and sheets of the admin UI, each in one file whose name changes with its content.

The modules import each other six levels deep, and each level would cost a phone another round trip.
So they are joined at start, each as a function that runs when it is first imported. This reads the
modules as we write them: named imports at the start of a line, and exports of functions, classes
and constants.
"""

import re
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

_IMPORT = re.compile(r"^import \{ ([^}]+) \} from ('\./\w+\.js');$", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)
_LATER = re.compile(r"\bimport\(")
_LOADER = """const $made = new Map();
const $load = (name) => $made.get(name) ?? $made.set(name, $modules[name]()).get(name);
const $import = async (name) => $load(name);
"""
# A browser may keep what has its digest in its name.
FOR_EVER = b"public, max-age=31536000, immutable"


def script(paths: Iterable[Path], main: str) -> bytes:
    """All of these modules, of which `main` runs first. Raises ValueError for any other form."""
    modules = "".join(f"'./{path.name}': () => {{\n{_function(path)}}},\n" for path in paths)
    return f"{_LOADER}const $modules = {{\n{modules}}};\n$load('./{main}');\n".encode()


def _function(path: Path) -> str:
    """The body of a function that returns what the module exports."""
    source = path.read_text(encoding="utf-8")
    names = _EXPORT.findall(source)
    source = _IMPORT.sub(
        lambda match: f"const {{ {match[1].replace(' as ', ': ')} }} = $load({match[2]});", source
    )
    source = _LATER.sub("$import(", _EXPORT.sub("", source))
    if other := _OTHER.search(source):
        raise ValueError(f"{path.name}: {other[0]}")
    return f"{source}return {{ {', '.join(names)} }};\n"


def named(stem: str, ending: str, content: bytes) -> str:
    return f"{stem}.{blake2b(content, digest_size=8).hexdigest()}{ending}"
