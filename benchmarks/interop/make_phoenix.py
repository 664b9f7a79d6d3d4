"""Writes Phoenix's exports of our cases: ``pip install arize-phoenix``, then run this module with a folder.

``python -m benchmarks.interop.make_phoenix DIR`` starts a server of Phoenix on a free port with an empty folder, and
logs spans and annotations with its client. Written are, under ``phoenix/``, the frames of spans and of annotations as
CSV, and under ``phoenix-json/`` what ``get_spans`` and ``get_span_annotations`` give, one a line.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from .cases import CASES, EXPLANATIONS, JUDGE_MODEL

_PROJECT = "default"
_WORDS = {True: "correct", False: "incorrect"}


def main(folder: Path) -> None:
    """Writes the four files."""
    with tempfile.TemporaryDirectory() as work, server(work) as address:
        client: Any = import_module("phoenix.client").Client(base_url=address)
        names = log(client)
        spans = client.spans.get_spans_dataframe(project_identifier=_PROJECT)
        annotations = client.spans.get_span_annotations_dataframe(spans_dataframe=spans, project_identifier=_PROJECT)
        plain = client.spans.get_spans(project_identifier=_PROJECT)
        given = client.spans.get_span_annotations(span_ids=names, project_identifier=_PROJECT)
    for name in ("phoenix", "phoenix-json"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    spans.to_csv(folder / "phoenix" / "spans.csv", index=False)
    annotations.to_csv(folder / "phoenix" / "annotations.csv")
    for name, rows in (("spans", plain), ("annotations", given)):
        lines = "".join(json.dumps(row, default=str) + "\n" for row in rows)
        (folder / "phoenix-json" / f"{name}.jsonl").write_text(lines)


def log_one(client: Any, number: int) -> None:
    """Logs the first case again, as a span with another number."""
    name = f"{number + 1:016x}"
    context = {"trace_id": f"{number + 1:032x}", "span_id": name}
    at = {"start_time": f"2026-11-01T10:0{number}:00Z", "end_time": f"2026-11-01T10:0{number}:01Z"}
    client.spans.log_spans(project_identifier=_PROJECT, spans=[{**_span(0, name), "context": context, **at}])
    while len(client.spans.get_spans(project_identifier=_PROJECT)) <= number:
        time.sleep(0.5)
    _annotate(client, name, 0)


def log(client: Any) -> list[str]:
    """Logs the cases as spans with their annotations; returns the spans' ids."""
    names = [f"{number:016x}" for number in range(1, len(CASES) + 1)]
    client.spans.log_spans(project_identifier=_PROJECT, spans=list(map(_span, range(len(CASES)), names)))
    while len(client.spans.get_spans(project_identifier=_PROJECT)) < len(CASES):
        time.sleep(0.5)
    for number, name in enumerate(names):
        _annotate(client, name, number)
    return names


def _span(number: int, name: str) -> dict[str, Any]:
    case = CASES[number]
    return {
        "name": "answer",
        "context": {"trace_id": f"{number + 1:032x}", "span_id": name},
        "span_kind": "LLM",
        "start_time": f"2026-11-01T10:0{number}:00Z",
        "end_time": f"2026-11-01T10:0{number}:01Z",
        "status_code": "OK",
        "attributes": {"input.value": case.question, "output.value": case.answer, "llm.model_name": "answerer"},
    }


def _annotate(client: Any, name: str, number: int) -> None:
    case, add = CASES[number], client.spans.add_span_annotation
    by = {"annotator_kind": "LLM", "identifier": JUDGE_MODEL, "span_id": name, "sync": True}
    if case.judge is not None:
        said = {"label": _WORDS[case.judge], "score": float(case.judge), "explanation": EXPLANATIONS[case.judge]}
        add(annotation_name="correctness", **said, **by)
    add(annotation_name="tone", score=float(case.tone), **by)
    for person, right in case.people.items():
        add(
            annotation_name="correctness",
            annotator_kind="HUMAN",
            identifier=person,
            span_id=name,
            label=_WORDS[right],
            score=float(right),
            sync=True,
        )


@contextmanager
def server(work: str) -> Iterator[str]:
    """A server of Phoenix on a free port, with its data in a folder; gives its address."""
    with socket.socket() as free, socket.socket() as other:
        free.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        port, grpc = free.getsockname()[1], other.getsockname()[1]
    settings = {"PHOENIX_WORKING_DIR": work, "PHOENIX_PORT": str(port), "PHOENIX_GRPC_PORT": str(grpc)}
    command = [sys.executable, "-m", "phoenix.server.main", "serve"]
    environment = os.environ | settings | {"PHOENIX_TELEMETRY_ENABLED": "false"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        _await(address)
        yield address
    finally:
        process.terminate()
        process.wait()


def _await(address: str) -> None:
    for _ in range(120):
        try:
            with urllib.request.urlopen(f"{address}/healthz"):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(1)
    raise SystemExit("Phoenix did not start within two minutes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
