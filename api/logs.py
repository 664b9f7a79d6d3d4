"""Logs as JSON lines on standard error: no judged text, no secret, no query."""

import logging
import sys
import traceback
from typing import Any

import structlog

OWN = ("metajudge", "uvicorn")
"""Loggers that log at the given level; others log warnings and errors only."""


def configure_logs(level: str = "INFO", *, texts: bool = False) -> None:
    """Sends every record of this process through one JSON renderer.

    Args:
        texts: also log error messages, which may quote judged text; else only their types and code locations.
    """
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        without_colours,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info if texts else places_alone,
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.EventRenamer("message"),
                structlog.processors.JSONRenderer(default=str),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)
    for name in OWN:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
        logger.setLevel(level)
    logging.getLogger("uvicorn.access").disabled = True  # ours has the request id and no query


def without_colours(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """A record without uvicorn's coloured message."""
    event.pop("color_message", None)
    return event


def places_alone(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """An error as type and code location; its message may quote a caller's text."""
    given = event.pop("exc_info", None)
    error = given[1] if isinstance(given, tuple) else given
    if isinstance(error, BaseException):
        event["exception"] = _chain(error)
    return event


def _chain(error: BaseException) -> str:
    """The error and its causes, outermost last, without messages."""
    lines: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        frames = traceback.extract_tb(current.__traceback__)
        places = [f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
        kind = f"{type(current).__module__}.{type(current).__qualname__}"
        lines = [*places, kind, *lines]
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return "\n".join(lines)
