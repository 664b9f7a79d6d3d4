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

from metajudge.reading.containers.cells import text_in
from metajudge.reading.formats.argilla import run_of_fields
from metajudge.reading.formats.scored_runs import AssessedRun, RecordedScore, named_score
from metajudge.reading.formats.stated_scores import reason_column, reason_text, time_text
from metajudge.reading.people import PersonScore

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
    by, time = text_in(one.get("model_version")), time_text(one.get("created_at"))
    values, texts = _said(one)
    for name, value in values:
        about = reason_column(name, texts)
        alone = "\n".join(texts.values()) if len(values) == 1 else ""
        reason = alone if about is None else texts[about]
        other = None if reason or not texts else texts
        meta = {"judge_model": by, "score": one.get("score"), "time": time, "texts": other}
        yield named_score(name, by, value, reason, id=f"{task}/{one.get('id') or by or 'prediction'}/{name}", meta=meta)


def _annotated(one: Mapping[str, Any]) -> Iterator[PersonScore]:
    if one.get("was_cancelled"):
        return
    by = one.get("completed_by")
    by = by.get("email") or by.get("id") if isinstance(by, Mapping) else by
    for name, value in _said(one)[0]:
        time = one.get("updated_at") or one.get("created_at")
        yield PersonScore(name, None if by is None else str(by), None, value, time)


def _said(one: Mapping[str, Any]) -> tuple[list[tuple[str, Any]], dict[str, str]]:
    """The scores in a prediction or an annotation, and its free texts, with their names."""
    scores, texts = [], {}
    for region in one["result"]:
        kind, value = region.get("type"), region.get("value")
        if not isinstance(value, Mapping):
            continue
        name = str(region.get("from_name") or ("text" if kind == "textarea" else kind))
        if kind == "textarea":
            texts[name] = reason_text(value.get("text"))
        elif kind == "pairwise":
            scores.append((name, _SIDES.get(str(value.get("selected")), value.get("selected"))))
        elif kind == "choices":
            chosen = value.get("choices")
            scores.append((name, chosen[0] if isinstance(chosen, list) and len(chosen) == 1 else chosen))
        elif kind in ("rating", "number"):
            scores.append((name, value.get(str(kind))))
    return scores, texts
