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
from metajudge.reading.formats.specs import ENTRY, Row, Spec, get
from metajudge.reading.formats.stated_scores import reason_text, time_text

_PROGRAMS: Final = ("string", "python", "text", "endpoint")
"""What the types of graders that are no models begin with: ``string_check``, ``text_similarity``, ``python``."""
_REFERENCES: Final = "reference|reference_answer|ideal|expected|ground_truth|correct_answer"


def _is_output_item(record: Row) -> bool:
    new = record.get("object") == "eval.run.output_item"
    return new or record.keys() >= {"datasource_item", "results", "eval_id", "run_id"}


def _page(data: Row) -> list[Any] | None:
    items = data.get("data")
    return items if isinstance(items, list) and items and _is_output_item(object_in(items[0])) else None


def _opened(row: Row) -> Row:
    """The item with its id, and question and answer: texts of its sample, else of its data source."""
    source, sample = object_in(row.get("datasource_item")), object_in(row.get("sample"))
    given = source["item"] if isinstance(source.get("item"), Mapping) else source
    return {
        **row,
        "id": str(row.get("id") or f"{row.get('run_id')}/{row.get('datasource_item_id')}"),
        "asked": sample.get("input") or get(given, "|".join(runs.QUESTION_KEYS)) or None,
        "answered": sample.get("output") or get(given, "|".join(runs.ANSWER_KEYS)) or None,
        "model": sample.get("model"),
        "reference": get(given, _REFERENCES),
    }


def _results(row: Row) -> Iterator[Row]:
    """The results of an item's graders."""
    for one in row.get("results") or ():
        kind, sample = str(one.get("type") or ""), object_in(one.get("sample"))
        scored, error = kind.replace("-", "_").startswith("score"), object_in(sample.get("error"))
        score, passed = one.get("score"), one.get("passed")
        yield {
            "name": one.get("name"),
            "by": sample.get("model"),
            "value": score if scored else passed,
            "reason": runs.payload(sample.get("output"), ("content", "text")),
            "error": reason_text(error) if any(error.values()) else None,
            "meta": {
                "source": "CODE" if kind.startswith(_PROGRAMS) else None,
                "type": kind or None,
                "score": None if scored else score,
                "passed": passed if scored else None,
                "time": time_text(row.get("created_at")),
            },
        }


_PATHS: Final = {name: name for name in ("id", "asked", "answered", "model", "reference")}
SPEC = Spec(
    name="OpenAI Evals output items",
    marks="object|datasource_item",
    test=_is_output_item,
    inside=_page,
    opened=_opened,
    run=_PATHS,
    each=_results,
    score={**ENTRY, "id": ""},
    meta={"": "meta"},
)


def _sample(row: Row) -> Row:
    """The events of a sample with what it was asked first, and what it answered."""
    if not row["samplings"]:
        said = [one["data"] for one in row["scored"] if one["data"].get("sampled") is not None]
        raise BadLine(f"the sample {row['id']!r} has {'no prompt' if said else 'no sampling'} in this log")
    first = row["samplings"][0]
    reference = next((one["data"].get("expected") for one in row["scored"]), None)
    texts = {"asked": first.get("prompt"), "answered": _sampled(first)}
    return {**row, **texts, "model": first.get("model"), "reference": reference}


def _sampled(data: Row) -> Any:
    """What a model wrote.

    Raises:
        BadLine: it wrote several answers.
    """
    found = data.get("sampled")
    if isinstance(found, list) and len(found) > 1:
        raise BadLine(f"sampled: {len(found)} answers were scored together, so no score is about one of them")
    return found[0] if isinstance(found, list) and found else found


def _events(sample: Row) -> Iterator[Row]:
    """The scores in the events of a sample."""
    first, last = sample["samplings"][0], sample["samplings"][-1]
    for event in sample["scored"]:
        data, meta = event["data"], {"eval": get(sample, "spec.eval_name"), "time": event.get("created_at")}
        if "choice" in data:
            if len(sample["samplings"]) > 2:
                count = len(sample["samplings"]) - 1
                raise BadLine(f"{count} answers were graded together, so no choice is about one")
            judge, valid = {} if last == first else last, data["choice"] != "__invalid__"
            yield {
                "name": "choice",
                "by": judge.get("model"),
                "value": data["choice"] if valid else None,
                "reason": _sampled(judge),
                "error": None if valid else "the grader's answer contains no choice",
                "meta": {"eval": meta["eval"], "score": data.get("score"), "time": meta["time"]},
            }
            continue
        correct = {"match": data.get("correct")} if event["type"] == "match" else None
        numbers = {name: one for name, one in data.items() if isinstance(one, bool | int | float)}
        for name, value in (numbers if correct is None else correct).items():
            yield {"name": name, "value": value, "meta": {"source": "CODE", **meta}}


EVENTS = Spec(
    name="OpenAI Evals log",
    marks="run_id event_id sample_id type data",
    opened=_sample,
    run=_PATHS,
    each=_events,
    score={**ENTRY, "id": ""},
    meta={"": "meta"},
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
            yield RunRow(one["line"], partial(EVENTS.assessed, one), {"sample_id": one["id"]}, EXCERPT)

    return runs.AssessedRuns(EVENTS.name, table.source, rows, values=values, shape="a sample of a log")
