"""A panel ready to be asked: agents, strategy, threshold and the rules for missing answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from metajudge.errors import ConfigurationError
from metajudge.prompts.reply_form import MAX_ANALYSIS_WORDS
from metajudge.providers.families import FamilyPolicy
from metajudge.scoring.formulas import check_threshold, quorum_of
from metajudge.types import digest

if TYPE_CHECKING:  # some panels have no agents
    from metajudge.agents import Agent

THRESHOLD = 4.5
"""The published threshold on the scale 1 to 5 ("Leveraging LLMs as Meta-Judges", arXiv 2504.17087)."""


class StrategyName(StrEnum):
    """How agents' scores become one."""

    SINGLE = "single"
    WEIGHTED_AVERAGE = "weighted_average"
    MAJORITY_VOTE = "majority_vote"
    PANEL_DISCUSSION = "panel_discussion"
    REJUDGE = "rejudge"
    SIGNALS = "signals"


def default_threshold(strategy: StrategyName, scale: tuple[float, float]) -> float:
    """The threshold where none is set: 4.5, and for rejudge the middle of the scale, above which is any support."""
    low, high = scale
    return (low + high) / 2 if strategy is StrategyName.REJUDGE else THRESHOLD


Rounds = Literal["independent_first", "sequential"]
Aggregate = Literal["majority", "average"]


@dataclass(frozen=True, slots=True)
class Panel:
    """Agents and the rule that makes one decision of their scores.

    Attributes:
        agents: in speaking order; their number M is what majorities are counted against.
        threshold: a judgment is accepted when its final score lies strictly above.
        quorum: valid answers a weighted average needs; None for a strict majority of M.
        early_exit: ask agents one after the other and stop when no answer could change the decision.
        rounds: how a discussion runs (see :func:`metajudge.strategies.vetter.discuss`).
        show_analysis: whether members of a discussion, and its summariser, see each other's analyses.
        average_votes: lets binary rubrics, which are votes, enter a weighted average.
        families: what to do where an agent is of the judge's or a candidate's family.
        route: the item category this panel is meant for, None for the default panel.
        threshold_typed: whether the threshold was given, and is not the strategy's own.
        cut: from which P on a calibration keeps; None for the calibration's own.
        rubric: name shown in results; the digest covers every agent's rubric.
        prompt_digest: digest of the prompt templates, None where no model is asked.
        digest: digest of everything about the panel that can change an assessment; secrets are no part of it.
    """

    agents: "tuple[Agent, ...]"
    strategy: StrategyName
    threshold: float
    rubric: str | None = None
    scale: tuple[float, float] = (1.0, 5.0)
    quorum: int | None = None
    early_exit: bool = False
    rounds: Rounds = "independent_first"
    aggregate: Aggregate = "majority"
    show_analysis: bool = False
    summariser: "Agent | None" = None
    average_votes: bool = False
    families: FamilyPolicy = "warn"
    route: str | None = None
    threshold_typed: bool = False
    cut: float | None = None
    prompt_digest: str | None = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        check_threshold(self.threshold, self.scale)
        if self.strategy is not StrategyName.SIGNALS:
            _check_agents(self)
            quorum_of(len(self.agents), self.quorum)
        elif self.agents:
            raise ConfigurationError("strategy signals asks no model: remove the agents, or choose another strategy")
        object.__setattr__(self, "prompt_digest", _prompt_digest(self) if self.agents else None)
        object.__setattr__(self, "digest", _digest(self))

    @property
    def members(self) -> "tuple[Agent, ...]":
        """Everyone who may be asked, the summariser included."""
        return self.agents if self.summariser is None else (*self.agents, self.summariser)

    @property
    def prompt_version(self) -> int | None:
        """The version of the prompt set all members use; None where no model is asked."""
        return self.agents[0].prompt_version if self.agents else None

    @property
    def rubric_digest(self) -> str | None:
        """The digest of the one rubric in use, or of all of them together; None where none is used."""
        if self.strategy is StrategyName.REJUDGE:
            return None
        digests = {agent.rubric.digest for agent in self.members}
        return digests.pop() if len(digests) == 1 else digest(sorted(digests)) if digests else None

    @property
    def weights(self) -> list[float]:
        return [agent.weight for agent in self.agents]

    @property
    def averages(self) -> bool:
        """Whether the final score is an average of the agents' scores (else it is a vote)."""
        if self.strategy is StrategyName.PANEL_DISCUSSION:
            return self.aggregate == "average"
        return self.strategy in (StrategyName.SINGLE, StrategyName.WEIGHTED_AVERAGE, StrategyName.REJUDGE)

    @property
    def votes(self) -> bool:
        """Whether the final score is a vote: one of the scale's ends, never a score between them."""
        discussion = self.strategy is StrategyName.PANEL_DISCUSSION and self.summariser is None
        return self.strategy is StrategyName.MAJORITY_VOTE or (discussion and self.aggregate == "majority")


def _prompt_digest(panel: Panel) -> str:
    from metajudge.prompts import judges, meta_judge
    from metajudge.prompts.templates import prompts_digest

    version = panel.agents[0].prompt_version
    if panel.strategy is StrategyName.REJUDGE:
        return prompts_digest(*judges.PAIRWISE, version=version)
    roles = (f"role_{name}" for name in meta_judge.ROLES)
    return prompts_digest(*meta_judge.VETTING, *roles, version=version)


def _digest(panel: Panel) -> str:
    rejudging = panel.strategy is StrategyName.REJUDGE
    members = [
        [
            agent.name,
            str(agent.model.endpoint),
            agent.model.name,
            agent.role,
            agent.weight,
            None if rejudging else agent.rubric.digest,
            _form_part(agent),
            repr(agent.parameters),
            *_finer(agent),
        ]
        for agent in panel.members
    ]
    rules = [
        panel.strategy.value,
        panel.threshold,
        panel.scale,
        panel.quorum,
        panel.early_exit,
        panel.rounds,
        panel.aggregate,
        panel.average_votes,
        panel.summariser is not None,
    ]
    if panel.families == "forbid":  # the other policies change no assessment
        rules.append(panel.families)
    if panel.show_analysis and any(agent.form.analysis for agent in panel.agents):
        rules.append("show_analysis")
    return digest([members, rules, panel.prompt_digest])


def _form_part(agent: "Agent") -> object:
    """The digest's part for the form of replies: as it was before there were other forms, where it is one of those."""
    form = agent.form
    if not form.analysis and form.explanations != "none":
        return form.explanations == "before"
    words = [form.words] if form.analysis and form.words != MAX_ANALYSIS_WORDS else []
    return [form.analysis, form.explanations, *words]


def _finer(agent: "Agent") -> list[object]:
    """The digest's part for several draws, as it was when there were other scores than reported ones."""
    return [] if agent.samples == 1 else [["reported", agent.samples]]


def _check_agents(panel: Panel) -> None:
    if not panel.agents:
        raise ConfigurationError(
            f"strategy {panel.strategy} needs at least one agent: give --agent PROVIDER:MODEL or agents in a panel file"
        )
    if panel.strategy is StrategyName.SINGLE and len(panel.agents) > 1:
        raise ConfigurationError(
            f"strategy single takes one agent, got {len(panel.agents)}: choose weighted_average, majority_vote "
            "or panel_discussion"
        )
    if panel.summariser is not None and panel.strategy is not StrategyName.PANEL_DISCUSSION:
        raise ConfigurationError(f"only panel_discussion has a summariser, {panel.strategy} has none: remove it")
    _check_names(panel)
    if len({agent.prompt_version for agent in panel.members}) > 1:
        raise ConfigurationError("the agents of a panel use one prompt set: give all the same prompt_version")
    for agent in panel.members:
        scale = agent.rubric.scale
        if (scale.low, scale.high) != panel.scale:
            raise ConfigurationError(
                f"agent {agent.name} scores on {scale.low:g}..{scale.high:g}, the panel on "
                f"{panel.scale[0]:g}..{panel.scale[1]:g}: give all agents of a panel rubrics with the same scale"
            )
    if panel.strategy is StrategyName.REJUDGE:
        _check_rejudging(panel.agents)
        return
    votes = [agent.name for agent in panel.agents if agent.rubric.kind == "binary"]
    averaged = panel.averages and panel.summariser is None and len(panel.agents) > 1
    if votes and averaged and not panel.average_votes:
        raise ConfigurationError(
            f"{', '.join(votes)} would put a binary vote into an average: choose majority_vote, or set "
            "average_votes = true to count votes as the scale's ends"
        )


def _check_rejudging(agents: "Sequence[Agent]") -> None:
    roles = [agent.name for agent in agents if agent.role is not None]
    if roles:
        raise ConfigurationError(
            f"strategy rejudge asks models to judge without a role, but {', '.join(roles)} has one: drop the role"
        )

    finer = [agent.name for agent in agents if _finer(agent)]
    if finer:
        raise ConfigurationError(
            f"strategy rejudge asks models for verdicts and not for scores, but {', '.join(finer)} has samples "
            "set: leave them out"
        )


def _check_names(panel: Panel) -> None:
    agents = panel.members
    names = [agent.name for agent in agents]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ConfigurationError(
            f"agent {', '.join(repeated)} is given more than once: name them apart with NAME=PROVIDER:MODEL"
        )
    seen: dict[tuple[str, str, str, str | None, str], str] = {}
    for agent in agents:
        identity = (
            str(agent.model.endpoint),
            agent.model.name,
            "" if panel.strategy is StrategyName.REJUDGE else agent.rubric.digest,
            agent.role,
            repr(agent.parameters),
        )
        if identity in seen:
            raise ConfigurationError(
                f"agents {seen[identity]} and {agent.name} are the same model with the same role, rubric and "
                "parameters: one answer would count twice; change or remove one"
            )
        seen[identity] = agent.name
