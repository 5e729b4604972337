"""The command `footfall`: which module has which of its commands.

A command's module is imported when it is called: a probe that runs every ten seconds should not
load the service. The settings are read from the environment and a .env file, which the environment
overrides.
"""

from importlib import import_module

import click

from .. import __version__
from .commands import Group

# Command -> the module that has it, and its name there.
COMMANDS = {
    "serve": ("serve", "serve"),
    "check": ("maintenance", "check"),
    "backup": ("maintenance", "backup"),
    "restore": ("maintenance", "restore"),
    "config": ("settings", "config"),
    "doctor": ("doctor", "doctor"),
    "bench": ("load", "bench"),
    "verify": ("load", "verify"),
    "health": ("health", "health"),
    "accounts": ("accounts", "accounts"),
    "authors": ("authors", "authors_"),
    "bans": ("bans", "bans"),
    # The commands for moderators belong to this group, too.
    "comments": ("moderation", "comments"),
    "counters": ("counters", "counters"),
    "paths": ("paths", "paths"),
    "statistics": ("statistics", "statistics"),
    "log": ("moderation", "log"),
    "worker": ("outbox", "worker"),
    "outbox": ("outbox", "outbox"),
    "notify": ("outbox", "notify"),
    "import": ("transfer", "import_"),
    "export": ("transfer", "export"),
}


class Lazy(Group):
    """A group whose commands are imported when they are called, or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f".{module}", __package__), name)
        return command


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="footfall")
def main() -> None:
    """View counts and comments for busy sites, stored in Redis; speaks the Waline API.

    Exit status: 0 done; 1 failed, rejected or a problem found; 2 wrong usage; 3 nothing to do.
    """
