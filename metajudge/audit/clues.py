"""When a judgment was made, by which version and under which prompt: read off the caller's own data."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

TIMES = ("time", "timestamp", "created_at", "createdAt", "judged_at", "start_time", "datetime", "date", "tstamp")
VERSIONS = ("judge_version", "model_version", "version", "snapshot", "revision")
PROMPTS = ("prompt_version", "prompt_name", "prompt_id", "prompt_template", "template", "prompt")
"""Keys of ``meta``, the first one present counts."""

LONGEST = 80
"""A longer value is a text, not the name of a version or a prompt."""

_MILLISECONDS = 1e11
"""Numbers above it are milliseconds since 1970."""


def time_of(meta: Mapping[str, Any]) -> float | None:
    """Seconds since 1970, from ISO 8601, a number of seconds or of milliseconds; None without a time."""
    for key in TIMES:
        if key in meta and (found := _seconds(meta[key])) is not None:
            return found
    return None


def named(meta: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    """The first of some keys with a short text or a number."""
    for key in keys:
        value = meta.get(key)
        if isinstance(value, str) and 0 < len(value.strip()) <= LONGEST:
            return value.strip()
        if isinstance(value, int | float) and not isinstance(value, bool):
            return f"{value:g}"
    return None


def iso(seconds: float) -> str:
    """ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _seconds(value: Any) -> float | None:
    if isinstance(value, datetime):
        return _stamp(value)
    if isinstance(value, str):
        text = value.strip()
        try:
            return _stamp(datetime.fromisoformat(text))
        except ValueError:
            try:
                value = float(text)
            except ValueError:
                return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    seconds = value / 1000 if abs(value) > _MILLISECONDS else float(value)
    return seconds if 0 < seconds < _MILLISECONDS else None


def _stamp(value: datetime) -> float:
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
