"""Advice from patterns that no backtest can test: changes to a rubric's wording or the judges' instructions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from metajudge.feedback.cases import Direction
from metajudge.feedback.patterns import Pattern

FEWEST_CRITERIA = 3
"""From this many criteria with the same bias the prompt is at fault rather than each one's wording."""


@dataclass(frozen=True, slots=True)
class Advice:
    """A revision a person may make; it asks models anew, so it can be tested only by judging again.

    Attributes:
        kind: ``rubric`` for one criterion's wording, ``prompt`` for the instructions of judges or agents.
        where: the criterion; None for a prompt.
        category: None for all.
        text: what to do and why, in a sentence.
    """

    kind: Literal["rubric", "prompt"]
    direction: Direction
    where: str | None
    category: str | None
    text: str


def advise(patterns: Sequence[Pattern]) -> list[Advice]:
    """Advice from the significant patterns on criteria; empty if there are none."""
    found = []
    sure = [one for one in patterns if one.significant and one.kind == "criterion"]
    scopes = sorted({(one.category or "", one.direction) for one in sure})
    for category, direction in scopes:
        mine = [one for one in sure if (one.category or "") == category and one.direction is direction]
        if len(mine) >= FEWEST_CRITERIA:
            found.append(_prompt(mine, direction, category or None))
        else:
            found += [_rubric(one) for one in mine]
    return found


def _rubric(pattern: Pattern) -> Advice:
    lower = "what a lower level lacks" if pattern.direction is Direction.TOO_LENIENT else "what a high level may lack"
    text = f"revise the rubric's wording of {pattern.where}, so that it says {lower}: {pattern.describe()}"
    return Advice("rubric", pattern.direction, pattern.where, pattern.category, text)


def _prompt(patterns: Sequence[Pattern], direction: Direction, category: str | None) -> Advice:
    names = ", ".join(sorted(one.where for one in patterns))
    how = "too lenient" if direction is Direction.TOO_LENIENT else "too strict"
    scope = "" if category is None else f" in {category}"
    mean = sum(abs(one.shift) for one in patterns) / len(patterns)
    text = (
        f"revise the agents' prompt (role or instruction){scope}: {len(patterns)} criteria ({names}) are scored {how}, "
        f"by {mean:.2g} on average, so it is not one criterion's wording"
    )
    return Advice("prompt", direction, None, category, text)
