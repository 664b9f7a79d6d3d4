"""OpenAI's Batch API, and servers that speak it: upload a file, make a batch of it, fetch two files of results.

Shapes follow the reference of ``/v1/files`` and ``/v1/batches``. The batch carries our label in its metadata, so that
one whose submission was cut off is found again in the list.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from metajudge.errors import BadReplyError
from metajudge.providers.batch_protocol import BatchAnswer, BatchLimits, BatchLine, BatchPhase, BatchStatus, Ending
from metajudge.providers.client import EndpointClient
from metajudge.providers.http_errors import Asked
from metajudge.providers.model import Endpoint

LIMITS = BatchLimits(requests=50_000, bytes=200_000_000)
_LABEL = "metajudge"
_URL = "/v1/chat/completions"
_CALL_S, _TRANSFER_S = 60.0, 1800.0
_PAGES = 50
_ENDED = frozenset({"completed", "expired", "cancelled"})
_CODES = {"batch_expired": Ending.EXPIRED, "batch_cancelled": Ending.CANCELED, "batch_canceled": Ending.CANCELED}


class OpenAIBatches:
    """The Batch API at one endpoint."""

    limits = LIMITS

    def __init__(self, client: EndpointClient) -> None:
        self._client = client

    @property
    def endpoint(self) -> Endpoint:
        return self._client.endpoint

    async def submit(
        self, label: str, lines: Sequence[BatchLine], asked: Asked, headers: tuple[tuple[str, str], ...]
    ) -> str:
        file = (f"{_LABEL}-{label}.jsonl", b"".join(map(_line, lines)))
        uploaded = await self._client.exchange("/files", asked, timeout_s=_TRANSFER_S, file=file, headers=headers)
        wanted = {
            "input_file_id": read_field(read_object(uploaded, asked), "id", asked),
            "endpoint": _URL,
            "completion_window": "24h",
            "metadata": {_LABEL: label},
        }
        made = await self._client.exchange(
            "/batches", asked, timeout_s=_CALL_S, body=orjson.dumps(wanted), headers=headers
        )
        return read_field(read_object(made, asked), "id", asked)

    async def find(self, label: str, begun_at: float, requests: int, known: frozenset[str], asked: Asked) -> str | None:
        after = ""
        for _ in range(_PAGES):
            page = read_object(
                await self._client.exchange(f"/batches?limit=100{after}", asked, timeout_s=_CALL_S), asked
            )
            batches = [one for one in page.get("data") or () if isinstance(one, dict)]
            for one in batches:
                if (one.get("metadata") or {}).get(_LABEL) == label:
                    return read_field(one, "id", asked)
            older = batches and (batches[-1].get("created_at") or 0) < begun_at - 3600  # newest first
            if not page.get("has_more") or not batches or older:
                break
            after = f"&after={batches[-1].get('id')}"
        return None

    async def look(self, batch_id: str, asked: Asked) -> BatchStatus:
        found = read_object(await self._client.exchange(f"/batches/{batch_id}", asked, timeout_s=_CALL_S), asked)
        counts = found.get("request_counts") or {}
        done = (counts.get("completed") or 0) + (counts.get("failed") or 0)
        state, total = found.get("status"), counts.get("total") or 0
        if state == "failed":
            return BatchStatus(BatchPhase.REFUSED, done, total, refusal=_refusal(found))
        if state not in _ENDED:
            return BatchStatus(BatchPhase.WAITING, done, total)
        files = [found.get(name) for name in ("output_file_id", "error_file_id")]
        sources = tuple(f"/files/{name}/content" for name in files if name)
        unanswered = {"expired": Ending.EXPIRED, "cancelled": Ending.CANCELED}.get(str(state), Ending.MISSING)
        return BatchStatus(BatchPhase.ENDED, done, total, sources, unanswered)

    async def fetch(self, source: str, asked: Asked) -> bytes:
        return await self._client.exchange(source, asked, timeout_s=_TRANSFER_S)

    async def cancel(self, batch_id: str, asked: Asked) -> None:
        await self._client.exchange(f"/batches/{batch_id}/cancel", asked, timeout_s=_CALL_S, body=b"{}")

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
    said = (
        "; ".join(dict.fromkeys(str(one.get("message")) for one in errors[:3])) or "the batch failed without a reason"
    )
    first = next(iter(sorted(codes)), None)
    status = 429 if "token_limit_exceeded" in codes else 404 if "model_not_found" in codes else 400
    return status, orjson.dumps({"error": {"message": f"the batch was refused: {said}", "code": first}})


def read_object(content: bytes, asked: Asked) -> dict[str, Any]:
    """A JSON object of an answer.

    Raises:
        BadReplyError: it is none.
    """
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise BadReplyError(
            f"{asked} answered a request about batches with no JSON object: {asked.excerpt(content) or 'nothing'}",
            status=200,
        )
    return found


def read_field(found: Mapping[str, Any], field: str, asked: Asked) -> str:
    """A text of an answer's object.

    Raises:
        BadReplyError: it is missing or empty.
    """
    value = found.get(field)
    if not isinstance(value, str) or not value:
        raise BadReplyError(f"{asked} answered a request about batches without {field!r}", status=200)
    return value
