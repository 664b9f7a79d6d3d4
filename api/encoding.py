"""Plain data as JSON; NaN and infinity become null."""

import json
import math
from typing import Any

import orjson
from fastapi import Response


def plain_json(data: Any) -> Response:
    """A response of plain data, tuples and numpy numbers included; NaN and infinity become null."""
    try:
        content = orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    except TypeError:  # integers beyond 64 bits, such as a count of equally good orders
        content = json.dumps(_finite(data), default=lambda one: _finite(one.tolist()), allow_nan=False).encode()
    return Response(content, media_type="application/json")


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
