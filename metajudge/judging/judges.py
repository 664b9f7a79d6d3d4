"""Judges: one model compares two responses in an order, grades one from 1 to 10, or ranks all of them, blind."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from metajudge.agents import ReplyProblemsError
from metajudge.agents.exchange import Answer, ask
from metajudge.agents.parse import load_object, name_problems, shortened
from metajudge.agents.schema import object_schema
from metajudge.concurrency import off_the_loop
from metajudge.errors import FailureKind
from metajudge.judging.blinding import Blinding, BlindingReport, blind, unblind
from metajudge.judging.criteria import Criterion, shown_criteria
from metajudge.judging.ranking_replies import RankingReply, Score, parse_ranking_reply, ranking_schema
from metajudge.prompts.judges import (
    LABELS,
    RANKING,
    opens_with_analysis,
    render_grading,
    render_grading_system,
    render_pairwise,
    render_pairwise_system,
    render_ranking,
    render_ranking_system,
)
from metajudge.prompts.reply_form import MAX_ANALYSIS_WORDS
from metajudge.prompts.templates import prompts_digest
from metajudge.prompts.versions import FIRST, hides_always
from metajudge.providers.model import Message, Model, ModelRequest, OutputSchema, Parameters
from metajudge.types import Failure, Grade, Item, Pairwise, Ranking, parse_verdict
from metajudge.types.spent import TimedSpent

V = TypeVar("V")


MARKS = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
"""The five verdicts, in terms of the labels shown."""


def reasoned_schema(name: str, verdict: str, kind: dict[str, Any]) -> OutputSchema:
    """A reply of reasoning and a verdict. Reasoning first: constrained decoding writes properties in this order."""
    return OutputSchema(name, object_schema({"reasoning": {"type": "string"}, verdict: kind}))


SCHEMA = reasoned_schema("pairwise_judgment", "verdict", {"type": "string", "enum": list(MARKS)})

_STATED = re.compile(r"(?:\"verdict\"\s*:\s*\"|\[\[)\s*([AB]\s*(?:>>|>|=)\s*[AB])\s*(?:\"|\]\])")


@dataclass(frozen=True, slots=True)
class Reasoned(Generic[V]):
    """A judge's reasoning, and its verdict: a mark in terms of the labels shown, or a grade."""

    reasoning: str
    verdict: V


def parse_pairwise_reply(text: str) -> Reasoned[str]:
    """Reads ``{"reasoning": string, "verdict": one of the five marks}`` and nothing else.

    A code fence around the object and a leading ``<think>`` block are tolerated.

    Raises:
        ReplyProblemsError: with every problem found.
    """
    expected = f"verdict must be one of {', '.join(MARKS)}, not"
    return read_reasoned(text, "verdict", lambda mark: None if mark in MARKS else f"{expected} {shortened(mark)}")


def read_reasoned(text: str, verdict: str, fault_of: Callable[[Any], str | None]) -> Reasoned[Any]:
    """The reasoning and the verdict of a reply with exactly these two properties.

    Args:
        fault_of: what is wrong with its value; None for a good one.

    Raises:
        ReplyProblemsError: with every problem found.
    """
    answer = load_object(text)
    problems = name_problems(answer, ("reasoning", verdict))
    if not isinstance(answer.get("reasoning", ""), str):
        problems.append("reasoning must be a string")
    fault = fault_of(answer[verdict]) if verdict in answer else None
    problems += [fault] if fault else []
    if problems:
        raise ReplyProblemsError(problems)
    return Reasoned(answer["reasoning"], answer[verdict])


def stated_marks(text: str) -> Sequence[str]:
    """The different verdicts a text states as a property or in double brackets, in order of appearance."""
    return list(dict.fromkeys(re.sub(r"\s", "", mark) for mark in _STATED.findall(text)))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRecord:
    """What one judge answered to one question, or why it did not.

    Attributes:
        replied: whether the judge replied at all, even with a refusal or an unusable reply; False where it could
            not be asked, so that asking again later may help.
        text: the judge's reasoning, or its whole reply where that could not be read.
        replies: 2 where the first reply had to be repaired.
        cost_usd: of these replies, whether they came from the store or not; None where unknown.
    """

    judge: str
    model: str
    failure: Failure | None = None
    replied: bool = True
    text: str = ""
    instruction: str = ""
    replies: int = 0
    cost_usd: float | None = 0.0
    spent: TimedSpent = field(default_factory=TimedSpent)
    request_digest: str | None = None
    reported_model: str | None = None
    parameters: Parameters = field(default_factory=Parameters)
    prompt_version: int = FIRST

    @property
    def no_verdict(self) -> str | None:
        """Why the judge, although it answered, gave no verdict."""
        return self.failure.message if self.failure is not None and self.replied else None


def reply_fields(judge: str, model: Model, request: ModelRequest, answer: Answer[Any]) -> dict[str, Any]:
    """The fields of a :class:`JudgeRecord`; a subclass adds its own."""
    return {
        "judge": judge,
        "model": model.name,
        "failure": answer.failure,
        "replied": answer.replied,
        "text": answer.text,
        "instruction": request.system,
        "replies": answer.replies,
        "cost_usd": answer.cost_usd,
        "spent": answer.spent,
        "request_digest": answer.key,
        "reported_model": answer.reported_model,
        "parameters": request.parameters,
    }


@dataclass(frozen=True, slots=True)
class ItemJudge:
    """A model that judges the responses of an item.

    Attributes:
        hide_identities: whether names that reveal the author of a response are hidden. The first two prompt sets hide
            them only where the item names its models.
    """

    name: str
    model: Model
    parameters: Parameters = field(default_factory=Parameters)
    with_reference: bool = False
    hide_identities: bool = True
    prompt_version: int = FIRST

    def shown(self, item: Item) -> tuple[Item, BlindingReport]:
        """An item as this judge reads it, and what was hidden in it."""
        if not self.hide_identities or not (item.models or hides_always(self.prompt_version)):
            return item, BlindingReport(hiding=self.hide_identities)
        from metajudge.judging.identity import hide_identities  # its patterns take a while to compile

        found = hide_identities(item.responses, question=item.question, models=(item.models or {}).values())
        shown = item.model_copy(update={"responses": found.shown}) if found.report.hidden else item
        return shown, found.report

    async def _ask(
        self, item: Item, request_of: Callable[[Item], ModelRequest], read: Callable[[str], Reasoned[V]], retry: bool
    ) -> tuple[Answer[Reasoned[V]], dict[str, Any]]:
        """The judge's answer about an item, and the fields of its record.

        Raises:
            BudgetExceeded: the run's budget is spent.
        """
        shown, blinding = await off_the_loop(partial(self.shown, item), item.characters)
        request = await off_the_loop(lambda: request_of(shown), shown.characters)
        answer = await ask(self.model, request, read, asked=self.name, retry=retry, prompt_version=self.prompt_version)
        fields = reply_fields(self.name, self.model, request, answer)
        fields |= {"item": item, "blinding": blinding, "prompt_version": self.prompt_version}
        return answer, fields if answer.value is None else fields | {"text": answer.value.reasoning}


Order = tuple[str, str]
Orders = Literal["both", "given"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Game(JudgeRecord):
    """One comparison by one judge in one order.

    Attributes:
        order: response ids in the order shown: the first was called A.
        verdict: in terms of response ids; a tie names them in the item's order.
    """

    item: Item
    order: Order
    verdict: Pairwise | None = None
    blinding: BlindingReport = field(default_factory=BlindingReport)


@dataclass(frozen=True, slots=True)
class PairwiseJudge(ItemJudge):
    """A model that compares two responses; in the manner of Arena-Hard, see :mod:`metajudge.prompts.judges`."""

    async def compare(self, item: Item, order: Order, *, retry: bool = False) -> Game:
        """Judges a pair in one order; a model's failure ends in the game, typed.

        Args:
            retry: an earlier attempt ended without a verdict: an unusable stored reply is requested again.

        Raises:
            BudgetExceeded: the run's budget is spent.
        """
        answer, fields = await self._ask(item, lambda shown: self._request(shown, order), parse_pairwise_reply, retry)
        fields["failure"] = _explained(answer.failure, answer.text)
        verdict = None
        if answer.value is not None:  # in terms of the labels shown
            shown = parse_verdict(answer.value.verdict)
            assert isinstance(shown, Pairwise)
            verdict = shown.relabelled(dict(zip(LABELS, order, strict=True)))
            verdict = Pairwise(*orders_of(item, "given", order)[0], 0) if verdict.is_tie else verdict
        return Game(order=order, verdict=verdict, **fields)

    def request(self, item: Item, order: Order) -> ModelRequest:
        """The first request :meth:`compare` sends: the same bytes for the same question, texts and order."""
        return self._request(self.shown(item)[0], order)

    def _request(self, item: Item, order: Order) -> ModelRequest:
        version = self.prompt_version
        text = render_pairwise(item, order, with_reference=self.with_reference, version=version)
        return ModelRequest(render_pairwise_system(version), (Message("user", text),), SCHEMA, self.parameters)


def orders_of(item: Item, orders: Orders = "both", pair: Order | None = None) -> tuple[Order, ...]:
    """The orders in which a pair is shown: in the item's order, and swapped.

    Args:
        pair: which two of the item's responses, in any order; needed where it has more than two.
    """
    first, second = (name for name in item.responses if pair is None or name in pair)
    return ((first, second),) if orders == "given" else ((first, second), (second, first))


def _explained(failure: Failure | None, text: str) -> Failure | None:
    """A failure with what the unreadable reply seems to say; no verdict is taken from it."""
    if failure is None or failure.kind is not FailureKind.BAD_REPLY:
        return failure
    marks = stated_marks(text)
    if len(marks) == 1:
        return failure
    reading = f"gave several different verdicts ({', '.join(marks)}, as shown)" if marks else "gave no verdict"
    return Failure(kind=failure.kind, message=f"the judge {reading}: {failure.message}")


GRADES = tuple(range(1, 11))
"""The scale: 10 is best."""

GRADING_SCHEMA = reasoned_schema("grading", "grade", {"type": "integer", "enum": list(GRADES)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading(JudgeRecord):
    """One grade by one judge."""

    item: Item
    order: tuple[str]
    verdict: Grade | None = None
    blinding: BlindingReport = field(default_factory=BlindingReport)


@dataclass(frozen=True, slots=True)
class GradingJudge(ItemJudge):
    """A model that grades single responses."""

    async def grade(self, item: Item, response: str, *, retry: bool = False) -> Grading:
        """Grades one response; a model's failure ends in the result, typed.

        Args:
            retry: an earlier attempt failed: an unusable stored reply is requested again.

        Raises:
            BudgetExceeded: the run's budget is spent.
        """
        answer, fields = await self._ask(item, lambda shown: self._request(shown, response), parse_grading_reply, retry)
        verdict = None if answer.value is None else Grade(float(answer.value.verdict))
        return Grading(order=(response,), verdict=verdict, **fields)

    def request(self, item: Item, response: str) -> ModelRequest:
        """The first request :meth:`grade` sends: the same bytes for the same question and text."""
        return self._request(self.shown(item)[0], response)

    def _request(self, item: Item, response: str) -> ModelRequest:
        version = self.prompt_version
        text = render_grading(item, response, with_reference=self.with_reference, version=version)
        return ModelRequest(render_grading_system(version), (Message("user", text),), GRADING_SCHEMA, self.parameters)


def parse_grading_reply(text: str) -> Reasoned[float]:
    """Reads ``{"reasoning": string, "grade": 1 to 10}`` and nothing else; ``"7"`` and 7.5 are no grades.

    Raises:
        ReplyProblemsError: with every problem found.
    """

    def fault(grade: Any) -> str | None:
        if isinstance(grade, bool) or not isinstance(grade, int | float) or grade not in GRADES:
            return f"grade must be a whole number from 1 to 10, not {shortened(grade)}"
        return None

    return read_reasoned(text, "grade", fault)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRanking(JudgeRecord):
    """One judge's ranking, or the failure that explains its absence.

    Attributes:
        blinding: the labels this judge saw.
        ranking: in terms of candidates; None with a ``failure``.
        scores: candidate -> criterion's key -> grade; empty where no criteria were given.
    """

    blinding: Blinding
    ranking: Ranking | None = None
    scores: Mapping[str, Mapping[str, Score]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingForm:
    """How a judge is asked to rank, besides what about.

    Attributes:
        ties: whether responses may share a place. By default they may not.
        draw: index of the sample; two draws of one request are two calls.
        analysis_words: how long the analysis that a reply opens with may be.
        compact: keep the schema short where there are many responses, see
            :func:`~metajudge.judging.ranking_replies.ranking_schema`.
    """

    ties: bool = False
    reference: str | None = None
    parameters: Parameters = field(default_factory=Parameters)
    draw: int = 0
    prompt_version: int = FIRST
    analysis_words: int = MAX_ANALYSIS_WORDS
    compact: bool = False


async def rank_responses(
    model: Model,
    question: str,
    responses: Mapping[str, str],
    form: RankingForm = RankingForm(),
    *,
    judge: str,
    seed: int,
    evaluation: str,
    criteria: Sequence[Criterion] = (),
    retry: bool = False,
) -> JudgeRanking:
    """Has a judge rank responses under labels drawn for it; whatever goes wrong ends in the result, typed.

    The ranking must name every label once. One that does not (a label missing, twice, unknown; no JSON) is asked to be
    repaired once, and is a failure then: it is never completed or mended here.

    Args:
        responses: candidate -> text, which may be empty. Their order plays no part.
        judge: what the judge is called in records; the labels are drawn for it.
        seed, evaluation: what the labels are drawn from besides, see :func:`~metajudge.judging.blinding.blind`.
        criteria: what every response is scored on, 1 to 5; none for a ranking alone.
        retry: an earlier attempt failed: an unusable stored reply is requested again.

    Raises:
        BudgetExceeded: the run's budget is spent.
        InputError: no responses.
    """
    blinding = blind(responses, seed=seed, evaluation=evaluation, judge=judge)
    made = partial(ranking_request, question, responses, blinding, criteria, form)
    request = await off_the_loop(made, sum(map(len, (question, form.reference or "", *responses.values()))))
    keys = tuple(criterion.key for criterion in criteria)
    labels, version = blinding.labels, form.prompt_version

    def read(text: str) -> RankingReply:
        return parse_ranking_reply(text, labels, keys, ties=form.ties, analysis=opens_with_analysis(version))

    answer = await ask(model, request, read, asked=judge, retry=retry, prompt_version=version)
    result = JudgeRanking(blinding=blinding, **reply_fields(judge, model, request, answer))
    if answer.value is None:
        return result
    reply, names = answer.value, blinding.label_map
    scores = {names[label]: reply.scores[label] for label in labels if label in reply.scores}
    return replace(result, ranking=unblind(blinding, reply.groups), scores=scores, text=reply.reasons)


def ranking_request(
    question: str,
    responses: Mapping[str, str],
    blinding: Blinding,
    criteria: Sequence[Criterion] = (),
    form: RankingForm = RankingForm(),
) -> ModelRequest:
    """The first request :func:`rank_responses` sends: the same bytes for the same texts and labels."""
    shown = {label: responses[name] for label, name in blinding.label_map.items()}
    ties, version, words = form.ties, form.prompt_version, form.analysis_words
    text = render_ranking(question, shown, shown_criteria(criteria), reference=form.reference, version=version)
    keys, analysis = tuple(criterion.key for criterion in criteria), opens_with_analysis(version)
    return ModelRequest(
        render_ranking_system(scored=bool(criteria), ties=ties, version=version, analysis_words=words),
        (Message("user", text),),
        ranking_schema(len(shown), keys, ties=ties, compact=form.compact, analysis=analysis),
        form.parameters,
        form.draw,
    )


def templates_digest(version: int = FIRST) -> str:
    """Digest of the prompt templates of ranking."""
    return prompts_digest(*RANKING, version=version)
