"""Runs of a tool, what was said of them, and how a score of a run becomes a judgment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

from metajudge.readers.cells import parsed
from metajudge.readers.conversations import exchange, messages, text_of
from metajudge.readers.lines import BadLine
from metajudge.readers.people import PersonScore
from metajudge.readers.stated_scores import StatedScore, is_program, reason_text
from metajudge.readers.vocabulary import InfiniteValueError, NoVerdict, UnknownValueError, Vocabulary
from metajudge.types import AnyVerdict, Category, Grade, Item, Judgment, Message, Pairwise, Ranking

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
    """A run, and what was said of it.

    Attributes:
        run: question and answers; None where there are only scores by people, which name their item.
        scores: by judges.
        people: scores by people.
    """

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
        instruction=score.instruction,
        meta={name: one for name, one in {**named, **score.meta}.items() if one is not None or name in score.keeps},
    )


def score_in_column(
    name: str, score: StatedScore, model: str | None = None, meta: Mapping[str, Any] | None = None
) -> RecordedScore:
    """A metric in a column of a row; its judge is the metric, after its model.

    Args:
        name: of the metric.
        score: as stated.
        model: that gave it where the score names none; a program's metric has none.
        meta: what else is noted of it.
    """
    code = is_program(name)
    by = score.judge or (None if code else model)
    return RecordedScore(
        judge=name if by is None else f"{by}/{name}",
        value=score.value,
        comment=reason_text(score.reason),
        meta={"source": "CODE" if code else None, "judge_model": by, **(meta or {})},
        name=name,
        error=score.error,
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
