"""Writes what Ragas writes of our cases: ``python -m benchmarks.interop.make_ragas DIR URL``.

To be run by a Python that has it (``pip install ragas langchain-openai``); URL is an OpenAI-compatible server, such
as a stand-in without a model (``http://127.0.0.1:8000/v1``). Written are the frame of ``evaluate()`` as CSV and JSONL,
an experiment with a metric that gives reasons (``ragas-experiment.csv``), and annotations of people as Ragas' own
classes validate them (``ragas-annotations.json``). What was run is printed.
"""

import asyncio
import json
import os
import sys
import tempfile
import warnings
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .cases import CASES, EXPLANATIONS

MODEL = "gpt-4o-mini"


def main(folder: Path, url: str) -> None:
    """Writes the four files."""
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    os.environ.setdefault("OPENAI_API_KEY", "none")
    warnings.simplefilter("ignore")
    print(f"ragas {version('ragas')}, {len(CASES)} samples, model {MODEL} at {url}")
    _frame(folder, url)
    asyncio.run(_experiment(folder, url))
    _annotations(folder)


def _frame(folder: Path, url: str) -> None:
    ragas: Any = import_module("ragas")
    metrics: Any = import_module("ragas.metrics")
    chat: Any = import_module("langchain_openai").ChatOpenAI(model=MODEL, base_url=url)
    llm = import_module("ragas.llms").LangchainLLMWrapper(chat)
    samples = [
        {
            "user_input": case.question,
            "response": case.answer,
            "reference": other,
            "retrieved_contexts": [f"Notes on: {case.question}", "Nothing else was found."],
        }
        for case, other in zip(CASES, ("144", "Mercury", "No", "The platypus", "Shakespeare", "100 C"), strict=True)
    ]
    judged = [
        metrics.SimpleCriteriaScore(name="correctness", definition="Score 1 to 5: is the response right?", llm=llm),
        metrics.SimpleCriteriaScore(name="tone", definition="Score 1 to 5: is the tone kind?", llm=llm),
        metrics.Faithfulness(llm=llm),
        metrics.ExactMatch(),
    ]
    result = ragas.evaluate(ragas.EvaluationDataset.from_list(samples), metrics=judged, show_progress=False)
    frame = result.to_pandas()
    frame.to_csv(folder / "ragas-frame.csv", index=False)
    frame.to_json(folder / "ragas-frame.jsonl", orient="records", lines=True)
    print(f"evaluate(): {', '.join(result.scores[0])}: {result}")


async def _experiment(folder: Path, url: str) -> None:
    ragas: Any = import_module("ragas")
    metrics: Any = import_module("ragas.metrics")
    client = import_module("openai").AsyncOpenAI(base_url=url)
    shape = {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "verdict": {"enum": ["pass", "fail"]}},
        "required": ["reason", "verdict"],
    }

    @metrics.discrete_metric(name="correctness", allowed_values=["pass", "fail"])  # type: ignore[untyped-decorator]
    async def correctness(question: str, response: str) -> Any:
        reply = await client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": f"Is it right? Question: {question} Response: {response}"}],
            response_format={"type": "json_schema", "json_schema": {"name": "verdict", "schema": shape}},
        )
        said = json.loads(reply.choices[0].message.content)
        return metrics.MetricResult(value=said["verdict"], reason=said["reason"])

    async def judged(row: dict[str, Any]) -> dict[str, Any]:
        score = await correctness.ascore(question=row["user_input"], response=row["response"])
        return {**row, "correctness": score.value, "correctness_reason": score.reason}

    with tempfile.TemporaryDirectory() as work:
        rows = [{"user_input": case.question, "response": case.answer} for case in CASES]
        data = ragas.Dataset(name="cases", backend="local/csv", root_dir=work, data=rows)
        view = await ragas.experiment()(judged).arun(data, name="cases")
        (written,) = Path(work).rglob("experiments/cases.csv")
        (folder / "ragas-experiment.csv").write_text(written.read_text())
    print(f"experiment: {len(view)} rows, correctness with its reason")


def _annotations(folder: Path) -> None:
    schema: Any = import_module("ragas.dataset_schema")
    samples = []
    for case in CASES:
        if case.judge is None:
            continue
        asked = {"user_input": case.question, "response": case.answer}
        said = {"reason": EXPLANATIONS[case.judge], "verdict": int(case.judge)}
        accepted = all(right == case.judge for right in case.people.values())
        prompt = {"prompt_input": asked, "prompt_output": said}
        if not accepted:
            prompt["edited_output"] = {**said, "verdict": int(not case.judge)}
        samples.append(
            {
                "metric_input": asked,
                "metric_output": float(case.judge),
                "prompts": {"single_turn_aspect_critic_prompt": prompt},
                "is_accepted": accepted,
            }
        )
    data = {"correctness": samples}
    checked = schema.MetricAnnotation._process_dataset(data, None)
    (folder / "ragas-annotations.json").write_text(json.dumps(checked.model_dump()["root"], indent=1) + "\n")
    print(f"annotations: {len(checked)} as ragas.dataset_schema.MetricAnnotation reads them")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
