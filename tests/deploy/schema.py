"""The chart's schema of `settings`, made of the settings' table.

python -m tests.deploy.schema    writes it into values.schema.json
"""

import json
import re
from dataclasses import Field, fields
from functools import partial
from typing import Any

from footfall import outbox_settings, setting_texts, values
from footfall.config import Settings
from footfall.unsupported_settings import OTHERS

from .files import CHART

FILE = CHART / "values.schema.json"
# What the chart itself says: where to listen, which Redis, and how long to drain.
TAKEN = {"HOST", "PORT", "UDS", "UDS_MODE", "REDIS_URL", "DRAIN_SECONDS"}
# Those of a private Redis, which no pod of the chart has.
TAKEN |= {"DATA_DIR", "REDIS_SERVER"}

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
FLAG: Schema = {
    "enum": [True, False, 1, 0, "true", "false", "1", "0", "yes", "no", "on", "off", ""]
}
ADDRESS = TEXT | {"pattern": "^(https?://.+|false|none)?$"}
ADDRESSES = (
    setting_texts.web_address,
    setting_texts.exact_address,
    values.proxy_address,
    setting_texts.issuer,
)


def number(form: str, least: float, most: float, *, may_be_off: bool = False) -> Schema:
    """A number, or the same as a text, of which only the form is known."""
    digits = f"[0-9]{{1,{len(str(most))}}}" if form == "integer" else "[0-9.]+"
    # What is empty is not set.
    pattern = f"^({digits}{'|false|none' if may_be_off else ''})?$"
    bounds = {"type": form, "minimum": least, "maximum": most}
    return {"anyOf": [bounds, TEXT | {"pattern": pattern}]}


# By the parser; all others take a text.
FORMS: dict[Any, Schema] = {
    values.flag: FLAG,
    outbox_settings.flag_or_nothing: FLAG,
    values.seconds: number("number", 0, values.MAX_SECONDS, may_be_off=True),
    values.timeout: number("number", values.MIN_TIMEOUT_SECONDS, values.MAX_SECONDS),
    values.rate: number("number", 0, values.MAX_RATE, may_be_off=True),
    values.buckets: number("integer", values.MIN_BUCKETS, values.MAX_BUCKETS),
    values.prefix: TEXT | {"pattern": "^[A-Za-z0-9_.-]{0,32}$"},
    values.durability: TEXT | {"pattern": "^(memory|everysec|fsync|replica:[1-9]|false|none)?$"},
    values.login: {"enum": ["", "0", "enable", "disable", "force", "false", "none"]},
    **dict.fromkeys(ADDRESSES, ADDRESS),
}


def schema_of(setting: "Field[Any]") -> Schema:
    parse = setting.metadata["parse"]
    match parse:
        case partial(func=values.within, args=(least, most)):
            return number("integer", least, most)
        case partial(func=values.up_to, args=(most,)):
            return number("integer", 0, most, may_be_off=True)
        case partial(func=values.chosen, args=(choices,)):
            off = ["false", "none"] if {"off", "none"} & {*choices} else []
            return {"enum": [*dict.fromkeys([*choices, "", *off])]}
    return FORMS.get(parse, TEXT)


def settings() -> Schema:
    """The whole schema of `settings`. Waline's settings without effect are taken as well,
    since the service accepts them, with a warning."""
    known = [field for field in fields(Settings) if field.metadata]
    named = {each.metadata["env"]: schema_of(each) for each in known}
    free = {name: schema for name, schema in sorted(named.items()) if name not in TAKEN}
    return {
        "description": "Made by python -m tests.deploy.schema. Any other variable goes into env.",
        "type": "object",
        "additionalProperties": False,
        "patternProperties": {
            f"^({'|'.join(free)})_FILE$": TEXT | {"pattern": "^/"},
            f"^({'|'.join(sorted(OTHERS))})$": TEXT,
            "^OTEL_[A-Z0-9_]+$": TEXT,
        },
        "properties": free,
    }


def written(text: str) -> str:
    """The file's text with the schema in its place, a setting a line."""
    schema = settings()
    lines = [
        f"        {json.dumps(name)}: {json.dumps(each)}"
        for name, each in schema.pop("properties").items()
    ]
    head = "".join(
        f"      {json.dumps(name)}: {json.dumps(each)},\n" for name, each in schema.items()
    )
    made = f'    "settings": {{\n{head}      "properties": {{\n' + ",\n".join(lines)
    made += "\n      }\n    },\n"
    found, count = re.subn(r'(?ms)^    "settings": \{.*?^    \},\n', lambda _: made, text)
    assert count == 1
    return found


if __name__ == "__main__":
    FILE.write_text(written(FILE.read_text()))
