"""A pairwise judge: one model compares two responses in one order, blind to who wrote them."""

from dataclasses import dataclass, field, replace
from typing import Literal

from metajudge.agents.exchange import Spent, ask
from metajudge.errors import FailureKind
from metajudge.judging.blinding_report import BlindingReport
from metajudge.judging.replies import SCHEMA, PairwiseReply, parse_pairwise_reply, stated_marks
from metajudge.prompts.judge import LABELS, TEMPLATES, render_pairwise, render_pairwise_system
from metajudge.prompts.templates import prompts_digest
from metajudge.providers.model import Message, Model, ModelRequest, Parameters
from metajudge.types import Failure, Item, Pairwise, parse_verdict

Order = tuple[str, str]
Orders = Literal["both", "given"]


@dataclass(frozen=True, slots=True)
class Game:
    """One comparison by one judge in one order.

    Attributes:
        order: response ids in the order shown: the first was called A.
        verdict: in terms of response ids; a tie names them in the item's order.
        failure: why there is no verdict.
        replied: whether the judge gave an answer of its own, be it a refusal or of no use; False where it could
            not be asked, so that asking again later may help.
        text: the judge's reasoning, or its whole reply where that could not be read.
        replies: 2 where the first reply had to be repaired.
        cost_usd: of the replies this game rests on, whether they came from the store or not; None where unknown.
    """

    item: Item
    judge: str
    model: str
    order: Order
    verdict: Pairwise | None = None
    failure: Failure | None = None
    replied: bool = True
    text: str = ""
    instruction: str = ""
    replies: int = 0
    cost_usd: float | None = 0.0
    spent: Spent = field(default_factory=Spent)
    request_digest: str | None = None
    reported_model: str | None = None
    parameters: Parameters = field(default_factory=Parameters)
    blinding: BlindingReport = field(default_factory=BlindingReport)

    @property
    def no_verdict(self) -> str | None:
        """Why the judge, although it answered, gave no verdict."""
        return self.failure.message if self.failure is not None and self.replied else None


@dataclass(frozen=True, slots=True)
class PairwiseJudge:
    """A model that compares two responses; in the manner of Arena-Hard, see :mod:`metajudge.prompts.judge`.

    Attributes:
        name: what the judge is called in records.
        with_reference: whether it sees an item's reference answer.
        hide_identities: whether names that tell who wrote a response are hidden where the item names its models.
    """

    name: str
    model: Model
    parameters: Parameters = field(default_factory=Parameters)
    with_reference: bool = False
    hide_identities: bool = True

    async def compare(self, item: Item, order: Order, *, retry: bool = False) -> Game:
        """Judges a pair in one order; a model's failure ends in the game, typed.

        Args:
            retry: an earlier attempt ended without a verdict: a stored reply that is of no use is asked for anew.

        Raises:
            BudgetExceeded: the run's budget is spent.
        """
        shown, blinding = item, BlindingReport(hiding=self.hide_identities)
        if self.hide_identities and item.models:
            from metajudge.judging.identity import blinded_item  # its patterns take a while to compile

            shown, blinding = await blinded_item(item)
        request = self.request(shown, order)
        answer = await ask(self.model, request, parse_pairwise_reply, asked=self.name, retry=retry)
        game = Game(
            item=item,
            judge=self.name,
            model=self.model.name,
            order=order,
            failure=_explained(answer.failure, answer.text),
            replied=answer.replied,
            text=answer.text,
            instruction=request.system,
            replies=answer.replies,
            cost_usd=answer.cost_usd,
            spent=answer.spent,
            request_digest=answer.key,
            reported_model=answer.reported_model,
            parameters=self.parameters,
            blinding=blinding,
        )
        if answer.value is None:
            return game
        return replace(game, verdict=_turned_back(answer.value, item, order), text=answer.value.reasoning)

    def request(self, item: Item, order: Order) -> ModelRequest:
        """The first request :meth:`compare` sends: the same bytes for the same question, texts and order."""
        text = render_pairwise(item, order, with_reference=self.with_reference)
        return ModelRequest(render_pairwise_system(), (Message("user", text),), SCHEMA, self.parameters)


def orders_of(item: Item, orders: Orders = "both", pair: Order | None = None) -> tuple[Order, ...]:
    """The orders in which a pair is shown: as the item holds the responses, and swapped.

    Args:
        pair: which two of the item's responses, in any order; needed where it has more than two.
    """
    first, second = (name for name in item.responses if pair is None or name in pair)
    return ((first, second),) if orders == "given" else ((first, second), (second, first))


def templates_digest() -> str:
    """Digest of the prompt templates of pairwise judging."""
    return prompts_digest(*TEMPLATES)


def _turned_back(reply: PairwiseReply, item: Item, order: Order) -> Pairwise:
    """A mark in terms of the labels shown, in terms of response ids."""
    shown = parse_verdict(reply.mark)
    assert isinstance(shown, Pairwise)
    verdict = shown.relabelled(dict(zip(LABELS, order, strict=True)))
    return Pairwise(*orders_of(item, "given", order)[0], 0) if verdict.is_tie else verdict


def _explained(failure: Failure | None, text: str) -> Failure | None:
    """A failure with what the unreadable reply seems to say; no verdict is taken from it."""
    if failure is None or failure.kind is not FailureKind.BAD_REPLY:
        return failure
    marks = stated_marks(text)
    if len(marks) == 1:
        return failure
    said = f"gave several different verdicts ({', '.join(marks)}, as shown)" if marks else "gave no verdict"
    return Failure(kind=failure.kind, message=f"the judge {said}: {failure.message}")
