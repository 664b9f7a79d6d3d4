"""How the stages of a case are scored: which criteria each has, and their weights by the case's type."""

import unicodedata
from operator import not_
from typing import Annotated, Literal

from pydantic import Field, model_validator

from metajudge.decision.bands import pieces
from metajudge.files.yaml_documents import did_you_mean, name_list
from metajudge.rubric.model import LevelKey, Name, Text, Weight
from metajudge.types.frozen import Frozen, left_out
from metajudge.types.interval import UNIT, Interval

Step = Literal["archive", "quick_review", "go_on"]
"""A gate's result: archive the case, send it to a person at once, or judge the remaining stages."""

TypeName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]


def category_key(text: str) -> str:
    """What categories and types are compared by: without regard to case, accents and the space around them."""
    plain = unicodedata.normalize("NFKD", text.strip().casefold())
    return " ".join("".join(one for one in plain if not unicodedata.combining(one)).split())


class Profile(Frozen):
    """Weights of the criteria for cases of certain types.

    Attributes:
        types: the case types it is for, compared by :func:`category_key`; the name is always one of them.
        weights: criterion -> relative weight, above 0; normalised over the criteria actually scored.
    """

    name: Name
    title: Text
    types: tuple[TypeName, ...] = ()
    weights: Annotated[dict[Name, Weight], Field(min_length=1)]

    def fits(self, case_type: str) -> bool:
        """Whether it is for a type of case, however it is written."""
        return category_key(case_type) in {category_key(name) for name in (self.name, *self.types)}


class StagePlan(Frozen):
    """A stage of a case, and the criteria it is scored on."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
    title: Text | None = None
    criteria: Annotated[tuple[Name, ...], Field(min_length=1)]


class GateStep(Frozen):
    """A stretch of relevance, and what is done there."""

    value: Interval = Interval()
    step: Step
    justification: Text


class Gate(Frozen):
    """A number from 0 to 1 that decides whether a case is judged to its end.

    Attributes:
        stage: the stage it belongs to; it comes before the stages that a gate can skip.
        value: ``stated``: the number in ``field`` of the stage's context or output; ``score``: the stage's
            weighted score, as its place on the scale from 0 (lowest) to 1 (highest).
        missing: what is done where there is no such number.
    """

    stage: str
    value: Literal["stated", "score"] = "stated"
    field: str = "relevance"
    steps: Annotated[tuple[GateStep, ...], Field(min_length=1)]
    missing: Step = "go_on"

    @model_validator(mode="after")
    def _check(self) -> "Gate":
        for piece in pieces(UNIT, (step.value for step in self.steps)):
            covering = [index for index, step in enumerate(self.steps) if step.value.contains(piece.start)]
            if not covering:
                raise ValueError(f"steps: gap: no step covers {piece}; extend a step or add one")
            if len(covering) > 1:
                names = " and ".join(f"steps[{index}]" for index in covering)
                raise ValueError(f"steps: overlap: {names} cover {piece}; keep only one of them")
        return self

    def step_for(self, value: float) -> GateStep:
        """The step for a number from 0 to 1."""
        return next(step for step in self.steps if step.value.contains(value))


class CasePlan(Frozen):
    """How cases are judged under a policy.

    Attributes:
        rubric: a built-in rubric's name or a file, relative to the policy's.
        stages: in the order in which they are judged.
        profiles: weights by type of case.
        overall_score: ``mean_of_stages`` (plain mean of the stages' weighted scores) or ``lowest_stage``.
        overall_confidence: ``mean_of_stages`` (plain mean of the criteria's, then of the stages') or ``lowest_stage``
            (plain mean of the criteria's, then the lowest stage's).
        judges: how several judges' scores and confidences of a criterion combine: ``mean`` (plain) or ``lowest``.
        gate: may end a case early; None for none.
        company, priorities, language, instructions: what judges are told beside the rubric.
        levels: criterion -> point of the scale -> text in place of the rubric's.
    """

    rubric: Text
    stages: Annotated[tuple[StagePlan, ...], Field(min_length=1)]
    profiles: Annotated[tuple[Profile, ...], Field(min_length=1)]
    overall_score: Literal["mean_of_stages", "lowest_stage"] = "mean_of_stages"
    overall_confidence: Literal["mean_of_stages", "lowest_stage"] = "mean_of_stages"
    judges: Literal["mean", "lowest"] = "mean"
    gate: Gate | None = None
    company: Text | None = left_out("What judges are told about the company whose work it is.")
    priorities: tuple[Text, ...] = left_out("What the company holds to be important, the most important first.", ())
    language: Text | None = left_out("The language of judges' comments and weaknesses, such as French.")
    instructions: dict[Name, Text] = Field(
        default_factory=dict,
        exclude_if=not_,
        description="A further instruction by criterion, such as one that people's corrections suggest.",
    )
    levels: dict[Name, dict[LevelKey, Text]] = Field(
        default_factory=dict, exclude_if=not_, description="Texts in place of the rubric's, by criterion and level."
    )

    @model_validator(mode="after")
    def _check(self) -> "CasePlan":
        names = [stage.name for stage in self.stages]
        _different(names, "stages", "name")
        for index, stage in enumerate(self.stages):
            _different(stage.criteria, f"stages[{index}].criteria", "criterion")
        _different([profile.name for profile in self.profiles], "profiles", "name")
        owner: dict[str, str] = {}
        keys = [(one.name, category_key(name)) for one in self.profiles for name in (one.name, *one.types)]
        for own, key in keys:
            first = owner.setdefault(key, own)
            if first != own:
                raise ValueError(f"profiles: {first!r} and {own!r} are both for cases of type {key!r}")
        known = self.criteria
        for index, profile in enumerate(self.profiles):
            where = f"profiles[{index}].weights"
            for name in profile.weights:
                if name not in known:
                    hint = did_you_mean(name, known)
                    raise ValueError(f"{where}: no stage has a criterion {name!r}; there are {name_list(known)}{hint}")
            missing = [name for name in known if name not in profile.weights]
            if missing:
                raise ValueError(f"{where}: no weight for {name_list(missing)}; a profile must weigh every criterion")
        for name in self.instructions:
            if name not in self.criteria:
                there = name_list(self.criteria)
                raise ValueError(f"instructions: no stage has a criterion {name!r}; there are {there}")
        if self.gate is not None and self.gate.stage not in names:
            raise ValueError(f"gate.stage: there is no stage {self.gate.stage!r}; the policy has {name_list(names)}")
        return self

    @property
    def criteria(self) -> tuple[str, ...]:
        """The criteria of all stages, each once, in order of appearance."""
        return tuple(dict.fromkeys(name for stage in self.stages for name in stage.criteria))

    def profile_for(self, case_type: str) -> Profile | None:
        """The profile for a type of case; None if missing."""
        return next((profile for profile in self.profiles if profile.fits(case_type)), None)

    def stage(self, name: str) -> StagePlan | None:
        """A stage by its name; None if missing."""
        return next((stage for stage in self.stages if stage.name == name), None)


def _different(names: "list[str] | tuple[str, ...]", where: str, what: str) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ValueError(f"{where}[{index}]: the {what} {name!r} is given twice; keep one of them")
