"""One meta-judge: asks a model about a judgment, reads the answer, asks for one repair, else fails with a reason."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from metajudge.agents.exchange import Answer, ask
from metajudge.agents.finer import MAX_SAMPLES, Scoring, mean_of_draws, scored, with_expected_scores
from metajudge.agents.parse import parse_reply
from metajudge.agents.schema import output_schema
from metajudge.concurrency import all_of
from metajudge.errors import ConfigurationError
from metajudge.prompts import meta_judge as prompts
from metajudge.prompts.meta_judge import Statement
from metajudge.prompts.versions import FIRST
from metajudge.providers.model import Message, Model, ModelRequest, OutputSchema, Parameters
from metajudge.rubric import Rubric
from metajudge.types import AgentResult, CriterionScore, Judgment, TokenUsage


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
        prompt_version: of the prompt set that this agent's prompts are taken from.
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
            earlier: other agents' outputs on it.
            summarise: speak as the one who sums up the others instead of as one of them.
            retry: an earlier vetting of this judgment failed: a stored reply that cannot be used is asked for anew.

        Returns:
            A score, or a failure with its kind; never raises :class:`~metajudge.errors.ProviderError`.

        Raises:
            BudgetExceeded: the run's budget is spent.
        """
        first = self.request(judgment, earlier=earlier, summarise=summarise)
        if self.samples == 1:
            return await self._asked(first, retry)
        draws = await all_of(self._asked(_drawn(first, draw), retry) for draw in range(self.samples))
        return mean_of_draws(draws, self.rubric)

    async def _asked(self, request: ModelRequest, retry: bool) -> AgentResult:
        def read(text: str) -> dict[str, CriterionScore]:
            return parse_reply(text, self.rubric)

        answer = await ask(self.model, request, read, asked=self.name, retry=retry, prompt_version=self.prompt_version)
        return _result(self, answer)

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


def _result(agent: Agent, answer: Answer[dict[str, CriterionScore]]) -> AgentResult:
    spent = answer.spent
    result = AgentResult(
        agent=agent.name,
        model=agent.model.name,
        role=agent.role,
        weight=agent.weight,
        failure=answer.failure,
        calls=spent.calls,
        cached_calls=spent.cached_calls,
        cost_usd=spent.cost_usd,
        usage=TokenUsage(**asdict(spent.usage)),
        latency_s=round(spent.latency_s, 6),
        prompt_digest=answer.key,
        reported_model=answer.reported_model,
        scoring="expected" if agent.scoring == "expected" else None,
    )
    criteria = answer.value
    if criteria is None or answer.last is None:
        return result
    if agent.scoring == "expected":
        criteria = with_expected_scores(criteria, answer.last, agent.rubric)
    return scored(result, criteria, agent.rubric)
