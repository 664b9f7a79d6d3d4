"""Plain data as JSON: what is no number there is null."""

from typing import Any

import orjson
from fastapi import Response


def plain_json(data: Any, status: int = 200) -> Response:
    """A response of plain data, tuples and numpy numbers included; NaN and infinity become null."""
    content = orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    return Response(content, status, media_type="application/json")
