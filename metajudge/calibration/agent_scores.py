"""Agents' scores of judgments as evidence, with what they depend on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from metajudge.errors import InputError
from metajudge.types import Assessment


@dataclass(frozen=True, slots=True)
class AgentScores:
    """Scores by judgment and agent.

    Attributes:
        scores: judgment id -> agent name -> score; of a vote by an agent with finer scores, what is behind the vote.
        agents: agent name -> model, with how it scores where that is not one reported point.
        spreads: judgment id -> agent name -> standard deviation of the draws' scores, where several were made.
    """

    scores: Mapping[str, Mapping[str, float]]
    agents: Mapping[str, str] = field(default_factory=dict)
    rubrics: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    spreads: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def from_assessments(cls, assessments: Iterable[Assessment]) -> "AgentScores":
        """Collects the valid scores of agents (and of a summariser).

        Raises:
            InputError: one agent name is used for two models, or a judgment was scored twice by an agent.
        """
        scores: dict[str, dict[str, float]] = {}
        spreads: dict[str, dict[str, float]] = {}
        agents: dict[str, str] = {}
        rubrics, prompts = set(), set()
        for assessment in assessments:
            known = scores.setdefault(assessment.judgment_id, {})
            summariser = () if assessment.summariser is None else (assessment.summariser,)
            for result in (*assessment.agents, *summariser):
                if result.score is None:
                    continue
                score = result.score if result.fine_score is None else result.fine_score
                model = scoring_model(result.model, result.samples or 1, expected=result.scoring == "expected")
                if agents.setdefault(result.agent, model) != model:
                    raise InputError(
                        f"agent {result.agent!r} is {agents[result.agent]} in one assessment and {model} in "
                        f"another (judgment {assessment.judgment_id!r}): give each model its own name"
                    )
                if known.setdefault(result.agent, score) != score:
                    raise InputError(
                        f"agent {result.agent!r} scored judgment {assessment.judgment_id!r} twice and differently: "
                        "give the assessments of one run only"
                    )
                if result.spread is not None:
                    spreads.setdefault(assessment.judgment_id, {})[result.agent] = result.spread
            rubrics |= {assessment.rubric_digest} - {None}
            prompts |= {assessment.prompt_digest} - {None}
        return cls(scores, agents, tuple(sorted(map(str, rubrics))), tuple(sorted(map(str, prompts))), spreads)


def scoring_model(model: str, samples: int, *, expected: bool = False) -> str:
    """A model as part of a calibration's identity: its finer scores are other evidence than its reported ones.

    Args:
        expected: whether an earlier version took its scores from token probabilities.
    """
    how = [*(["expected scores"] if expected else []), *([f"mean of {samples} draws"] if samples > 1 else [])]
    return f"{model} ({', '.join(how)})" if how else model
