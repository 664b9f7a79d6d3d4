"""What counts as right: the one rule by which a verdict is compared with a label, or with another judge's verdict."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast, get_args

from metajudge.types.label import passing
from metajudge.types.verdict import AnyVerdict, Category, Grade, Pairwise, Ranking, VerdictKind

RightName: TypeAlias = Literal["equal", "within", "side", "top1", "kendall"]

DECIMALS: Final = 9
"""Numbers are compared after rounding to so many decimals."""


@dataclass(frozen=True, slots=True)
class Right:
    """A rule of what counts as right.

    ``equal``: the same answer; for a pair the same winner (strength does not count), a tie being equal to a tie; for
    grades the same number; for categories the same name, where ``true``, ``pass``, ``yes``, ``correct`` and similar
    words are the same answer beside one another. ``within:T``: grades at most T apart. ``side:P``: both at least P, or
    both below; a category that says pass or fail is a side. ``top1``: the same single first place. ``kendall>=T``: the
    two orders have a Kendall tau-a of at least T over the ids that both rank.

    Attributes:
        name: of the rule.
        value: T or P; None for rules without a number.
    """

    name: RightName
    value: float | None = None

    def __str__(self) -> str:
        if self.value is None:
            return self.name
        return f"kendall>={self.value:g}" if self.name == "kendall" else f"{self.name}:{self.value:g}"

    def applies(self, kind: VerdictKind) -> bool:
        """Whether verdicts of a kind can be right by this rule."""
        return kind in _KINDS[self.name]


DEFAULTS: Final[dict[VerdictKind, Right]] = {
    "pairwise": Right("top1"),
    "ranking": Right("top1"),
    "grade": Right("equal"),
    "category": Right("equal"),
}
"""The rule of a kind where none is given; see :func:`default_right` for grades."""

_KINDS: Final[dict[RightName, tuple[VerdictKind, ...]]] = {
    "equal": ("pairwise", "ranking", "grade", "category"),
    "within": ("grade",),
    "side": ("grade", "category"),
    "top1": ("pairwise", "ranking"),
    "kendall": ("pairwise", "ranking"),
}


def parse_right(text: str) -> Right:
    """Reads ``equal``, ``within:T``, ``side:P``, ``top1`` or ``kendall>=T``.

    Raises:
        ValueError: with the accepted forms.
    """
    given = text.strip()
    name, sign, number = given.partition(">=") if given.startswith("kendall") else given.partition(":")
    if name in get_args(RightName):
        needs = name in ("within", "side", "kendall")
        try:
            value = float(number) if sign else None
        except ValueError:
            value = math.nan
        lowest, highest = _RANGES.get(name, (-math.inf, math.inf))
        allowed = value is None or (math.isfinite(value) and lowest <= value <= highest)
        if needs == (value is not None) and bool(sign) == needs and allowed:
            return Right(cast("RightName", name), value)
    raise ValueError(
        f"{text!r} is no rule of what is right: give equal, within:T (T at least 0), side:PASSMARK, top1 or "
        "kendall>=T (T from -1 to 1)"
    )


_RANGES = {"within": (0.0, math.inf), "kendall": (-1.0, 1.0)}


def default_right(kind: VerdictKind, verdicts: Iterable[AnyVerdict], labels: Iterable[AnyVerdict]) -> Right:
    """The rule of a kind where none is given.

    Grades are right where they equal the label, if all grades and labels are whole numbers; else within a tenth of the
    range that grades and labels cover. Where grades stand against labels that say pass or fail, the pass mark is the
    middle of that range. All other kinds: :data:`DEFAULTS`.
    """
    if kind not in ("grade", "category"):
        return DEFAULTS[kind]
    every = [*verdicts, *labels]
    numbers = [one.value for one in every if isinstance(one, Grade)]
    sides = any(isinstance(one, Category) for one in every)
    if not numbers:
        return DEFAULTS["category"]
    lowest, highest = min(numbers), max(numbers)
    if sides:
        return Right("side", (lowest + highest) / 2 if highest > lowest else highest)
    if all(value == int(value) for value in numbers):
        return DEFAULTS["grade"]
    return Right("within", round((highest - lowest) / 10, DECIMALS))


def is_right(verdict: AnyVerdict, label: AnyVerdict, rule: Right) -> bool | None:
    """Whether a verdict is right by a label.

    Returns:
        None where the two cannot be compared by this rule: other kinds, other responses, a label without a winner
        where the rule asks for one (a labelled tie is right only by ``equal``), a word that is no side.
    """
    match rule.name:
        case "side":
            mine, true = (_side(one, rule.value or 0.0) for one in (verdict, label))
            return None if mine is None or true is None else mine == true
        case "within":
            if isinstance(verdict, Grade) and isinstance(label, Grade):
                return round(abs(verdict.value - label.value) - (rule.value or 0.0), DECIMALS) <= 0
            return None
        case "kendall":
            tau = _kendall(verdict, label)
            return None if tau is None else round(tau - (rule.value or 0.0), DECIMALS) >= 0
        case "top1":
            return _same_winner(verdict, label, ties=False)
        case "equal":
            return _equal(verdict, label)


def _equal(verdict: AnyVerdict, label: AnyVerdict) -> bool | None:
    match verdict, label:
        case Grade(), Grade():
            return round(verdict.value - label.value, DECIMALS) == 0
        case Category(), Category():
            if str(verdict).casefold() == str(label).casefold():
                return True
            mine, true = passing(verdict), passing(label)
            return mine is not None and mine == true
        case Pairwise(), _:
            return _same_winner(verdict, label, ties=True)
        case Ranking(), Ranking():
            if set(verdict.ids) != set(label.ids):
                return None
            return [frozenset(group) for group in verdict.groups] == [frozenset(group) for group in label.groups]
    return None


def _same_winner(verdict: AnyVerdict, label: AnyVerdict, *, ties: bool) -> bool | None:
    if isinstance(verdict, Grade | Category) or isinstance(label, Grade | Category):
        return None
    if label.winner is None:
        return verdict.winner is None if label.is_tie and ties else None
    return verdict.winner == label.winner


def _side(verdict: AnyVerdict, mark: float) -> bool | None:
    if isinstance(verdict, Grade):
        return round(verdict.value - mark, DECIMALS) >= 0
    return passing(verdict)


def _kendall(verdict: AnyVerdict, label: AnyVerdict) -> float | None:
    """Tau-a: concordant minus discordant pairs over all pairs of the ids that both rank; ties are neither."""
    common = [name for name in verdict.ids if name in set(label.ids)]
    pairs = [(a, b) for at, a in enumerate(common) for b in common[at + 1 :]]
    if not pairs:
        return None
    signs = [_sign(verdict.support(a, b)) * _sign(label.support(a, b)) for a, b in pairs]
    return sum(signs) / len(pairs)


def _sign(value: float | None) -> int:
    return 0 if not value else 1 if value > 0 else -1
