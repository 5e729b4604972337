"""Our variants of click's commands: with whole sentences in --help, and errors in the log."""

import contextlib
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import click

from .. import interruption
from ..telemetry import logs
from .console import log_settings, remember_data

log = logging.getLogger(__package__)

json_option = click.option("--json", "is_json", is_flag=True, help="Print a JSON object.")


class Plain(click.Command):
    """A command that reads no settings."""

    def invoke(self, ctx: click.Context) -> Any:
        with interruption.started():
            return super().invoke(ctx)

    def get_short_help_str(self, limit: int = 0) -> str:
        """The first sentence in full; lists of commands wrap it."""
        return super().get_short_help_str(limit=10_000)


class Command(Plain):
    """A command that reads the settings, from the directory of --data."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.params.append(
            click.Option(
                ["--data"],
                metavar="DIRECTORY",
                expose_value=False,
                callback=remember_data,
                help="Data directory, instead of DATA_DIR; reads the .env in it or beside it.",
            )
        )


class Choosing(Command):
    """A command with others of its own: its first word may be the name of one of them."""

    def __init__(self, *args: Any, others: Mapping[str, click.Command], **more: Any) -> None:
        super().__init__(*args, **more)
        self.others = others

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **more: Any,
    ) -> click.Context:
        if args and (other := self.others.get(args[0])):
            return other.make_context(f"{info_name} {args[0]}", args[1:], parent, **more)
        return super().make_context(info_name, args, parent, **more)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        with formatter.section("Commands"):
            rows = ((name, command.get_short_help_str()) for name, command in self.others.items())
            formatter.write_dl(list(rows))


class Group(click.Group):
    command_class = Command
    # Groups inside it are of this class, too.
    group_class = type

    def get_short_help_str(self, limit: int = 0) -> str:
        return super().get_short_help_str(limit=10_000)


class Logged(Command):
    """A command that logs; with LOG_FORMAT=json the error that ends it is a JSON object, too."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        logs.start(*log_settings())
        with _logged():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        # Again, since --data may have led to another .env.
        logs.start(*log_settings())
        with _logged():
            return super().invoke(ctx)


@contextlib.contextmanager
def _logged() -> Iterator[None]:
    form, _ = log_settings()
    if form != "json":
        yield
        return
    try:
        yield
    except click.ClickException as error:
        log.critical("%s", error.format_message())
        raise SystemExit(error.exit_code) from error
    except KeyboardInterrupt:
        log.critical("interrupted before it had started")
        raise SystemExit(1) from None
    except (click.exceptions.Exit, click.Abort):
        raise
    except Exception as error:
        log.critical("the service failed", exc_info=True)
        raise SystemExit(1) from error
