"""Amazon Mechanical Turk's batch files: workers' answers are people's labels.

A row is an assignment: ``HITId``, ``AssignmentId``, ``WorkerId``, the task in ``Input.*``, the answers in ``Answer.*``
(of a group of buttons a column each, ``Answer.best.A`` with true or false). Where the user maps the worker to the
judge, the answer is a verdict, and the other columns are found by their names.
"""

from collections.abc import Iterator, Sequence

from metajudge.reading.containers.lines import BadLine
from metajudge.reading.formats.argilla import parts_of, run_of_fields
from metajudge.reading.formats.specs import RECORD, Row, Spec, get
from metajudge.reading.mapping import FieldMap

_TASK, _ANSWER, _WORKER = "Input.", "Answer.", "WorkerId"
_ID = "|".join([*(f"{_TASK}{name}" for name in ("id", "item_id", "question_id", "qid")), "HITId"])


def _task(columns: Row) -> Row:
    return {name.removeprefix(_TASK): one for name, one in columns.items() if name.startswith(_TASK)}


def _each(row: Row) -> Iterator[Row]:
    """The answers of an assignment; of a group of buttons the one that was pressed."""
    for column, value in row.items():
        name, pressed = column.removeprefix(_ANSWER), str(value).strip().casefold()
        if column == name or value in (None, ""):
            continue
        group, dot, button = name.rpartition(".")
        if not (dot and pressed in ("true", "false")):
            yield {"name": name, "value": value, "by_person": True}
        elif pressed == "true":
            yield {"name": group, "value": button, "by_person": True}


def completed(columns: Sequence[str], mapping: FieldMap) -> FieldMap:
    """A mapping that names the judge, with the columns that it leaves open as far as their names say them."""
    if mapping.columns.get("judge") != _WORKER:
        return mapping
    found: dict[str, str] = {}
    answers = [name for name in columns if name.startswith(_ANSWER)]
    if len(answers) == 1:
        found["verdict"] = answers[0]
    try:
        asked, responses = parts_of(_task(dict.fromkeys(columns, "")))
        found |= {"question": _TASK + asked} | {f"responses.{side}": _TASK + name for side, name in responses.items()}
    except BadLine:
        pass
    return FieldMap(columns={**found, **mapping.columns}, constants=mapping.constants, values=mapping.values)


SPEC = Spec(
    name="Mechanical Turk batch",
    marks="HITId WorkerId",
    test=lambda record: any(name.startswith(_ANSWER) for name in record),
    run=lambda row: run_of_fields(get(row, _ID), _task(row)),
    each=_each,
    people={"annotator": f"{RECORD}.{_WORKER}", "time": f"{RECORD}.SubmitTime"},
)
