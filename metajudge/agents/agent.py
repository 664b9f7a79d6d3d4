"""One meta-judge: asks a model about a judgment, reads the answer, asks for one repair, else fails with a reason."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from metajudge.agents.exchange import Answer, ask
from metajudge.agents.finer import MAX_SAMPLES, mean_of_draws, score_fields
from metajudge.agents.parse import ParsedReply, parse_reply
from metajudge.agents.schema import ANALYSIS, EXPLAINED, output_schema
from metajudge.concurrency import all_of, off_the_loop
from metajudge.errors import ConfigurationError
from metajudge.prompts import meta_judge as prompts
from metajudge.prompts.meta_judge import Statement
from metajudge.prompts.reasons import gives_reasons
from metajudge.prompts.reply_form import ReplyForm
from metajudge.prompts.versions import FIRST
from metajudge.providers.model import Message, Model, ModelRequest, OutputSchema, Parameters
from metajudge.rubric import Rubric
from metajudge.types import AgentResult, CriterionScore, Judgment
from metajudge.types.spent import as_kept


@dataclass(frozen=True, slots=True)
class Agent:
    """A model with a role, a weight and a rubric.

    Attributes:
        role: a built-in role's name or a text of one's own; None for none.
        weight: positive; relative to the other agents' weights.
        samples: how often the agent is asked about each judgment; the draws' mean is its score
            (:func:`metajudge.agents.finer.mean_of_draws`).
        prompt_version: of the prompt set that this agent's prompts are taken from.
        verdict_alone: how judgments without reasons are: criteria that judge a rationale are left out, by rule. Under
            the first prompt set, the same as ``usual``.
    """

    name: str
    model: Model
    rubric: Rubric
    role: str | None = None
    weight: float = 1.0
    parameters: Parameters = field(default_factory=Parameters)
    form: ReplyForm = EXPLAINED
    samples: int = 1
    prompt_version: int = FIRST
    usual: "Instructions" = field(init=False, repr=False)
    verdict_alone: "Instructions" = field(init=False, repr=False)

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
        if self.form.analysis and ANALYSIS in self.rubric.scored_names:
            raise ConfigurationError(
                f"agent {self.name!r}: criterion {ANALYSIS!r} of rubric {self.rubric.name!r} has the name of the text "
                "that replies open with: rename the criterion, or set analysis = false"
            )
        object.__setattr__(self, "usual", self._instructions(self.rubric, verdict_alone=False))
        alone = self.usual
        if self.prompt_version != FIRST:
            alone = self._instructions(self.rubric.for_verdict_alone(), verdict_alone=True)
        object.__setattr__(self, "verdict_alone", alone)

    def _instructions(self, rubric: Rubric, *, verdict_alone: bool) -> "Instructions":
        system = prompts.render_system(
            rubric, self.role, self.form, verdict_alone=verdict_alone, version=self.prompt_version
        )
        return Instructions(rubric, system, output_schema(rubric, self.form))

    def instructions(self, judgment: Judgment) -> "Instructions":
        """How a judgment is asked about: by its verdict alone where the judge gave no reasons."""
        return self.usual if gives_reasons(judgment) else self.verdict_alone

    async def assess(
        self, judgment: Judgment, *, earlier: Sequence[Statement] = (), summarise: bool = False, retry: bool = False
    ) -> AgentResult:
        """Scores one judgment.

        Args:
            summarise: speak as the one who sums up the others instead of as one of them.
            retry: an earlier vetting of this judgment failed: a stored reply that cannot be used is asked for anew.

        Returns:
            A score, or a failure with its kind; never raises :class:`~metajudge.errors.ProviderError`.

        Raises:
            BudgetExceeded: the run's budget is spent.
        """
        how = self.instructions(judgment)
        first = await off_the_loop(partial(self._request, judgment, how, earlier, summarise), judgment.characters)
        rubric = how.rubric
        if self.samples == 1:
            result = await self._asked(first, rubric, retry)
        else:
            draws = await all_of(self._asked(_drawn(first, draw), rubric, retry) for draw in range(self.samples))
            result = mean_of_draws(draws, rubric)
        return result if rubric is self.rubric else _with_left_out(result, self.rubric)

    async def _asked(self, request: ModelRequest, rubric: Rubric, retry: bool) -> AgentResult:
        def read(text: str) -> ParsedReply:
            return parse_reply(text, rubric, self.form)

        answer = await ask(self.model, request, read, asked=self.name, retry=retry, prompt_version=self.prompt_version)
        return _result(self, answer, rubric)

    def request(
        self, judgment: Judgment, *, earlier: Sequence[Statement] = (), summarise: bool = False
    ) -> ModelRequest:
        """The first request :meth:`assess` sends: the same bytes for the same input.

        Further draws differ in the draw's index and, where there is a seed, in the seed, which goes up by one.
        """
        return self._request(judgment, self.instructions(judgment), earlier, summarise)

    def _request(
        self, judgment: Judgment, how: "Instructions", earlier: Sequence[Statement], summarise: bool
    ) -> ModelRequest:
        text = prompts.render_request(
            judgment, how.rubric, earlier=earlier, summarise=summarise, version=self.prompt_version
        )
        return ModelRequest(how.system, (Message("user", text),), how.schema, self.parameters)


@dataclass(frozen=True, slots=True)
class Instructions:
    """What is the same in every request about judgments of one kind."""

    rubric: Rubric
    system: str
    schema: OutputSchema


def _with_left_out(result: AgentResult, rubric: Rubric) -> AgentResult:
    """A result with the criteria that were left out by rule, in the rubric's order."""
    left_out = CriterionScore(score=None, not_applicable="no rationale")
    given = result.criteria
    criteria = None if given is None else {name: given.get(name, left_out) for name in rubric.scored_names}
    draws = tuple(_with_left_out(draw, rubric) for draw in result.draws)
    return result.model_copy(update={"criteria": criteria, "draws": draws})


def _drawn(request: ModelRequest, draw: int) -> ModelRequest:
    """The same request for another draw: with the same seed a provider would give the same answer."""
    if draw == 0:
        return request
    seed = request.parameters.seed
    parameters = request.parameters if seed is None else replace(request.parameters, seed=seed + draw)
    return replace(request, draw=draw, parameters=parameters)


def _result(agent: Agent, answer: Answer[ParsedReply], rubric: Rubric) -> AgentResult:
    """What the exchange gave; nothing of a reply where none could be read."""
    said: dict[str, Any] = {}
    if (value := answer.value) is not None:
        missing = agent.form.analysis and value.analysis is None
        said = {"analysis": value.analysis, "analysis_missing": missing, **score_fields(value.criteria, rubric)}
    return AgentResult(
        agent=agent.name,
        model=agent.model.name,
        role=agent.role,
        weight=agent.weight,
        failure=answer.failure,
        **as_kept(answer.spent),
        prompt_digest=answer.key,
        reported_model=answer.reported_model,
        **said,
    )
