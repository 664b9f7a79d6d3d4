"""OpenAI Evals: the output items of a run with the results of its graders, and the logs of the older ``oaieval``.

Output items are those of the published API (``GET /v1/evals/{eval}/runs/{run}/output_items``, as the models of openai
3.54 describe it), one page, one item a line, or a list. A grader that gives a score (``score_model``) is a grade, any
other one the category ``true`` or ``false`` by ``passed``. A result whose grader is no model (``string_check``,
``python``) has ``CODE`` as its source. The judge is ``MODEL/NAME`` where the grader's own sample names its model.

A log of ``oaieval`` is lines of events. The first ``sampling`` of a sample is question and answer; a ``metrics`` event
with a ``choice`` is the verdict of the model whose ``sampling`` came last, ``__invalid__`` none; a ``match`` and other
metrics are a program's.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from metajudge.reading.containers.cells import object_in
from metajudge.reading.containers.lines import EXCERPT, BadLine, Line, Reject, RunRow
from metajudge.reading.containers.tables import Table
from metajudge.reading.formats import scored_runs as runs
from metajudge.reading.formats.specs import RECORD, Row, Spec, get
from metajudge.reading.formats.stated_scores import reason_text, time_text

_PROGRAMS: Final = ("string", "python", "text", "endpoint")
"""What the types of graders that are no models begin with: ``string_check``, ``text_similarity``, ``python``."""
_REFERENCES: Final = "reference|reference_answer|ideal|expected|ground_truth|correct_answer"


def _is_output_item(record: Row) -> bool:
    new = record.get("object") == "eval.run.output_item"
    return new or record.keys() >= {"datasource_item", "results", "eval_id", "run_id"}


def _page(data: Row) -> list[Any] | None:
    items = data.get("data")
    is_page = isinstance(items, list) and items and isinstance(items[0], Mapping) and _is_output_item(items[0])
    return list(items) if is_page and isinstance(items, list) else None


def _opened(row: Row) -> Row:
    """The item with what its data source gave, and its sample."""
    given = object_in(row.get("datasource_item"))
    given = given["item"] if isinstance(given.get("item"), Mapping) else given
    name = row.get("id") or f"{row.get('run_id')}/{row.get('datasource_item_id')}"
    return {**row, "given": given, "sample": object_in(row.get("sample")), "id": str(name)}


def _each(row: Row) -> Iterator[Row]:
    for one in row.get("results") or ():
        kind, sample = str(one.get("type") or ""), object_in(one.get("sample"))
        graded, error = kind.replace("-", "_").startswith("score"), sample.get("error")
        failed = reason_text(error) if isinstance(error, Mapping) and any(error.values()) else None
        source = "CODE" if kind.startswith(_PROGRAMS) else None
        yield {**one, "sample": sample, "graded": graded, "failed": failed, "source": source, "type": kind or None}


def _first(part: str, keys: tuple[str, ...]) -> Any:
    """Reads a text of the sample, else the first of the source's item that is there."""
    return lambda row: row["sample"].get(part) or get(row["given"], "|".join(keys)) or None


SPEC = Spec(
    name="OpenAI Evals output items",
    marks="object|datasource_item",
    test=_is_output_item,
    inside=_page,
    opened=_opened,
    run={
        "id": "id",
        "asked": _first("input", runs.QUESTION_KEYS),
        "answered": _first("output", runs.ANSWER_KEYS),
        "model": "sample.model",
        "reference": lambda row: get(row["given"], _REFERENCES),
    },
    each=_each,
    score={
        "name": "name",
        "by": "sample.model",
        "value": lambda row: row.get("score") if row["graded"] else row.get("passed"),
        "reason": lambda row: runs.payload(row["sample"].get("output"), ("content", "text")),
        "error": "failed",
        "id": "",
    },
    meta={
        "source": "source",
        "type": "type",
        "score": lambda row: None if row["graded"] else row.get("score"),
        "passed": lambda row: row.get("passed") if row["graded"] else None,
        "time": lambda row: time_text(row[RECORD].get("created_at")),
    },
)
_INVALID: Final = "__invalid__"


def _said_in(sample: Row) -> Iterator[Row]:
    """The scores in the events of a sample."""
    asked, last = sample["samplings"][:1], sample["samplings"][-1]
    for event in sample["scored"]:
        data, graded = event["data"], "choice" in event["data"]
        if graded and len(sample["samplings"]) > 2:
            raise BadLine(f"{len(sample['samplings']) - 1} answers were graded together, so no choice is about one")
        told = {"time": event.get("created_at"), "spec": sample["spec"]}
        if graded:
            model = last.get("model") if last not in asked else None
            missing = "the grader's answer contains no choice" if data["choice"] == _INVALID else None
            value, why = None if missing else data["choice"], None if last in asked else _sampled(last)
            told |= {"name": "choice", "by": model, "reason": why, "missing": missing, "score": data.get("score")}
            yield {**told, "value": value}
        elif event["type"] == "match":
            yield {**told, "name": "match", "value": data.get("correct"), "source": "CODE"}
        else:
            for name, value in data.items():
                if isinstance(value, bool | int | float):
                    yield {**told, "name": name, "value": value, "source": "CODE"}


def _sampled(data: Row) -> Any:
    """What a model wrote.

    Raises:
        BadLine: it wrote several answers.
    """
    found = data.get("sampled")
    if isinstance(found, list) and len(found) > 1:
        raise BadLine(f"sampled: {len(found)} answers were scored together, so no score is about one of them")
    return found[0] if isinstance(found, list) and found else found


EVENTS = Spec(
    name="OpenAI Evals log",
    marks="run_id event_id sample_id type data",
    run={
        "id": "id",
        "asked": lambda row: row["samplings"][0].get("prompt"),
        "answered": lambda row: _sampled(row["samplings"][0]),
        "model": lambda row: row["samplings"][0].get("model"),
        "reference": lambda row: next((one["data"].get("expected") for one in row["scored"]), None),
    },
    each=_said_in,
    score={"name": "name", "by": "by", "value": "value", "reason": "reason", "error": "missing", "id": ""},
    meta={"source": "source", "eval": "spec.eval_name", "score": "score", "time": "time"},
)


def log_reader(table: Table, values: Mapping[str, str]) -> runs.AssessedRuns:
    """Reads a log, the events of each sample together; they are held in memory."""

    def rows() -> Iterator[Line | Reject]:
        samples: dict[tuple[str, str], dict[str, Any]] = {}
        spec: Any = {}
        for row in table.rows():
            if isinstance(row, Reject):
                yield row
            elif "spec" in row.data or "final_report" in row.data:
                spec = row.data.get("spec", spec)
            elif not EVENTS.recognises(row.data) or not isinstance(row.data["data"], dict):
                yield table.source.reject(row.number, f"no record of {EVENTS.name}", row.raw)
            else:
                event = row.data
                key = str(event["run_id"]), str(event["sample_id"])
                new = {"id": "/".join(key), "spec": spec, "line": row.number, "samplings": [], "scored": []}
                found = samples.setdefault(key, new)
                if event["type"] == "sampling":
                    found["samplings"].append(event["data"])
                elif event["type"] in ("match", "metrics", "modelgraded"):
                    found["scored"].append(event)
        for one in samples.values():
            yield RunRow(one["line"], partial(_run, one), {"sample_id": one["id"]}, EXCERPT)

    return runs.AssessedRuns(EVENTS.name, table.source, rows, runs.made, values, shape="a sample of a log")


def _run(sample: dict[str, Any]) -> runs.AssessedRun:
    if not sample["samplings"]:
        said = [one["data"] for one in sample["scored"] if one["data"].get("sampled") is not None]
        raise BadLine(f"the sample {sample['id']!r} has {'no prompt' if said else 'no sampling'} in this log")
    return EVENTS.assessed(sample)
