"""Sends spans to a collector by OTLP over HTTP, in its own thread.

The SDK reads OTEL_*: the address, how often and how many spans are sent, and which are sampled. No
request waits for the collector: spans that it does not accept in time are dropped.
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

# How long the stop waits for spans to be sent, after all responses.
FLUSH_SECONDS = 1.0
PROTOCOL_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SUPPORTED_PROTOCOL = "http/protobuf"


@contextmanager
def sending(version: str) -> Iterator[None]:
    """Send spans in this block. A bad value of OTEL_* is logged, and turns traces off."""
    protocol = next(filter(None, map(os.environ.get, PROTOCOL_VARIABLES)), SUPPORTED_PROTOCOL)
    if protocol != SUPPORTED_PROTOCOL:
        log.warning("traces are sent as %s, not as %s", SUPPORTED_PROTOCOL, protocol)
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
        # The SDK would wait for half a minute. This thread ends with the process.
        closing = threading.Thread(target=provider.shutdown, daemon=True)
        closing.start()
        closing.join(FLUSH_SECONDS)


def _provider(version: str) -> TracerProvider:
    # The environment overrides our attributes; Resource.create() alone would do the opposite.
    ours = {"service.name": "footfall", "service.version": version}
    theirs = OTELResourceDetector().detect().attributes
    resource = Resource.create({**ours, **theirs})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
