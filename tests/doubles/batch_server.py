"""A server that speaks OpenAI's Batch API and Anthropic's Message Batches, and answers live requests too.

    with BatchServer(polls=2, line_faults={1: "expired"}) as server:
        ...  # ask openai:any-model@{server.url}
        assert len(server.batches) == 2

Batches are kept in memory; answers are those of :mod:`tests.doubles.llm_server`. Results come in reversed order.
"""

import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.doubles.http_server import HttpServer, reply
from tests.doubles.llm_server import Answer, score_answer
from tests.doubles.provider_bodies import RecordedRequest, anthropic_message, openai_completion

LINE_FAULTS = (
    *("expired", "canceled", "missing", "duplicate", "contradictory", "400", "429", "500", "malformed"),
    *("unknown", "no_json_schema"),
)
SUBMIT_FAULTS = ("429", "500", "lost", "stall", "cut", "token_limit", "401", "404")
"""``lost``: the batch is made, and the connection cut before we are told; ``stall``: it is made, and nothing is said
until the server ends; ``cut``: cut, and none is made."""


@dataclass
class Batch:
    """One batch as the server sees it."""

    id: str
    anthropic: bool
    lines: list[dict[str, Any]]
    number: int
    metadata: dict[str, str] = field(default_factory=dict)
    looks: int = 0
    refused: bool = False
    canceled: bool = False

    @property
    def bodies(self) -> dict[str, dict[str, Any]]:
        """Custom id -> request body."""
        return {one["custom_id"]: one["params" if self.anthropic else "body"] for one in self.lines}


class BatchServer(HttpServer):
    """The server.

    Args:
        answer: from a request's body to the text of the answer; None for top scores.
        polls: how often a batch is still in progress when looked at; changed at any time.
        line_faults: position of a request over all batches, in order of submission -> fault, or a function of its body.
        submit_faults: one entry a submission, None for no fault; none after the last.
        cut_results: so many fetches of results end in the middle of a line.
        cut_bodies: so many fetches of results break off.
        look_faults: so many looks at a batch end with status 500.
        live: whether live requests are answered; else they get status 500.
    """

    def __init__(
        self,
        answer: Answer | None = None,
        *,
        polls: int = 1,
        line_faults: dict[int, str] | Callable[[dict[str, Any], int], str | None] | None = None,
        submit_faults: Iterable[str | None] = (),
        cut_results: int = 0,
        cut_bodies: int = 0,
        look_faults: int = 0,
        live: bool = True,
    ) -> None:
        super().__init__()
        self.batches: list[Batch] = []
        self.live: list[dict[str, Any]] = []
        self.uploads: dict[str, bytes] = {}
        self.headers: list[dict[str, str]] = []
        self.polls, self.answer_live = polls, live
        self.cut_results, self.cut_bodies, self.look_faults = cut_results, cut_bodies, look_faults
        self.fetches = 0
        self._answer = answer or score_answer()
        self._line_faults = line_faults or {}
        self._submit_faults = iter(submit_faults)
        self._lines = 0
        self._lock = threading.Lock()
        self._over = threading.Event()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        super().__exit__()

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Bodies of all requests in batches that were worked on, in order of submission."""
        return [body for batch in self.batches if not batch.refused for body in batch.bodies.values()]

    def handle(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        with self._lock:
            self.headers.append({name.lower(): value for name, value in request.headers.items()})
            status, found = self._reply(request.command, request.path, body, request.headers.get("content-type") or "")
        if status == -1:
            self._over.wait(60)
        if status <= 0:  # cut without a word
            request.close_connection = True
            request.connection.close()
            return
        content = found if isinstance(found, bytes) else json.dumps(found).encode()
        length, headers = str(len(content)), {"retry-after": "0"} if status == 429 else {}
        if "results" in request.path or "content" in request.path:
            self.fetches += 1
            if self.cut_bodies > 0:
                self.cut_bodies -= 1
                content = content[: len(content) // 2]
                request.close_connection = True
        reply(request, status, {"content-type": "application/json", "content-length": length, **headers}, content)

    def _reply(self, method: str, path: str, raw: bytes, kind: str) -> tuple[int, Any]:
        path, _, query = path.partition("?")
        parts = path.strip("/").split("/")
        if method == "POST" and parts[-1] in {"completions", "messages"}:
            return self._live(path, raw)
        if parts == ["v1", "files"]:
            name = f"file-{len(self.uploads)}"
            self.uploads[name] = _uploaded(raw, kind)
            return 200, {"id": name, "object": "file", "purpose": "batch", "status": "processed"}
        if parts[1] == "files":
            return 200, self._results_file(parts[2])
        if parts[-1] == "batches":
            return self._submit(raw, "messages" in parts) if method == "POST" else (200, self._list(query, parts))
        position = parts.index("batches") + 1
        found = [one for one in self.batches if one.id == parts[position]]
        if not found:
            return 404, {"error": {"message": "no such batch", "type": "not_found_error"}}
        return self._of_batch(found[0], parts[position + 1 :])

    def _live(self, path: str, raw: bytes) -> tuple[int, Any]:
        request = RecordedRequest(len(self.live), path, {}, json.loads(raw), raw)
        self.live.append(request.body)
        if not self.answer_live:
            return 500, {"error": {"message": "no live answers here"}}
        return 200, self._message(request)

    def _message(self, request: RecordedRequest) -> dict[str, Any]:
        build = anthropic_message if request.anthropic else openai_completion
        return build(request, self._answer(request.body), None)

    def _submit(self, raw: bytes, anthropic: bool) -> tuple[int, Any]:
        fault = next(self._submit_faults, None)
        assert fault is None or fault in SUBMIT_FAULTS, fault
        if fault == "cut":
            return 0, b""
        if fault and fault.isdigit():
            return int(fault), {"type": "error", "error": {"type": "api_error", "message": f"fault {fault}"}}
        data = json.loads(raw)
        lines = data["requests"] if anthropic else _json_lines(self.uploads[data["input_file_id"]])
        names = [one["custom_id"] for one in lines]
        assert len(set(names)) == len(names), "custom ids must be unique"
        assert all(0 < len(name) <= 64 for name in names)
        prefix = "msgbatch" if anthropic else "batch"
        number = len(self.batches)
        batch = Batch(f"{prefix}_{number}", anthropic, lines, number, data.get("metadata") or {})
        batch.refused = fault == "token_limit"
        self.batches.append(batch)
        if fault in {"lost", "stall"}:
            return (0 if fault == "lost" else -1), b""
        return 200, self._shown(batch)

    def _list(self, query: str, parts: list[str]) -> dict[str, Any]:
        anthropic = "messages" in parts
        newest = [one for one in reversed(self.batches) if one.anthropic == anthropic]
        given = dict(pair.split("=") for pair in query.split("&") if pair)
        after = given.get("after") or given.get("after_id")
        names = [one.id for one in newest]
        start = names.index(after) + 1 if after else 0
        page = newest[start : start + 2]  # small pages, so that they are turned
        return {"data": [self._shown(one) for one in page], "has_more": start + 2 < len(newest)}

    def _of_batch(self, batch: Batch, rest: list[str]) -> tuple[int, Any]:
        if rest == ["cancel"]:
            batch.canceled = True
            return 200, self._shown(batch)
        if rest == ["results"]:
            return 200, self._cut(self._results(batch))
        if self.look_faults > 0:
            self.look_faults -= 1
            return 500, {"error": {"message": "try later"}}
        batch.looks += 1
        return 200, self._shown(batch)

    def _ended(self, batch: Batch) -> bool:
        return batch.looks > self.polls or batch.canceled

    def _shown(self, batch: Batch) -> dict[str, Any]:
        count, ended = len(batch.lines), self._ended(batch)
        if batch.anthropic:
            counts = {"processing": 0 if ended else count, "succeeded": count if ended else 0}
            counts |= {"errored": 0, "canceled": 0, "expired": 0}
            return {
                "id": batch.id,
                "type": "message_batch",
                "processing_status": "ended" if ended else "in_progress",
                "request_counts": counts,
                "created_at": "2099-01-01T00:00:00Z",
                "results_url": f"{self.url}/v1/messages/batches/{batch.id}/results" if ended else None,
            }
        shown: dict[str, Any] = {
            "id": batch.id,
            "object": "batch",
            "status": "in_progress",
            "metadata": batch.metadata,
            "created_at": 4_000_000_000,
            "request_counts": {"total": count, "completed": count if ended else 0, "failed": 0},
            "errors": None,
            "output_file_id": None,
            "error_file_id": None,
        }
        if batch.refused:
            said = "Enqueued token limit reached for m in organization org-x. Limit: 90,000 enqueued tokens."
            errors = {"object": "list", "data": [{"code": "token_limit_exceeded", "message": said, "line": None}]}
            return shown | {"status": "failed", "errors": errors}
        if ended:
            faults = {self._fault(batch, n) for n in range(count)}
            status = "expired" if "expired" in faults else "cancelled" if batch.canceled else "completed"
            shown |= {"status": status, "output_file_id": f"out-{batch.number}", "error_file_id": f"err-{batch.number}"}
        return shown

    def _fault(self, batch: Batch, position: int) -> str | None:
        first = sum(len(one.lines) for one in self.batches[: batch.number])
        line = batch.lines[position]
        if callable(self._line_faults):
            return self._line_faults(line["params" if batch.anthropic else "body"], first + position)
        fault = self._line_faults.get(first + position)
        assert fault is None or fault in LINE_FAULTS, fault
        return fault

    def _results(self, batch: Batch) -> bytes:
        """All results of an Anthropic batch."""
        return b"".join(part for n in reversed(range(len(batch.lines))) for part in self._line(batch, n))

    def _results_file(self, name: str) -> bytes:
        kind, _, number = name.partition("-")
        batch = self.batches[int(number)]
        lines = [part for n in reversed(range(len(batch.lines))) for part in self._line(batch, n)]
        failed = [b'"error": {' in part or b'"error":{' in part for part in lines]
        wanted = [part for part, bad in zip(lines, failed, strict=True) if bad == (kind == "err")]
        return self._cut(b"".join(wanted)) if kind == "out" else b"".join(wanted)

    def _cut(self, content: bytes) -> bytes:
        if self.cut_results > 0:
            self.cut_results -= 1
            return content[: len(content) - 40]
        return content

    def _line(self, batch: Batch, position: int) -> list[bytes]:
        fault, line = self._fault(batch, position), batch.lines[position]
        if batch.canceled and fault is None:
            fault = "canceled"
        name = line["custom_id"]
        if fault == "missing":
            return []
        if fault == "malformed":
            return [b'{"custom_id": "' + name.encode() + b'", "resp\n']
        if fault == "unknown":
            name = "nobody_asked_this"
        body = line["params" if batch.anthropic else "body"]
        path = "/v1/messages" if batch.anthropic else line["url"]
        request = RecordedRequest(position, path, {}, body, _compact(body))
        made = _anthropic_result if batch.anthropic else _openai_result
        whole = json.dumps({"custom_id": name, **made(self._message(request), fault, body)}).encode() + b"\n"
        if fault == "duplicate":
            return [whole, whole]
        if fault == "contradictory":
            return [whole, whole.replace(b"It holds up.", b"It does not.")]
        return [whole]


def _openai_result(message: dict[str, Any], fault: str | None, body: dict[str, Any]) -> dict[str, Any]:
    if fault in {"expired", "canceled"}:
        code = {"expired": "batch_expired", "canceled": "batch_cancelled"}[fault]
        return {"response": None, "error": {"code": code, "message": "This request could not be executed."}}
    rejected = fault == "no_json_schema" and (body.get("response_format") or {}).get("type") == "json_schema"
    if rejected or (fault and fault.isdigit()):
        status = 400 if rejected else int(fault or 0)
        said = "Invalid parameter: 'response_format' of type 'json_schema' is not supported." if rejected else "fault"
        error = {"error": {"message": said, "type": "x", "code": None, "param": None}}
        return {"response": {"status_code": status, "request_id": "r", "body": error}, "error": None}
    return {"response": {"status_code": 200, "request_id": "r", "body": message}, "error": None}


def _anthropic_result(message: dict[str, Any], fault: str | None, body: dict[str, Any]) -> dict[str, Any]:
    if fault in {"expired", "canceled"}:
        return {"result": {"type": fault}}
    rejected = fault == "no_json_schema" and "output_config" in body
    if rejected or (fault and fault.isdigit()):
        kind = {"429": "rate_limit_error", "500": "api_error"}.get(fault or "", "invalid_request_error")
        said = "output_config.format: Extra inputs are not permitted" if rejected else "fault"
        return {"result": {"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": said}}}}
    return {"result": {"type": "succeeded", "message": message}}


def _compact(body: dict[str, Any]) -> bytes:
    """As clients send it: made-up token counts go by the length."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def _json_lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.split(b"\n") if line]


def _uploaded(raw: bytes, kind: str) -> bytes:
    """The file in a multipart upload."""
    boundary = kind.partition("boundary=")[2].strip('"').encode()
    parts = [part for part in raw.split(b"--" + boundary) if b'name="file"' in part]
    assert len(parts) == 1, kind
    assert any(b'name="purpose"' in part and b"batch" in part for part in raw.split(b"--" + boundary))
    return parts[0].partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
