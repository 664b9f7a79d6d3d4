"""Ragas: the frame of ``evaluate()`` and of experiments, and annotations of people.

Read are the shapes that ragas 0.4 writes (and 0.1 to 0.3, whose columns are ``question, answer, contexts,
ground_truth``): a row a sample and each metric in a column of its name, as CSV, JSONL, JSON or Parquet; and the JSON
object of annotations ``{METRIC: [{"metric_input", "metric_output", "prompts", "is_accepted", "target"}]}``.

A metric that is missing (Ragas writes NaN where the model's answer could not be read) is no verdict. A column such as
``tone_reason`` is the reason of ``tone``. The judge is the metric's name, after its model where the row names it.
Contexts stand behind the question, as the metric's model was given them. An annotation's label is the output where it
was accepted, else ``target``, else the verdict of the edited output.
"""

from collections.abc import Mapping
from typing import Any, Final

from metajudge.reading.containers.cells import nested
from metajudge.reading.containers.lines import BadLine
from metajudge.reading.conversations import is_chat
from metajudge.reading.formats import scored_runs as runs
from metajudge.reading.formats.specs import Row, Spec
from metajudge.reading.formats.stated_scores import JUDGES, VALUES, metrics, stated
from metajudge.types import digest

_METRIC: Final = "metric_name"
_OLD: Final = {"question": "user_input", "answer": "response", "contexts": "retrieved_contexts"} | dict.fromkeys(
    ("ground_truth", "ground_truths"), "reference"
)
_SAMPLE: Final = frozenset(
    [
        *("user_input", "response", "multi_responses", "reference", "retrieved_contexts", "reference_contexts"),
        *("rubrics", "retrieved_context_ids", "reference_context_ids", "reference_tool_calls", "reference_topics"),
        *("persona_name", "query_style", "query_length", "synthesizer_name"),
    ]
)
_OTHERS: Final = frozenset(
    [
        *("", "id", "index", "unnamed:_0", "traces", "run_id", "log_file", "metadata", "latency", "cost"),
        *("created_at", "experiment_name", "name", "grading_notes", *JUDGES),
    ]
)
"""Columns that are no metrics, by their names in lower case."""


def _is_row(record: Row) -> bool:
    new = "user_input" in record and ("response" in record or is_chat(record["user_input"]))
    return (new or record.keys() >= {"question", "answer", "contexts"}) and bool(_metrics(record))


def _annotations(data: Row) -> list[Any] | None:
    """The annotations of a file, each with the name of its metric; None for another object."""
    given = [(name, one) for name, several in data.items() if isinstance(several, list) for one in several]
    if not given or not all(isinstance(one, Mapping) and ANNOTATIONS.recognises(one) for _, one in given):
        return None
    return [{**one, _METRIC: name} for name, one in given]


def _label(row: Row) -> Any:
    """What a person says is right: of an output that was not accepted None where that is not known."""
    if row["is_accepted"] is True:
        return row["metric_output"]
    if row.get("target") is not None:
        return row["target"]
    edited = next((one["edited_output"] for one in reversed(_prompts(row)) if one.get("edited_output")), None)
    known = isinstance(edited, Mapping) and any(name in edited for name in VALUES)
    return stated(edited).value if known else None


def _prompts(row: Row) -> list[Mapping[str, Any]]:
    return [one for one in row["prompts"].values() if isinstance(one, Mapping)]


def _metrics(row: Row) -> list[str]:
    """Names of the columns that are metrics, or reasons of metrics."""
    taken = {*_SAMPLE, *(_OLD if "user_input" not in row else ())}
    return [name for name in row if name not in taken and name.strip().casefold().replace(" ", "_") not in _OTHERS]


def _run(row: Row) -> runs.RecordedRun:
    """Question and answer; of a conversation its messages, the last one of which is judged.

    Raises:
        BadLine: a conversation without an answer.
    """
    sample = {_OLD.get(name, name): value for name, value in row.items()}
    asked, answered = sample.get("user_input"), sample.get("response")
    talk = _listed(asked) if isinstance(asked, str) and asked.startswith("[{") else asked
    if isinstance(talk, list) and is_chat(talk) and answered in (None, ""):
        if str(talk[-1].get("type") or talk[-1].get("role")).casefold() not in ("ai", "assistant"):
            raise BadLine("user_input: the conversation does not end with an answer")
        asked, answered = talk[:-1] if len(talk) > 2 else talk[0].get("content"), talk[-1].get("content")
    texts, contexts = runs.asked_and_answered(asked, answered), _listed(sample.get("retrieved_contexts"))
    if contexts and texts["question"] is not None:
        shown = "\n".join(f"{number}. {text}" for number, text in enumerate(contexts, start=1))
        texts["question"] += f"\n\nRetrieved contexts:\n{shown}"
    reference = runs.reference_text(sample.get("reference"))
    name = f"ragas/{digest([texts['question'] or '', texts['answer'] or '', reference or ''])[:16]}"
    return runs.RecordedRun(name, **texts, reference=reference)


def _judge(row: Row) -> str | None:
    return next((row[name] for name in JUDGES if isinstance(row.get(name), str) and row[name]), None)


def _listed(value: Any) -> list[Any]:
    """A list in a cell, also as CSV writes it: as JSON or as Python does."""
    found = nested(value)
    return found if isinstance(found, list) else []


def _said(row: Row) -> list[Row]:
    prompts = _prompts(row)
    said = prompts[-1].get("prompt_output") if prompts else None
    one = {"name": str(row.get(_METRIC) or "metric"), "value": row["metric_output"], "reason": stated(said).reason}
    return [one, {**one, "value": _label(row), "by_person": True}]


SPEC = Spec(
    name="Ragas scores",
    marks="user_input|question",
    test=_is_row,
    run=_run,
    each=lambda row: metrics(row, _metrics(row), _judge(row)),
    meta={"source": "source", "judge_model": "by"},
)
ANNOTATIONS = Spec(
    name="Ragas annotations",
    marks="metric_input metric_output prompts is_accepted",
    inside=_annotations,
    run=lambda row: _run(row["metric_input"]),
    each=_said,
)
