"""One question to a model: ask, read the answer, ask once more where that can help, else say why there is no answer."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, TypeVar, cast

from metajudge.agents.mending import is_torn, mend
from metajudge.agents.parse import ReplyProblemsError
from metajudge.concurrency import off_the_loop
from metajudge.errors import FailureKind, ProviderError
from metajudge.prompts.fences import neutralise
from metajudge.prompts.meta_judge import render_repair
from metajudge.prompts.versions import FIRST
from metajudge.providers.model import CallAttempt, Message, Model, ModelRequest
from metajudge.types import Failure, Reply
from metajudge.types.spent import TimedSpent, spent_on, sum_if_known

T = TypeVar("T")

_DECLINED = re.compile(
    r"\W*(?:i.?m (?:very |really |so )?sorry|i am sorry|sorry|i (?:cannot|can.?t|can not|won.?t|will not|am unable|"
    r"am not able)\b|unfortunately,? i (?:cannot|can.?t|am)\b|as an ai\b)",
    re.IGNORECASE,
)
_LONGEST_REFUSAL = 1_500
GROWN_MAX_TOKENS = 16_384
"""At least so many tokens are allowed where a reply met its limit, and at least four times as many as before."""


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
    """Asks once, and once more where the reply cannot be read: with room where it was cut, else for its correction.

    What needs no guess is mended without asking (:mod:`metajudge.agents.mending`) and counted. A reply that was torn
    is not asked to be corrected.

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
    answer, asked_last = Answer[T](first.key), cast("ModelRequest", first)
    try:
        try:
            answer.value = await _attempt(model, first, read, answer, retry)
        except ReplyProblemsError as found:
            again = _grown(first, answer.last)
            if again is None and repair and not is_torn(answer.text):
                again = _repair(first, answer.text, found.problems, prompt_version)
            if again is None:
                raise
            asked_last = again
            answer.value = await _attempt(model, again, read, answer, retry)
    except ReplyProblemsError as found:
        answer.failure = _unusable(answer.last, found, asked, asked_last.parameters.max_tokens, answer.replies)
    except _Refusal as refusal:
        answer.failure = Failure(kind=FailureKind.REFUSED, message=f"{asked} declined to answer: {refusal}")
    except ProviderError as error:
        answer.spent += spent_on(error)
        answer.failure = Failure(kind=error.kind, message=str(error))
        answer.replied = error.kind is FailureKind.REFUSED
    return answer


async def _attempt(model: Model, request: ModelRequest, read: Callable[[str], T], answer: Answer[T], retry: bool) -> T:
    """Reads one reply; asks for a fresh one if the stored one is unusable and this is a retry."""
    reply = answer.last = await model.complete(request)
    answer.replies += 1
    answer.cost_usd = sum_if_known((answer.cost_usd, reply.cost_usd))
    answer.spent += spent_on(reply)
    try:
        return _read(reply, request, read, answer)
    except (ReplyProblemsError, _Refusal):
        if not (retry and reply.cached):
            raise
    return await _attempt(model, replace(request, fresh=True), read, answer, retry=False)


def _read(reply: Reply, request: ModelRequest, read: Callable[[str], T], answer: Answer[T]) -> T:
    text = reply.text
    if reply.finish == "refusal":
        raise _Refusal(text[:200] or "(no reason given)")
    try:
        return read(text)
    except ReplyProblemsError:
        mended = None
        if request.schema is not None and reply.finish != "length":
            mended = mend(text, request.schema.schema)
        if mended is None:
            if "{" not in text and len(text) < _LONGEST_REFUSAL and _DECLINED.match(text):
                raise _Refusal(text[:200]) from None
            raise
    value = read(mended)
    answer.spent += TimedSpent(mended=1)
    return value


class _Refusal(Exception):  # noqa: N818 - control flow within one exchange
    """The model declined."""


def _grown(first: ModelRequest, last: Reply | None) -> ModelRequest | None:
    """The same request with more room, where the reply met its limit."""
    if last is None or last.finish != "length":
        return None
    limit = first.parameters.max_tokens
    room = max(GROWN_MAX_TOKENS, 4 * (limit or 0))
    parameters = replace(first.parameters, max_tokens=room)
    return ModelRequest(first.system, first.messages, first.schema, parameters, first.draw)


def _repair(first: ModelRequest, reply: str, problems: list[str], version: int) -> ModelRequest:
    bad = Message("assistant", neutralise(reply, version).strip() or "(empty reply)")
    messages = (*first.messages, bad, Message("user", render_repair(problems, version=version)))
    return ModelRequest(first.system, messages, first.schema, first.parameters, first.draw)


def _unusable(last: Reply | None, found: ReplyProblemsError, asked: str, limit: int | None, replies: int) -> Failure:
    if last is not None and last.finish == "length":
        where = "" if limit is None else f" = {limit}"
        again = ", and a shorter one before" if replies > 1 else ""
        message = f"the reply was cut at max_tokens{where}{again}; raise max_tokens for {asked}"
        return Failure(kind=FailureKind.TRUNCATED, message=message)
    repaired = ", nor after one repair" if replies > 1 else ""
    return Failure(kind=FailureKind.BAD_REPLY, message=f"no usable reply{repaired}: {found}")
