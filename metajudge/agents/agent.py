"""One meta-judge: asks a model about a judgment, reads the answer, asks for one repair, else fails with a reason."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from metajudge.agents.finer import MAX_SAMPLES, Scoring, mean_of_draws, scored, with_expected_scores
from metajudge.agents.parse import ReplyProblemsError, parse_reply
from metajudge.agents.schema import output_schema
from metajudge.concurrency import all_of
from metajudge.errors import ConfigurationError, FailureKind, ProviderError
from metajudge.prompts import meta_judge as prompts
from metajudge.prompts.fences import neutralise
from metajudge.prompts.meta_judge import Statement
from metajudge.prompts.versions import FIRST
from metajudge.providers.model import Message, Model, ModelRequest, OutputSchema, Parameters
from metajudge.providers.wrapper import CallAttempt
from metajudge.rubric import Rubric
from metajudge.types import AgentResult, CriterionScore, Failure, Judgment, Reply, TokenUsage, Usage


@dataclass(frozen=True, slots=True)
class Agent:
    """A model with a role, a weight and a rubric.

    Attributes:
        name: unique within a panel.
        role: a built-in role's name or a text of one's own; None for none.
        weight: positive; relative to the other agents' weights.
        explanations_first: whether explanations are asked for before the scores they explain.
        scoring: ``expected`` takes the expected score over the probabilities of the score's tokens, where the provider
            returns them, in place of the reported point (:mod:`metajudge.agents.expected`).
        samples: how often the agent is asked about each judgment; the draws' mean is its score
            (:func:`metajudge.agents.finer.mean_of_draws`).
        prompt_version: of the prompt set that everything this agent is told is taken from.
    """

    name: str
    model: Model
    rubric: Rubric
    role: str | None = None
    weight: float = 1.0
    parameters: Parameters = field(default_factory=Parameters)
    explanations_first: bool = True
    scoring: Scoring = "reported"
    samples: int = 1
    prompt_version: int = FIRST
    system: str = field(init=False, repr=False)
    schema: OutputSchema = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.weight < float("inf"):
            raise ConfigurationError(f"agent {self.name!r}: the weight must be a positive number, not {self.weight}")
        if self.rubric.subject != "judgment":
            raise ConfigurationError(
                f"agent {self.name!r}: rubric {self.rubric.name!r} is for cases (`metajudge case`), not for judgments"
            )
        if not 1 <= self.samples <= MAX_SAMPLES:
            raise ConfigurationError(
                f"agent {self.name!r}: samples must be a whole number from 1 to {MAX_SAMPLES}, not {self.samples}"
            )
        system = prompts.render_system(
            self.rubric, role=self.role, explanations_first=self.explanations_first, version=self.prompt_version
        )
        schema = output_schema(self.rubric, explanations_first=self.explanations_first)
        object.__setattr__(self, "system", system)
        object.__setattr__(self, "schema", schema)

    async def assess(
        self, judgment: Judgment, *, earlier: Sequence[Statement] = (), summarise: bool = False, retry: bool = False
    ) -> AgentResult:
        """Scores one judgment.

        Args:
            judgment: must have a verdict.
            earlier: what other agents have said about it.
            summarise: speak as the one who sums up the others instead of as one of them.
            retry: an earlier vetting of this judgment failed: a stored reply that cannot be used is asked for anew.

        Returns:
            A score, or a failure with its kind; never raises :class:`~metajudge.errors.ProviderError`.

        Raises:
            BudgetExceeded: the run's budget is spent.
        """
        first = self.request(judgment, earlier=earlier, summarise=summarise)
        exchanges = [
            _Exchange(self, CallAttempt.of(self.model, _drawn(first, draw)), retry) for draw in range(self.samples)
        ]
        if len(exchanges) == 1:
            return await exchanges[0].result()
        return mean_of_draws(await all_of(exchange.result() for exchange in exchanges), self.rubric)

    def request(
        self, judgment: Judgment, *, earlier: Sequence[Statement] = (), summarise: bool = False
    ) -> ModelRequest:
        """The first request :meth:`assess` sends: the same bytes for the same input.

        Further draws differ in the draw's index and, where there is a seed, in the seed, which goes up by one.
        """
        text = prompts.render_judgment(judgment, version=self.prompt_version)
        if earlier:
            render = prompts.render_summary if summarise else prompts.render_discussion
            text += "\n\n" + render(earlier, self.rubric, version=self.prompt_version)
        expected = self.scoring == "expected"
        return ModelRequest(self.system, (Message("user", text),), self.schema, self.parameters, logprobs=expected)


def _drawn(request: ModelRequest, draw: int) -> ModelRequest:
    """The same request for another draw: with the same seed a provider would give the same answer."""
    if draw == 0:
        return request
    seed = request.parameters.seed
    parameters = request.parameters if seed is None else replace(request.parameters, seed=seed + draw)
    return replace(request, draw=draw, parameters=parameters)


class _Exchange:
    """One judgment's conversation with one agent, and what it took."""

    def __init__(self, agent: Agent, request: CallAttempt, retry: bool) -> None:
        self.agent = agent
        self.request = request
        self.retry = retry
        self.calls = self.cached_calls = 0
        self.cost: float | None = 0.0
        self.usage = Usage()
        self.latency = 0.0
        self.reported_model: str | None = None

    async def result(self) -> AgentResult:
        try:
            try:
                return self._scored(await self._scores(self.request))
            except ReplyProblemsError as found:
                asked = prompts.render_repair(found.problems, version=self.agent.prompt_version)
                repair = Message("user", asked)
            bad = Message("assistant", neutralise(self.last.text).strip() or "(empty reply)")
            first = self.request
            again = ModelRequest(
                first.system,
                (*first.messages, bad, repair),
                first.schema,
                first.parameters,
                first.draw,
                logprobs=first.logprobs,
            )
            return self._scored(await self._scores(again))
        except ReplyProblemsError as found:
            return self._unusable(found)
        except _Refusal as refusal:
            return self._failed(FailureKind.REFUSED, str(refusal))
        except ProviderError as error:
            self.calls += error.attempts
            self._count(error.usage, error.cost_usd)
            return self._failed(error.kind, str(error))

    async def _scores(self, request: ModelRequest) -> dict[str, CriterionScore]:
        """Asks once; where a stored reply is of no use and this is a retry, asks anew."""
        try:
            return self._read(await self.agent.model.complete(request))
        except (ReplyProblemsError, _Refusal):
            if not (self.retry and self.last.cached):
                raise
        return self._read(await self.agent.model.complete(replace(request, fresh=True)))

    def _read(self, reply: Reply) -> dict[str, CriterionScore]:
        self.last = reply
        self.calls += reply.attempts
        self.cached_calls += reply.cached
        self.reported_model = reply.model
        self.latency += reply.latency_s
        if not reply.cached:
            self._count(reply.usage, reply.cost_usd)
        if reply.finish == "refusal":
            raise _Refusal(f"{self.agent.name} declined to answer: {reply.text[:200]}")
        criteria = parse_reply(reply.text, self.agent.rubric)
        if self.agent.scoring == "expected":
            return with_expected_scores(criteria, reply, self.agent.rubric)
        return criteria

    def _count(self, usage: Usage | None, cost_usd: float | None) -> None:
        self.usage += usage or Usage()
        self.cost = None if self.cost is None or cost_usd is None else self.cost + cost_usd

    def _scored(self, criteria: dict[str, CriterionScore]) -> AgentResult:
        return scored(self._result(), criteria, self.agent.rubric)

    def _unusable(self, found: ReplyProblemsError) -> AgentResult:
        if self.last.finish == "length":
            limit = self.agent.parameters.max_tokens
            message = f"the reply was cut at max_tokens{'' if limit is None else f' = {limit}'}, and so was its repair"
            return self._failed(FailureKind.TRUNCATED, f"{message}; raise max_tokens for {self.agent.name}")
        return self._failed(FailureKind.BAD_REPLY, f"no usable reply, nor after one repair: {found}")

    def _failed(self, kind: FailureKind, message: str) -> AgentResult:
        return self._result(failure=Failure(kind=kind, message=message))

    def _result(self, failure: Failure | None = None) -> AgentResult:
        agent, usage = self.agent, self.usage
        return AgentResult(
            agent=agent.name,
            model=agent.model.name,
            role=agent.role,
            weight=agent.weight,
            failure=failure,
            calls=self.calls,
            cached_calls=self.cached_calls,
            cost_usd=self.cost,
            usage=TokenUsage(
                input_tokens=usage.input_tokens,
                cached_tokens=usage.cached_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                output_tokens=usage.output_tokens,
            ),
            latency_s=round(self.latency, 6),
            prompt_digest=self.request.key,
            reported_model=self.reported_model,
            scoring="expected" if agent.scoring == "expected" else None,
        )


class _Refusal(Exception):  # noqa: N818 - control flow within one exchange
    """The model declined."""
