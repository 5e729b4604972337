"""Commands of the package in this process, for tests that ask nothing about processes.

What is of one process alone is exchanged while a command runs: the environment, the working
directory, the standard streams, and the handlers of logs. Every command has a thread, as a test may
have an event loop in its own. In it a command cannot handle signals: those that do, or that set up
the interpreter for themselves, need a process (serving.py).
"""

import contextlib
import logging
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from click.testing import CliRunner, Result

from footfall.cli.main import main

END_SECONDS = 60.0
NEED_A_PROCESS = frozenset({"serve", "worker", "bench", "verify"})
# Threads of a test may run commands.
_ONE = threading.Lock()


def invoke(
    *words: str, directory: Path | None = None, environ: Mapping[str, str], stdin: str | bytes = ""
) -> Result:
    """Run a command to its end, with this environment alone; fails if it would end in a
    traceback."""
    results: list[Result] = []

    def run() -> None:
        alone = {**dict.fromkeys(os.environ), **environ}
        results.append(CliRunner(env=alone).invoke(main, words, stdin, prog_name="footfall"))

    with _ONE, contextlib.chdir(directory or Path.cwd()), _without_log_handlers():
        thread = threading.Thread(target=run, name=f"footfall {' '.join(words)}", daemon=True)
        thread.start()
        thread.join(END_SECONDS)
    assert results, f"{thread.name} has not ended after {END_SECONDS:.0f} s"
    error = results[0].exception
    if error is not None and not isinstance(error, SystemExit):
        raise error
    return results[0]


def commands(group: click.Group = main, *, has_groups: bool = False) -> Iterator[str]:
    """The names of all commands, such as "accounts list"; with those of the groups before theirs,
    if they are wanted, too."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if not isinstance(command, click.Group):
            yield name
            yield from (f"{name} {each}" for each in getattr(command, "others", ()))
            continue
        if has_groups:
            yield name
        yield from (f"{name} {each}" for each in commands(command, has_groups=has_groups))


@contextlib.contextmanager
def _without_log_handlers() -> Iterator[None]:
    """As in a new process, warnings go to the standard error; pytest's handlers would take them."""
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        yield
    finally:
        root.handlers = handlers
