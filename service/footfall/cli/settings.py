"""`footfall config`."""

import click
import orjson

from ..advice import advice
from ..config import Settings
from .commands import Command, json_option
from .console import environ, settings_of_environment


@click.command(cls=Command)
@json_option
def config(is_json: bool) -> None:
    """List all settings: name, value, default, meaning."""
    variables = environ()
    settings = settings_of_environment()
    rows = Settings().table(variables)
    if is_json:
        keys = ("name", "value", "default", "meaning")
        listed = [dict(zip(keys, row, strict=True)) for row in rows]
        click.echo(orjson.dumps({"settings": listed, "warnings": [*advice(settings, variables)]}))
        return
    for name, value, default, doc in rows:
        mark = "" if value == default else f"  (default {default!r})"
        click.echo(f"{name}={value}{mark}")
        click.echo(f"    {doc}")
    for line in advice(settings, variables):
        click.echo(f"warning: {line}")
