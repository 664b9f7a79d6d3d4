"""Label Studio's tasks: predictions of models as verdicts, people's annotations as labels.

The shape is that of the JSON export ("Label Studio JSON format of annotated tasks", labelstud.io; its parts validated
by the models of label-studio-sdk): a list of tasks ``{"id", "data", "annotations": [{"completed_by", "result",
"updated_at"}], "predictions": [{"model_version", "result"}]}``. Read of a result are ``choices`` with one choice,
``rating``, ``number`` and ``pairwise``; ``from_name`` is the name of the score. A ``textarea`` of a prediction is the
rationale of the score that it is named after (``tone_reason``), or of the only one. Cancelled annotations are left
out. The judge is ``MODEL_VERSION/NAME``. The fields of ``data`` are read as Argilla's are.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from metajudge.readers.argilla import run_of_fields
from metajudge.readers.cells import text_in
from metajudge.readers.people import PersonScore
from metajudge.readers.scored_runs import AssessedRun, RecordedScore
from metajudge.readers.stated_scores import reason_column, reason_text, time_text

FORMAT = "Label Studio tasks"
_SIDES: Final = {"left": "A", "right": "B"}


def is_task(record: Mapping[str, Any]) -> bool:
    """Whether a record is a task with predictions or annotations."""
    given = [record[key] for key in ("annotations", "predictions") if isinstance(record.get(key), list)]
    parts = [one for several in given for one in several]
    results = all(isinstance(one, Mapping) and isinstance(one.get("result"), list) for one in parts)
    return isinstance(record.get("data"), Mapping) and bool(given) and results


def run_of(row: Mapping[str, Any]) -> AssessedRun:
    """A task with its predictions and annotations.

    Raises:
        BadLine: its data is no question with one response, or with several that are numbered.
    """
    number, project = row.get("id", row.get("inner_id")), row.get("project")
    name = str(number) if project is None else f"{project}/{number}"  # tasks are numbered from 1 in every project
    scores = [score for one in row.get("predictions") or () for score in _predicted(name, one)]
    people = [score for one in row.get("annotations") or () for score in _annotated(one)]
    return AssessedRun(run_of_fields(name, row["data"]), scores, people)


def _predicted(task: str, one: Mapping[str, Any]) -> Iterator[RecordedScore]:
    by = text_in(one.get("model_version"))
    texts, values = dict(_texts(one)), list(_values(one))
    for name, value in values:
        about = reason_column(name, texts)
        alone = "\n".join(texts.values()) if len(values) == 1 else ""
        reason = alone if about is None else texts[about]
        yield RecordedScore(
            id=f"{task}/{one.get('id') or by or 'prediction'}/{name}",
            judge=name if by is None else f"{by}/{name}",
            value=value,
            comment=reason,
            meta={
                "judge_model": by,
                "score": one.get("score"),
                "time": time_text(one.get("created_at")),
                "texts": None if reason or not texts else texts,
            },
            name=name,
        )


def _annotated(one: Mapping[str, Any]) -> Iterator[PersonScore]:
    if one.get("was_cancelled"):
        return
    by = one.get("completed_by")
    by = by.get("email") or by.get("id") if isinstance(by, Mapping) else by
    time = one.get("updated_at") or one.get("created_at")
    for name, value in _values(one):
        yield PersonScore(name, None if by is None else str(by), None, value, time)


def _values(one: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The scores in a prediction or an annotation, with their names."""
    for region in one["result"]:
        kind, value = region.get("type"), region.get("value")
        if not isinstance(value, Mapping) or kind == "textarea":
            continue
        name = str(region.get("from_name") or kind)
        if kind == "pairwise":
            side = value.get("selected")
            yield name, _SIDES.get(str(side), side)
        elif kind == "choices":
            chosen = value.get("choices")
            yield name, chosen[0] if isinstance(chosen, list) and len(chosen) == 1 else chosen
        elif kind in ("rating", "number"):
            yield name, value.get(str(kind))


def _texts(one: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The free texts in a prediction, with their names."""
    for region in one["result"]:
        value = region.get("value")
        if region.get("type") == "textarea" and isinstance(value, Mapping):
            yield str(region.get("from_name") or "text"), reason_text(value.get("text"))
