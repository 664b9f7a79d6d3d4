"""OpenAI's Batch API, and servers that speak it: upload a file, make a batch of it, fetch two files of results.

Shapes follow the reference of ``/v1/files`` and ``/v1/batches``. The batch carries our label in its metadata, so that
one whose submission was cut off is found again in the list.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from metajudge.providers.batch_protocol import (
    CALL_S,
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

_LABEL = "metajudge"
_URL = "/v1/chat/completions"
_ENDED = frozenset({"completed", "expired", "cancelled"})
_CODES = {"batch_expired": Ending.EXPIRED, "batch_cancelled": Ending.CANCELED, "batch_canceled": Ending.CANCELED}


class OpenAIBatches(BatchService):
    """The Batch API at one endpoint."""

    limits = BatchLimits(requests=50_000, bytes=200_000_000)
    path = "/batches"

    async def submit(
        self, label: str, lines: Sequence[BatchLine], asked: Asked, headers: tuple[tuple[str, str], ...]
    ) -> str:
        file = (f"{_LABEL}-{label}.jsonl", b"".join(map(_line, lines)))
        uploaded = await self.client.exchange("/files", asked, timeout_s=TRANSFER_S, file=file, headers=headers)
        wanted = {
            "input_file_id": read_field(read_object(uploaded, asked), "id", asked),
            "endpoint": _URL,
            "completion_window": "24h",
            "metadata": {_LABEL: label},
        }
        made = await self.client.exchange(
            "/batches", asked, timeout_s=CALL_S, body=orjson.dumps(wanted), headers=headers
        )
        return read_field(read_object(made, asked), "id", asked)

    async def find(self, label: str, begun_at: float, requests: int, known: frozenset[str], asked: Asked) -> str | None:
        async for batches in self.pages(asked, "after"):
            for one in batches:
                if (one.get("metadata") or {}).get(_LABEL) == label:
                    return read_field(one, "id", asked)
            if batches and (batches[-1].get("created_at") or 0) < begun_at - 3600:
                break
        return None

    async def look(self, batch_id: str, asked: Asked) -> BatchStatus:
        found = await self.get(f"/batches/{batch_id}", asked)
        counts = found.get("request_counts") or {}
        done = (counts.get("completed") or 0) + (counts.get("failed") or 0)
        state, total = found.get("status"), counts.get("total") or 0
        if state == "failed":
            return BatchStatus(True, done, total, refusal=_refusal(found))
        if state not in _ENDED:
            return BatchStatus(False, done, total)
        files = [found.get(name) for name in ("output_file_id", "error_file_id")]
        sources = tuple(f"/files/{name}/content" for name in files if name)
        unanswered = {"expired": Ending.EXPIRED, "cancelled": Ending.CANCELED}.get(str(state), Ending.MISSING)
        return BatchStatus(True, done, total, sources, unanswered)

    def read(self, line: Mapping[str, object]) -> tuple[str, BatchAnswer] | None:
        name, response, error = line.get("custom_id"), line.get("response"), line.get("error")
        if not isinstance(name, str):
            return None
        if isinstance(response, dict) and isinstance(response.get("status_code"), int):
            return name, BatchAnswer(response["status_code"], orjson.dumps(response.get("body")))
        code = error.get("code") if isinstance(error, dict) else None
        if (ending := _CODES.get(str(code))) is not None:
            return name, BatchAnswer(None, ending=ending)
        if isinstance(error, dict):  # the provider's own failure: neither answered nor rejected
            return name, BatchAnswer(500, orjson.dumps({"error": error}))
        return None


def _line(line: BatchLine) -> bytes:
    return b'{"custom_id":%s,"method":"POST","url":"%s","body":%s}\n' % (
        orjson.dumps(line.custom_id),
        _URL.encode(),
        line.body,
    )


def _refusal(found: Mapping[str, Any]) -> tuple[int, bytes]:
    """Status and body of the error that keeps a whole batch from being worked on."""
    errors = [one for one in (found.get("errors") or {}).get("data") or () if isinstance(one, dict)]
    codes = {str(one.get("code")) for one in errors}
    message = (
        "; ".join(dict.fromkeys(str(one.get("message")) for one in errors[:3])) or "the batch failed without a reason"
    )
    first = next(iter(sorted(codes)), None)
    status = 429 if "token_limit_exceeded" in codes else 404 if "model_not_found" in codes else 400
    return status, orjson.dumps({"error": {"message": f"the batch was refused: {message}", "code": first}})
