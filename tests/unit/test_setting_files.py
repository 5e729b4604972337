"""Settings that come from files: what such a file may be, and what is said of one that is not."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from footfall.config import BadSettings, Settings
from footfall.environment import GivenTexts


def test_every_setting_can_come_from_a_file(tmp_path: Path) -> None:
    texts = {name: default for name, _, default, _ in Settings().table({}) if default}
    secrets = [setting for setting in Settings.settings() if setting.metadata["secret"]]
    texts |= {secret.metadata["env"]: "https://a" for secret in secrets}
    texts |= {"REDIS_URL": "redis://a"}
    environ = {}
    for name, text in texts.items():
        (tmp_path / name).write_text(f"{text}\n")
        environ[f"{name}_FILE"] = str(tmp_path / name)
    assert Settings.from_env(environ) == Settings.from_env(texts)
    assert replace(Settings.from_env(environ)).given.files.keys() == texts.keys()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a b", "a b"),
        (b"a\n", "a"),
        (b"a\r\n", "a"),
        (b" a\n\n", " a\n"),
        ("\ufeffé".encode(), "é"),
    ],
)
def test_only_the_end_of_its_last_line_is_left_out(
    tmp_path: Path, content: bytes, text: str
) -> None:
    (tmp_path / "f").write_bytes(content)
    assert Settings.from_env({"JWT_TOKEN_FILE": f"{tmp_path}/f"}).jwt_token == text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "this file is empty"),
        (b"\n", "this file is empty"),
        (b"hunter2\xff", "this file is not UTF-8"),
        (b"hunter2" * 10_000, "this file has more than 64 KiB"),
        (None, "this file cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_not_quoted(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    file = tmp_path / "f"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadSettings) as error:
        Settings.from_env({"SETUP_CODE_FILE": str(file), "PORT": "x"})
    first, second = str(error.value).splitlines()
    assert first == f"SETUP_CODE_FILE='{file}': {words}"
    assert second.startswith("PORT='x'")


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"^JWT_TOKEN_FILE=.* cannot be read: Is a directory$"):
        Settings.from_env({"JWT_TOKEN_FILE": str(tmp_path)})


def test_a_bad_value_from_a_file_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("hunter2")
    for name in ("REDIS_URL", "PORT"):
        with pytest.raises(BadSettings) as error:
            Settings.from_env({f"{name}_FILE": f"{tmp_path}/f"})
        assert str(error.value).startswith(f"{name}=***: ")
        assert "hunter2" not in str(error.value)


def test_a_setting_and_its_file_are_not_both_given(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("b")
    file = {"JWT_TOKEN_FILE": f"{tmp_path}/f"}
    with pytest.raises(BadSettings) as error:
        Settings.from_env({"JWT_TOKEN": "a", **file})
    assert str(error.value) == "JWT_TOKEN and JWT_TOKEN_FILE are both set: leave out one of them"
    # As compose writes variables that are not set.
    assert Settings.from_env({"JWT_TOKEN": "", **file}).jwt_token == "b"
    assert Settings.from_env({"JWT_TOKEN": "a", "JWT_TOKEN_FILE": ""}).jwt_token == "a"


def test_it_is_shown_where_a_value_comes_from(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("hunter2")
    environ = {"JWT_TOKEN_FILE": f"{tmp_path}/f"}
    shown = {name: value for name, value, *_ in Settings().table(environ)}
    assert shown["JWT_TOKEN"] == f"(from {tmp_path}/f)"
    assert "hunter2" not in repr(Settings.from_env(environ))


def test_another_process_gets_the_values_and_where_they_come_from(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("redis://:a@h")
    settings = Settings.from_env({"REDIS_URL_FILE": f"{tmp_path}/f", "SITE_NAME": "\udcff"})
    (tmp_path / "f").write_text("redis://:b@h")
    other = Settings.of(GivenTexts.unpacked(settings.given.packed()))
    assert other == settings
    assert other.redis_url == "redis://:a@h"
    assert other.redis_access(False) == ("redis://:a@h", "")
    assert other.redis_access(True) == ("redis://:b@h", "")
    assert other.given.but(REDIS_URL="unix:///s").now("REDIS_URL", "unix:///s") == "unix:///s"


def test_an_address_in_an_env_file_is_read_anew_as_well(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    environ = {"REDIS_URL": "redis://:a@h", "REDIS_PASSWORD": "p"}
    settings = Settings.from_env(environ, {"REDIS_URL": str(file)})
    # Without the file, or its line, it stays.
    assert settings.redis_access(True) == ("redis://:a@h", "p")
    file.write_text("REDIS_URL=redis://:b@h\nREDIS_PASSWORD=other\n")
    other = Settings.of(GivenTexts.unpacked(settings.given.packed()))
    assert other.redis_access(True) == ("redis://:b@h", "p")
    file.write_bytes(b"\xff")
    with pytest.raises(ValueError, match=rf"^REDIS_URL: {file} cannot be read: "):
        other.redis_access(True)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"redis://:a@h")
    os.close(writing)
    settings = Settings.from_env({"REDIS_URL_FILE": f"/dev/fd/{reading}"})
    assert settings.redis_access(True) == (settings.redis_url, "")
    assert settings.redis_url == "redis://:a@h"
    os.close(reading)


def test_an_empty_line_of_an_env_file_does_not_hide_the_file(tmp_path: Path) -> None:
    secret, file = tmp_path / "redis", tmp_path / ".env"
    secret.write_text("old")
    file.write_text(f"REDIS_PASSWORD=\nREDIS_PASSWORD_FILE={secret}\n")
    environ = {"REDIS_PASSWORD": "", "REDIS_PASSWORD_FILE": str(secret)}
    settings = Settings.from_env(environ, {"REDIS_PASSWORD": str(file)})
    secret.write_text("new")
    assert settings.given.now("REDIS_PASSWORD", "old") == "new"


def test_a_secret_in_place_of_its_file_is_not_shown() -> None:
    with pytest.raises(BadSettings, match=r"^JWT_TOKEN_FILE=\*\*\*: this file cannot be read"):
        Settings.from_env({"JWT_TOKEN_FILE": "s3cret"})
