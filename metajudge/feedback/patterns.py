"""Patterns in disagreements: where the machine is too lenient or too strict, by how much, and whether that is noise."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from metajudge.feedback.candidates import FEWEST_CORRECTIONS
from metajudge.feedback.cases import APPROVED, REJECTED, DecidedCase, Direction, shifts_of
from metajudge.feedback.metrics import DEFINITIONS
from metajudge.stats.signed_rank import wilcoxon_signed_rank
from metajudge.types.frozen import Frozen

LEVEL = 0.05
"""Significance level over all patterns together (Holm, 1979)."""
FEWEST_CASES = 10
FEWEST_CRITERIA = 3
"""From this many criteria with the same bias the prompt is at fault rather than each one's wording."""


class Pattern(Frozen):
    """One way in which machine and people differ.

    Attributes:
        where: the criterion, or the action whose error rate is meant.
        category: None for all.
        shift: people's score less the machine's, mean, on the rubric's scale; for an action its error rate.
        n: corrected scores, or cases with that action.
        p_value: two-sided signed-rank test of the shifts, or the exact one-sided binomial test of the rate against
            its target.
        significant: whether it is significant at :data:`LEVEL` among all patterns tested.
        text: the pattern in a sentence.
    """

    direction: Direction
    kind: str
    where: str
    category: str | None
    shift: float
    n: int
    p_value: float
    significant: bool = False
    text: str = ""

    def described(self, significant: bool) -> "Pattern":
        """The same with its sentence, as it was tested."""
        known = self.model_copy(update={"significant": significant})
        return known.model_copy(update={"text": known.describe()})

    def describe(self) -> str:
        """The pattern in a sentence."""
        scope = "" if self.category is None else f" in {self.category}"
        sure = f"p = {self.p_value:.2g}" + ("" if self.significant else ", which may be noise")
        if self.kind == "criterion":
            how = "too lenient" if self.direction is Direction.TOO_LENIENT else "too strict"
            return f"{self.where}{scope} is scored {how} by {abs(self.shift):.2g} ({self.n} corrections, {sure})"
        word = "wrong" if self.direction is Direction.TOO_LENIENT else "right"
        return f"{100 * self.shift:.0f} % of {self.n} {self.where} cases{scope} were {word} ({sure})"


def find_patterns(cases: Sequence[DecidedCase]) -> list[Pattern]:
    """Patterns per criterion, per action, and per category of each; the surest first."""
    found = [*_criteria(cases, None), *_actions(cases, None)]
    categories = sorted({case.category for case in cases if case.category})
    for category in categories if len(categories) > 1 else ():
        mine = [case for case in cases if case.category == category]
        found += [*_criteria(mine, category), *_actions(mine, category)]
    return _holm(found)


def disagreements(cases: Iterable[DecidedCase]) -> dict[Direction, list[DecidedCase]]:
    """Cases by the way in which machine and people disagree."""
    found: dict[Direction, list[DecidedCase]] = {direction: [] for direction in Direction}
    for case in cases:
        if case.disagreement is not None:
            found[case.disagreement].append(case)
    return found


def _criteria(cases: Sequence[DecidedCase], category: str | None) -> list[Pattern]:
    found = []
    for name, values in sorted(shifts_of(cases).items()):
        mean = sum(values) / len(values)
        if len(values) < FEWEST_CORRECTIONS or mean == 0:
            continue
        direction = Direction.TOO_LENIENT if mean < 0 else Direction.TOO_STRICT
        p = wilcoxon_signed_rank([round(value, 9) for value in values]).p_value
        found.append(_pattern(direction, "criterion", name, category, mean, len(values), p))
    return found


def _actions(cases: Sequence[DecidedCase], category: str | None) -> list[Pattern]:
    from scipy.stats import binomtest

    found = []
    for action, direction, metric in (
        (APPROVED, Direction.TOO_LENIENT, "false_approve_rate"),
        (REJECTED, Direction.TOO_STRICT, "false_reject_rate"),
    ):
        known = [case for case in cases if case.action == action and case.right is not None]
        errors = Counter(case.disagreement for case in known)[direction]
        target = DEFINITIONS[metric].target  # type: ignore[index]
        if len(known) < FEWEST_CASES or errors <= target * len(known):
            continue
        p = float(binomtest(errors, len(known), target, alternative="greater").pvalue)
        found.append(_pattern(direction, "action", action, category, errors / len(known), len(known), p))
    return found


def _pattern(*values: object) -> Pattern:
    return Pattern.model_validate(dict(zip(Pattern.model_fields, values, strict=False)))


def _holm(patterns: Sequence[Pattern]) -> list[Pattern]:
    ordered = sorted(patterns, key=lambda one: (one.p_value, one.kind, one.where, one.category or ""))
    tested, significant = [], True
    for rank, one in enumerate(ordered):
        significant = significant and one.p_value <= LEVEL / (len(ordered) - rank)
        tested.append(one.described(significant))
    return tested


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
    text = f"revise the rubric's wording of {pattern.where}, so that it says {lower}: {pattern.text}"
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
