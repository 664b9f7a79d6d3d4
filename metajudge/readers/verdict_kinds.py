"""What an input contains: kinds of verdicts, scales, people's labels, and the rule of what is right that fits them."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from metajudge.readers.right_rules import RightRules
from metajudge.readers.scales import scale_text
from metajudge.types import Category, Grade, Judgment, Right, VerdictKind, kind_of
from metajudge.types.label import answers

MOST_WORDS = 20
_ONE_OWN = "(label of the record)"


@dataclass(slots=True)
class VerdictKinds:
    """Counts over an input.

    Attributes:
        rules: what counts as right; give it the rule asked for.
        kinds: verdicts of each kind.
        words: how often each category occurs.
        scales: declared scales, with the number of items that have them.
        annotators: labels by each person; those without a name together.
        labels: item -> how many labels it has.
        items: ids of the items, with or without labels.
    """

    rules: RightRules = field(default_factory=RightRules)
    kinds: Counter[VerdictKind] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    scales: Counter[str] = field(default_factory=Counter)
    annotators: Counter[str] = field(default_factory=Counter)
    labels: dict[str, int] = field(default_factory=dict)
    items: set[str] = field(default_factory=set)
    _low: float | None = None
    _high: float | None = None

    def add(self, judgment: Judgment) -> None:
        """Counts one judgment; the labels of an item once."""
        self.rules.add(judgment)
        verdict, item = judgment.verdict, judgment.item
        if verdict is not None:
            self.kinds[kind_of(verdict)] += 1
        if isinstance(verdict, Category):
            self.words[str(verdict)] += 1
        if isinstance(verdict, Grade):
            self._low = verdict.value if self._low is None else min(self._low, verdict.value)
            self._high = verdict.value if self._high is None else max(self._high, verdict.value)
        if item.id in self.items:
            return
        self.items.add(item.id)
        if item.scale is not None:
            self.scales[scale_text(item.scale)] += 1
        given = [one.annotator or "(no name)" for one in answers(item.labels)]
        given = given or ([_ONE_OWN] if item.label is not None else [])
        self.annotators.update(given)
        if given:
            self.labels[item.id] = len(given)

    @property
    def grades(self) -> tuple[float, float] | None:
        """The lowest and the highest grade; None without grades."""
        return None if self._low is None or self._high is None else (self._low, self._high)

    def right(self) -> dict[VerdictKind, Right]:
        """The rule of each kind; see :meth:`~metajudge.readers.right_rules.RightRules.rules`."""
        return self.rules.rules()

    def to_json(self) -> dict[str, Any]:
        """Plain data; absent parts are null."""
        per_item = Counter(self.labels.values())
        return {
            "kinds": dict(self.kinds),
            "categories": dict(self.words.most_common(MOST_WORDS)) or None,
            "grades": None if self.grades is None else list(self.grades),
            "scales": dict(self.scales) or None,
            "right": {kind: str(rule) for kind, rule in self.right().items()},
            "labels": {
                "items": len(self.items),
                "labelled_items": len(self.labels),
                "annotators": dict(self.annotators),
                "per_item": {str(count): items for count, items in sorted(per_item.items())},
            },
        }
