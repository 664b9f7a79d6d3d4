"""lm-evaluation-harness: logged samples (``--log_samples``), each metric of a sample as a verdict on what was
answered.

The shape is what lm_eval 0.4.13 writes to ``samples_TASK_TIME.jsonl``; earlier versions have no ``metrics`` and
``filter``, and lists in ``arguments``. The question is what the model was given, with its examples; the answer is the
filtered one. A metric is a number, a boolean, a short word, or an object with the score, a reason and a judge
(``stated_scores``). Metrics that the harness computes itself (``exact_match``, ``acc``) have ``CODE`` as their source.
The judge is the metric's name, after its model where that is named. Choices by likelihood are rejected: the model
wrote no answer there.
"""

from collections.abc import Mapping
from typing import Any, Final

from metajudge.reading.containers.cells import object_in
from metajudge.reading.containers.lines import BadLine
from metajudge.reading.formats.scored_runs import RecordedRun, asked_and_answered, reference_text
from metajudge.reading.formats.specs import RECORD, Row, Spec
from metajudge.reading.formats.stated_scores import metrics
from metajudge.types import digest

_RECORD: Final = frozenset(
    [
        *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash"),
        *("prompt_hash", "target_hash", "task_name", "schema", "schema_version"),
    ]
)
_CATEGORIES: Final = ("category", "subject", "subset", "domain", "topic")


def _run(row: Row) -> RecordedRun:
    """A sample, with an id of its texts: several models answer one document, and it does not name its model."""
    doc, asked, target = object_in(row["doc"]), _prompt(row.get("arguments")), row["target"]
    texts = asked_and_answered(doc if asked is None else asked, _answer(row))
    return RecordedRun(
        id=f"{row['doc_id']}/{digest([texts['question'], texts['answer']])[:16]}",
        **texts,
        category=next((str(doc[key]) for key in _CATEGORIES if isinstance(doc.get(key), str)), None),
        reference=None if target in (None, "", []) else reference_text(target),
    )


def _prompt(arguments: Any) -> Any:
    """What the model was given: the first argument of the first request; a chat as its messages."""
    first = next(iter(arguments.values()), None) if isinstance(arguments, Mapping) else arguments
    while isinstance(first, Mapping | list) and first:
        if isinstance(first, list) and all(isinstance(one, Mapping) and "content" in one for one in first):
            return first
        first = first.get("arg_0") if isinstance(first, Mapping) else first[0]
    return first if isinstance(first, str) and first else None


def _answer(row: Row) -> str:
    """The answer that was scored.

    Raises:
        BadLine: no answer was written, or several answers were scored together.
    """
    for name in ("filtered_resps", "resps"):
        given = row[name]
        while isinstance(given, list) and len(given) == 1:
            given = given[0]
        if isinstance(given, str):
            return given
        if isinstance(given, list) and given and all(isinstance(one, str) for one in given):
            raise BadLine(f"{name}: {len(given)} answers were scored together, so no score is about one of them")
    raise BadLine("filtered_resps: the model chose by likelihood and wrote no answer that could be judged")


def _metrics(row: Row) -> list[str]:
    listed = row.get("metrics")
    return [*map(str, listed)] if isinstance(listed, list) else [name for name in row if name not in _RECORD]


SPEC = Spec(
    name="lm-evaluation-harness samples",
    marks="doc_id doc target resps filtered_resps",
    run=_run,
    each=lambda row: metrics(row, _metrics(row)),
    meta={
        "source": "source",
        "judge_model": "by",
        "filter": lambda row: None if row[RECORD].get("filter") == "none" else row[RECORD].get("filter"),
    },
)
