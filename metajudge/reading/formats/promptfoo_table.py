"""promptfoo's results as a table: ``promptfoo eval --output FILE.csv``.

The table leaves out assertions, graders and ids: what stands there are the score of every named metric and, of an
output without metrics, its whole score. Where the same run lies beside it as ``FILE.json`` or ``FILE.jsonl``, that is
read in place of the table, so that the run counts once, with its graders and rubrics.

Else each metric of an output is a grade, the judge ``promptfoo/METRIC``, and an output without metrics a grade of
``promptfoo``: also where a program gave it, which the table does not tell. The grader's reason belongs to the whole
output: it is the rationale where nothing else was graded, else it is in ``meta``. The question is the prompt with the
variables filled in. Ids are ``promptfoo/DIGEST/row/output/metric``, by a digest of the file.
"""

import csv
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson

from metajudge.errors import InputError
from metajudge.reading.containers.headers import Cells
from metajudge.reading.containers.lines import EXCERPT, BadLine, Reject, RunRow, Source, open_bytes, undamaged
from metajudge.reading.containers.tables import csv_rows
from metajudge.reading.formats.promptfoo import failure_in, outputs_of, results
from metajudge.reading.formats.scored_runs import AssessedRun, AssessedRuns, RecordedRun, RecordedScore
from metajudge.reading.reader import UNREADABLE, inside, why
from metajudge.reading.scales import grade_of
from metajudge.types.digests import digest

_FIXED = ("Status", "Score", "Named Scores")
_REASON, _COMMENT = _LAST = ("Grader Reason", "Comment")
_METRIC = "Metric: "
_SHAPE = "a row of promptfoo's table"
_VARIABLE = re.compile(r"\{\{\s{0,9}([\w.-]{1,80})\s{0,9}\}\}")
_HEADING = re.compile(r"\[([^\[\]]{1,200})\] ")


class _Output(NamedTuple):
    """The columns of one prompt's outputs: the place of the output's text, and the names up to the comment's."""

    place: int
    names: tuple[str, ...]

    def cells(self, row: Sequence[str]) -> dict[str, str]:
        return dict(zip(self.names, row[self.place : self.place + len(self.names)], strict=True))


def is_promptfoo_table(source: Source) -> bool:
    """Whether a CSV file's header is promptfoo's."""
    try:
        first = next(_rows(source), None)
    except InputError:
        return False
    return first is not None and bool(_outputs(first.cells))


def promptfoo_table(source: Source) -> AssessedRuns:
    """The reader of a table: of the same run's results beside it, where they are there."""
    for ending, lines in ((".json", False), (".jsonl", True)):
        beside = Source(source.path.with_suffix(ending), str(source.path.with_suffix(ending)))
        if beside.path.is_file() and _is_same_run(source, beside, lines=lines):
            return results(beside, lines=lines, note=f", of the same run in {beside.name}")
    return AssessedRuns("promptfoo table", source, partial(_graded, source), separate=False, shape=_SHAPE)


def _graded(source: Source) -> Iterator[RunRow | Reject]:
    """A row for every score of an output."""
    with undamaged(source), open_bytes(source) as stream:
        run = hashlib.file_digest(stream, "sha256").hexdigest()[:20]  # type: ignore[arg-type]
    rows = _rows(source)
    header = next(rows).cells
    outputs = _outputs(header)
    for number, (_, raw, row, fault) in enumerate(rows, start=2):
        excerpt = orjson.dumps(list(row))[:EXCERPT] if row else raw[:EXCERPT]
        if len(row) != len(header):
            cells = f"the row has {len(row)} cells, the header {len(header)}"
            yield source.reject(number, f"not CSV: {fault}" if isinstance(fault, csv.Error) else cells, excerpt)
            continue
        if isinstance(fault, UnicodeDecodeError):
            yield source.reject(number, "the row contains bytes that are not UTF-8", excerpt)
            continue
        variables = dict(zip(header[: outputs[0].place], row, strict=False))
        for index, output in enumerate(outputs):
            said = output.cells(row)
            if not any(said.values()):
                continue  # a test that this prompt was not run on
            text, place = said[output.names[0]], f"promptfoo/{run}/{number}/{index}"
            try:
                if said["Status"] == "ERROR":
                    raise BadLine(f"the output has the status ERROR: {said[_REASON] or text}"[:300])
                content, scores = _content(output.names[0], text, variables), _scores(said)
            except UNREADABLE as error:
                yield source.reject(number, why(error, _SHAPE), excerpt)
                continue
            for name, value in scores.items():
                run_of = partial(_run_of, place, content, said, name, value, alone=len(scores) == 1)
                yield RunRow(number, run_of, row, EXCERPT)


def _run_of(
    place: str, content: dict[str, Any], cells: dict[str, str], name: str, value: Any, *, alone: bool
) -> AssessedRun:
    reason, about = cells[_REASON], name or "Score"
    failure = failure_in(reason) if alone else None
    with inside(about, _SHAPE):
        verdict, missing = grade_of(value, about) if failure is None else (None, failure)
    said = {"metric": name, "reason": "" if alone else reason, "comment": cells[_COMMENT]}
    score = RecordedScore(
        id=f"{place}/{name}" if name else place,
        judge=f"promptfoo/{name}" if name else "promptfoo",
        value=verdict,
        error=missing,
        comment=reason if alone else "",
        meta={key: text or None for key, text in said.items()},
        about="",
        place=about,
    )
    answer, named = content["responses"]["A"], f"promptfoo/{digest([content, name])[:20]}"
    return AssessedRun(RecordedRun(named, content["question"], answer, models=content["models"]), [score])


def _scores(cells: dict[str, str]) -> dict[str, Any]:
    """The metrics with their scores; without one, the output's score under the empty name."""
    named = cells["Named Scores"].strip()
    scores = orjson.loads(named) if named else {}
    if not isinstance(scores, dict):
        raise BadLine("'Named Scores' is no JSON object")
    return scores or {"": cells["Score"]}


def _content(heading: str, text: str, variables: Mapping[str, str]) -> dict[str, Any]:
    """An item without its id, which is a digest of it and of the metric."""
    found = _HEADING.match(heading)
    template = heading if found is None else heading[found.end() :]
    filled = _VARIABLE.sub(lambda match: variables.get(match[1], match[0]), template)
    if filled == template and variables:  # the name of a prompt, not its text
        filled = "\n".join([template, *(f"{name}: {one}" for name, one in variables.items())])
    return {"question": filled, "responses": {"A": text}, "models": None if found is None else {"A": found[1]}}


def _outputs(header: Sequence[str]) -> list[_Output]:
    """The columns of each prompt: a text, status, score, named scores, the metrics, reason, comment."""
    found = []
    for start in range(1, len(header) - len(_FIXED)):
        end = start + len(_FIXED)
        if tuple(header[start:end]) != _FIXED:
            continue
        while end < len(header) and header[end].startswith(_METRIC):
            end += 1
        if tuple(header[end : end + len(_LAST)]) == _LAST:
            found.append(_Output(start - 1, tuple(header[start - 1 : end + len(_LAST)])))
    return found


def _rows(source: Source) -> Iterator[Cells]:
    return (row for row in csv_rows(source, ",") if row.fault is not None or any(row.cells))


def _is_same_run(table: Source, results: Source, *, lines: bool) -> bool:
    """Whether results are those of a table: the same outputs to the same tests."""
    try:
        rows = (row.cells for row in _rows(table))
        outputs = _outputs(next(rows))
        texts = {
            (test, prompt): row[output.place]
            for test, row in enumerate(rows)
            for prompt, output in enumerate(outputs)
            if any(output.cells(row).values())
        }
        return texts == outputs_of(results, lines=lines)
    except (*UNREADABLE, IndexError):
        return False
