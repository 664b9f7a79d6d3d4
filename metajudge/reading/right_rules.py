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
    _seen: dict[VerdictKind, list[AnyVerdict]] = field(default_factory=dict)

    def add(self, judgment: Judgment) -> None:
        """Notes one judgment's verdict and the labels of its item."""
        if judgment.verdict is None:
            return
        self.scales.add(judgment.judge, judgment.verdict, judgment.item)
        own = () if judgment.item.label is None else (judgment.item.label,)
        self.note(judgment.verdict, (*own, *(one.value for one in judgment.item.labels)))

    def note(self, verdict: AnyVerdict, labels: Iterable[AnyVerdict]) -> None:
        """Notes a verdict and the labels of its item."""
        seen = self._seen.setdefault(kind_of(verdict), [])
        fresh = [one for one in (verdict, *labels) if isinstance(one, Grade | Category) and one not in seen]
        if fresh:
            seen[:] = _needed([*seen, *fresh])

    def rules(self) -> dict[VerdictKind, Right]:
        """The rule of each kind of verdict that was met, but for grades on another scale than people's.

        Raises:
            InputError: the rule given applies to none of the kinds.
        """
        given, kinds = self.given, list(self._seen)
        if given is not None:
            kinds = [kind for kind in self._seen if given.applies(kind)]
            if self._seen and not kinds:
                raise InputError(
                    f"the rule {given} does not apply to the verdicts here, which are {' and '.join(self._seen)}"
                )
        unlike = {"grade"} if self.scales.unlike_people() else set[str]()
        return {kind: given or default_right(kind, self._seen[kind], ()) for kind in kinds if kind not in unlike}


def rules_of(judgments: Iterable[Judgment], given: Right | None = None) -> dict[VerdictKind, Right]:
    """The rule of each kind of verdict in an input, over all of it; raises as :meth:`RightRules.rules`.

    Args:
        judgments: read once.
        given: a rule; None for the default of each kind (:func:`~metajudge.types.default_right`).
    """
    rules = RightRules(given)
    for judgment in judgments:
        rules.add(judgment)
    return rules.rules()


def right_of(judgment: Judgment, rules: Mapping[VerdictKind, Right]) -> bool | None:
    """Whether a judgment is right by the rule of its kind; None without a verdict, a label or a rule."""
    rule = None if judgment.verdict is None else rules.get(kind_of(judgment.verdict))
    return None if rule is None else judgment.right(rule)


def _needed(seen: list[AnyVerdict]) -> list[AnyVerdict]:
    """What the default of a kind depends on: the ends of numbers, one that is not whole, one category."""
    numbers = sorted((one for one in seen if isinstance(one, Grade)), key=lambda one: one.value)
    broken = [one for one in numbers if one.value != int(one.value)]
    return [*numbers[:1], *numbers[-1:], *broken[:1], *[one for one in seen if isinstance(one, Category)][:1]]
