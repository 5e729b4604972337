"""`footfall config`."""

import click

from ..advice import advice
from ..config import Settings
from .commands import Command
from .console import environ, settings_of_environment


@click.command(cls=Command)
def config() -> None:
    """List all settings: name, value, default, meaning."""
    found = environ()
    settings = settings_of_environment()
    for name, value, default, doc in Settings().table(found):
        mark = "" if value == default else f"  (default {default!r})"
        click.echo(f"{name}={value}{mark}")
        click.echo(f"    {doc}")
    for line in advice(settings, found):
        click.echo(f"warning: {line}")
