"""The result of vetting one judgment."""

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, computed_field

from metajudge.errors import FailureKind
from metajudge.types.decision import Action, Decision
from metajudge.types.frozen import Frozen, left_out
from metajudge.types.spent import Spent, TimedSpent


class Status(StrEnum):
    """How vetting a judgment ended."""

    ASSESSED = "assessed"
    """Accepted or not: the final decision."""
    UNSCORED = "unscored"
    """Agents were asked and too few answered validly, or free evidence alone cannot decide."""
    FAILED = "failed"
    """The judgment could not be asked about at all."""


class Failure(Frozen):
    """A typed reason why there is no score."""

    kind: FailureKind
    message: str


_EXPECTED = "The expected score over the probabilities of the score's tokens (version 0.2)"

NotApplicable: TypeAlias = Literal["no rationale"]
"""Why a criterion does not apply to a judgment, by rule."""


class CriterionScore(Frozen):
    """One criterion's score; None where the criterion does not apply, by rule or because the agent marked it so.

    The last five fields are there only where the agent was configured for finer scores.
    """

    score: float | None
    explanation: str = ""
    not_applicable: NotApplicable | None = left_out(
        "Why it was left out by rule; absent where the agent itself marked it as not applicable."
    )
    source: Literal["expected", "reported", "draws"] | None = left_out(
        f"{_EXPECTED}, the one reported in its place (see fallback), or the mean of several draws."
    )
    reported: float | None = left_out("What the agent wrote, where the score is another.")
    digit_mass: float | None = left_out("Probability on the scale's points before it was renormalised.")
    fallback: str | None = left_out("Why a reported score is used in place of an expected one.")
    spread: float | None = left_out("Standard deviation (divisor n - 1) of the draws that scored the criterion.")


class _Answered(Frozen):
    agent: str
    model: str
    role: str | None = None
    weight: float
    score: float | None = None
    analysis: str | None = left_out(
        "What the agent wrote before it scored; not scored itself. Of several draws that of the nearest."
    )
    analysis_missing: bool = left_out("An analysis was asked for, and a usable reply came without one.", False)
    criteria: dict[str, CriterionScore] | None = None
    failure: Failure | None = None
    skipped: Literal["early_exit", "cascade"] | None = None
    opening: "AgentResult | None" = None


class AgentResult(TimedSpent, _Answered):
    """One agent's result for one judgment: a score, a failure, or that it was not asked.

    Exactly one of ``score``, ``failure`` and ``skipped`` is set. Calls and cost include repairs and retries,
    in a discussion both rounds, and of several draws all; ``opening`` is then the agent's output before it saw
    the others, and ``draws`` each draw.
    """

    cost_usd: float | None = Field(default=0.0, description="None where a price or the usage is unknown.")
    prompt_digest: str | None = Field(default=None, description="Digest of the rendered request.")
    reported_model: str | None = Field(default=None, description="The model id the provider reported.")
    scoring: Literal["expected"] | None = left_out(
        "Set in records of version 0.2 where expected scores were asked for."
    )
    fine_score: float | None = left_out(
        "On the scale: the mean of draws (in version 0.2 also the expected score) behind a vote."
    )
    samples: int | None = left_out("Draws asked for, where several were.")
    valid_samples: int | None = left_out("Draws that gave a score.")
    spread: float | None = left_out("Standard deviation (divisor n - 1) of the draws' scores.")
    draws: tuple["AgentResult", ...] = left_out(default=())

    @property
    def replies(self) -> "tuple[AgentResult, ...]":
        """What single replies gave: the draws where several were made, else the result; with those of the opening."""
        opening = () if self.opening is None else self.opening.replies
        return (*opening, *(self.draws or (self,)))


class SignalValue(Frozen):
    """One piece of free evidence, or why it is absent."""

    value: float | None
    state: str = Field(description="A word: e.g. agree, disagree, missing, tied.")
    detail: str = ""


DecidedBy: TypeAlias = Literal["policy", "probability", "score", "agreement"]
"""The rule that decided on a judgment (:mod:`metajudge.strategies.rule`)."""

CutFrom: TypeAlias = Literal["typed", "policy", "promise", "default"]
"""Who set the cut of a rule: the caller, the policy, the stored promise of a calibration, or the default."""

GuaranteeUnit: TypeAlias = Literal["all_kept", "one_per_question", "any_wrong"]
"""What represents a question in the test of a threshold: all its kept judgments; in records of earlier versions one
judgment drawn from it, or whether any kept one is wrong."""

GuaranteePopulation: TypeAlias = Literal["new_questions", "this_file"]
"""What a threshold speaks of: new questions like the labelled ones, or the file that these were drawn from."""


class GuaranteedThreshold(Frozen):
    """A threshold on the probability whose precision is guaranteed (see :mod:`metajudge.calibration.guarantee`).

    Its scope (the fields from ``judges`` on) is absent from records of versions that did not store it.
    """

    threshold: float
    target: float = Field(description="Precision guaranteed of what is kept.")
    delta: float = Field(description="Probability, over the draw of the labelled questions, that the guarantee fails.")
    approximate: bool = Field(default=False, description="Scores and threshold came from the same questions.")
    judges: tuple[str, ...] = left_out("Whose judgments it speaks of, together and not each judge alone.", ())
    unit: GuaranteeUnit | None = left_out("What stood for a question when the threshold was tested.")
    questions: int | None = left_out("Labelled questions the threshold was set on.")
    most_per_question: int | None = left_out("Judgments of one question that it covers at most.")
    population: GuaranteePopulation = Field(
        default="new_questions",
        exclude_if=lambda given: given == "new_questions",
        description="New questions like the labelled ones, or this very file.",
    )
    category: str | None = left_out("The category it speaks of; absent for all together.")
    counted_by: str | None = left_out("What a question is: `item`, or a field; absent for the question.")
    stated_random: bool = left_out("Whether the user stated that the labelled questions were drawn at random.", False)

    def keeps(self, probability: float) -> bool:
        """Whether a probability reaches the threshold, compared after rounding to 1e-9."""
        return round(probability, 9) >= round(self.threshold, 9)


class CascadeStep(Frozen):
    """The result of one stage of a cascade; score and probability are absent where its agents gave no score."""

    agents: tuple[str, ...]
    score: float | None = None
    probability: float | None = None
    outcome: Literal["accepted", "rejected", "escalated", "no_score"]


class CascadeTrace(Frozen):
    """Which stage of a cascade decided, and why."""

    steps: tuple[CascadeStep, ...]
    decided_by: int | None = Field(description="The stage, from 0; None where none could.")
    reason: str
    plan: str = Field(description="Digest of the plan: curves, band and cut.")


Source: TypeAlias = Literal["policy", "guarantee", "probability", "threshold", "agreement", "nothing"]


class ToDo(Frozen):
    """What to do with a judgment.

    Attributes:
        action: ``keep`` the judgment, ``ask`` a person, or ``discard`` it.
        source: the rule that says so: ``guarantee`` is P from a promise's threshold on, ``probability`` from another
            cut on, ``threshold`` the score; ``nothing`` where none could decide.
    """

    action: Literal["keep", "ask", "discard"]
    source: Source
    reason: str


class _Vetted(Frozen):
    version: Literal[1] = 1
    judgment_id: str
    item_id: str
    judge: str
    status: Status
    final_score: float | None = None
    score_bounds: tuple[float, float] | None = None
    accepted: bool | None = Field(
        default=None, description="The former name of kept.", json_schema_extra={"deprecated": True}
    )
    decided_by: DecidedBy | None = left_out(
        "The rule that decided: a policy, the calibrated probability, the score, or the share of peers "
        "that agree. Absent where none could, and in records of version 0.2."
    )
    cut: float | None = left_out(
        "From which number on the rule keeps: probabilities and shares from it on, scores above it."
    )
    cut_from: CutFrom | None = left_out("Who set the cut.")
    renormalised: bool = Field(
        default=False, description="The score is an average over the valid answers of an incomplete panel."
    )
    failure: Failure | None = Field(default=None, description="Why there is no decision.")
    not_applicable: tuple[str, ...] = left_out(
        "Criteria that were left out by rule, because they judge a rationale and the judge gave none.", ()
    )
    agents: tuple[AgentResult, ...] = ()
    summariser: AgentResult | None = None
    signals: dict[str, SignalValue] | None = None
    cascade: CascadeTrace | None = left_out("Of version 0.2: the stages of a cascade, and which one decided.")
    probability: float | None = Field(
        default=None, description="Calibrated probability that the judgment is correct, in [0, 1]."
    )
    probability_marks: tuple[str, ...] = Field(
        default=(), description="Notes on the probability, or why it is missing."
    )
    probability_source: Literal["transferred"] | None = left_out(
        "Where the probability is no calibrated one: `transferred` from labelled sets of others by the "
        "shipped default. No guarantee is made from it."
    )
    probability_threshold: float | None = left_out(
        "Of version 0.2: what a transferred probability that decided had to exceed."
    )
    calibrated: bool = Field(default=False, description="Whether there is a calibrated probability.")
    calibration: str | None = Field(default=None, description="Digest of the calibration applied.")
    guarantee: GuaranteedThreshold | None = Field(
        default=None, description="The promise that covers the judgment: its probability reaches the threshold."
    )
    outside_guarantee: tuple[str, ...] = left_out(
        "Where the calibration has a guarantee that does not cover this judgment: the marks that put it "
        "outside, or `judge_not_covered`. Nothing is guaranteed of it.",
        (),
    )
    decision: Decision | None = left_out("What a policy decided; set where one was named.")
    strategy: str
    threshold: float
    category: str | None = None
    route: str | None = Field(default=None, description="The category route taken, None for the default panel.")
    rubric: str | None = None
    rubric_digest: str | None = None
    prompt_digest: str | None = Field(default=None, description="Digest of the prompt templates.")
    prompt_version: int | None = Field(
        default=None,
        description="Version of the prompt set; null where no model was asked, and in records stored before sets had "
        "versions, which used version 1.",
    )
    panel_digest: str
    judgment_digest: str
    seed: int | None = None
    defaulted: tuple[Literal["judge", "id", "item_id"], ...] = left_out(
        "What the judgment was sent without: its judge is `unknown` then, its ids are digests.", ()
    )


class Assessment(Spent, _Vetted):
    """Whether one judgment is to be trusted, and why.

    One rule decides, and ``decided_by`` names it; ``do`` and ``kept`` say what follows.

    ``final_score`` is absent where only the decision is known (a panel stopped early, or missing answers
    could not change it): then ``score_bounds`` contains the lowest and highest score still possible.
    """

    calls: int = Field(default=0, description="HTTP requests sent, retries and repairs included.")
    metajudge_version: str
    given_to_do: Annotated[ToDo | None, BeforeValidator(lambda _given: None)] = Field(
        default=None,
        validation_alias="do",
        exclude=True,
        description="What to do with the judgment: follows from the other fields; ignored where it is sent.",
    )

    given_kept: Annotated[bool | None, BeforeValidator(lambda _given: None)] = Field(
        default=None,
        validation_alias="kept",
        exclude=True,
        description="Whether it is kept: follows from the other fields; ignored where it is sent.",
    )

    @computed_field  # type: ignore[prop-decorator]
    @property
    def kept(self) -> bool | None:
        """Whether it is kept, as ``do`` says; null where a person is to be asked."""
        return {"keep": True, "discard": False}.get(self._action)

    @property
    def _action(self) -> Literal["keep", "ask", "discard"]:
        if self.decision is None:
            return "ask" if self.accepted is None else "keep" if self.accepted else "discard"
        action = self.decision.action
        return "ask" if action.needs_person else "keep" if action is Action.APPROVE else "discard"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def do(self) -> ToDo:
        """What to do with the judgment."""
        if (decision := self.decision) is not None:
            missing = "".join(f" ({name} missing: {why})" for name, why in decision.inputs.absent.items())
            said = f"policy {decision.policy}: {decision.action.value}: {decision.justification}{missing}"
            return ToDo(action=self._action, source="policy", reason=said)
        if self.accepted is None:
            reason = (
                f"no decision could be made: {self.failure.message}" if self.failure else "no decision could be made"
            )
            return ToDo(action="ask", source="nothing", reason=reason)
        return ToDo(action=self._action, source=self._source, reason=self._about_acceptance())

    @property
    def _source(self) -> Source:
        """What decided, where no policy did; records of version 0.2 do not name it."""
        if self.decided_by == "agreement":
            return "agreement"
        if self.decided_by == "probability":
            return "guarantee" if self.cut_from == "promise" else "probability"
        return "guarantee" if self.decided_by is None and self.guarantee is not None else "threshold"

    def _about_acceptance(self) -> str:
        if self.decided_by == "agreement" and self.cut is None:
            return "the judge gives the same verdict in both orders"
        reaches = "reaches" if self.accepted else "is below"
        if self.decided_by == "agreement" and self.cut is not None and self.final_score is not None:
            return f"the share of peers that agree, {(self.final_score - 1) / 4:.4g}, {reaches} {self.cut:g}"
        promised = self.cut if self.decided_by else self.guarantee and self.guarantee.threshold
        if self.probability is not None and self.decided_by in (None, "probability") and promised is not None:
            what = "guaranteed threshold" if self._source == "guarantee" else "cut"
            return f"the probability {self.probability:.4g} {reaches} the {what} {promised:.4g}"
        if self.probability is not None and self.probability_threshold is not None:
            above = "is above" if self.accepted else "is not above"
            bound = f"{self.probability_threshold:.4g}; nothing is guaranteed"
            return f"the transferred probability {self.probability:.4g} {above} {bound}"
        if self.final_score is not None:
            above = "is above" if self.accepted else "is not above"
            return f"the score {self.final_score:.4g} {above} the threshold {self.threshold:g}"
        possible = "every score" if self.accepted else "no score"
        return f"{possible} that the answers leave possible is above the threshold {self.threshold:g}"

    @property
    def members(self) -> tuple[AgentResult, ...]:
        """The agents' results, the summariser's included."""
        return self.agents if self.summariser is None else (*self.agents, self.summariser)
