"""Warnings about settings, at the start and by `footfall config`."""

from pathlib import Path

import orjson
import pytest

from tests.support.serving import Serving, serving

MISSPELT = "FORBIDEN_WORDS is not a setting and does nothing. Did you mean FORBIDDEN_WORDS?"
OTHERS = "these settings of Waline do nothing here: QQ_TEMPLATE, WX_TEMPLATE"


@pytest.fixture
def env_file(own: Path) -> Path:
    path = own / ".env"
    path.write_text("FORBIDEN_WORDS=casino\nQQ_TEMPLATE=words\n")
    return path


@pytest.mark.rare
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_service_warns_once_about_settings_without_effect(
    own: Path, env_file: Path, workers: str
) -> None:
    with serving(own, "--workers", workers, WX_TEMPLATE="https://hook.example") as served:
        _, said = served.end()
    for line in (MISSPELT, OTHERS):
        assert said.count(line) == 1


def test_warnings_have_the_format_of_the_log(own: Path, env_file: Path) -> None:
    with serving(own, LOG_FORMAT="json") as served:
        _, said = served.end()
    lines = [orjson.loads(line) for line in said.splitlines()]
    (told,) = [each for each in lines if each["message"] == MISSPELT]
    assert told["level"] == "WARNING"


def test_config_shows_the_warnings_too(own: Path, env_file: Path) -> None:
    code, output = Serving(own, WX_TEMPLATE="https://hook.example").ask("config")
    assert code == 0
    assert output.splitlines()[-2:] == [f"warning: {MISSPELT}", f"warning: {OTHERS}"]
