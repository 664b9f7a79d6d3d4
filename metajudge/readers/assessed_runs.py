"""Runs that carry their own assessments, by judges and by people: a row is a run with everything said of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from metajudge.readers.lines import Line, Reject, Source
from metajudge.readers.mapped import stem_of
from metajudge.readers.people import ByPeople, PersonScore, Target
from metajudge.readers.reader import UNREADABLE, FoundJudgment, attempt, why
from metajudge.readers.scored_runs import RecordedRun, RecordedScore, judgment_of
from metajudge.readers.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class AssessedRun:
    """A run, and what was said of it.

    Attributes:
        run: question and answers.
        scores: by judges.
        people: scores by people.
    """

    run: RecordedRun
    scores: list[RecordedScore] = field(default_factory=list)
    people: list[PersonScore] = field(default_factory=list)


class AssessedRuns:
    """Reads rows that are runs with their assessments.

    Args:
        format_name: for people.
        source: what the rows are part of.
        rows: starts anew at each call.
        run_of: reads a row; raises what :func:`~metajudge.readers.reader.attempt` reports.
        values: what a score's value means, as the user says.

    Attributes:
        separate: each name of a score makes an item of its own.
    """

    separate = True

    def __init__(
        self,
        format_name: str,
        source: Source,
        rows: Callable[[], Iterable[Line | Reject]],
        run_of: Callable[[Mapping[str, Any]], AssessedRun],
        values: Mapping[str, str],
    ) -> None:
        self.format = format_name
        self.source = source
        self._rows = rows
        self._run_of = run_of
        self._vocabulary = Vocabulary(values, categories=True)

    def read(self) -> Iterator[FoundJudgment | Reject | ByPeople]:
        for place, row in enumerate(self._rows(), start=1):
            if isinstance(row, Reject):
                yield row
                continue
            found = self._assessed(row)
            if isinstance(found, Reject):
                yield found
                continue
            for score in self._named(found.scores, place):
                try:
                    judgment = judgment_of(score, found.run, self._vocabulary)
                except UNREADABLE as error:
                    yield self.source.reject(row.number, f"{score.name}: {why(error, self.format)}", row.raw)
                else:
                    yield FoundJudgment(judgment, self.source.name, row.number, score.name)
            for person in found.people:
                yield ByPeople(replace(person, target=found.run.id), self.source.name, row.number)

    def targets(self) -> Iterator[Target]:
        """What every score is about; see :class:`~metajudge.readers.people.ScoredByPeople`."""
        for row in self._rows():
            found = row if isinstance(row, Reject) else self._assessed(row)
            if isinstance(found, Reject) or isinstance(row, Reject):
                continue
            ids = found.run.response_ids
            for score in found.scores:
                yield Target(found.run.id, score.name or score.judge, responses=ids)
            for person in found.people:
                about = replace(person, target=found.run.id)
                yield Target(found.run.id, person.name, ByPeople(about, self.source.name, row.number), ids)

    def _named(self, scores: Iterable[RecordedScore], place: int) -> Iterator[RecordedScore]:
        """The scores with ids: where the export has none, of the file's name, the judge and the record's place.

        The place, unlike the line, is the same in every format of a file.
        """
        seen: Counter[str] = Counter()
        for score in scores:
            name = score.id
            if name is None:
                name = f"{stem_of(self.source.name)}:{place}/{score.judge}"
                seen[name] += 1
                name = name if seen[name] == 1 else f"{name}/{seen[name]}"
            yield replace(score, id=name)

    def _assessed(self, row: Line) -> AssessedRun | Reject:
        return attempt(self.source, row, lambda line: self._run_of(line.data), self.format)
