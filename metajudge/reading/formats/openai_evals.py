"""OpenAI Evals: the output items of a run, each with the results of its graders.

The shape is that of the published API (``GET /v1/evals/{eval}/runs/{run}/output_items``) as the models of openai 3.54
describe it (``openai.types.evals.runs.OutputItemListResponse``): ``{"object": "eval.run.output_item",
"datasource_item", "sample": {"input", "output", "model"}, "results": [{"name", "type", "passed", "score",
"sample"}]}``; one page as the API answers (``{"object": "list", "data": [...]}``), one item a line, or a list of them.

A grader that gives a score (``score_model``) is a grade, any other one the category ``true`` or ``false`` by
``passed``. A result whose grader is no model (``string_check``, ``python``) has ``CODE`` as its source. The judge is
``MODEL/NAME`` where the grader's own sample names its model; what it wrote there is the rationale.
"""

from collections.abc import Mapping
from typing import Any, Final

from metajudge.reading.containers.cells import object_in, text_in
from metajudge.reading.formats import scored_runs as runs
from metajudge.reading.formats.stated_scores import reason_text, time_text

FORMAT = "OpenAI Evals output items"
_OBJECT: Final = "eval.run.output_item"
_PROGRAMS: Final = ("string", "python", "text", "endpoint")
"""What the types of graders that are no models begin with: ``string_check``, ``text_similarity``, ``python``."""
_REFERENCES: Final = ("reference", "reference_answer", "ideal", "expected", "ground_truth", "correct_answer")


def is_output_item(record: Mapping[str, Any]) -> bool:
    """Whether a record is an output item."""
    return record.get("object") == _OBJECT or record.keys() >= {"datasource_item", "results", "eval_id", "run_id"}


def page_of(data: Mapping[str, Any]) -> list[Any] | None:
    """The output items of a page; None for another object."""
    items = data.get("data")
    is_page = isinstance(items, list) and items and isinstance(items[0], Mapping) and is_output_item(items[0])
    return list(items) if is_page and isinstance(items, list) else None


def run_of(row: Mapping[str, Any]) -> runs.AssessedRun:
    """An output item with the results of its graders; texts are the sample's, else those of the source's item."""
    name = str(row.get("id") or f"{row.get('run_id')}/{row.get('datasource_item_id')}")
    given, sample = object_in(row.get("datasource_item")), object_in(row.get("sample"))
    given = given["item"] if isinstance(given.get("item"), Mapping) else given
    asked = sample.get("input") or next((given[key] for key in runs.QUESTION_KEYS if given.get(key)), None)
    answered = sample.get("output") or next((given[key] for key in runs.ANSWER_KEYS if given.get(key)), None)
    texts, reference = runs.asked_and_answered(asked, answered), runs.reference_text(runs.pick(given, *_REFERENCES))
    run, time = (
        runs.RecordedRun(name, **texts, model=text_in(sample.get("model")), reference=reference),
        row.get("created_at"),
    )
    return runs.AssessedRun(run, [_score(name, one, time_text(time)) for one in row.get("results") or ()])


def _score(run: str, one: Mapping[str, Any], time: str | None) -> runs.RecordedScore:
    name, kind, sample = str(one["name"]), str(one.get("type") or ""), object_in(one.get("sample"))
    graded = kind.replace("-", "_").startswith("score")
    score, passed, error = one.get("score"), one.get("passed"), sample.get("error")
    return runs.named_score(
        name,
        sample.get("model") or None,
        score if graded else passed,
        runs.payload(sample.get("output"), ("content", "text")),
        id=f"{run}/{name}",
        meta={
            "source": "CODE" if kind.startswith(_PROGRAMS) else None,
            "type": kind or None,
            "judge_model": sample.get("model"),
            "score": None if graded else score,
            "passed": passed if graded else None,
            "time": time,
        },
        error=reason_text(error) or None if isinstance(error, Mapping) and any(error.values()) else None,
    )
