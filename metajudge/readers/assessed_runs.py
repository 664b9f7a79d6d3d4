"""Runs with what was said of them, by judges and by people: in their own records, or as scores that name their run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from metajudge.readers.lines import BadLine, Line, Reject, Source
from metajudge.readers.mapped import stem_of
from metajudge.readers.people import ByPeople, PersonScore, Target
from metajudge.readers.reader import UNREADABLE, FoundJudgment, each, why
from metajudge.readers.scored_runs import AssessedRun, RecordedRun, RecordedScore, judgment_of
from metajudge.readers.tables import Table
from metajudge.readers.vocabulary import Vocabulary

_NO_VALUES: Mapping[str, str] = {}


class AssessedRuns:
    """Reads rows that are runs with their assessments.

    Args:
        format_name: for people.
        source: what the rows are part of.
        rows: starts anew at each call.
        run_of: reads a row; raises what :func:`~metajudge.readers.reader.attempt` reports. None for a row that is no
            run.
        values: what a score's value means, as the user says.
        separate: each name of a score makes an item of its own.
        shape: what a row is taken for, in messages; None for the format's name.
        repeats: ids may come again and then get a number behind them.
    """

    def __init__(
        self,
        format_name: str,
        source: Source,
        rows: Callable[[], Iterable[Line | Reject]],
        run_of: Callable[[Line], AssessedRun | None],
        values: Mapping[str, str] = _NO_VALUES,
        *,
        separate: bool = True,
        shape: str | None = None,
        repeats: bool = False,
    ) -> None:
        self.format = format_name
        self.source = source
        self.separate = separate
        self._rows = rows
        self._run_of = run_of
        self._shape = shape or format_name
        self._repeats = repeats
        self._vocabulary = Vocabulary(values, categories=True)

    def read(self) -> Iterator[FoundJudgment | Reject | ByPeople]:
        seen: Counter[str] = Counter()
        for place, one in enumerate(self._assessed(), start=1):
            if isinstance(one, Reject):
                yield one
                continue
            number, (row, found) = one
            run = found.run if found else None
            for score in self._named(found.scores, place, seen) if found and run else ():
                try:
                    judgment = judgment_of(score, run, self._vocabulary)  # type: ignore[arg-type]
                except UNREADABLE as error:
                    about = score.name if score.place is None else score.place
                    said = why(error, self._shape)
                    yield self.source.reject(number, f"{about}: {said}" if about else said, row.raw)
                else:
                    own = self.separate and score.name is None and score.about is None
                    yield FoundJudgment(judgment, self.source.name, number, None if own else score.topic)
            yield from self._by_people(found, number)

    def targets(self) -> Iterator[Target]:
        """What every score is about; see :class:`~metajudge.readers.people.ScoredByPeople`."""
        for one in self._assessed():
            if isinstance(one, Reject):
                continue
            number, (_, found) = one
            run = found.run if found else None
            if found and run:
                yield from (
                    Target(run.id, two.topic, responses=run.response_ids)
                    for two in found.scores
                    if two.topic is not None
                )
            for person in self._by_people(found, number):
                if person.score.target is not None:
                    yield Target(person.score.target, person.score.name, person, run.response_ids if run else ("A",))

    def _by_people(self, found: AssessedRun | None, number: int) -> Iterator[ByPeople]:
        for one in found.people if found else ():
            about = replace(one, target=found.run.id) if found and found.run else one
            yield ByPeople(about, self.source.name, number)

    def _named(self, scores: Iterable[RecordedScore], place: int, seen: Counter[str]) -> Iterator[RecordedScore]:
        """The scores with ids: where the export has none, of the file's name, the judge and the record's place.

        The place, unlike the line, is the same in every format of a file.
        """
        for score in scores:
            name = score.id or f"{stem_of(self.source.name)}:{place}/{score.judge}"
            if score.id is None or self._repeats:
                seen[name] += 1
                name = name if seen[name] == 1 else f"{name}/{seen[name]}"
            yield replace(score, id=name)

    def _assessed(self) -> Iterator[tuple[int, tuple[Line, AssessedRun | None]] | Reject]:
        return each(self.source, self._rows(), lambda row: (row, self._run_of(row)), self._shape)


def scored_runs(
    format_name: str,
    runs: Callable[[], Iterable[RecordedRun | Reject]],
    scores: Callable[[], Iterable[Line | Reject]],
    source: Source,
    score_of: Callable[[Mapping[str, Any]], RecordedScore | PersonScore | None],
    missing: Callable[[str | None], str],
    values: Mapping[str, str],
    *,
    separate: bool = False,
    shape: str | None = None,
) -> AssessedRuns:
    """A reader of scores that name their run; the runs' texts are held in memory, the scores are streamed.

    Args:
        format_name: for people.
        runs: the runs and what could not be read of them; called once.
        scores: rows of scores; starts anew at each call.
        source: of the scores.
        score_of: reads a row of a score, by an evaluator or by a person; None for rows that are neither.
        missing: why there is no run of a name.
        values, separate, shape: as for :class:`AssessedRuns`.
    """

    @cache
    def recorded() -> tuple[dict[str, RecordedRun], list[Reject]]:
        """The runs by their names, and what could not be read of them."""
        found = list(runs())
        rejects = [one for one in found if isinstance(one, Reject)]
        named = [(name, one) for one in found if not isinstance(one, Reject) for name in (one.id, *one.aliases)]
        return dict(reversed(named)), rejects

    def run_of(row: Line) -> AssessedRun | None:
        score, known = score_of(row.data), recorded()[0]
        if score is None:
            return None
        if isinstance(score, PersonScore):
            run = known.get(score.target or "")
            return AssessedRun(None, (), [replace(score, target=run.id) if run else score])
        if (score.run or "") not in known:
            raise BadLine(missing(score.run))
        return AssessedRun(known[score.run or ""], [replace(score, place="")])

    def rows() -> Iterator[Line | Reject]:
        yield from recorded()[1]
        yield from scores()

    shape = shape or f"a score in {format_name}"
    return AssessedRuns(format_name, source, rows, run_of, values, separate=separate, shape=shape)


def joined(
    format_name: str,
    tables: Sequence[Table],
    run_of: Callable[[Mapping[str, Any]], RecordedRun | None],
    scores: Table,
    score_of: Callable[[Mapping[str, Any]], RecordedScore | PersonScore | None],
    values: Mapping[str, str],
    *,
    separate: bool,
) -> AssessedRuns:
    """A reader of a table of scores beside tables of their runs."""

    def runs() -> Iterator[RecordedRun | Reject]:
        for table in tables:
            for found in each(table.source, table.rows(), lambda row: run_of(row.data), "a run"):
                if isinstance(found, Reject):
                    yield found
                elif found[1] is not None:
                    yield found[1]

    def missing(name: str | None) -> str:
        there = ", ".join(table.source.name for table in tables)
        return f"no run with id {name!r} in {there}" if name else "the score names no run"

    rows, source = scores.rows, scores.source
    return scored_runs(format_name, runs, rows, source, score_of, missing, values, separate=separate)
