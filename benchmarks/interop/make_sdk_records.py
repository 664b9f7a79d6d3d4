"""Writes records of Langfuse, LangSmith and Argilla through the models of their SDKs, without their servers.

``pip install langfuse langsmith argilla``, then ``python -m benchmarks.interop.make_sdk_records DIR``. A score of
Langfuse is validated as ``langfuse.api.BooleanScore``, feedback of LangSmith as ``langsmith.schemas.Feedback`` and a
run as ``Run``, and a record of Argilla is ``argilla.Record.to_dict()``.
"""

import json
import sys
import uuid
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from .cases import CASES, EXPLANATIONS

_START = datetime(2026, 11, 1, 10, tzinfo=UTC)


def main(folder: Path) -> None:
    """Writes ``langfuse/``, ``langsmith/`` and ``argilla.json``."""
    (folder / "langfuse").mkdir(parents=True, exist_ok=True)
    (folder / "langsmith").mkdir(parents=True, exist_ok=True)
    _lines(folder / "langfuse" / "scores.jsonl", _langfuse_scores())
    _lines(folder / "langfuse" / "traces.jsonl", _langfuse_traces())
    _lines(folder / "langsmith" / "feedback.jsonl", _feedback())
    _lines(folder / "langsmith" / "runs.jsonl", _runs())
    (folder / "argilla.json").write_text(json.dumps(_argilla(), indent=1, default=str) + "\n")


def _name(kind: str, *parts: object) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(map(str, (kind, *parts)))))


def _time(number: int) -> datetime:
    return _START + timedelta(minutes=number)


def _langfuse_scores() -> list[dict[str, Any]]:
    api: Any = import_module("langfuse.api")
    rows = []
    for number, case in enumerate(CASES):
        said = [("EVAL", None, case.judge), *(("ANNOTATION", person, right) for person, right in case.people.items())]
        for source, person, right in said:
            if right is None:
                continue
            data = {
                "id": _name("score", number, source, person),
                "trace_id": _name("trace", number),
                "name": "correctness",
                "source": source,
                "data_type": "BOOLEAN",
                "value": float(right),
                "string_value": str(right),
                "author_user_id": person,
                "comment": EXPLANATIONS[right] if source == "EVAL" else None,
                "timestamp": _time(number),
                "created_at": _time(number),
                "updated_at": _time(number),
                "environment": "default",
                "metadata": {},
            }
            rows.append(_plain(api.BooleanScore.model_validate(data)))
    return rows


def _langfuse_traces() -> list[dict[str, Any]]:
    """Traces as the blob storage export documents them: the SDK has no model of them."""
    return [
        {
            "id": _name("trace", number),
            "timestamp": _time(number).isoformat(),
            "name": "answer",
            "project_id": "interop",
            "input": {"question": case.question},
            "output": {"answer": case.answer},
        }
        for number, case in enumerate(CASES)
    ]


def _feedback() -> list[dict[str, Any]]:
    schemas: Any = import_module("langsmith.schemas")
    rows = []
    for number, case in enumerate(CASES):
        said = [("model", None, case.judge), *(("app", person, right) for person, right in case.people.items())]
        for source, person, right in said:
            if right is None:
                continue
            data = {
                "id": _name("feedback", number, source, person),
                "run_id": _name("run", number),
                "trace_id": _name("run", number),
                "key": "correctness",
                "score": float(right),
                "comment": EXPLANATIONS[right] if source == "model" else None,
                "feedback_source": {"type": source, "user_name": person},
                "created_at": _time(number),
                "modified_at": _time(number),
            }
            rows.append(_plain(schemas.Feedback.model_validate(data)))
    return rows


def _runs() -> list[dict[str, Any]]:
    schemas: Any = import_module("langsmith.schemas")
    kept = {"id", "name", "run_type", "start_time", "end_time", "inputs", "outputs", "trace_id"}
    return [
        _plain(
            schemas.Run.model_validate(
                {
                    "id": _name("run", number),
                    "name": "answer",
                    "run_type": "chain",
                    "start_time": _time(number),
                    "end_time": _time(number),
                    "inputs": {"question": case.question},
                    "outputs": {"answer": case.answer},
                    "trace_id": _name("run", number),
                    "dotted_order": "",
                }
            ),
            include=kept,
        )
        for number, case in enumerate(CASES)
    ]


def _argilla() -> list[dict[str, Any]]:
    rg: Any = import_module("argilla")
    records = []
    for number, case in enumerate(CASES):
        suggestions = [rg.Suggestion("tone", case.tone, agent="gpt-4o-mini")]
        if case.judge is not None:
            suggestions.append(rg.Suggestion("correctness", "yes" if case.judge else "no", agent="gpt-4o-mini"))
        responses = [
            rg.Response("correctness", "yes" if right else "no", user_id=uuid.uuid5(uuid.NAMESPACE_URL, person))
            for person, right in case.people.items()
        ]
        fields = {"question": case.question, "answer": case.answer}
        record = rg.Record(id=f"case-{number}", fields=fields, suggestions=suggestions, responses=responses)
        records.append(record.to_dict())
    return records


def _plain(model: Any, **options: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(model.model_dump_json(**options))
    return data


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
