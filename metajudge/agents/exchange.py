"""One question to a model: ask, read the answer, ask for one repair, else say why there is no answer."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, TypeVar

from metajudge.agents.parse import ReplyProblemsError
from metajudge.concurrency import off_the_loop
from metajudge.errors import FailureKind, ProviderError
from metajudge.prompts.fences import neutralise
from metajudge.prompts.meta_judge import render_repair
from metajudge.prompts.versions import FIRST
from metajudge.providers.model import Message, Model, ModelRequest
from metajudge.providers.wrapper import CallAttempt
from metajudge.types import Failure, Reply
from metajudge.types.spent import TimedSpent, spent_on, sum_if_known

T = TypeVar("T")


@dataclass(slots=True)
class Answer(Generic[T]):
    """How an exchange ended: with a value, or with a failure.

    Attributes:
        replied: whether the model answered, even with a refusal or an unusable text; False where it could
            not be asked, so that asking again later may help.
        replies: how many replies were needed or tried: 2 where the first one had to be repaired.
        cost_usd: what those replies cost when they were first given; None where unknown. Unlike ``spent``,
            the same whether they came from the store or not.
        last: the last reply; None where none came.
        text: its text, as it came.
        key: digest of the first request.
    """

    key: str
    value: T | None = None
    failure: Failure | None = None
    replied: bool = True
    replies: int = 0
    cost_usd: float | None = 0.0
    last: Reply | None = None
    spent: TimedSpent = field(default_factory=TimedSpent)

    @property
    def text(self) -> str:
        return "" if self.last is None else self.last.text

    @property
    def reported_model(self) -> str | None:
        return None if self.last is None else self.last.model


async def ask(
    model: Model,
    request: ModelRequest,
    read: Callable[[str], T],
    *,
    asked: str,
    retry: bool = False,
    repair: bool = True,
    prompt_version: int = FIRST,
) -> Answer[T]:
    """Asks once, and once more where the reply cannot be read.

    Args:
        read: from a reply's text to a value; raises :class:`~metajudge.agents.ReplyProblemsError`.
        retry: an earlier attempt failed: a stored reply that cannot be used is asked for anew.
        repair: whether a reply that cannot be read is asked to be corrected.
        prompt_version: of the prompt set that the request to correct it is taken from.

    Raises:
        BudgetExceeded: the run's budget is spent.
    """
    length = sum(len(one.text) for one in request.messages)
    first = await off_the_loop(partial(CallAttempt.of, model, request), length)
    exchange = _Exchange(model, read, retry, Answer[T](first.key))
    answer = exchange.answer
    try:
        try:
            answer.value = await exchange.attempt(first)
        except ReplyProblemsError as found:
            if not repair:
                raise
            answer.value = await exchange.attempt(_repair(first, answer.text, found.problems, prompt_version))
    except ReplyProblemsError as found:
        answer.failure = _unusable(answer.last, found, asked, request.parameters.max_tokens, answer.replies)
    except _Refusal as refusal:
        answer.failure = Failure(kind=FailureKind.REFUSED, message=f"{asked} declined to answer: {refusal}")
    except ProviderError as error:
        answer.spent += spent_on(error)
        answer.failure = Failure(kind=error.kind, message=str(error))
        answer.replied = error.kind is FailureKind.REFUSED
    return answer


@dataclass(slots=True)
class _Exchange(Generic[T]):
    model: Model
    read: Callable[[str], T]
    retry: bool
    answer: Answer[T]

    async def attempt(self, request: ModelRequest) -> T:
        """Reads one reply; asks for a fresh one if the stored one is unusable and this is a retry."""
        try:
            return await self._reply(request)
        except (ReplyProblemsError, _Refusal):
            if not (self.retry and self.answer.last is not None and self.answer.last.cached):
                raise
        return await self._reply(replace(request, fresh=True))

    async def _reply(self, request: ModelRequest) -> T:
        answer = self.answer
        reply = answer.last = await self.model.complete(request)
        answer.replies += 1
        answer.cost_usd = sum_if_known((answer.cost_usd, reply.cost_usd))
        answer.spent += spent_on(reply)
        if reply.finish == "refusal":
            raise _Refusal(reply.text[:200] or "(no reason given)")
        return self.read(reply.text)


class _Refusal(Exception):  # noqa: N818 - control flow within one exchange
    """The model declined."""


def _repair(first: ModelRequest, reply: str, problems: list[str], version: int) -> ModelRequest:
    bad = Message("assistant", neutralise(reply, version).strip() or "(empty reply)")
    messages = (*first.messages, bad, Message("user", render_repair(problems, version=version)))
    return ModelRequest(first.system, messages, first.schema, first.parameters, first.draw)


def _unusable(last: Reply | None, found: ReplyProblemsError, asked: str, limit: int | None, replies: int) -> Failure:
    if last is not None and last.finish == "length":
        where = "" if limit is None else f" = {limit}"
        repaired = ", and so was its repair" if replies > 1 else ""
        message = f"the reply was cut at max_tokens{where}{repaired}; raise max_tokens for {asked}"
        return Failure(kind=FailureKind.TRUNCATED, message=message)
    repaired = ", nor after one repair" if replies > 1 else ""
    return Failure(kind=FailureKind.BAD_REPLY, message=f"no usable reply{repaired}: {found}")
