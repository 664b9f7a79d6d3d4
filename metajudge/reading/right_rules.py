"""What counts as right in an input: the rule given, or the default of each kind of verdict in it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from metajudge.errors import InputError
from metajudge.types import AnyVerdict, Category, Grade, Judgment, Right, VerdictKind, default_right, kind_of
from metajudge.types.grade_scales import GradeScales


@dataclass(slots=True)
class RightRules:
    """Verdicts and labels as they come, for the default rules; only the range of numbers is held.

    Attributes:
        given: the rule for every kind that it applies to; None for the defaults.
        scales: of grades; where a judge's is not people's, grades have no rule.
    """

    given: Right | None = None
    scales: GradeScales = field(default_factory=GradeScales)
    _verdicts: dict[VerdictKind, dict[AnyVerdict, None]] = field(default_factory=dict)
    _labels: dict[VerdictKind, dict[AnyVerdict, None]] = field(default_factory=dict)

    def add(self, judgment: Judgment) -> None:
        """Notes one judgment's verdict and the labels of its item."""
        if judgment.verdict is None:
            return
        self.scales.add(judgment.judge, judgment.verdict, judgment.item)
        own = () if judgment.item.label is None else (judgment.item.label,)
        self.note(judgment.verdict, (*own, *(one.value for one in judgment.item.labels)))

    def note(self, verdict: AnyVerdict, labels: Iterable[AnyVerdict]) -> None:
        """Notes a verdict and the labels of its item."""
        kind = kind_of(verdict)
        _note(self._verdicts.setdefault(kind, {}), verdict)
        noted = self._labels.setdefault(kind, {})
        for value in labels:
            _note(noted, value)

    def rules(self) -> dict[VerdictKind, Right]:
        """The rule of each kind of verdict that was met, but for grades on another scale than people's.

        Raises:
            InputError: the rule given applies to none of the kinds.
        """
        kinds = list(self._verdicts)
        unlike = {"grade"} if self.scales.unlike_people() else set[str]()
        if self.given is not None:
            applies = {kind: self.given for kind in kinds if self.given.applies(kind)}
            if kinds and not applies:
                raise InputError(
                    f"the rule {self.given} does not apply to the verdicts here, which are {' and '.join(kinds)}"
                )
            return {kind: rule for kind, rule in applies.items() if kind not in unlike}
        given = [kind for kind in kinds if kind not in unlike]
        return {kind: default_right(kind, self._verdicts[kind], self._labels[kind]) for kind in given}


def rules_of(judgments: Iterable[Judgment], given: Right | None = None) -> dict[VerdictKind, Right]:
    """The rule of each kind of verdict in an input, over all of it.

    Args:
        judgments: read once.
        given: a rule; None for the default of each kind (:func:`~metajudge.types.default_right`).

    Raises:
        InputError: the rule given applies to none of the kinds.
    """
    rules = RightRules(given)
    for judgment in judgments:
        rules.add(judgment)
    return rules.rules()


def right_of(judgment: Judgment, rules: Mapping[VerdictKind, Right]) -> bool | None:
    """Whether a judgment is right by the rule of its kind; None without a verdict, a label or a rule."""
    rule = None if judgment.verdict is None else rules.get(kind_of(judgment.verdict))
    return None if rule is None else judgment.right(rule)


def _note(seen: dict[AnyVerdict, None], value: AnyVerdict) -> None:
    """Keeps what the default of a kind depends on: the ends of numbers, one that is not whole, one category."""
    if value in seen or not isinstance(value, Grade | Category):
        return
    numbers = [one for one in (*seen, value) if isinstance(one, Grade)]
    words = [one for one in (*seen, value) if isinstance(one, Category)]
    ends = [which(numbers, key=lambda one: one.value) for which in (min, max) if numbers]
    broken = [one for one in numbers if one.value != int(one.value)]
    seen.clear()
    seen.update(dict.fromkeys((*ends, *broken[:1], *words[:1])))
