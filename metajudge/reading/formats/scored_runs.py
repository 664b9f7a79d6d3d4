"""Runs of a tool with what was said of them, by judges and by people, and how a score of a run becomes a judgment.

Scores are recorded with their run, or name it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache
from itertools import chain
from typing import Any

from metajudge.reading.containers.cells import parsed
from metajudge.reading.containers.lines import BadLine, Line, Reject, RunRow, Source
from metajudge.reading.containers.tables import Table
from metajudge.reading.conversations import exchange, text_of, with_more
from metajudge.reading.mapped_items import stem_of
from metajudge.reading.people import ByPeople, PersonScore, Target
from metajudge.reading.reader import UNREADABLE, FoundJudgment, each, split, why
from metajudge.reading.vocabulary import InfiniteValueError, NoVerdict, UnknownValueError, Vocabulary
from metajudge.types import AnyVerdict, Category, Grade, Item, Judgment, Message, Pairwise, Ranking

QUESTION_KEYS = ("question", "input", "query", "prompt", "messages", "text")
ANSWER_KEYS = ("output", "answer", "response", "completion", "content", "messages", "text", "result")


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """Question and answer; None if missing in the export. The other fields are those of an item.

    Attributes:
        id: scores name it by this, or by one of ``aliases``.
        problem: why its messages make no question and answer; None where they do.
        answers: several answers by their ids, in place of ``answer``, as ``models`` are in place of ``model``.
    """

    id: str
    question: str | None
    answer: str | None
    category: str | None = None
    model: str | None = None
    reference: str | None = None
    aliases: tuple[str, ...] = ()
    problem: str | None = None
    answers: Mapping[str, str] | None = None
    models: Mapping[str, str] | None = None
    label: AnyVerdict | None = None
    conversation: tuple[Message, ...] = ()
    replies: Mapping[str, tuple[Message, ...]] | None = None
    metadata: Mapping[str, Mapping[str, Any]] | None = None

    @property
    def response_ids(self) -> tuple[str, ...]:
        """Ids of the answers."""
        return tuple(self.answers) if self.answers else ("A",)

    def item(self) -> Item:
        """The run as an item.

        Raises:
            BadLine: input or output are missing, or make no question and answer.
        """
        if self.problem is not None:
            raise BadLine(f"the run {self.id!r}: {self.problem}")
        answers = self.answers or ({} if self.answer is None else {"A": self.answer})
        if self.question is None or not answers:
            which = "input" if self.question is None else "output"
            raise BadLine(f"the run {self.id!r} has no {which} in this export: export it with its texts")
        return Item(
            id=self.id,
            question=self.question,
            responses=dict(answers),
            category=self.category,
            reference=self.reference,
            label=self.label,
            models=dict(self.models) if self.models else {"A": self.model} if self.model else None,
            conversation=with_more(self.conversation, self.question),
            replies=dict(self.replies) if self.replies else None,
            metadata={name: dict(known) for name, known in self.metadata.items()} if self.metadata else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedScore:
    """One score as recorded.

    Attributes:
        id: None where the export has none; it is then made of the file's name, the row and the judge.
        run: id of the run it is about; None where it is recorded with its run.
        value: a number, a text or a boolean (a category), groups of ids (a ranking), a verdict as it is, or None.
        name: of what was scored, where it is not the judge; it is noted in ``meta``.
        error: why the judge gave no value, where the export says so.
        order: ids of the responses in the order shown; None for the run's.
        about: what scores by people of the same thing are called, where that is not ``name``; empty for none.
        place: what messages call the score; None for ``name``.
        keeps: what stays in ``meta`` where it is None.
    """

    id: str | None = None
    run: str | None = None
    judge: str
    value: Any
    comment: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    error: str | None = None
    order: tuple[str, ...] | None = None
    instruction: str | None = None
    about: str | None = None
    place: str | None = None
    keeps: tuple[str, ...] = ()

    @property
    def topic(self) -> str | None:
        """What scores by people of the same thing are called; None for none."""
        return (self.name or self.judge) if self.about is None else self.about or None


@dataclass(frozen=True, slots=True)
class AssessedRun:
    """A run, and what judges and people said of it; None in its place where people's scores name their item."""

    run: RecordedRun | None
    scores: Sequence[RecordedScore] = ()
    people: Sequence[PersonScore] = ()


def judgment_of(score: RecordedScore, run: RecordedRun, vocabulary: Vocabulary) -> Judgment:
    """A score of a run as a judgment.

    Raises:
        BadLine: a text that is no category and that no ``--map-values`` makes a grade, a run without texts.
    """
    verdict: AnyVerdict | NoVerdict
    try:
        is_read = isinstance(score.value, Pairwise | Ranking | Grade | Category)
        verdict = score.value if is_read else vocabulary.read(score.value, run.response_ids, {})
    except InfiniteValueError as error:
        raise BadLine(str(error)) from None
    except UnknownValueError as error:
        raise BadLine(f"{error}; give the grade it stands for: --map-values '{score.value}=1'") from None
    missing = None
    if isinstance(verdict, NoVerdict):
        missing = score.error or ("the score has no value" if score.value in (None, "") else verdict.reason)
    noted = score.meta if score.name is None else {"name": score.name, **score.meta}
    return Judgment(
        id=score.id or f"{run.id}/{score.judge}",
        item=run.item(),
        judge=score.judge,
        verdict=None if isinstance(verdict, NoVerdict) else verdict,
        no_verdict=missing,
        rationale=score.comment or "",
        order=score.order or (),
        instruction=score.instruction,
        meta={name: one for name, one in noted.items() if one is not None or name in score.keeps},
    )


def asked_and_answered(asked: Any, answered: Any) -> dict[str, Any]:
    """A run's input and output as the fields of a :class:`RecordedRun`; messages as :func:`exchange` reads them.

    Objects (also written as JSON text) give the first of the usual keys they have, or their only value; a chat its
    messages; anything else stays JSON.
    """
    question, answer = payload(asked, QUESTION_KEYS), payload(answered, ANSWER_KEYS)
    if question is None or answer is None:
        text = None if question is None else text_of(question)
        return {"question": text, "answer": None if answer is None else text_of(answer, answer=True)}
    try:
        found = exchange(question, {"A": answer})
    except BadLine as bad:
        return {"question": None, "answer": None, "problem": str(bad)}
    return {"question": found.question, "answer": found.answers["A"], **found.beside()}


def reference_text(value: Any) -> str | None:
    """A reference answer as text; None without one."""
    found = payload(value, ANSWER_KEYS)
    return None if found is None else text_of(found, answer=True)


def payload(value: Any, keys: Sequence[str]) -> Any:
    """The value of an input or output under the first of ``keys`` it has; of an object with one value, that one."""
    if isinstance(value, str):
        said = parsed(value) if value.lstrip().startswith(("{", "[")) else value
        return value if said is value else payload(said, keys)
    if isinstance(value, dict):
        inner = next((value[key] for key in keys if value.get(key) is not None), None)
        if inner is None and len(value) == 1:
            inner = next(iter(value.values()))
        if inner is not None:
            return payload(inner, keys)
    return value


def number_or_text(value: Any) -> float | str | None:
    """A score's value: a number, also where a CSV file has it as text; a text; None where it is empty."""
    if isinstance(value, bool | int | float):
        return float(value)
    return None if value is None or str(value).strip() == "" else str(value)


def made(row: Line) -> AssessedRun:
    """What a row of :class:`~metajudge.reading.containers.lines.RunRow` makes."""
    assert isinstance(row, RunRow)
    run: AssessedRun = row.made()
    return run


@dataclass(eq=False)
class AssessedRuns:
    """Reads rows that are runs with their assessments.

    Attributes:
        format: its name, for people.
        rows: starts anew at each call.
        run_of: reads a row; raises what :func:`~metajudge.reading.reader.attempt` reports. None where it is no run.
        values: what a score's value means, as the user says.
        separate: each name of a score makes an item of its own.
        shape: what a row is taken for, in messages; None for the format's name.
        repeats: ids may come again and then get a number behind them.
    """

    format: str
    source: Source
    rows: Callable[[], Iterable[Line | Reject]]
    run_of: Callable[[Line], AssessedRun | None] = made
    values: Mapping[str, str] = field(default_factory=dict)
    _: KW_ONLY
    separate: bool = True
    shape: str | None = None
    repeats: bool = False

    def read(self) -> Iterator[FoundJudgment | Reject | ByPeople]:
        seen, vocabulary = Counter[str](), Vocabulary(self.values, categories=True)
        for place, one in enumerate(self._assessed(), start=1):
            if isinstance(one, Reject):
                yield one
                continue
            row, found = one
            if found.run is not None:
                for score in found.scores:
                    yield self._judged(row, replace(score, id=self._id(score, place, seen)), found.run, vocabulary)
            yield from self._by_people(found, row.number)

    def targets(self) -> Iterator[Target]:
        """What every score is about; see :class:`~metajudge.reading.people.ScoredByPeople`."""
        for one in self._assessed():
            if isinstance(one, Reject):
                continue
            row, found = one
            run, ids = found.run, found.run.response_ids if found.run else ("A",)
            if run is not None:
                topics = (score.topic for score in found.scores)
                yield from (Target(run.id, topic, responses=ids) for topic in topics if topic is not None)
            for person in self._by_people(found, row.number):
                if person.score.target is not None:
                    yield Target(person.score.target, person.score.name, person, ids)

    def _judged(
        self, row: Line, score: RecordedScore, run: RecordedRun, vocabulary: Vocabulary
    ) -> FoundJudgment | Reject:
        try:
            judgment = judgment_of(score, run, vocabulary)
        except UNREADABLE as error:
            about = score.name if score.place is None else score.place
            said = why(error, self.shape or self.format)
            return self.source.reject(row.number, f"{about}: {said}" if about else said, row.raw)
        own = self.separate and score.name is None and score.about is None
        return FoundJudgment(judgment, self.source.name, row.number, None if own else score.topic)

    def _by_people(self, found: AssessedRun, number: int) -> Iterator[ByPeople]:
        for one in found.people:
            about = replace(one, target=found.run.id) if found.run else one
            yield ByPeople(about, self.source.name, number)

    def _id(self, score: RecordedScore, place: int, seen: Counter[str]) -> str:
        """A score's id: where the export has none, of the file's name, the judge and the record's place.

        The place, unlike the line, is the same in every format of a file.
        """
        name = score.id or f"{stem_of(self.source.name)}:{place}/{score.judge}"
        if score.id is None or self.repeats:
            seen[name] += 1
            name = name if seen[name] == 1 else f"{name}/{seen[name]}"
        return name

    def _assessed(self) -> Iterator[tuple[Line, AssessedRun] | Reject]:
        def read(row: Line) -> tuple[Line, AssessedRun]:
            return row, self.run_of(row) or AssessedRun(None)

        return each(self.source, self.rows(), read, self.shape or self.format)


def joined(
    format_name: str,
    tables: Sequence[Table],
    run_of: Callable[[Mapping[str, Any]], RecordedRun | None],
    scores: Table,
    score_of: Callable[[Mapping[str, Any]], RecordedScore | PersonScore | None],
    values: Mapping[str, str],
    *,
    separate: bool = False,
    shape: str | None = None,
    missing: str = "",
) -> AssessedRuns:
    """A reader of scores that name their run; the runs' texts are held in memory, the scores are streamed.

    Args:
        format_name, values, separate, shape: as for :class:`AssessedRuns`.
        tables, run_of: rows of runs, and what reads one; None for rows that are none.
        scores, score_of: rows of scores, and what reads one; None for rows that are none.
        missing: why there is no run of a name, which stands for ``{}`` in it; empty for the names of the tables.
    """
    missing = missing or "no run with id {} in " + ", ".join(table.source.name for table in tables)

    @cache
    def recorded() -> tuple[dict[str, RecordedRun], list[Reject]]:
        """The runs by their names, and what could not be read of them."""
        rows = [each(one.source, one.rows(), lambda row: run_of(row.data), "a run") for one in tables]
        found, rejects = split(chain.from_iterable(rows))
        runs = [(name, run) for run in found if run is not None for name in (run.id, *run.aliases)]
        return dict(reversed(runs)), rejects

    def assessed(row: Line) -> AssessedRun | None:
        score, known = score_of(row.data), recorded()[0]
        if score is None:
            return None
        if isinstance(score, PersonScore):
            run = known.get(score.target or "")
            return AssessedRun(None, (), [replace(score, target=run.id) if run else score])
        if (score.run or "") not in known:
            raise BadLine(missing.replace("{}", repr(score.run)) if score.run else "the score names no run")
        return AssessedRun(known[score.run or ""], [replace(score, place="")])

    def rows() -> Iterator[Line | Reject]:
        yield from recorded()[1]
        yield from scores.rows()

    shape = shape or f"a score in {format_name}"
    return AssessedRuns(format_name, scores.source, rows, assessed, values, separate=separate, shape=shape)
