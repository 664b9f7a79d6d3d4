"""Writes DeepEval's test run of our cases: ``pip install deepeval``, then run this module with a folder.

``python -m benchmarks.interop.make_deepeval DIR`` runs ``deepeval.evaluate`` with two G-Evals, whose model is asked on
loopback (:mod:`benchmarks.interop.graders`), and an exact match, which no model decides. Written are, in ``deepeval/``,
``test_run.json``, as DeepEval saves it in its results folder, and ``results.json``, the dumped result of ``evaluate``.
"""

import os
import sys
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from . import graders
from .cases import CASES


def main(folder: Path) -> None:
    """Writes both files."""
    target = folder / "deepeval"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, graders.serving() as url:
        os.chdir(work)
        result = evaluate(metrics(url), Path(work) / "runs")
        (written,) = (Path(work) / "runs").glob("test_run_*.json")
        (target / "test_run.json").write_bytes(written.read_bytes())
    (target / "results.json").write_text(result.model_dump_json(indent=1) + "\n")
    for name in ("test_run.json", "results.json"):
        print(f"wrote {name}: {(target / name).stat().st_size:,} bytes")


def evaluate(given: list[Any], results: Path) -> Any:
    """Evaluates the cases' answers; DeepEval sends nothing elsewhere."""
    os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "DEEPEVAL_DISABLE_DOTENV": "1", "ERROR_REPORTING": "0"}
    deepeval: Any = import_module("deepeval")
    config: Any = import_module("deepeval.evaluate.configs")
    cases: Any = import_module("deepeval.test_case")
    print(f"deepeval {version('deepeval')}: evaluate({len(CASES)} test cases, {len(given)} metrics)")
    return deepeval.evaluate(
        [
            cases.LLMTestCase(
                name=f"case-{at}", input=case.question, actual_output=case.answer, expected_output=case.answer
            )
            for at, case in enumerate(CASES)
        ],
        given,
        display_config=config.DisplayConfig(
            show_indicator=False, print_results=False, results_folder=str(results), verbose_mode=False
        ),
        error_config=config.ErrorConfig(ignore_errors=True),
    )


def metrics(url: str) -> list[Any]:
    """Two metrics that a model grades, and one that is a comparison of texts."""
    found: Any = import_module("deepeval.metrics")
    params: Any = import_module("deepeval.test_case").SingleTurnParams
    shown = [params.INPUT, params.ACTUAL_OUTPUT]
    rubrics = {"Correctness": "The answer to the question is right.", "Tone": "The tone is friendly."}
    graded = [
        found.GEval(name=name, criteria=text, evaluation_params=shown, model=model(url))
        for name, text in rubrics.items()
    ]
    return [*graded, found.ExactMatchMetric()]


def model(url: str) -> Any:
    """The judge, on our server."""
    models: Any = import_module("deepeval.models")
    return models.OpenAIModel(model=graders.JUDGE, base_url=url, api_key="sk-loopback")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
