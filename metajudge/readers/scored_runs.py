"""Scores of an observability tool, joined with the runs they are about.

The runs' texts are held in memory, the scores are streamed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from metajudge.readers.lines import BadLine, Line, Reject
from metajudge.readers.mapped import text_of
from metajudge.readers.reader import MISSHAPEN, Found
from metajudge.readers.reasons import reason_of
from metajudge.readers.tables import Table
from metajudge.readers.vocabulary import NoVerdict, UnknownValueError, Vocabulary
from metajudge.types import AnyVerdict, Item, Judgment

QUESTION_KEYS = ("question", "input", "query", "prompt", "messages", "text")
ANSWER_KEYS = ("output", "answer", "response", "completion", "content", "messages", "text", "result")


@dataclass(frozen=True, slots=True)
class Run:
    """What was asked and answered; None where the export holds none.

    Attributes:
        id: scores name it by this, or by one of ``aliases``.
    """

    id: str
    question: str | None
    answer: str | None
    category: str | None = None
    model: str | None = None
    reference: str | None = None
    aliases: tuple[str, ...] = ()

    def item(self) -> Item:
        """The run as an item with one response.

        Raises:
            BadLine: input or output are missing.
        """
        if self.question is None or self.answer is None:
            which = "input" if self.question is None else "output"
            raise BadLine(f"the run {self.id!r} has no {which} in this export: export it with its texts")
        return Item(
            id=self.id,
            question=self.question,
            responses={"A": self.answer},
            category=self.category,
            reference=self.reference,
            models={"A": self.model} if self.model else None,
        )


@dataclass(frozen=True, slots=True)
class Score:
    """One score as recorded.

    Attributes:
        run: id of the run it is about.
        value: a number, a text (a category), or None.
    """

    id: str
    run: str | None
    judge: str
    value: float | str | None
    comment: str | None
    meta: Mapping[str, Any]


class ScoredRuns:
    """Reads scores that name their run.

    Args:
        format_name: for people.
        runs: tables of runs.
        scores: the table of scores.
        run_of: reads a row of a run; None for rows that are none.
        score_of: reads a row of a score; None for rows that are no model's (a person's, say).
        values: category -> grade, as the user says.
    """

    def __init__(
        self,
        format_name: str,
        runs: Sequence[Table],
        scores: Table,
        run_of: Callable[[Mapping[str, Any]], Run | None],
        score_of: Callable[[Mapping[str, Any]], Score | None],
        values: Mapping[str, str],
    ) -> None:
        self.format = format_name
        self._runs = runs
        self._scores = scores
        self._run_of = run_of
        self._score_of = score_of
        self._vocabulary = Vocabulary(values)

    def read(self) -> Iterator[Found | Reject]:
        runs: dict[str, Run] = {}
        for table in self._runs:
            for row in table.rows():
                if isinstance(row, Reject):
                    yield row
                    continue
                try:
                    run = self._run_of(row.data)
                except MISSHAPEN as error:
                    yield table.source.reject(row.number, f"not the shape of a run ({error!r})", row.raw)
                    continue
                for name in () if run is None else (run.id, *run.aliases):
                    runs.setdefault(name, run)  # type: ignore[arg-type]
        for row in self._scores.rows():
            if isinstance(row, Reject):
                yield row
                continue
            found = self._found(row, runs)
            if found is not None:
                yield found

    def _found(self, row: Line, runs: Mapping[str, Run]) -> Found | Reject | None:
        source = self._scores.source
        try:
            score = self._score_of(row.data)
            if score is None:
                return None
            run = runs.get(score.run or "")
            if run is None:
                names = ", ".join(table.source.name for table in self._runs)
                raise BadLine(f"no run with id {score.run!r} in {names}" if score.run else "the score names no run")
            return Found(judgment_of(score, run, self._vocabulary), source.name, row.number)
        except ValidationError as error:
            return source.reject(row.number, reason_of(error), row.raw)
        except BadLine as bad:
            return source.reject(row.number, str(bad), row.raw)
        except MISSHAPEN as error:
            return source.reject(row.number, f"not the shape of a score in {self.format} ({error!r})", row.raw)


def judgment_of(score: Score, run: Run, vocabulary: Vocabulary) -> Judgment:
    """A score of a run as a judgment.

    Raises:
        BadLine: a category that no ``--map-values`` makes a grade, a run without texts.
    """
    verdict: AnyVerdict | NoVerdict
    try:
        verdict = vocabulary.read(score.value, ("A",), {})
    except UnknownValueError as error:
        raise BadLine(f"{error}; say which grade it stands for: --map-values '{score.value}=1'") from None
    why = None
    if isinstance(verdict, NoVerdict):
        why = "the score has no value" if score.value is None else verdict.reason
    return Judgment(
        id=score.id,
        item=run.item(),
        judge=score.judge,
        verdict=None if isinstance(verdict, NoVerdict) else verdict,
        no_verdict=why,
        rationale=score.comment or "",
        meta={name: value for name, value in score.meta.items() if value is not None},
    )


def payload_text(value: Any, keys: Sequence[str]) -> str | None:
    """A run's input or output as text.

    Objects (also written as JSON text) give the first of ``keys`` they have, or their only value; a chat its
    messages; anything else stays JSON.
    """
    if value is None:
        return None
    if isinstance(value, str):
        if not value.lstrip().startswith(("{", "[")):
            return value
        try:
            parsed = orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
        return payload_text(parsed, keys)
    if isinstance(value, dict):
        inner = next((value[key] for key in keys if value.get(key) is not None), None)
        if inner is None and len(value) == 1:
            inner = next(iter(value.values()))
        if inner is not None:
            return payload_text(inner, keys)
    return text_of(value, answer=keys is ANSWER_KEYS)


def number_or_text(value: Any) -> float | str | None:
    """A score's value: a number, also where a CSV file has it as text; a text; None where it is empty."""
    if isinstance(value, bool | int | float):
        return float(value)
    return None if value is None or str(value).strip() == "" else str(value)
