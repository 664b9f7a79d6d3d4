"""One question to a model: ask, read the answer, ask for one repair, else say why there is no answer."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

from metajudge.agents.parse import ReplyProblemsError
from metajudge.concurrency import off_the_loop
from metajudge.errors import FailureKind, ProviderError
from metajudge.prompts.fences import neutralise
from metajudge.prompts.meta_judge import render_repair
from metajudge.prompts.versions import FIRST
from metajudge.providers.model import Message, Model, ModelRequest
from metajudge.providers.wrapper import CallAttempt
from metajudge.types import Failure, Reply, TokenUsage, Usage

T = TypeVar("T")


@dataclass(slots=True)
class Spent:
    """What an exchange took in this run; replies from the store cost nothing anew.

    Attributes:
        calls: HTTP requests sent, retries and the repair included.
        cost_usd: None where a price or the usage is unknown.
    """

    calls: int = 0
    cached_calls: int = 0
    cost_usd: float | None = 0.0
    usage: Usage = field(default_factory=Usage)
    latency_s: float = 0.0

    def add(self, other: "Spent") -> None:
        """Adds what another exchange took."""
        self.calls += other.calls
        self.cached_calls += other.cached_calls
        self.cost_usd = _sum(self.cost_usd, other.cost_usd)
        self.usage += other.usage
        self.latency_s += other.latency_s

    def fields(self) -> dict[str, Any]:
        """The same as the fields of a stored reply."""
        return {
            "calls": self.calls,
            "cached_calls": self.cached_calls,
            "cost_usd": self.cost_usd,
            "usage": TokenUsage(**asdict(self.usage)),
            "latency_s": round(self.latency_s, 6),
        }


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
    spent: Spent = field(default_factory=Spent)

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
        answer.spent.calls += error.attempts
        answer.spent.usage += error.usage or Usage()
        answer.spent.cost_usd = _sum(answer.spent.cost_usd, error.cost_usd)
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
        answer, spent = self.answer, self.answer.spent
        reply = answer.last = await self.model.complete(request)
        answer.replies += 1
        answer.cost_usd = _sum(answer.cost_usd, reply.cost_usd)
        spent.calls += reply.attempts
        spent.cached_calls += reply.cached
        spent.latency_s += reply.latency_s
        if not reply.cached:
            spent.usage += reply.usage or Usage()
            spent.cost_usd = _sum(spent.cost_usd, reply.cost_usd)
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


def _sum(total: float | None, more: float | None) -> float | None:
    return None if total is None or more is None else total + more
