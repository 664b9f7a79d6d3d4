"""What all judges of items share: the record of a reply, and the hiding of identities before it is asked for."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from metajudge.agents.exchange import Answer, ask
from metajudge.concurrency import off_the_loop
from metajudge.judging.blinding_report import BlindingReport
from metajudge.prompts.versions import FIRST
from metajudge.providers.model import Model, ModelRequest, Parameters
from metajudge.types import Failure, Item
from metajudge.types.spent import TimedSpent


class Reasoned(Protocol):
    """A reply that was read, with the judge's reasoning."""

    @property
    def reasoning(self) -> str: ...


R = TypeVar("R", bound=Reasoned)


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
        hide_identities: whether names that reveal the author of a response are hidden where the item names its models.
    """

    name: str
    model: Model
    parameters: Parameters = field(default_factory=Parameters)
    with_reference: bool = False
    hide_identities: bool = True
    prompt_version: int = FIRST

    async def _ask(
        self, item: Item, request_of: Callable[[Item], ModelRequest], read: Callable[[str], R], retry: bool
    ) -> tuple[Answer[R], dict[str, Any]]:
        """The judge's answer about an item, and the fields of its record.

        Raises:
            BudgetExceeded: the run's budget is spent.
        """
        shown, blinding = item, BlindingReport(hiding=self.hide_identities)
        if self.hide_identities and item.models:
            from metajudge.judging.identity import blinded_item  # its patterns take a while to compile

            shown, blinding = await blinded_item(item)
        request = await off_the_loop(lambda: request_of(shown), shown.characters)
        answer = await ask(self.model, request, read, asked=self.name, retry=retry, prompt_version=self.prompt_version)
        fields = reply_fields(self.name, self.model, request, answer)
        fields |= {"item": item, "blinding": blinding, "prompt_version": self.prompt_version}
        return answer, fields if answer.value is None else fields | {"text": answer.value.reasoning}
