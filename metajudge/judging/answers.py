"""Candidates' answers to one question: generated, or given with the item; what they cost and how long they took."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from metajudge.concurrency import all_of
from metajudge.errors import FailureKind, ProviderError
from metajudge.providers.model import CallAttempt, Message, Model, ModelRequest, Parameters
from metajudge.types import Failure, Item, Reply, text_digest, valid_text
from metajudge.types.frozen import Finite
from metajudge.types.spent import TimedSpent, spent_on

COPIES_APART = 1_000_000
"""Draws between two names of one model."""

NOT_STREAMED = "the answer did not come as a stream"
FROM_STORE = "the answer came from the store, which keeps no time to the first token"
NO_TEXT = "the answer contains no text"
GIVEN = "the answer was given, not generated"


class CandidateAnswer(Finite):
    """One candidate's answer, or the reason it is missing.

    Attributes:
        name: what the candidate is called in verdicts; never shown to a judge.
        source: ``generated`` in this evaluation, or ``given``.
        text: may be empty (a model may answer nothing); None where it failed.
        hidden_names: names in the text that were hidden from the judges; the record's ``blinding`` says where.
        finish: why generation ended; ``length`` means that the answer was cut.
        cost_usd: None where unknown; 0 for given answers, which cost nothing here.
        latency_s: None for given answers.
        first_token_s: seconds to the first piece of text; None with the reason in ``first_token_absent``.
    """

    name: str
    model: str | None = None
    endpoint: str | None = None
    reported_model: str | None = None
    source: Literal["generated", "given"]
    text: str | None
    text_digest: str | None
    hidden_names: tuple[str, ...] = ()
    finish: str | None = None
    failure: Failure | None = None
    replied: bool = True
    cost_usd: float | None = 0.0
    latency_s: float | None = None
    first_token_s: float | None = None
    first_token_absent: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    request_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that answers. It sees the question as it is, behind its own system prompt where it has one.

    Attributes:
        name: what it is called in verdicts; a response id.
        system: its system prompt; never shown to a judge.
    """

    name: str
    model: Model
    parameters: Parameters = field(default_factory=Parameters)
    system: str = ""


Gathered = tuple[CandidateAnswer, TimedSpent]
"""An answer for the record, and what it took in this run."""


async def gather_answers(
    item: Item, candidates: Sequence[Candidate], *, draw: int = 0, known: Sequence[CandidateAnswer] = ()
) -> list[Gathered]:
    """All candidates' answers at once; without candidates, the item's own responses.

    Args:
        draw: index of the sample; another cycle is another draw.
        known: answers of an earlier attempt: they are kept where the candidate could be asked.

    Returns:
        An answer each, sorted by the candidates' names. A candidate that failed has one, too: with the reason.

    Raises:
        BudgetExceeded: the run's budget is spent.
    """
    there: Mapping[str, CandidateAnswer] = {one.name: one for one in known if one.replied}

    async def one(candidate: Candidate, copy: int) -> Gathered:
        kept = there.get(candidate.name)
        if kept is not None:
            return kept, TimedSpent()
        return await _generate(candidate, item, draw + copy * COPIES_APART)

    if not candidates:
        models, given = item.models or {}, {"source": "given", "first_token_absent": GIVEN}
        texts = ((name, {"text": text, "text_digest": text_digest(text)}) for name, text in item.responses.items())
        return [
            (CandidateAnswer(name=name, model=models.get(name), **given, **text), TimedSpent())
            for name, text in sorted(texts, key=lambda one: one[0])
        ]
    ordered = sorted(candidates, key=lambda one: one.name)
    return await all_of(map(one, ordered, copies([candidate.model for candidate in ordered])))


def copies(models: Sequence[Model]) -> list[int]:
    """How many times each model came before: the same model twice must be asked twice, not share one reply."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for model in models:
        name = (str(model.endpoint), model.name)
        found.append(seen[name])
        seen[name] += 1
    return found


def answer_request(question: str, parameters: Parameters, draw: int = 0, system: str = "") -> ModelRequest:
    """What a candidate is asked: the question, behind its system prompt."""
    return ModelRequest(system, (Message("user", question),), None, parameters, draw)


async def _generate(candidate: Candidate, item: Item, draw: int) -> Gathered:
    model = candidate.model
    request = CallAttempt.of(model, answer_request(item.question, candidate.parameters, draw, candidate.system))
    answer = CandidateAnswer(
        name=candidate.name,
        model=model.name,
        endpoint=str(model.endpoint),
        source="generated",
        text=None,
        text_digest=None,
        request_digest=request.key,
    )
    try:
        reply = await model.complete(request)
    except ProviderError as error:
        failure = Failure(kind=error.kind, message=str(error))
        failed = {"failure": failure, "replied": error.kind is FailureKind.REFUSED, "cost_usd": error.cost_usd}
        absent = {"first_token_absent": "the candidate gave no answer"}
        return answer.model_copy(update={**failed, **absent}), spent_on(error)
    return _answered(answer, reply)


def _answered(answer: CandidateAnswer, reply: Reply) -> Gathered:
    spent, absent = spent_on(reply), None
    if reply.first_token_s is None:
        absent = FROM_STORE if reply.cached else NOT_STREAMED if reply.text else NO_TEXT
    measured = {
        "reported_model": reply.model,
        "finish": reply.finish,
        "cost_usd": reply.cost_usd,
        "latency_s": round(reply.latency_s, 6),
        "first_token_s": None if reply.first_token_s is None else round(reply.first_token_s, 6),
        "first_token_absent": absent,
        "input_tokens": None if reply.usage is None else reply.usage.input_tokens,
        "output_tokens": None if reply.usage is None else reply.usage.output_tokens,
    }
    if reply.finish == "refusal":
        reason = reply.text[:200] or "(no reason given)"
        failure = Failure(kind=FailureKind.REFUSED, message=f"{answer.name} declined to answer: {reason}")
        return answer.model_copy(update={**measured, "failure": failure}), spent
    text = valid_text(reply.text)
    given = {**measured, "text": text, "text_digest": text_digest(text)}
    return answer.model_copy(update=given), spent
