"""Each command without a data set: none makes one, and none reports success."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from footfall.data.store import FORMAT
from tests.conftest import server_of
from tests.support.commands import commands
from tests.support.servers import RealServer, program_of, running
from tests.support.serving import Serving, serving

_prefixes = (f"nobody{n}" for n in itertools.count())

# The commands that work on a data set, with their arguments.
LOOKING = {
    "backup": ["FILE"],
    "check": [],
    "accounts list": [],
    "accounts add": ["a@example.com"],
    "accounts password": ["a@example.com"],
    "accounts promote": ["a@example.com"],
    "accounts demote": ["a@example.com"],
    "accounts ban": ["a@example.com"],
    "accounts unban": ["a@example.com"],
    "accounts delete": ["a@example.com", "--yes"],
    "comments list": [],
    "comments show": ["x"],
    "comments approve": ["x"],
    "comments hold": ["x"],
    "comments spam": ["x"],
    "comments pin": ["x"],
    "comments unpin": ["x"],
    "comments edit": ["x", "--text", "a"],
    "comments delete": ["x", "--yes"],
    "comments undo": ["x"],
    "log": [],
    "paths move": ["/a", "/b", "--yes"],
    "paths merge": ["--yes"],
    "paths close": ["/a"],
    "paths open": ["/a"],
    "paths closed": [],
    "statistics": [],
    "comments rerender": [],
    "comments judge": [],
    "counters list": [],
    "counters delete": ["/*"],
    "counters prune": ["--below", "2"],
    "authors show": ["a@example.com"],
    "authors export": ["a@example.com"],
    "authors anonymize": ["a@example.com", "--yes"],
    "authors delete": ["a@example.com", "--yes"],
    "bans list": [],
    "bans add": ["192.0.2.1"],
    "bans remove": ["192.0.2.1"],
    "export": [],
    "import": [__file__],
    "import access-log": [__file__],
    "import goatcounter": [__file__],
    "import leancloud": ["https://lc.example", "--app-id", "id", "--app-key", "key"],
    "import vercount": [__file__],
    "notify test": [],
    "outbox list": [],
    "outbox retry": ["--all"],
    "outbox drop": ["--all"],
    "worker": [],
}
# Commands that make a data set, and commands that need none: `doctor` says that there is none.
OTHERS = {"serve", "restore", "config", "bench", "verify", "health", "doctor"}


def test_every_command_is_in_one_of_the_lists() -> None:
    assert set(commands()) == {*LOOKING, *OTHERS}


def calls(file: Path, *, is_each_asked: bool = False) -> Iterator[list[str]]:
    """A call of every command, or of one a group, whose commands open the data set alike."""
    groups = set[str]()
    for name, words in LOOKING.items():
        group = name.split()[0]
        if is_each_asked or group not in groups:
            yield [*name.split(), *(word.replace("FILE", str(file)) for word in words)]
        groups.add(group)
    yield ["check", "--repair"]


def test_no_command_makes_a_directory_to_find_nothing_in_it(own: Path) -> None:
    nobody, where = Serving(own / "n"), own / "n/data"
    for call in calls(own / "file", is_each_asked=True):
        code, output = nobody.ask(*call)
        assert (code, output.splitlines()) == (
            1,
            [
                f"Data set: KEY_PREFIX ff in DATA_DIR {where}",
                f"Error: there is no data set in DATA_DIR {where}; `footfall serve` and "
                "`footfall restore` create one, and --data names another directory",
            ],
        ), call
        assert list((own / "n").iterdir()) == []
    assert not (own / "file").exists()


def test_a_directory_with_something_else_in_it_is_left_alone(own: Path) -> None:
    (own / "n/data").mkdir(parents=True)
    (own / "n/data/photo.jpg").write_text("a cat")
    nobody = Serving(own / "n")
    for call in calls(own / "file"):
        code, output = nobody.ask(*call)
        assert (code, "there is no data set in DATA_DIR" in output) == (1, True), output
        assert [each.name for each in (own / "n/data").iterdir()] == ["photo.jpg"]


def test_no_command_makes_a_data_set_in_a_redis(
    own: Path, kind: str, servers: dict[str, RealServer]
) -> None:
    server, prefix = server_of(kind, servers), next(_prefixes)
    nobody = Serving(own / "n", REDIS_URL=server.url, KEY_PREFIX=prefix)
    for call in calls(own / "file"):
        code, output = nobody.ask(*call)
        assert (code, output.splitlines()) == (
            1,
            [
                f"Data set: KEY_PREFIX {prefix} in REDIS_URL unix://{server.socket}",
                f"Error: there is no data set under KEY_PREFIX {prefix}; "
                "`footfall serve` and `footfall restore` create one",
            ],
        ), call
    with server.admin() as admin:
        assert admin.keys(f"{prefix}:*") == []
    assert not (own / "file").exists()


def test_a_data_set_of_another_format_is_left_alone(
    own: Path, kind: str, servers: dict[str, RealServer]
) -> None:
    server, prefix = server_of(kind, servers), next(_prefixes)
    service = Serving(own / "n", REDIS_URL=server.url, KEY_PREFIX=prefix)
    made = {"number": FORMAT + 1, "born": "a", "buckets": 256, "seed": "00"}
    with server.admin() as admin:
        admin.hset(f"{prefix}:{{site}}:format", mapping=made)
        for call in (["serve"], ["backup", str(own / "file")], ["check", "--repair"]):
            code, output = service.ask(*call)
            assert (code, "has format '2', and this version knows 1" in output) == (1, True), output
        assert admin.keys(f"{prefix}:*") == [f"{prefix}:{{site}}:format".encode()]


def test_a_backup_is_compared_with_what_is_there_only(own: Path) -> None:
    file = own / "file"
    with serving(own / "s") as served:
        assert httpx.post(f"{served.url}/article", json={"path": "/a"}).json() == 1
        assert served.ask("backup", str(file))[0] == 0
    nobody = Serving(own / "n")
    code, output = nobody.ask("restore", "--compare", str(file))
    assert (code, "there is no data set in DATA_DIR" in output) == (1, True), output
    assert not (own / "n/data").exists()


def test_the_data_set_of_a_service_is_found_even_while_it_is_empty(own: Path) -> None:
    with serving(own / "s") as served:
        assert served.ask("check")[0] == 0
        assert served.ask("backup", str(own / "file"))[0] == 0
    code, output = served.ask("check")
    assert (code, output.splitlines()) == (
        0,
        [
            f"Data set: KEY_PREFIX ff in DATA_DIR {own / 's/data'}",
            "0 pages, 0 approved comments, 0 held, 0 counters, 0 problems",
        ],
    )


@pytest.mark.parametrize("command", ["serve", "check"])
def test_a_database_that_does_not_exist_is_not_waited_for(own: Path, command: str) -> None:
    with running(program_of("valkey"), own / "r") as server:
        url = f"{server.url}?db=16"
        with server.admin() as admin:
            admin.execute_command("ACL", "SETUSER", "footfall", "+select")
        served = Serving(own / "s", REDIS_URL=url, REDIS_WAIT="60")
        code, output = served.ask(command)
        assert code == 1
        words = "Redis cannot be used: DB index is out of range (its setting `databases` is their"
        assert words in output
