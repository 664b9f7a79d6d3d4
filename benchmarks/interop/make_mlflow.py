"""Writes MLflow's exports of our cases: ``pip install mlflow``, then ``python -m benchmarks.interop.make_mlflow DIR``.

A trace a case is logged to a store in SQLite, feedback and expectations with ``mlflow.log_feedback`` and
``mlflow.log_expectation``. Written are the traces (``mlflow-traces.jsonl``, ``Trace.to_json()`` a line) and the first
rows of the frame of ``mlflow.search_traces()`` (``mlflow-frame.csv`` and ``mlflow-frame.jsonl``).
"""

import json
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from .cases import CASES, EXPLANATIONS, JUDGE_MODEL, Case


def main(folder: Path) -> None:
    """Writes the three files."""
    os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "false"
    mlflow: Any = import_module("mlflow")
    with tempfile.TemporaryDirectory() as work:
        mlflow.set_tracking_uri(f"sqlite:///{work}/mlflow.db")
        mlflow.set_experiment("interop")
        for case in CASES:
            log(mlflow, case)
        frame = mlflow.search_traces().iloc[::-1]
        traces = [mlflow.get_trace(name).to_json() for name in frame["trace_id"]]
    few = frame.head(3).copy()
    few["trace"] = few["trace"].map(_without_machine)
    for column in ("trace_metadata", "tags"):
        few[column] = few[column].map(_public)
    for name, text in {
        "mlflow-traces.jsonl": "".join(f"{_without_machine(trace)}\n" for trace in traces),
        "mlflow-frame.jsonl": few.to_json(orient="records", lines=True),
        "mlflow-frame.csv": few.to_csv(index=False),
    }.items():
        (folder / name).write_text(text)


def _without_machine(trace: str) -> str:
    """A trace without what the store notes of the machine."""
    data = json.loads(trace)
    for part in ("trace_metadata", "tags"):
        data["info"][part] = _public(data["info"][part])
    return json.dumps(data)


def _public(notes: dict[str, str]) -> dict[str, str]:
    private = ("mlflow.source.", "mlflow.user", "mlflow.artifactLocation")
    return {name: text for name, text in notes.items() if not name.startswith(private)}


def log(mlflow: Any, case: Case) -> None:
    """Logs a case as a trace with its feedback."""
    source: Any = mlflow.entities.AssessmentSource

    def answer(question: str) -> str:
        return case.answer

    mlflow.trace(answer)(question=case.question)
    trace = mlflow.get_last_active_trace_id()
    judge = source(source_type="LLM_JUDGE", source_id=JUDGE_MODEL)
    if case.judge is None:
        error: Any = mlflow.entities.AssessmentError(
            error_code="TIMEOUT", error_message="the judge gave no answer in time"
        )
        mlflow.log_feedback(trace_id=trace, name="correctness", error=error, source=judge)
    else:
        mlflow.log_feedback(
            trace_id=trace, name="correctness", value=case.judge, rationale=EXPLANATIONS[case.judge], source=judge
        )
    mlflow.log_feedback(trace_id=trace, name="tone", value=case.tone, source=judge)
    for person, right in case.people.items():
        who = source(source_type="HUMAN", source_id=person)
        mlflow.log_feedback(trace_id=trace, name="correctness", value=right, source=who)
    if case is CASES[0]:
        who = source(source_type="HUMAN", source_id="anna")
        mlflow.log_expectation(trace_id=trace, name="expected_response", value="144", source=who)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
