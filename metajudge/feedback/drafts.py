"""Drafted changes of how cases are judged: an instruction to judges about a criterion.

A pattern in people's corrections says that a criterion is scored too high or too low. A draft answers it with a whole
new policy. It is made of one half of the corrected records, by question; the other half is held out, so that the
comparison of :mod:`metajudge.feedback.comparison` is about records the draft has not seen. Its text is a template
filled with people's reasons, unless a model writes it (:mod:`metajudge.feedback.writing`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from metajudge.decision.policy import Policy
from metajudge.errors import InputError
from metajudge.feedback.candidates import FEWEST_CORRECTIONS, validated
from metajudge.feedback.cases import DecidedCase, Direction
from metajudge.feedback.patterns import Pattern
from metajudge.rubric.model import Criterion, Rubric
from metajudge.types import digest
from metajudge.types.frozen import Frozen

TEMPLATE = "template"
"""Who wrote a draft's text where no model did."""

MOST_REASONS = 5
LONGEST_REASON = 200


class DraftKind(StrEnum):
    """What a draft changes; all but an instruction are of earlier versions."""

    OFFSET = "offset"
    LEVELS = "levels"
    INSTRUCTION = "instruction"
    """A further instruction to judges about a criterion, so that they are asked anew."""
    CONFIDENCE = "confidence"


class Draft(Frozen):
    """A drafted version of a policy, unused until it was compared and is activated.

    Attributes:
        base_digest: the version it would replace; ``policy`` is the new one, whole.
        change: in words.
        pattern: what in people's corrections it answers; None in some of earlier versions.
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
    pattern: Pattern | None = None
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


def with_instruction(policy: Policy, criterion: str, text: str) -> Policy | None:
    """The policy with an instruction to judges about a criterion, in place of an earlier one about it."""
    data = policy.model_dump(mode="json")
    data["cases"].setdefault("instructions", {})[criterion] = text
    return validated(data, policy)


def criterion_of(rubric: Rubric, name: str) -> Criterion:
    """A rubric's criterion.

    Raises:
        InputError: it has none of that name.
    """
    found = next((one for one in rubric.criteria if one.name == name), None)
    if found is None:
        raise InputError(f"rubric {rubric.name!r} has no criterion {name!r}")
    return found


def describe(criterion: str, direction: Direction) -> str:
    """A draft's change in a sentence."""
    way = "stricter" if direction is Direction.TOO_LENIENT else "more lenient"
    return f"{way} instruction to judges about {criterion}"
