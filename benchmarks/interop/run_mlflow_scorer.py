"""Our scorer in an evaluation of MLflow: ``python -m benchmarks.interop.run_mlflow_scorer URL``.

To be run by a Python that has mlflow and this package; URL is an OpenAI-compatible server, which stands for the
meta-judge. ``mlflow.genai.evaluate`` runs over our cases with a scorer that says what our cases' judge says, wrapped
by :func:`metajudge.adapters.mlflow.vetted`; printed is what MLflow's own search shows afterwards, and what our reader
makes of an export of it.
"""

import os
import sys
import tempfile
from collections import Counter
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from metajudge.readers import open_judgments

from .cases import CASES, EXPLANATIONS


def main(url: str) -> None:
    """Runs the evaluation and prints its assessments."""
    os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "false"
    os.environ.setdefault("OPENAI_API_KEY", "none")
    mlflow: Any = import_module("mlflow")
    vetted = import_module("metajudge.adapters.mlflow").vetted
    print(f"mlflow {version('mlflow')}, {len(CASES)} rows")
    with tempfile.TemporaryDirectory() as work:
        mlflow.set_tracking_uri(f"sqlite:///{work}/mlflow.db")
        mlflow.set_experiment("interop")
        data = [{"inputs": {"question": case.question}, "outputs": case.answer} for case in CASES]
        agents = [f"openai:gpt-4o-mini@{url}"]
        scorer = vetted(_judge(mlflow), agents, options={"threshold": 3.0})
        result = mlflow.genai.evaluate(data=data, scorers=[scorer])
        print(f"metrics: {result.metrics}")
        traces = mlflow.search_traces(return_type="list")
        for trace in traces:
            for one in trace.info.assessments:
                shown = one.feedback.value if one.error is None else f"no value ({one.error.error_code})"
                print(f"  {one.name} by {one.source.source_type} = {shown}: {(one.rationale or '')[:60]}")
        export = Path(work) / "traces.jsonl"
        export.write_text("".join(f"{trace.to_json()}\n" for trace in traces))
        found = list(open_judgments([export]))
        print(f"read from an export: {dict(Counter(one.judge for one in found))}; our notes are left out")


def _judge(mlflow: Any) -> Any:
    answers = {case.question: case for case in CASES}

    def correctness(inputs: dict[str, Any]) -> Any:
        case = answers[inputs["question"]]
        source = mlflow.entities.AssessmentSource(source_type="LLM_JUDGE", source_id="openai:/gpt-4o")
        if case.judge is None:
            return mlflow.entities.Feedback(name="correctness", error="the judge gave no answer in time", source=source)
        return mlflow.entities.Feedback(
            name="correctness", value=case.judge, rationale=EXPLANATIONS[case.judge], source=source
        )

    return mlflow.genai.scorers.scorer(correctness)


if __name__ == "__main__":
    main(sys.argv[1])
