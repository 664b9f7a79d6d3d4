"""What counts as right in an input: the rule that was given, else the default of each kind of verdict."""

from metajudge.types import AnyVerdict, Category, Grade, Right, VerdictKind, default_right, kind_of


class Rules:
    """The rule of every kind, from judgments added one at a time; of grades only the ends and two examples are kept.

    Labels are read for one thing: whether grades stand against labels that say pass or fail, and in which range
    (:func:`~metajudge.types.right.default_right`). No verdict is compared with them.

    Attributes:
        kinds: of the verdicts added.

    Args:
        given: a rule for the kinds it applies to; None for the default of each kind.
    """

    def __init__(self, given: Right | None = None) -> None:
        self.given = given
        self.kinds: set[VerdictKind] = set()
        self._verdicts = _Examples()
        self._labels = _Examples()
        self._found: dict[VerdictKind, Right] = {}

    def add(self, verdict: AnyVerdict | None, truth: AnyVerdict | None) -> None:
        """Counts a verdict in, and its item's label; for pairs and rankings nothing depends on it."""
        if verdict is not None:
            self.kinds.add(kind_of(verdict))
        if not isinstance(verdict, Grade | Category):
            return
        changed = self._verdicts.add(verdict)
        if truth is not None:
            changed = self._labels.add(truth) or changed
        if changed:
            self._found.clear()

    def of(self, kind: VerdictKind) -> Right:
        """The rule of a kind, by what was added so far."""
        if self.given is not None and self.given.applies(kind):
            return self.given
        if kind not in self._found:
            self._found[kind] = default_right(kind, self._verdicts.every(), self._labels.every())
        return self._found[kind]


class _Examples:
    """As few verdicts as give the same default rule as all of them."""

    def __init__(self) -> None:
        self._lowest: Grade | None = None
        self._highest: Grade | None = None
        self._broken: Grade | None = None
        self._category: Category | None = None

    def add(self, verdict: AnyVerdict) -> bool:
        """Whether the examples changed."""
        if isinstance(verdict, Category):
            changed = self._category is None
            self._category = self._category or verdict
            return changed
        return isinstance(verdict, Grade) and self._add_grade(verdict)

    def _add_grade(self, verdict: Grade) -> bool:
        before = (self._lowest, self._highest, self._broken)
        self._lowest = verdict if self._lowest is None else min(self._lowest, verdict, key=_value)
        self._highest = verdict if self._highest is None else max(self._highest, verdict, key=_value)
        if self._broken is None and verdict.value != int(verdict.value):
            self._broken = verdict
        return before != (self._lowest, self._highest, self._broken)

    def every(self) -> list[AnyVerdict]:
        kept = (self._lowest, self._highest, self._broken, self._category)
        return [one for one in kept if one is not None]


def _value(grade: Grade) -> float:
    return grade.value
