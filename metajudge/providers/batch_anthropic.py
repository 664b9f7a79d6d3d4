"""Anthropic's Message Batches: one request makes the batch, one file contains the results.

Shapes follow the reference of ``/v1/messages/batches``. A batch carries no label of ours but in the custom ids of its
requests, which are seen in its results alone: one whose submission was cut off is found by its age and its size, and
known for certain once it has ended.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from metajudge.providers.batch_protocol import (
    TRANSFER_S,
    BatchAnswer,
    BatchLimits,
    BatchLine,
    BatchService,
    BatchStatus,
    Ending,
    read_field,
    read_object,
)
from metajudge.providers.http_errors import Asked

_CLOCK_SKEW_S = 600.0
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicBatches(BatchService):
    """Message Batches at one endpoint."""

    limits = BatchLimits(requests=100_000, bytes=256_000_000)
    path = "/v1/messages/batches"

    async def submit(
        self, label: str, lines: Sequence[BatchLine], asked: Asked, headers: tuple[tuple[str, str], ...]
    ) -> str:
        requests = b",".join(b'{"custom_id":%s,"params":%s}' % (orjson.dumps(one.custom_id), one.body) for one in lines)
        body = b'{"requests":[' + requests + b"]}"
        made = await self.client.exchange(self.path, asked, timeout_s=TRANSFER_S, body=body, headers=headers)
        return read_field(read_object(made, asked), "id", asked)

    async def find(self, label: str, begun_at: float, requests: int, known: frozenset[str], asked: Asked) -> str | None:
        candidates = await self._candidates(begun_at, requests, known, asked)
        unsure = None
        for one in candidates:
            name = str(one["id"])
            if one.get("processing_status") != "ended":
                unsure = unsure or name
            elif (first := await self._first_id(name, asked)) is not None and first.startswith(f"{label}_"):
                return name
        return unsure

    async def _candidates(
        self, begun_at: float, requests: int, known: frozenset[str], asked: Asked
    ) -> list[dict[str, Any]]:
        """Batches of this size that are no older and belong to this run, oldest first."""
        found: list[dict[str, Any]] = []
        async for batches in self.pages(asked, "after_id"):
            young = [one for one in batches if _created_at(one) >= begun_at - _CLOCK_SKEW_S]
            found += [one for one in young if _total(one) == requests and one["id"] not in known]
            if len(young) < len(batches):
                break
        return found[::-1]

    async def _first_id(self, batch_id: str, asked: Asked) -> str | None:
        content = await self.fetch(f"{self.path}/{batch_id}/results", asked)
        line = read_object(content.split(b"\n", 1)[0], asked) if content else {}
        name = line.get("custom_id")
        return name if isinstance(name, str) else None

    async def look(self, batch_id: str, asked: Asked) -> BatchStatus:
        found = await self.get(f"{self.path}/{batch_id}", asked)
        total = _total(found)
        done = total - ((found.get("request_counts") or {}).get("processing") or 0)
        if found.get("processing_status") != "ended":
            return BatchStatus(False, done, total)
        return BatchStatus(True, done, total, (f"{self.path}/{batch_id}/results",))

    def read(self, line: Mapping[str, object]) -> tuple[str, BatchAnswer] | None:
        name, result = line.get("custom_id"), line.get("result")
        if not isinstance(name, str) or not isinstance(result, dict):
            return None
        match result.get("type"):
            case "succeeded":
                return name, BatchAnswer(200, orjson.dumps(result.get("message")))
            case "errored":
                error = result.get("error")
                inner = error.get("error") if isinstance(error, dict) else None
                kind = inner.get("type") if isinstance(inner, dict) else None
                return name, BatchAnswer(_STATUS.get(str(kind), 500), orjson.dumps(error))
            case "expired":
                return name, BatchAnswer(None, ending=Ending.EXPIRED)
            case "canceled":
                return name, BatchAnswer(None, ending=Ending.CANCELED)
        return None


def _total(found: Mapping[str, Any]) -> int:
    counts = found.get("request_counts")
    return sum(n for n in counts.values() if isinstance(n, int)) if isinstance(counts, dict) else 0


def _created_at(found: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(found.get("created_at"))).timestamp()
    except ValueError:
        return float("inf")
