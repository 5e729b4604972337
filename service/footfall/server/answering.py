"""How requests are answered: uvicorn's configuration with our application and protocol class, with
the fast path, with traces and with an access log, or without."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

import uvicorn

from .. import __version__
from ..asgi import create_app, policy_of
from ..config import Settings
from ..monitoring.health import Health
from ..routes import operations
from ..site import Site
from ..table.access import LoggedRequests, logged_protocol
from ..table.fast_cycle import protocol_of
from ..telemetry.access_log import AccessLog
from ..telemetry.logs import is_journal

# How long requests in flight may take after the listener was closed.
GRACE_SECONDS = 10


@dataclass(frozen=True)
class Mode:
    """How requests are answered: `is_fast`, with the fast path; `is_traced`, with spans, which only
    requests through ASGI have."""

    is_fast: bool = True
    is_traced: bool = False

    def options(self) -> list[str]:
        """The options of `footfall serve` for a worker with the same mode."""
        options = []
        if not self.is_fast:
            options.append("--no-fast-path")
        if self.is_traced:
            options.append("--traced")
        return options


@contextmanager
def answering(
    settings: Settings, site: Site, health: Health, mode: Mode
) -> Iterator[uvicorn.Config]:
    """uvicorn's configuration. After the block spans are sent, and the access log is written."""
    with ExitStack() as stack:
        app = create_app(settings, site, health, is_traced=mode.is_traced)
        protocol = protocol_of(
            site.served, policy_of(settings), operations(settings.compat), is_fast=mode.is_fast
        )
        if mode.is_traced:
            # Imported here, because OpenTelemetry is optional.
            from ..tracing.sending import sending

            stack.enter_context(sending(__version__))
        if settings.access_log:
            log = stack.enter_context(closing(_access_log(settings)))
            app = LoggedRequests(app, log, policy_of(settings))
            protocol = logged_protocol(protocol, log)
        yield uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            # http/client.py reads X-Forwarded-For, by TRUSTED_PROXIES.
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )


def _access_log(settings: Settings) -> AccessLog:
    is_timed = settings.log_format == "text" and not is_journal(sys.stdout)
    return AccessLog("timed" if is_timed else settings.log_format, sys.stdout.fileno())
