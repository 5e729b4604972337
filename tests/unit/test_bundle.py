"""The admin UI's scripts in one file."""

import re
import subprocess
from pathlib import Path

import pytest

from footfall.owner import account_pages, bundle
from tests.support.requirements import program


def written(folder: Path, **modules: str) -> list[Path]:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text)
    return sorted(folder.glob("*.js"))


def test_a_module_runs_once_and_before_what_imports_it(tmp_path: Path) -> None:
    paths = written(
        tmp_path,
        main="import { twice as double, log } from './help.js';\n"
        "import { Noun } from './noun.js';\n"
        "const open = async (name) => (await import(`./${name}.js`)).open();\n"
        "log.push(double(new Noun().number));\nopen('late').then(() => console.log(log.join()));\n",
        help="export const log = ['help'];\nexport function twice(n) { return 2 * n; }\n",
        noun="import { log } from './help.js';\nlog.push('noun');\n"
        "export class Noun { number = 21; }\n",
        late="import { log } from './help.js';\nlog.push('late');\n"
        "export async function open() { log.push('open'); }\n",
    )
    found = subprocess.run(
        [program("node"), "--input-type=module"],
        input=bundle.script(paths, "main.js"),
        capture_output=True,
        check=True,
    )
    assert found.stdout == b"help,noun,42,late,open\n"


@pytest.mark.parametrize(
    "text", ["export let n = 1;\n", "export default 1;\n", "import './a.js';\n", "export { n };\n"]
)
def test_a_module_of_another_form_is_not_joined(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"main\.js"):
        bundle.script(written(tmp_path, main=text), "main.js")


def test_no_module_of_the_admin_ui_imports_itself_by_a_detour() -> None:
    imports = {
        path.name: re.findall(r"^import .* from '\./(\w+\.js)';$", path.read_text(), re.MULTILINE)
        for path in account_pages._modules()
    }
    left = dict(imports)
    while ready := [name for name, needs in left.items() if not left.keys() & needs]:
        for name in ready:
            del left[name]
    assert left == {}
    assert {need for needs in imports.values() for need in needs} <= imports.keys()


def test_a_name_changes_with_the_content() -> None:
    assert bundle.named("main", ".js", b"a") == bundle.named("main", ".js", b"a")
    assert bundle.named("main", ".js", b"a") != bundle.named("main", ".js", b"b")
