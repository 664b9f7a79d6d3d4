"""Published data sets as data: what marks a record, and where its question, answers, verdicts and people's answers are.

A format of this kind is one :class:`Records`. What only people say of a record are labels, and never a verdict. Where
values are documented for files of certain names alone, their meaning is asked of any other file.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any, Final, TypeAlias

from metajudge.errors import InputError
from metajudge.reading.containers.cells import cell, key_of, text_in
from metajudge.reading.containers.lines import BadLine, Line, Reject, TableRow
from metajudge.reading.containers.tables import SURVEYED_ROWS, Table
from metajudge.reading.conversations import Exchange, exchange
from metajudge.reading.formats.scored_runs import AssessedRun, AssessedRuns, RecordedRun, RecordedScore
from metajudge.reading.formats.stated_scores import reason_text
from metajudge.reading.mapping import FieldMap
from metajudge.reading.people import PersonScore
from metajudge.reading.reader import attempt
from metajudge.types import digest

Record: TypeAlias = Mapping[str, Any]
Get: TypeAlias = str | Callable[[Record], Any]
"""A column or a dotted path, of several (``a|b``) the first there is; a text after ``=``; or what makes the value."""

FILE: Final = "@file"
"""Where a record has the path of its file."""
_SAYS: Final = re.compile(
    "judge|verdict|winner|prefer|better|choice|chosen|score|rating|label|grade|vote|annotator|pred|gpt|claude|llm|human|"
    "outcome|correct|pass",
    re.I,
)
"""What a column is called that may be a verdict or a label."""
_NO_JUDGE: Final = "{} is a verdict, and nothing names its judge: give --map with the columns and judge:=NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a judge or people say of a record.

    Attributes:
        value: what they say; a list is one answer each.
        judge: who says it; None for people.
        name: of what was scored, where there are several things.
        reason: a judge's.
        by: a person's name.
    """

    value: Get
    judge: Get | None = None
    name: str = ""
    reason: Get | None = None
    by: Get | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """One kind of record.

    Attributes:
        name: for people.
        marks: keys that every record has, separated by commas; ``a|b`` is one of the two.
        also: pattern of further keys that are known; a record with any other key that may be a verdict or a label is
            none of this kind, because it would be lost.
        question: a text or a conversation; None where there are no texts.
        answers, models: by the answers' ids.
        id, prefix: of the item; the digest of its texts where a record has no id.
        turn: the one that was judged.
        instruction: the judge's.
        scores: the scores of a record, or a function that finds them.
        parts: gives the records that one contains.
        meanings: value -> what it means, where it is no verdict by itself; ``none`` for no answer.
        documented: pattern of the names of files whose judge and ``meanings`` are known; empty for all.
    """

    name: str
    marks: str
    also: str = "-"
    question: Get | None = None
    answers: Mapping[str, Get]
    models: Mapping[str, Get]
    id: Get | None = None
    prefix: str = ""
    category: Get | None = None
    reference: Get | None = None
    turn: Get | None = None
    instruction: Get | None = None
    scores: tuple[Score, ...] | Callable[[Record], Iterable[Score]]
    parts: Callable[[Record], Iterable[Record]] | None = None
    meanings: Mapping[str, str] | None = None
    documented: str = ""

    def recognises(self, record: Record) -> bool:
        """Whether a record is one of this kind, by its keys."""
        marks = [mark.split("|") for mark in self.marks.split(", ")]
        if not all(any(key in record for key in mark) for mark in marks):
            return False
        others = record.keys() - {key for mark in marks for key in mark}
        return not any(_SAYS.search(str(key)) and not re.fullmatch(self.also, str(key)) for key in others)

    def reader(self, table: Table, values: Mapping[str, str]) -> AssessedRuns:
        """A reader of a table of such records.

        Raises:
            InputError: the file's name does not say what its values mean.
        """
        if re.search(self.documented, table.source.path.name, re.I) is None:
            raise InputError(self._open_question(table))
        one, file = replace(self, meanings={**(self.meanings or {}), **values}), table.source.path.resolve().as_posix()

        def rows() -> Iterator[Line | Reject]:
            for row in table.rows():
                if self.parts is None or isinstance(row, Reject):
                    yield row
                    continue
                found = attempt(table.source, row, _apart(self.parts), self.name)
                yield from [found] if isinstance(found, Reject) else found

        return AssessedRuns(self.name, table.source, rows, lambda row: one.run_of({**row.data, FILE: file}), values)

    def _open_question(self, table: Table) -> str:
        """What is to be said of a file that may be another one, with the values in it."""
        rows = [row.data for row in islice(table.rows(), SURVEYED_ROWS) if isinstance(row, Line)]
        said, column = next(iter(self.said_in(rows[0]))), self.marks.rpartition(", ")[2].partition("|")[0]
        seen = Counter(key_of(value) for row in rows if (value := get(row, said.value)) is not None)
        shown = ", ".join(f"{key} ({times:,})" for key, times in sorted(seen.items())[:8])
        answers = {f"responses.{name}": str(one) for name, one in self.answers.items()}
        columns = {"question": self.marks.partition(", ")[0], **answers, "verdict" if said.judge else "label": column}
        flags = FieldMap(columns=columns, constants={"judge": "NAME"} if said.judge else {}).to_flags()
        means = ",".join(f"{key}=MEANING" for key in sorted(seen)[:8])
        return (
            f"{table.source.name} has the columns of {self.name}, but not the name of such a file, so what {column} "
            f"means is not known: it has {shown}. Say which column is what, and what each value means (A, B, tie or "
            f"none):\n  {flags} --map-values '{means}'"
        )

    def said_in(self, record: Record) -> Iterable[Score]:
        """The scores of a record."""
        return self.scores if isinstance(self.scores, tuple) else self.scores(record)

    def run_of(self, record: Record) -> AssessedRun:
        """A record with what was said of it.

        Raises:
            BadLine: its parts make no question and answers, or nothing names a judge.
        """
        run, scores, people = self._run(record), list[RecordedScore](), list[PersonScore]()
        for said in self.said_in(record):
            value = get(record, said.value)
            answers = list(map(self._meant, value if isinstance(value, list) else [value]))
            if said.judge is None:
                by, about = text_in(get(record, said.by)), said.name or str(said.value)
                people += [PersonScore(about, by, run.id, one) for one in answers if one is not None]
                continue
            score = self._score(record, said)
            names = (f"{run.id}/{score.judge}" + (f"/{number}" if number > 1 else "") for number in count(1))
            scores += [replace(score, id=name, value=one) for name, one in zip(names, answers, strict=False)]
        return AssessedRun(run, scores, people)

    def _score(self, record: Record, said: Score) -> RecordedScore:
        by = text_in(get(record, said.judge))
        if by is None:
            raise BadLine(_NO_JUDGE.format(said.value))
        return RecordedScore(
            judge=f"{by}/{said.name}" if said.name else by,
            value=None,
            comment=reason_text(get(record, said.reason)),
            name=said.name or None,
            about=said.name or "score",
            instruction=text_in(get(record, self.instruction)),
            meta={"judge_model": by} if said.name else {},
        )

    def _meant(self, value: Any) -> Any:
        found = (self.meanings or {}).get(key_of(value), value)
        return None if found in ("none", "") else found

    def _run(self, record: Record) -> RecordedRun:
        given = {name: messages_in(get(record, one)) for name, one in self.answers.items()}
        asked, spoken = messages_in(get(record, self.question)), Exchange("", dict.fromkeys(given, ""))
        if asked is not None:
            missing = next((name for name, one in given.items() if one is None), None)
            if missing is not None:
                raise BadLine(f"response {missing} is missing")
            spoken = exchange(asked, given, get(record, self.turn))
        models = {name: text for name, one in self.models.items() if (text := text_in(get(record, one)))}
        known = [spoken.question, spoken.answers, models]
        whole = known if spoken.question else {key: str(one) for key, one in record.items() if key != FILE}
        name = text_in(get(record, self.id)) or digest(whole)[:16]
        return RecordedRun(
            f"{self.prefix}/{name}" if self.prefix else name,
            spoken.question,
            None,
            text_in(get(record, self.category)),
            reference=text_in(get(record, self.reference)),
            answers=spoken.answers,
            models=models or None,
            **spoken.beside(),
        )


def _apart(parts: Callable[[Record], Iterable[Record]]) -> Callable[[Line], list[Line]]:
    return lambda row: [TableRow(row.number, dict(one)) for one in parts(row.data)]


def get(record: Record, where: Get | None) -> Any:
    """A value of a record; None where it is missing."""
    if where is None or not isinstance(where, str):
        return None if where is None else where(record)
    if where.startswith("="):
        return where[1:]
    return next((found for one in where.split("|") if (found := cell(record, one)) is not None), None)


def asked(instruction: str, more: Any) -> str:
    """An instruction and its input as one question."""
    return f"{instruction}\n\n{more}" if isinstance(more, str) and more.strip() else instruction


def messages_in(value: Any) -> Any:
    """One message or several as a list of ``role`` and ``content``, also of ``from`` and ``value``; else the value."""
    found = [value] if isinstance(value, Mapping) else value
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        return value
    if not all("content" in one or one.keys() >= {"from", "value"} for one in found):
        return value
    return [one if "content" in one else {"role": one["from"], "content": one["value"]} for one in found]
