"""Scores of an observability tool, joined with the runs they are about.

The runs' texts are held in memory, the scores are streamed. Scores by people are labels of the judges' scores of the
same run (:mod:`metajudge.readers.people`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NotRequired, TypedDict

from metajudge.readers.cells import parsed
from metajudge.readers.conversations import exchange, messages, text_of
from metajudge.readers.lines import BadLine, Line, Reject, Source
from metajudge.readers.people import ByPeople, PersonScore, Target
from metajudge.readers.reader import UNREADABLE, FoundJudgment, LineReader, each
from metajudge.readers.tables import Table
from metajudge.readers.vocabulary import InfiniteValueError, NoVerdict, UnknownValueError, Vocabulary
from metajudge.types import AnyVerdict, Item, Judgment, Message

QUESTION_KEYS = ("question", "input", "query", "prompt", "messages", "text")
ANSWER_KEYS = ("output", "answer", "response", "completion", "content", "messages", "text", "result")


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """Question and answer; None if missing in the export.

    Attributes:
        id: scores name it by this, or by one of ``aliases``.
        problem: why its messages make no question and answer; None where they do.
        answers: several answers by their ids, in place of ``answer``.
        models: who wrote them, by the same ids, in place of ``model``.
        label: what is right, where the benchmark itself says so.
        conversation: the messages that the question contains, as (role, text).
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
    conversation: tuple[tuple[str, str], ...] = ()

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
            conversation=tuple(Message(role=role, content=text) for role, text in self.conversation),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedScore:
    """One score as recorded.

    Attributes:
        id: None where the export has none; it is then made of the file's name, the row and the judge.
        run: id of the run it is about; None where it is recorded with its run.
        value: a number, a text or a boolean (a category), groups of ids (a ranking), or None.
        name: of what was scored, where it is not the judge.
        error: why the judge gave no value, where the export says so.
        order: ids of the responses in the order shown; None for the run's.
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


class ScoredRuns:
    """Reads scores that name their run.

    Args:
        format_name: for people.
        runs: tables of runs.
        source: of the scores.
        rows: of the scores; starts anew at each call.
        run_of: reads a row of a run; None for rows that are none.
        score_of: reads a row of a score, by an evaluator or by a person; None for rows that are neither.
        values: category -> grade, as the user says.
        separate: each name of a score makes an item of its own.
        shape: what a row of a score is taken for; None for one of the format.
    """

    def __init__(
        self,
        format_name: str,
        runs: Sequence[Table],
        source: Source,
        rows: Callable[[], Iterable[Line | Reject]],
        run_of: Callable[[Mapping[str, Any]], RecordedRun | None],
        score_of: Callable[[Mapping[str, Any]], RecordedScore | PersonScore | None],
        values: Mapping[str, str],
        *,
        separate: bool = False,
        shape: str | None = None,
    ) -> None:
        self.separate = separate
        self._shape = shape or f"a score in {format_name}"
        self.format = format_name
        self._runs = runs
        self.source = source
        self._rows = rows
        self._run_of = run_of
        self._score_of = score_of
        self._vocabulary = Vocabulary(values, categories=True)
        self._loaded: tuple[dict[str, RecordedRun], list[Reject]] | None = None

    def read(self) -> Iterator[FoundJudgment | Reject | ByPeople]:
        runs, rejects = self._recorded()
        yield from rejects

        def made(row: Line) -> list[Judgment | PersonScore]:
            score = self._score_of(row.data)
            if score is None:
                return []
            if isinstance(score, PersonScore):
                return [replace(score, target=_resolved(score.target, runs))]
            run = runs.get(score.run or "")
            if run is None:
                raise BadLine(self._without_run(score.run))
            return [judgment_of(score, run, self._vocabulary)]

        yield from LineReader(
            self.format, self.source, self._rows, made, self._shape, lambda _, one: one.meta.get("name", one.judge)
        ).read()

    def _without_run(self, name: str | None) -> str:
        names = ", ".join(table.source.name for table in self._runs)
        return f"no run with id {name!r} in {names}" if name else "the score names no run"

    def targets(self) -> Iterator[Target]:
        """What every score is about; see :class:`~metajudge.readers.people.ScoredByPeople`."""
        runs = self._recorded()[0]
        for row in self._rows():
            try:
                score = None if isinstance(row, Reject) else self._score_of(row.data)
            except UNREADABLE:
                continue
            if isinstance(row, Reject) or score is None:
                continue
            if isinstance(score, RecordedScore):
                if score.run in runs:
                    yield Target(runs[score.run].id, score.name or score.judge)
                continue
            target = _resolved(score.target, runs)
            if target is not None:
                yield Target(target, score.name, ByPeople(replace(score, target=target), self.source.name, row.number))

    def _recorded(self) -> tuple[dict[str, RecordedRun], list[Reject]]:
        """The runs by their names, and what could not be read of them; read once."""
        if self._loaded is None:
            runs: dict[str, RecordedRun] = {}
            rejects: list[Reject] = []
            for table in self._runs:
                for found in each(table.source, table.rows(), lambda row: self._run_of(row.data), "a run"):
                    if isinstance(found, Reject):
                        rejects.append(found)
                    elif (run := found[1]) is not None:
                        for name in (run.id, *run.aliases):
                            runs.setdefault(name, run)
            self._loaded = runs, rejects
        return self._loaded


def _resolved(target: str | None, runs: Mapping[str, RecordedRun]) -> str | None:
    """The id of a run by any of its names; the name itself where no such run is there."""
    return target if target is None or target not in runs else runs[target].id


def judgment_of(score: RecordedScore, run: RecordedRun, vocabulary: Vocabulary) -> Judgment:
    """A score of a run as a judgment.

    Raises:
        BadLine: a text that is no category and that no ``--map-values`` makes a grade, a run without texts.
    """
    verdict: AnyVerdict | NoVerdict
    try:
        verdict = vocabulary.read(score.value, run.response_ids, {})
    except InfiniteValueError as error:
        raise BadLine(str(error)) from None
    except UnknownValueError as error:
        raise BadLine(f"{error}; give the grade it stands for: --map-values '{score.value}=1'") from None
    why = None
    if isinstance(verdict, NoVerdict):
        why = score.error or ("the score has no value" if score.value in (None, "") else verdict.reason)
    named = {} if score.name is None else {"name": score.name}
    return Judgment(
        id=score.id or f"{run.id}/{score.judge}",
        item=run.item(),
        judge=score.judge,
        verdict=None if isinstance(verdict, NoVerdict) else verdict,
        no_verdict=why,
        rationale=score.comment or "",
        order=score.order or (),
        meta={name: value for name, value in {**named, **score.meta}.items() if value is not None},
    )


class RunTexts(TypedDict):
    """Fields of a :class:`RecordedRun`."""

    question: str | None
    answer: str | None
    problem: NotRequired[str]
    conversation: NotRequired[tuple[tuple[str, str], ...]]


def asked_and_answered(asked: Any, answered: Any) -> RunTexts:
    """A run's input and output as the fields of a :class:`RecordedRun`; messages as :func:`exchange` reads them.

    Objects (also written as JSON text) give the first of the usual keys they have, or their only value; a chat its
    messages; anything else stays JSON.
    """
    question, answer = payload(asked, QUESTION_KEYS), payload(answered, ANSWER_KEYS)
    if question is None or answer is None:
        return {
            "question": None if question is None else text_of(question),
            "answer": None if answer is None else text_of(answer, answer=True),
        }
    try:
        text, answers = exchange(question, {"A": answer})
        spoken = messages(question, {"A": answer})
    except BadLine as bad:
        return {"question": None, "answer": None, "problem": str(bad)}
    return {"question": text, "answer": answers["A"], "conversation": spoken}


def reference_text(value: Any) -> str | None:
    """A reference answer as text; None without one."""
    found = payload(value, ANSWER_KEYS)
    return None if found is None else text_of(found, answer=True)


def payload(value: Any, keys: Sequence[str]) -> Any:
    """The value of an input or output under the first of ``keys`` it has; of an object with one value, that one."""
    if isinstance(value, str):
        if not value.lstrip().startswith(("{", "[")):
            return value
        said = parsed(value)
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
