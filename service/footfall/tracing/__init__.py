"""Traces by OpenTelemetry, if the standard OTEL_* variables turn them on.

This module decides that, and does not import OpenTelemetry, which is an extra. Without traces
nothing of it needs to be installed or is loaded, and no code of this package runs in any request.
"""

import logging
import os
from collections.abc import Mapping
from importlib.util import find_spec

log = logging.getLogger(__name__)

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
INSTALL = "pip install 'footfall[otel]'"


def are_wanted(environ: Mapping[str, str]) -> bool:
    """Are traces turned on, and is the extra installed? If it is not, that is logged."""
    if not _are_turned_on(environ):
        return False
    try:
        is_there = find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        log.warning("OTEL_* asks for traces, which are an extra; this installs it: %s", INSTALL)
    # Variables of .env are added to the process's environment, which the SDK and workers read.
    os.environ |= {name: value for name, value in environ.items() if name.startswith("OTEL_")}
    return is_there


def _are_turned_on(environ: Mapping[str, str]) -> bool:
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporters = environ.get("OTEL_TRACES_EXPORTER")
    if exporters:
        return "otlp" in map(str.strip, exporters.split(","))
    return any(environ.get(name) for name in ENDPOINTS)
