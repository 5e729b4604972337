"""The command health; `probe.py` does the same without loading it."""

import click

from .commands import Command
from .console import settings_of_environment
from .probe import SECONDS, NoAnswer, ask


@click.command(cls=Command)
@click.option("--ready", is_flag=True, help="Also check that Redis responds and is safe.")
@click.option(
    "--seconds", default=SECONDS, type=click.FloatRange(0.1, 60), help="Maximum seconds to wait."
)
def health(ready: bool, seconds: float) -> None:
    """Check the service's health, for container probes, also over UDS.

    Exit 0 if it is alive, or with --ready, if it accepts requests.
    """
    settings = settings_of_environment()
    path = "/readyz" if ready else "/livez"
    if not (settings.uds or settings.port):
        raise click.ClickException(
            "with PORT=0 the kernel chooses the port, which only the service knows: set PORT or UDS"
        )
    try:
        status, text = ask(settings.host, settings.port, settings.uds, path, seconds)
    except NoAnswer as error:
        raise click.ClickException(str(error)) from error
    click.echo(text.strip())
    raise SystemExit(status != 200)
