"""How settings are read from the environment, each as NAME or from the file that NAME_FILE names.

Files are for secrets: Docker, Kubernetes and systemd hand them over as files, which stand in no
list of processes and in no description of a container.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from dotenv import dotenv_values

from .patterns import Patterns
from .setting_texts import is_off, quoted
from .unsupported_settings import refusals

MAX_FILE_BYTES = 64 * 1024
MEANINGS = Path(__file__).parent / "ui/admin/settings.en.json"
SUFFIX = "_FILE"
# UTF-8, also with the mark that editors of Windows start a file with.
ENCODING = "utf-8-sig"
# Characters of an error about a value.
MOST_OF_AN_ERROR = 200
# As in Waline, whose env file can be used unchanged.
OFF_IF_EMPTY = {"IPQPS"}


class BadSettings(ValueError):
    """The settings that cannot be used, a line for each."""


@dataclass(frozen=True, slots=True)
class GivenTexts:
    """The values set: each setting's text by its name; and its file, or the .env that has it, if
    any."""

    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: Mapping[str, str] = field(default_factory=dict)
    env_files: Mapping[str, str] = field(default_factory=dict)
    # A line for each file that cannot be used.
    wrong: tuple[str, ...] = ()

    def packed(self) -> bytes:
        """For another process; `unpacked` reads it."""
        return json.dumps([self.texts, self.files, self.env_files]).encode()

    @classmethod
    def unpacked(cls, packed: bytes) -> "GivenTexts":
        return cls(*json.loads(packed))

    def now(self, name: str, text: str) -> str:
        """A setting's text as its file has it now, and `text` if it comes from none.

        Raises ValueError, which names the file.
        """
        # An empty one in a .env stands beside a file.
        if (file := self.env_files.get(name)) and name not in self.files:
            try:
                return dotenv_values(file, interpolate=False, encoding=ENCODING).get(name) or text
            except (OSError, UnicodeDecodeError) as error:
                raise ValueError(f"{name}: {file} cannot be read: {error}") from None
        file = self.files.get(name)
        # A pipe, as of a shell's <(…), was read to its end at startup.
        if file is None or (os.path.exists(file) and not os.path.isfile(file)):
            return text
        try:
            return text_of(file)
        except ValueError as error:
            raise ValueError(f"{name}{SUFFIX}={file!r}: {error}") from None

    def but(self, **texts: str) -> "GivenTexts":
        """These texts with others for some settings, which come from no file."""

        def others(files: Mapping[str, str]) -> dict[str, str]:
            return {name: file for name, file in files.items() if name not in texts}

        return GivenTexts({**self.texts, **texts}, others(self.files), others(self.env_files))


@dataclass(frozen=True)
class FromEnvironment:
    """A base of dataclasses whose fields are settings (values.env): made of an environment, and
    shown as a table."""

    given: GivenTexts = field(default_factory=GivenTexts, repr=False, compare=False)

    def __init_subclass__(cls) -> None:
        for name, each in vars(cls).items():
            if isinstance(each, Field) and each.metadata:
                env = each.metadata["env"] or name.upper()
                each.metadata = MappingProxyType({**each.metadata, "env": env})

    @classmethod
    def settings(cls) -> Iterator["Field[Any]"]:
        return (setting for setting in fields(cls) if setting.metadata)

    @classmethod
    def from_env(
        cls, environ: Mapping[str, str], env_files: Mapping[str, str] | None = None
    ) -> Self:
        """The settings in an environment; `env_files` names the variables that are set in a .env.

        Raises BadSettings, which names all invalid values.
        """
        variables = given(environ, [setting.metadata["env"] for setting in cls.settings()])
        return cls.of(replace(variables, env_files=env_files or {}))

    @classmethod
    def of(cls, given: GivenTexts) -> Self:
        """The settings of values already read."""
        values, wrong = dict[str, Any](), [*given.wrong]
        for setting in cls.settings():
            meta = setting.metadata
            text = given.texts.get(meta["env"])
            if text is None:
                continue
            try:
                values[setting.name] = _parsed(meta, text)
            except ValueError as error:
                is_hidden = meta["secret"] or meta["env"] in given.files
                shown = "***" if is_hidden else quoted(text)
                wrong.append(f"{meta['env']}={shown}: {_shortened(str(error))}")
        wrong += refusals(given.texts)
        if wrong:
            raise BadSettings("\n".join(wrong))
        return cls(**values, given=given)

    def table(self, environ: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
        """Rows of (name, value as it was given, default, meaning); secrets are masked."""
        return [_row(setting, environ) for setting in self.settings()]

    def shown(self) -> list[tuple[str, str, str, str]]:
        """Rows like those of `table` with the values in force, as they would be written; secrets
        are masked."""
        # A value that equals the default is shown as the default is written.
        unset = type(self)()
        pairs = ((setting, getattr(self, setting.name)) for setting in self.settings())
        return self.table(
            {
                setting.metadata["env"]: _text(value) or "false"
                for setting, value in pairs
                if value != getattr(unset, setting.name)
            }
        )


def _shortened(error: str) -> str:
    """An error of a library may repeat a whole value."""
    return "".join(each if each.isprintable() else " " for each in error[:MOST_OF_AN_ERROR])


def _parsed(meta: Mapping[str, Any], text: str) -> Any:
    """What may be left out is switched off by `false`, too. Blanks around a value count only in a
    secret."""
    text = text if meta["secret"] else text.strip()
    try:
        return meta["parse"](text)
    except ValueError:
        if is_off(text) and not meta["default"]:
            return meta["parse"]("")
        raise


def _row(setting: "Field[Any]", environ: Mapping[str, str]) -> tuple[str, str, str, str]:
    meta = setting.metadata
    assert setting.default is MISSING
    value = environ.get(meta["env"], "").strip() or meta["default"]
    if file := environ.get(f"{meta['env']}{SUFFIX}", "").strip():
        value = f"(from {file})"
    elif meta["secret"] and value:
        value = "***"
    return meta["env"], value, meta["default"], meanings()[meta["env"]]


@cache
def meanings() -> Mapping[str, str]:
    """What each setting means, in English; the admin UI has other languages beside it."""
    found: Mapping[str, str] = json.loads(MEANINGS.read_text())
    return found


def _text(value: object) -> str:
    """A setting's value as it would be written."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case Patterns():
            return ",".join(value.sources)
        case tuple():
            return ",".join(map(_text, value))
        case float():
            return f"{value:g}"
    return str(value)


def is_service_link(name: str, text: str) -> bool:
    """Is it a variable that Kubernetes and Docker add for a service, such as SMTP_PORT for a
    service named smtp?"""
    return name.endswith("_PORT") and text.startswith(("tcp://", "udp://", "sctp://"))


def given(environ: Mapping[str, str], names: Iterable[str]) -> GivenTexts:
    """The environment's values of these settings."""
    texts, files, wrong = dict[str, str](), dict[str, str](), list[str]()
    for name in names:
        text = environ.get(name, "")
        # An empty one counts as missing, as in templates with nothing to fill in.
        is_set = bool(text.strip()) or (name in OFF_IF_EMPTY and name in environ)
        if is_set and not is_service_link(name, text):
            texts[name] = text
        file = environ.get(f"{name}{SUFFIX}", "").strip()
        if file and texts.get(name):
            wrong.append(f"{name} and {name}{SUFFIX} are both set: leave out one of them")
        elif file:
            try:
                texts[name], files[name] = text_of(file), file
            except ValueError as error:
                # A value that is not a path may be the secret itself, in the wrong variable.
                shown = quoted(file) if os.path.isabs(file) else "***"
                wrong.append(f"{name}{SUFFIX}={shown}: {error}")
    return GivenTexts(texts, files, wrong=tuple(wrong))


def text_of(file: str) -> str:
    """A file's text without the end of its last line. Raises ValueError, which does not quote it.

    An empty file is an error: it was to hold a secret, and without one fewer doors are locked.
    """
    try:
        with Path(file).open("rb") as opened:
            read = opened.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ValueError(f"this file cannot be read: {error.strerror}") from error
    if len(read) > MAX_FILE_BYTES:
        raise ValueError(f"this file has more than {MAX_FILE_BYTES // 1024} KiB")
    try:
        text = read.decode(ENCODING).removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ValueError("this file is not UTF-8") from None
    if not text:
        raise ValueError("this file is empty")
    return text
