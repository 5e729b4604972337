"""`footfall config`."""

import click

from ..advice import advice
from ..config import Settings
from .commands import Command
from .console import environ, settings_of_environment


@click.command(cls=Command)
def config() -> None:
    """List all settings: name, value, default, meaning."""
    variables = environ()
    settings = settings_of_environment()
    for name, value, default, doc in Settings().table(variables):
        mark = "" if value == default else f"  (default {default!r})"
        click.echo(f"{name}={value}{mark}")
        click.echo(f"    {doc}")
    for line in advice(settings, variables):
        click.echo(f"warning: {line}")
