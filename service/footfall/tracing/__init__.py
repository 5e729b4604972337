"""Traces for OpenTelemetry, if the standard OTEL_* variables ask for them.

This module decides, and knows no OpenTelemetry, which is an extra: whoever does not trace need not
have it, loads none of it, and runs no line of this room in any request.
"""

import logging
import os
from collections.abc import Mapping
from importlib.util import find_spec

log = logging.getLogger(__name__)

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
INSTALL = "pip install 'footfall[otel]'"


def are_wanted(environ: Mapping[str, str]) -> bool:
    """Are traces asked for, and can they be made? Says so in the log if they cannot."""
    if not _is_asked_for(environ):
        return False
    try:
        is_there = find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        log.warning("OTEL_* asks for traces, which are an extra; this installs it: %s", INSTALL)
    # From .env, too: the SDK reads the process's environment alone, and workers inherit that.
    os.environ |= {name: value for name, value in environ.items() if name.startswith("OTEL_")}
    return is_there


def _is_asked_for(environ: Mapping[str, str]) -> bool:
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporters = environ.get("OTEL_TRACES_EXPORTER")
    if exporters:
        return "otlp" in map(str.strip, exporters.split(","))
    return any(environ.get(name) for name in ENDPOINTS)
