"""Label Studio's tasks: predictions of models as verdicts, people's annotations as labels.

Read are the JSON export ("Label Studio JSON format of annotated tasks", labelstud.io; its parts validated by the
models of label-studio-sdk), and JSON-MIN and CSV, a row an annotation. Read of a result are ``choices`` with one
choice, ``rating``, ``number``, ``pairwise`` and ``ranker``; ``from_name`` is the name of the score. A ``textarea`` of a
prediction is the rationale of the score that it is named after (``tone_reason``), or of the only one. Cancelled
annotations are left out. The judge is ``MODEL_VERSION/NAME``. Fields of a task, also columns of winners, are never
answers; of a table whose columns do not say which ones are answers, each row is a reject that says so.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from metajudge.reading.containers.cells import nested
from metajudge.reading.containers.lines import BadLine
from metajudge.reading.formats.argilla import parts_of, run_of_fields
from metajudge.reading.formats.specs import OF_RUN, RECORD, Row, Spec, get
from metajudge.reading.formats.stated_scores import reason_column, reason_text, time_text

_SIDES: Final = {"left": "A", "right": "B"}
_ANSWERS: Final = ("choices", "rating", "number", "pairwise", "ranker")
_PEOPLE: Final = ("annotations", "completions")


def _is_task(record: Row) -> bool:
    given = [record[key] for key in (*_PEOPLE, "predictions") if isinstance(record.get(key), list)]
    parts = [one for several in given for one in several]
    results = all(isinstance(one, Mapping) and isinstance(one.get("result"), list) for one in parts)
    return isinstance(record.get("data"), Mapping) and bool(given) and results


def _id(row: Row) -> str:
    number, project = row.get("id", row.get("inner_id")), row.get("project")
    return str(number) if project is None else f"{project}/{number}"  # tasks are numbered from 1 in every project


def _each(task: Row) -> Iterator[Row]:
    for one in task.get("predictions") or ():
        values, texts = _said(one)
        for name, value in values:
            about = reason_column(name, texts)
            alone = "\n".join(texts.values()) if len(values) == 1 else ""
            reason = alone if about is None else texts[about]
            other = None if reason or not texts else texts
            yield {**one, "by": one.get("model_version"), "name": name, "value": value, "why": reason, "texts": other}
    for one in [one for key in _PEOPLE for one in task.get(key) or () if not one.get("was_cancelled")]:
        for name, value in _said(one)[0]:
            yield {**one, "by_person": True, "name": name, "value": value}


def _said(one: Row) -> tuple[list[tuple[str, Any]], dict[str, str]]:
    """The scores in a prediction or an annotation, and its free texts, with their names."""
    scores, texts = [], {}
    for region in one["result"]:
        kind, value = str(region.get("type")), region.get("value")
        name = str(region.get("from_name") or ("text" if kind == "textarea" else kind))
        if isinstance(value, Mapping) and kind == "textarea":
            texts[name] = reason_text(value.get("text"))
        elif isinstance(value, Mapping) and kind in _ANSWERS:
            scores.append((name, _answer(value.get("selected" if kind == "pairwise" else kind), kind)))
    return scores, texts


def _answer(value: Any, kind: str) -> Any:
    """One choice, a side as a response's id, an order as groups of ids; anything else as it is."""
    if kind == "ranker":
        ranked = next(iter(value.values()), None) if isinstance(value, Mapping) else value
        return [[str(one)] for one in ranked] if isinstance(ranked, list) else ranked
    if kind == "pairwise":
        return _SIDES.get(str(value), value)
    return value[0] if kind == "choices" and isinstance(value, list) and len(value) == 1 else value


def _annotator(row: Row) -> Any:
    by = row.get("completed_by")
    return by.get("email") or by.get("id") if isinstance(by, Mapping) else by


SPEC = Spec(
    name="Label Studio tasks",
    marks="data annotations|completions|predictions",
    test=_is_task,
    run=lambda row: run_of_fields(_id(row), row["data"]),
    each=_each,
    score={
        "name": "name",
        "by": "by",
        "value": "value",
        "reason": "why",
        "id": lambda row: f"{row[OF_RUN]}/{get(row, 'id|model_version|=prediction')}/{row['name']}",
    },
    meta={"score": "score", "time": lambda row: time_text(row.get("created_at")), "texts": "texts"},
    people={"annotator": _annotator, "time": "updated_at|created_at"},
)
_OWN: Final = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "id")


def _split(row: Row) -> Row:
    """A row of a table, with the task's fields apart from the answers.

    JSON-MIN has the answers between ``id`` and ``annotator``; in any other order an answer is a cell that is written as
    one, or the only column that is no text of the task.

    Raises:
        BadLine: the columns do not say which ones are answers.
    """
    names, end = list(row), _OWN[: 5 if "agreement" not in row else 6]
    free = [name for name in names if name not in _OWN]
    told = {name: one for name in free if (one := _told(nested(row[name]))) is not None}
    ordered = names[-len(end) :] == [*end] and names.index("id") > 0
    answers = names[names.index("id") + 1 : -len(end)] if ordered else [*told]
    texts = {name: one for name, one in row.items() if name in free and name not in answers}
    if not answers:
        asked, responses = parts_of(texts)
        answers = [name for name in texts if name not in (asked, *responses.values())]
        if len(answers) != 1:
            raise BadLine(
                f"any of the columns {', '.join(answers) or 'of this row'} may be the people's answer or the task's "
                "own: export the tasks as JSON, or say which one it is (--labels-map label=COLUMN)"
            )
        del texts[answers[0]]
    said = [(name, told.get(name, _SIDES.get(str(row[name]), row[name]))) for name in answers]
    return {**row, "data": texts, "answers": said}


def _told(cell: Any) -> Any:
    """The answer in a cell such as ``[{"rating": 4}]``; None in any other one."""
    one = cell[0] if isinstance(cell, list) and len(cell) == 1 else cell
    kind = next((kind for kind in (*_ANSWERS, "selected") if isinstance(one, Mapping) and kind in one), None)
    return None if kind is None else _answer(one[kind], "pairwise" if kind == "selected" else kind)


TABLE = Spec(
    name="Label Studio table",
    marks="id annotator annotation_id created_at updated_at lead_time",
    opened=_split,
    run=lambda row: run_of_fields(row["id"], row["data"]),
    each=lambda row: [{"name": name, "value": one, "by_person": True} for name, one in row["answers"]],
    people={"annotator": f"{RECORD}.annotator", "time": f"{RECORD}.updated_at|{RECORD}.created_at"},
)
