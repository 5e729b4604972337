"""Commands find the data from any directory by --data, with the settings in its .env."""

import os
from pathlib import Path

import pytest
from click.testing import Result

from tests.support.commands import invoke
from tests.support.serving import Serving, serving


@pytest.fixture
def elsewhere(own: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, which has a .env for something else."""
    there = own / "elsewhere"
    there.mkdir(parents=True)
    (there / ".env").write_text("KEY_PREFIX=elsewhere\n")
    monkeypatch.chdir(there)
    return there


def ask(*words: object, **environ: str) -> Result:
    return invoke(*map(str, words), environ=environ)


def shown(*words: object, **environ: str) -> dict[str, str]:
    """What `footfall config` says with these options: values by name."""
    done = ask("config", *words, **environ)
    assert done.exit_code == 0, done.output
    lines = [line for line in done.output.splitlines() if not line.startswith(" ")]
    return {
        name: value.split("  (")[0] for name, _, value in (line.partition("=") for line in lines)
    }


def test_a_service_and_commands_from_two_directories_share_the_data(own: Path) -> None:
    site = own / "site"
    site.mkdir(parents=True)
    (site / ".env").write_text("KEY_PREFIX=mine\nLOG_FORMAT=json\n")
    with serving(own / "s", "--data", str(site / "data"), DATA_DIR="nowhere") as served:
        assert '"message":"Footfall' in served.output
        code, output = Serving(own / "n").ask("check", "--data", str(site / "data"))
    assert (code, output.splitlines()) == (
        0,
        [
            f"Data set: KEY_PREFIX mine in DATA_DIR {site / 'data'}",
            f"Settings: {site / '.env'}",
            "0 pages, 0 approved comments, 0 held, 0 counters, 0 problems",
        ],
    )
    assert not (own / "n/data").exists()
    assert not (own / "s/nowhere").exists()


def test_the_env_file_in_the_data_is_read_before_the_one_beside_it(
    own: Path, elsewhere: Path
) -> None:
    data = own / "site/data"
    data.mkdir(parents=True)
    assert shown("--data", data)["KEY_PREFIX"] == "elsewhere"
    (own / "site/.env").write_text("KEY_PREFIX=beside\nDATA_DIR=other\n")
    assert shown("--data", data)["KEY_PREFIX"] == "beside"
    (data / ".env").write_text("KEY_PREFIX=inside\n")
    found = shown("--data", data, DATA_DIR="/nowhere")
    assert (found["KEY_PREFIX"], found["DATA_DIR"]) == ("inside", str(data))
    assert shown("--data", data, KEY_PREFIX="environment")["KEY_PREFIX"] == "environment"
    assert shown()["KEY_PREFIX"] == "elsewhere"


def test_paths_in_it_are_relative_to_it_as_for_the_service(own: Path, elsewhere: Path) -> None:
    (own / "site").mkdir()
    (own / "site/jwt").write_text("secret")
    (own / "site/.env").write_text("JWT_TOKEN_FILE=jwt\nUDS=run/s\nIP2REGION_DB=false\n")
    found = shown("--data", own / "site/data")
    assert found["JWT_TOKEN"] == f"(from {own}/site/jwt)"
    assert found["UDS"] == f"{own}/site/run/s"
    # A directory is relative to where the command is called.
    assert shown("--data", "../site/data")["DATA_DIR"] == f"{own}/site/data"


@pytest.mark.parametrize("name", ["REDIS_URL", "REDIS_URL_FILE"])
def test_a_directory_is_refused_where_a_redis_has_the_data(
    own: Path, elsewhere: Path, name: str
) -> None:
    done = ask("check", "--data", own / "d", **{name: "redis://:secret@h"})
    assert done.exit_code == 1
    assert "--data does nothing: REDIS_URL is set" in done.output
    assert "secret" not in done.output
    assert not (own / "d").exists()


def test_a_strangers_env_file_beside_the_data_is_not_read(
    own: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own / "tmp").mkdir()
    file, data = own / "tmp/.env", own / "tmp/data"
    file.write_text("JUDGE_PLUGIN=evil:judge\n")
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(file, 4711, 4711)
    else:
        monkeypatch.setattr("os.geteuid", lambda: 4711)
    done = ask("config", "--data", data)
    assert done.exit_code == 1
    assert "belongs neither to you nor to the owner of the data" in done.output
    # With data of the same owner it is theirs.
    data.mkdir()
    if is_root:
        os.chown(data, 4711, 4711)
    assert shown("--data", data)["JUDGE_PLUGIN"] == "evil:judge"
