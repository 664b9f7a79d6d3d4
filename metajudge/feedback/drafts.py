"""Drafted changes of how cases are judged: an offset, level texts, an instruction, calibrated confidence.

A pattern in people's corrections says that a criterion is scored too high or too low. A draft answers it with a whole
new policy. It is made of one half of the corrected records, by question; the other half is held out, so that the
comparison of :mod:`metajudge.feedback.comparison` is about records the draft has not seen. Texts are templates filled
with people's reasons, unless a model writes them (:mod:`metajudge.feedback.writing`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from pydantic import Field

from metajudge.decision.adjustment import Adjustment, Recalibration
from metajudge.decision.interval import exact
from metajudge.decision.policy import Policy
from metajudge.errors import InputError
from metajudge.feedback.candidates import FEWEST_CORRECTIONS, adjusted, logistic, validated
from metajudge.feedback.cases import REJECTED, DecidedCase, Direction
from metajudge.feedback.patterns import PatternRecord
from metajudge.feedback.replay import bounds_of
from metajudge.rubric.model import Criterion, Rubric
from metajudge.types import digest
from metajudge.types.frozen import Frozen

TEMPLATE = "template"
"""Who wrote a draft's texts where no model did."""

FEWEST_FOR_CONFIDENCE = 40
"""Records with a stated confidence that a calibration of it needs in each half, with at least five of either kind."""
FEWEST_OF_A_KIND = 5
MOST_REASONS = 5
LONGEST_REASON = 200


class DraftKind(StrEnum):
    """What a draft changes."""

    OFFSET = "offset"
    """A criterion's score moves by a constant, after judging; no model is asked again."""
    LEVELS = "levels"
    """Texts of a criterion's levels, so that judges are asked anew."""
    INSTRUCTION = "instruction"
    """A further instruction to judges about a criterion, so that they are asked anew."""
    CONFIDENCE = "confidence"
    """Stated confidence is recalibrated, after judging; no model is asked again."""

    @property
    def asks_models(self) -> bool:
        """Whether trying it takes new model calls."""
        return self in (DraftKind.LEVELS, DraftKind.INSTRUCTION)


class Draft(Frozen):
    """A drafted version of a policy, unused until it was compared and is activated.

    Attributes:
        base_digest: the version it would replace; ``policy`` is the new one, whole.
        change: in words.
        pattern: what in people's corrections it answers; None for confidence.
        drafted_on, held_out: ids of the reviews it was made of, and of those it is to be compared on.
        quotes: ids of the cases whose reviewers' reasons its texts may repeat; ``metajudge forget`` reaches them.
        written_by: ``template``, or the model that wrote its texts.
        created_at: seconds since the epoch.
    """

    draft_id: str
    name: str
    base_digest: str
    kind: DraftKind
    change: str
    policy: Policy
    pattern: PatternRecord | None = None
    drafted_on: tuple[str, ...]
    held_out: tuple[str, ...]
    quotes: tuple[str, ...] = ()
    written_by: str = TEMPLATE
    created_at: float = Field(ge=0)


@dataclass(frozen=True, slots=True)
class Correction:
    """One record's correction of a criterion: the machine's score, people's, and their reasons."""

    machine: float
    people: float
    reasons: tuple[str, ...]


def draft_id(base_digest: str, policy: Policy, drafted_on: Sequence[str]) -> str:
    """The same change made of the same records is the same draft."""
    return digest(["draft", base_digest, policy.digest, list(drafted_on)])[:12]


def halves(cases: Sequence[DecidedCase], seed: int) -> tuple[list[DecidedCase], list[DecidedCase]]:
    """The cases to draft on and those held out, by question: a draw from the seed and the question alone."""
    draws = [int(digest(["draft", seed, case.question])[:13], 16) % 2 for case in cases]
    return (
        [case for case, draw in zip(cases, draws, strict=True) if draw == 0],
        [case for case, draw in zip(cases, draws, strict=True) if draw == 1],
    )


def corrections(cases: Sequence[DecidedCase], criterion: str) -> list[Correction]:
    """People's corrections of a criterion."""
    found = []
    for case in cases:
        if criterion in case.corrected and criterion in case.criteria:
            about = [one for one in case.decisions if criterion in (one.scores or {})]
            reasons = tuple(" ".join(one.reason.split())[:LONGEST_REASON] for one in about if one.reason.strip())
            found.append(Correction(case.criteria[criterion], case.corrected[criterion], reasons))
    return found


def reasons_of(found: Sequence[Correction]) -> tuple[str, ...]:
    """People's reasons, each once, in the order given, at most :data:`MOST_REASONS`."""
    return tuple(dict.fromkeys(reason for one in found for reason in one.reasons))[:MOST_REASONS]


def mean_shift(found: Sequence[Correction]) -> float:
    """People's score less the machine's, mean.

    Raises:
        InputError: too few corrections to draft on.
    """
    if len(found) < FEWEST_CORRECTIONS:
        raise InputError(
            f"{len(found)} corrections to draft on are too few: at least {FEWEST_CORRECTIONS} are needed in the half "
            "that is not held out"
        )
    return sum(one.people - one.machine for one in found) / len(found)


def with_offset(policy: Policy, criterion: str, found: Sequence[Correction]) -> Policy | None:
    """The policy with the criterion moved by people's mean shift."""
    before = policy.adjustment or Adjustment()
    return adjusted(policy, offsets={**before.offsets, criterion: round(mean_shift(found), 3)})


def level_texts(criterion: Criterion, found: Sequence[Correction]) -> dict[float, str]:
    """Level -> new text, from people's reasons: what keeps work from a level that they gave less often.

    A criterion scored too high gets the reasons at every level above people's mean score; one scored too low at the
    level nearest to it.
    """
    shift = mean_shift(found)
    people = sum(one.people for one in found) / len(found)
    reasons = "; ".join(reasons_of(found)).rstrip(".") or f"work scored {abs(shift):.2g} points off by earlier judges"
    if shift < 0:
        chosen = [point for point in sorted(criterion.levels) if point > people]
        return {point: f"{criterion.levels[point].rstrip()} Not where people found: {reasons}." for point in chosen}
    nearest = min(sorted(criterion.levels), key=lambda point: abs(point - people))
    return {nearest: f"{criterion.levels[nearest].rstrip()} Also where people found: {reasons}."}


def instruction_text(criterion: Criterion, found: Sequence[Correction]) -> str:
    """An instruction to judges from people's corrections and reasons."""
    shift = mean_shift(found)
    way = "too high" if shift < 0 else "too low"
    text = (
        f"People who checked earlier evaluations found that {criterion.name} ({criterion.title}) was scored {way}, by "
        f"{abs(shift):.2g} points on average. "
    )
    reasons = reasons_of(found)
    if not reasons:
        return text + "Check each claim under this criterion before you settle on its score."
    listed = "\n".join(f"- {reason}" for reason in reasons)
    return f"{text}Before you settle on its score, look for what they pointed to:\n{listed}"


def with_levels(policy: Policy, criterion: str, texts: Mapping[float, str]) -> Policy | None:
    """The policy with other texts at some levels of a criterion."""
    data = policy.model_dump(mode="json")
    levels = data["cases"].setdefault("levels", {})
    levels[criterion] = {**levels.get(criterion, {}), **{f"{point:g}": text for point, text in texts.items()}}
    return validated(data, policy)


def with_instruction(policy: Policy, criterion: str, text: str) -> Policy | None:
    """The policy with an instruction to judges about a criterion, in place of an earlier one about it."""
    data = policy.model_dump(mode="json")
    data["cases"].setdefault("instructions", {})[criterion] = text
    return validated(data, policy)


def confirmed(policy: Policy, case: DecidedCase) -> bool | None:
    """Whether a case's score holds: it and people (or the label) fall on the same side of the rejection's bound.

    People's decision counts first, the label where they are undecided or were not asked. None where neither says, or
    there is no score, or the policy rejects nothing.
    """
    right = case.truth if case.right is None else case.right
    bounds = bounds_of(policy.bands, REJECTED, "below")
    if right is None or case.score is None or not bounds:
        return None
    return right == (exact(case.score) >= exact(bounds[-1]))


def with_confidence(policy: Policy, cases: Sequence[DecidedCase]) -> Policy:
    """The policy with stated confidence recalibrated by a logistic fit (Platt, 1999) on :func:`confirmed`.

    Raises:
        InputError: too few records for it, or it does not converge to an increasing curve: confidence stays as stated.
    """
    known = [
        (case, held) for case in cases if case.confidence is not None and (held := confirmed(policy, case)) is not None
    ]
    yes = sum(held for _, held in known)
    if len(known) < FEWEST_FOR_CONFIDENCE or min(yes, len(known) - yes) < FEWEST_OF_A_KIND:
        raise InputError(
            f"stated confidence cannot be calibrated on {len(known)} records, {yes} of whose scores held: at least "
            f"{FEWEST_FOR_CONFIDENCE} with {FEWEST_OF_A_KIND} of either kind are needed; it stays as stated"
        )
    stated = np.clip(np.array([case.confidence for case, _ in known], dtype=np.float64), 1e-6, 1 - 1e-6)
    weight = np.array([case.weight for case, _ in known])
    target = np.array([float(held) for _, held in known])
    odds = np.log(stated / (1 - stated))
    found = logistic(odds[:, None], target, weight * len(weight) / weight.sum(), np.array([1.0]))
    if found is None or found[1] <= 0.01:
        raise InputError(
            f"stated confidence says nothing about whether scores hold, on {len(known)} records: more confident ones "
            "held no more often; it stays as stated"
        )
    curve = Recalibration(intercept=round(float(found[0]), 6), slope=round(float(found[1]), 6))
    new = adjusted(policy, confidence=curve)
    if new is None:
        raise InputError("stated confidence is already calibrated this way: nothing to draft")
    return new


def criterion_of(rubric: Rubric, name: str) -> Criterion:
    """A rubric's criterion.

    Raises:
        InputError: it has none of that name.
    """
    found = next((one for one in rubric.criteria if one.name == name), None)
    if found is None:
        raise InputError(f"rubric {rubric.name!r} has no criterion {name!r}")
    return found


def describe(kind: DraftKind, criterion: str | None, policy: Policy, direction: Direction | None) -> str:
    """A draft's change in a sentence."""
    learned = policy.adjustment or Adjustment()
    match kind:
        case DraftKind.OFFSET:
            return f"offset of {criterion}: {learned.offsets[str(criterion)]:+.3g}"
        case DraftKind.CONFIDENCE:
            curve = learned.confidence
            assert curve is not None, "drafted with it"
            return f"confidence recalibrated: logit c' = {curve.intercept:+.3g} + {curve.slope:.3g} logit c"
        case DraftKind.LEVELS:
            assert policy.cases is not None, "drafted with levels"
            points = ", ".join(f"{point:g}" for point in sorted(policy.cases.levels[str(criterion)]))
            return f"{_way(direction)} wording of {criterion} at level {points}"
        case DraftKind.INSTRUCTION:
            return f"{_way(direction)} instruction to judges about {criterion}"


def _way(direction: Direction | None) -> str:
    return "stricter" if direction is Direction.TOO_LENIENT else "more lenient"
