"""Agents' scores of judgments as evidence, with what they depend on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.types import Assessment


@dataclass(frozen=True, slots=True)
class AgentScores:
    """Scores by judgment and agent.

    Attributes:
        scores: judgment id -> agent name -> score.
        agents: agent name -> model.
        rubrics: digests of the rubrics used.
        prompts: digests of the prompt templates used.
    """

    scores: Mapping[str, Mapping[str, float]]
    agents: Mapping[str, str] = field(default_factory=dict)
    rubrics: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()

    @classmethod
    def from_assessments(cls, assessments: Iterable[Assessment]) -> "AgentScores":
        """Collects the valid scores of agents (and of a summariser).

        Raises:
            InputError: one agent name stands for two models, or a judgment was scored twice by an agent.
        """
        scores: dict[str, dict[str, float]] = {}
        agents: dict[str, str] = {}
        rubrics, prompts = set(), set()
        for assessment in assessments:
            said = scores.setdefault(assessment.judgment_id, {})
            summariser = () if assessment.summariser is None else (assessment.summariser,)
            for result in (*assessment.agents, *summariser):
                if result.score is None:
                    continue
                if agents.setdefault(result.agent, result.model) != result.model:
                    raise InputError(
                        f"agent {result.agent!r} is {agents[result.agent]} in one assessment and {result.model} in "
                        f"another (judgment {assessment.judgment_id!r}): give each model a name of its own"
                    )
                if said.setdefault(result.agent, result.score) != result.score:
                    raise InputError(
                        f"agent {result.agent!r} scored judgment {assessment.judgment_id!r} twice and differently: "
                        "give the assessments of one run only"
                    )
            rubrics |= {assessment.rubric_digest} - {None}
            prompts |= {assessment.prompt_digest} - {None}
        return cls(scores, agents, tuple(sorted(map(str, rubrics))), tuple(sorted(map(str, prompts))))

    @classmethod
    def read(cls, path: Path | str) -> "AgentScores":
        """Reads a file of assessments, one a line, as ``metajudge vet --out`` writes it.

        Raises:
            InputError: a line is no assessment, or no agent gave a score anywhere in the file.
        """
        assessments = []
        try:
            with Path(path).open("rb") as stream:
                for number, line in enumerate(stream, 1):
                    if line.strip():
                        assessments.append(_assessment(line, f"{path}:{number}"))
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
        found = cls.from_assessments(assessments)
        if not any(found.scores.values()):
            raise InputError(
                f"{path} holds {len(assessments)} assessments and no agent's score: write it with "
                "`metajudge vet ... --agent ... --no-early-exit --out FILE`"
            )
        return found


def _assessment(line: bytes, where: str) -> Assessment:
    try:
        return Assessment.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        raise InputError(f"{where}: no assessment: {at + ': ' if at else ''}{first['msg']}") from None
