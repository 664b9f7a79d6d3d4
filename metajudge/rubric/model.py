"""What a rubric is: named, weighted criteria on a scale, identified by their content."""

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, StringConstraints, field_validator, model_validator

from metajudge.errors import RubricError
from metajudge.files.yaml_documents import brief, did_you_mean, name_list
from metajudge.types.digests import digest
from metajudge.types.frozen import Frozen
from metajudge.types.interval import DECIMALS, Number, finite

MAX_POINTS = 101
"""The most points a scale may have; schema-constrained providers list them one by one."""

MAX_ANCHORED_POINTS = 7
"""Up to this many points every one needs a description; on a finer scale only the two ends do."""

RubricKind: TypeAlias = Literal["criteria", "holistic", "binary"]

Aside: TypeAlias = Literal["confidence", "evidence", "weaknesses"]
"""What may be asked for beside a criterion's score: how sure, quotes that bear it out, what is lacking."""


def _positive(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError("must be a finite number above 0")
    return float(value)


def _level_key(value: Any) -> float:
    # A JSON file (JSON is YAML) can write its keys only as strings.
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise ValueError("must be a point of the scale") from None
    return finite(value)


Text = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
Weight = Annotated[float, BeforeValidator(_positive)]
LevelKey = Annotated[float, BeforeValidator(_level_key)]


class _Frozen(Frozen):
    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy is validated like a new object: pydantic's own would keep the old digest and weights."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**fields, **(update or {})})


class Scale(_Frozen):
    """Evenly spaced scores from ``low`` (worst) to ``high`` (best), both included."""

    low: Number = 1.0
    high: Number = 5.0
    step: Weight = 1.0

    @model_validator(mode="after")
    def _check(self) -> "Scale":
        if self.low >= self.high:
            raise ValueError(f"low ({self.low:g}) must be below high ({self.high:g})")
        steps = (self.high - self.low) / self.step
        if steps > MAX_POINTS - 1 + 1e-6:
            raise ValueError(f"a scale has at most {MAX_POINTS} points; raise step or lower high")
        if abs(steps - round(steps)) > 1e-6:
            raise ValueError(f"step ({self.step:g}) does not divide {self.low:g}..{self.high:g} evenly")
        return self

    @cached_property
    def points(self) -> tuple[float | int, ...]:
        """Every legal score, lowest first; whole ones are ints."""
        count = round((self.high - self.low) / self.step) + 1
        exact = (round(self.low + i * self.step, DECIMALS) for i in range(count))
        return tuple(int(point) if point.is_integer() else point for point in exact)

    def contains(self, score: float) -> bool:
        """Whether a number is one of the points (5.0 is 5; a bool is no number)."""
        return not isinstance(score, bool) and round(score, DECIMALS) in self.points

    def __str__(self) -> str:
        if len(self.points) <= MAX_ANCHORED_POINTS:
            return f"{', '.join(map(str, self.points[:-1]))} or {self.points[-1]}"
        return f"a number from {self.low:g} to {self.high:g} in steps of {self.step:g}"


class Criterion(_Frozen):
    """One aspect of a judgment's quality.

    Attributes:
        weight: relative importance, above 0; :attr:`Rubric.weights` has the normalised one.
        levels: what a score means, by point of the scale.
        optional: whether an agent may mark the criterion as not applicable.
        judges_rationale: whether the criterion is about the judge's rationale, so that it does not apply to a judgment
            without one (:meth:`Rubric.for_verdict_alone`).
    """

    name: Name
    title: Text
    description: Text
    weight: Weight = 1.0
    levels: dict[LevelKey, Text] = Field(default_factory=dict)
    optional: bool = Field(default=False, strict=True)
    judges_rationale: bool = Field(default=False, strict=True)


class Rubric(_Frozen):
    """What an agent scores a judgment by.

    ``kind`` says what is asked: a score for each criterion (``criteria``), one score for the whole
    (``holistic``, without criteria), or correct or wrong with the criteria as guidance (``binary``;
    correct counts as the scale's high end, wrong as its low end). ``subject`` says what is scored: a judge's
    ``judgment``, or the stages of a ``case``. ``asks`` is for cases: what is wanted beside each score.
    """

    version: Literal[1] = Field(default=1, description="Version of this file format.")
    name: Name
    title: Text
    description: Text
    kind: RubricKind = "criteria"
    scale: Scale = Scale()
    criteria: tuple[Criterion, ...] = ()
    weight_sets: dict[Name, dict[str, Weight]] = Field(
        default_factory=dict, description="Named alternatives to the criteria's own weights."
    )
    subject: Literal["judgment", "case"] = "judgment"
    asks: tuple[Aside, ...] = ()

    @field_validator("criteria", mode="before")
    @classmethod
    def _list_of_criteria(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise ValueError(f"must be a list of criteria, not {type(value).__name__}")
        return value

    @model_validator(mode="after")
    def _check(self) -> "Rubric":
        if self.kind == "criteria" and not self.criteria:
            raise ValueError("criteria: a rubric of kind 'criteria' needs at least one")
        if self.kind == "holistic" and self.criteria:
            raise ValueError("criteria: a holistic rubric has none; use kind 'criteria' or 'binary'")
        if self.asks and self.subject != "case":
            raise ValueError("asks: only a rubric with subject 'case' may ask for more than scores")
        if self.subject == "case" and self.kind != "criteria":
            raise ValueError("kind: a rubric with subject 'case' is of kind 'criteria'")
        if self.subject == "case" and any(criterion.judges_rationale for criterion in self.criteria):
            raise ValueError("criteria: a case has no rationale to judge; leave out judges_rationale")
        if len(set(self.asks)) != len(self.asks):
            raise ValueError("asks: name each of confidence, evidence and weaknesses at most once")
        _check_names(self.criteria)
        for index, criterion in enumerate(self.criteria):
            _check_levels(criterion, f"criteria[{index}]", self.kind, self.scale)
        for name, weights in self.weight_sets.items():
            _check_weight_names(weights, self.criteria, f"weight_sets.{name}")
        return self

    @cached_property
    def digest(self) -> str:
        """Identity of the content with the weights in force; weight sets not in use do not enter."""
        data = self.model_dump(mode="json", exclude={"weight_sets"})
        if self.subject == "judgment":  # as rubrics were before they could be for cases: their digests stay
            del data["subject"], data["asks"]
        for criterion in data["criteria"]:
            if not criterion["judges_rationale"]:  # as criteria were before they had this field
                del criterion["judges_rationale"]
            criterion["weight"] = round(self.weights[criterion["name"]], 12)
        return digest(data)

    @cached_property
    def weights(self) -> dict[str, float]:
        """Criterion name -> weight, normalised to sum 1; empty for a holistic rubric."""
        total = math.fsum(criterion.weight for criterion in self.criteria)
        return {criterion.name: criterion.weight / total for criterion in self.criteria}

    @cached_property
    def scored_names(self) -> tuple[str, ...]:
        """What a reply must score, in order: criteria names, ``("overall",)`` or ``("correct",)``."""
        if self.kind == "criteria":
            return tuple(criterion.name for criterion in self.criteria)
        return ("overall",) if self.kind == "holistic" else ("correct",)

    @cached_property
    def score_weights(self) -> dict[str, float]:
        """Normalised weights over :attr:`scored_names`: what an agent's score is computed with."""
        return dict(self.weights) if self.kind == "criteria" else dict.fromkeys(self.scored_names, 1.0)

    def with_weights(self, weights: str | Mapping[str, float]) -> "Rubric":
        """The same rubric with other weights in force.

        Args:
            weights: name of one of :attr:`weight_sets`, or a positive number for every criterion.

        Raises:
            RubricError: unknown set, missing or unknown criterion, or a weight that is not above 0.
        """
        where = f"rubric {self.name!r}"
        if not self.criteria:
            raise RubricError(f"{where} has no criteria, so there is nothing to weigh: leave weights out")
        chosen = self._weight_set(weights) if isinstance(weights, str) else weights
        if not isinstance(chosen, Mapping):
            raise RubricError(
                f"{where}: weights must be the name of a set or a mapping of criterion to number "
                f"(found {brief(chosen)})"
            )
        try:
            _check_weight_names(chosen, self.criteria, "weights")
            criteria = [
                criterion.model_copy(update={"weight": _weight_of(criterion.name, chosen)})
                for criterion in self.criteria
            ]
        except ValueError as error:
            raise RubricError(f"{where}: {error}") from None
        return self.model_copy(update={"criteria": tuple(criteria)})

    def only(self, names: Iterable[str]) -> "Rubric":
        """The same rubric with some of its criteria alone, in the order given, and without weight sets.

        Raises:
            RubricError: a criterion it does not have.
        """
        known = {criterion.name: criterion for criterion in self.criteria}
        chosen = []
        for name in names:
            if name not in known:
                hint = did_you_mean(name, known)
                raise RubricError(f"rubric {self.name!r} has no criterion {name!r}; it has {name_list(known)}{hint}")
            chosen.append(known[name])
        return self.model_copy(update={"criteria": tuple(chosen), "weight_sets": {}})

    def for_verdict_alone(self) -> "Rubric":
        """The rubric for a judgment without a rationale: without the criteria that judge one.

        Weights are normalised over the criteria that stay. It is this very object where no criterion judges a
        rationale, or all do.
        """
        kept = [criterion.name for criterion in self.criteria if not criterion.judges_rationale]
        return self.only(kept) if 0 < len(kept) < len(self.criteria) else self

    def _weight_set(self, name: str) -> Mapping[str, float]:
        if name not in self.weight_sets:
            raise RubricError(
                f"rubric {self.name!r} has no weight set {name!r}; it has {name_list(self.weight_sets)}"
                f"{did_you_mean(name, self.weight_sets)}"
            )
        return self.weight_sets[name]


def _weight_of(name: str, weights: Mapping[str, float]) -> float:
    try:
        return _positive(weights[name])
    except ValueError as error:
        raise ValueError(f"weights.{name}: {error} (found {brief(weights[name])})") from None


def _check_names(criteria: tuple[Criterion, ...]) -> None:
    seen: dict[str, int] = {}
    for index, criterion in enumerate(criteria):
        first = seen.setdefault(criterion.name, index)
        if first != index:
            raise ValueError(f"criteria[{index}].name: {criterion.name!r} is already used by criteria[{first}]")


def _check_levels(criterion: Criterion, where: str, kind: RubricKind, scale: Scale) -> None:
    if kind == "binary":
        if criterion.levels or criterion.optional:
            raise ValueError(
                f"{where}: in a binary rubric a criterion is guidance and not scored; leave out levels and optional"
            )
        return
    outside = [f"{key:g}" for key in criterion.levels if not scale.contains(key)]
    if outside:
        raise ValueError(f"{where}.levels: {', '.join(outside)} not on the scale; accepted: {scale}")
    needed = scale.points if len(scale.points) <= MAX_ANCHORED_POINTS else (scale.points[0], scale.points[-1])
    missing = [str(point) for point in needed if point not in criterion.levels]
    if missing:
        raise ValueError(f"{where}.levels: no description for {', '.join(missing)}")


def _check_weight_names(weights: Mapping[str, float], criteria: tuple[Criterion, ...], where: str) -> None:
    names = [criterion.name for criterion in criteria]
    for name in weights:
        if name not in names:
            raise ValueError(
                f"{where}: no criterion is called {name!r}; the rubric has {name_list(names)}"
                f"{did_you_mean(str(name), names)}"
            )
    missing = [name for name in names if name not in weights]
    if missing:
        raise ValueError(f"{where}: no weight for {', '.join(missing)}; a set must weigh every criterion")
