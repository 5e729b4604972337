"""compose.yaml: valid, locked down, and with a Valkey that is as durable as the private one."""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis
from redis.exceptions import RedisError

from footfall.config import Settings
from footfall.driver.keys import WEIGHT_UNIT_BYTES
from footfall.driver.private_server import CONFIG
from tests.support.servers import program_of, wait_until
from tests.support.serving import serving

from .files import DEPLOY, read
from .tools import judged

FILE = DEPLOY / "compose.yaml"


@pytest.fixture
def services() -> dict[str, Any]:
    found: dict[str, Any] = read(FILE)["services"]
    return found


@pytest.fixture
def valkey(services: dict[str, Any]) -> Iterator[Path]:
    """The socket of a server that was started with the options of compose.yaml."""
    _, *options = services["valkey"]["command"]
    with tempfile.TemporaryDirectory(prefix="ff") as home:
        socket = Path(home) / "s"
        command = [program_of("valkey"), *options]
        command += ["--dir", home, "--port", "0", "--unixsocket", str(socket)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                wait_until(lambda: is_up(socket), "Valkey to answer")
                yield socket
            finally:
                process.terminate()


def is_up(socket: Path) -> bool:
    with Redis(unix_socket_path=str(socket)) as client:
        try:
            return bool(client.ping())
        except (RedisError, OSError):
            return False


def test_it_is_a_compose_file() -> None:
    schema = ["--builtin-schema", "vendor.compose-spec", str(FILE)]
    code, output = judged("check-jsonschema", *schema)
    assert code == 0, output


def test_everything_that_a_service_names_exists(services: dict[str, Any]) -> None:
    whole = read(FILE)
    assert services
    for service in services.values():
        assert service.get("depends_on", {}).keys() <= services.keys()
        assert set(service["networks"]) <= whole["networks"].keys()
        for volume in service.get("volumes", []):
            assert volume.partition(":")[0] in whole["volumes"]
    for name, condition in services["footfall"]["depends_on"].items():
        assert condition == {"condition": "service_healthy"}
        assert "healthcheck" in services[name]
    build = services["footfall"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).samefile(DEPLOY / "Dockerfile")


def test_no_service_has_more_rights_than_it_needs(services: dict[str, Any]) -> None:
    for service in services.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_valkey_cannot_be_reached_from_outside(services: dict[str, Any]) -> None:
    (network,) = services["valkey"]["networks"]
    assert read(FILE)["networks"][network]["internal"] is True
    assert "ports" not in services["valkey"]


def test_the_proxy_on_the_machine_is_believed(services: dict[str, Any]) -> None:
    (front,) = read(FILE)["networks"]["front"]["ipam"]["config"]
    believed = interpolated(services["footfall"]["environment"]["TRUSTED_PROXIES"])
    assert front["gateway"] in believed.split(",")


def interpolated(text: str, **environ: str) -> str:
    """As compose does it: ${NAME:-default}."""
    return re.sub(r"\$\{(\w+):-(.*)\}", lambda found: environ.get(found[1]) or found[2], text)


# What would lead nowhere in these containers, and the time to stop, which goes with another one.
DECIDED = {
    "HOST",
    "PORT",
    "UDS",
    "REDIS_URL",
    "REDIS_PASSWORD",
    "DATA_DIR",
    "REDIS_SERVER",
    "DRAIN_SECONDS",
}


@pytest.mark.parametrize("name", ["footfall", "backup"])
def test_every_other_setting_is_what_the_file_of_settings_says(
    services: dict[str, Any], name: str
) -> None:
    assert services[name]["env_file"] == [{"path": ".env", "required": False}]
    for setting, value in services[name]["environment"].items():
        assert setting in DECIDED or interpolated(value, **{setting: "mine"}) == "mine", setting


def test_valkey_has_room_for_all_counters_and_for_a_rewrite(services: dict[str, Any]) -> None:
    """Else a stranger's counters would fill it before COUNTER_LIMIT refuses new ones."""
    command = services["valkey"]["command"]
    memory_bytes = size(command[command.index("--maxmemory") + 1].removesuffix("b"))
    assert memory_bytes * 0.8 > Settings().counter_limit * WEIGHT_UNIT_BYTES
    assert size(services["valkey"]["mem_limit"]) >= 2 * memory_bytes


def size(text: str) -> int:
    units = {"m": 1 << 20, "g": 1 << 30}
    return int(text[:-1]) * units[text[-1]]


def test_its_valkey_keeps_what_the_private_one_keeps(valkey: Path) -> None:
    lines = (line.split(maxsplit=1) for line in CONFIG.splitlines() if line[0] != "#")
    ours = {name: value.strip('"') for name, value in lines}
    with Redis(unix_socket_path=str(valkey), decode_responses=True) as client:
        theirs = client.config_get(*ours)
    keeping = {"save", "appendonly", "maxmemory-policy"} | {n for n in ours if n[:4] == "hash"}
    assert {name: theirs[name] for name in keeping} == {name: ours[name] for name in keeping}


def test_the_service_runs_on_its_valkey(valkey: Path, tmp_path: Path) -> None:
    with serving(tmp_path, REDIS_URL=f"unix://{valkey}") as service:
        assert httpx.post(f"{service.url}/article", json={"path": "/a"}).json() == 1
