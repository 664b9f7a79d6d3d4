"""A pairwise judge: one model compares two responses in one order, blind to who wrote them."""

from dataclasses import dataclass, field
from typing import Literal

from metajudge.errors import FailureKind
from metajudge.judging.blinding_report import BlindingReport
from metajudge.judging.item_judge import ItemJudge, JudgeRecord
from metajudge.judging.replies import SCHEMA, PairwiseReply, parse_pairwise_reply, stated_marks
from metajudge.prompts.judge import LABELS, render_pairwise, render_pairwise_system
from metajudge.providers.model import Message, ModelRequest
from metajudge.types import Failure, Item, Pairwise, parse_verdict

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
    """A model that compares two responses; in the manner of Arena-Hard, see :mod:`metajudge.prompts.judge`."""

    async def compare(self, item: Item, order: Order, *, retry: bool = False) -> Game:
        """Judges a pair in one order; a model's failure ends in the game, typed.

        Args:
            retry: an earlier attempt ended without a verdict: an unusable stored reply is requested again.

        Raises:
            BudgetExceeded: the run's budget is spent.
        """
        answer, fields = await self._ask(item, lambda shown: self.request(shown, order), parse_pairwise_reply, retry)
        fields["failure"] = _explained(answer.failure, answer.text)
        verdict = None if answer.value is None else _turned_back(answer.value, item, order)
        return Game(order=order, verdict=verdict, **fields)

    def request(self, item: Item, order: Order) -> ModelRequest:
        """The first request :meth:`compare` sends: the same bytes for the same question, texts and order."""
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
    reading = f"gave several different verdicts ({', '.join(marks)}, as shown)" if marks else "gave no verdict"
    return Failure(kind=failure.kind, message=f"the judge {reading}: {failure.message}")
