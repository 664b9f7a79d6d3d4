"""Sends traces, and the events of results, where OpenTelemetry's own environment variables say so."""

import os
from typing import Any, Final

from metajudge.errors import ConfigurationError
from metajudge.installation import install_command

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
LOG_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT")
"""Where events go as log records; ``OTEL_LOGS_EXPORTER=none`` leaves them on the spans."""


def configure_traces() -> bool:
    """Sets up the SDK with an exporter (OTLP over HTTP), if an endpoint is named and no SDK is set up yet.

    ``OTEL_SERVICE_NAME``, ``OTEL_EXPORTER_OTLP_HEADERS`` and the SDK's other variables apply;
    ``OTEL_SDK_DISABLED=true`` turns it off. Events are log records where an endpoint for those is named, too.

    Returns:
        Whether traces are sent.

    Raises:
        ConfigurationError: an endpoint is named and extra ``otel`` is missing.
    """
    if not any(os.environ.get(name) for name in ENDPOINTS) or os.environ.get("OTEL_SDK_DISABLED") == "true":
        return False
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigurationError(
            f"an endpoint for traces is named, but {error.name} is missing: {install_command('otel')}, or unset "
            f"{' and '.join(ENDPOINTS)}"
        ) from None
    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return True
    os.environ.setdefault("OTEL_SERVICE_NAME", "metajudge")
    provider = TracerProvider(resource=Resource.create())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    _configure_events(provider.resource)
    return True


def _configure_events(resource: Any) -> None:
    """Sets up the SDK's logger provider for events alone: the service's own log is not sent."""
    if not any(os.environ.get(name) for name in LOG_ENDPOINTS) or os.environ.get("OTEL_LOGS_EXPORTER") == "none":
        return
    from opentelemetry import _logs
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    if isinstance(_logs.get_logger_provider(), LoggerProvider):
        return
    provider = LoggerProvider(resource=resource)
    provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    _logs.set_logger_provider(provider)
