"""Where spans go: over OTLP/HTTP to a collector, from a thread of its own.

Everything about it is read from OTEL_* by the SDK: where to, how often, how many, which of them.
Nobody waits for the collector: spans that it does not take in time are dropped, at the end as well.
"""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

log = logging.getLogger(__name__)

# For the spans that are not sent yet when the service stops; all answers are out by then.
FLUSH_SECONDS = 1.0
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SPOKEN = "http/protobuf"


@contextmanager
def sending(version: str) -> Iterator[None]:
    """Send spans in this block. A bad value of OTEL_* is logged, and no reason not to serve."""
    asked = next(filter(None, map(os.environ.get, PROTOCOLS)), SPOKEN)
    if asked != SPOKEN:
        log.warning("traces are sent as %s, not as %s", SPOKEN, asked)
    try:
        provider = _provider(version)
    except ValueError as error:
        log.warning("no traces are sent, since a value of OTEL_* cannot be used: %s", error)
        yield
        return
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        # The SDK would wait for half a minute; what has not ended by then ends with the process.
        closing = threading.Thread(target=provider.shutdown, daemon=True)
        closing.start()
        closing.join(FLUSH_SECONDS)


def _provider(version: str) -> TracerProvider:
    # The environment wins, which Resource.create() has the other way round.
    ours = {"service.name": "footfall", "service.version": version}
    said = OTELResourceDetector().detect().attributes
    resource = Resource.create({**ours, **said})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
