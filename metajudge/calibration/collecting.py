"""What a table of signals needs to know of its judgments, collected one by one: facts, and what people say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from metajudge.calibration.row_columns import TEXT_SIGNALS
from metajudge.evidence.verdicts import Verdicts, VerdictsBuilder
from metajudge.stats.arrays import Bools
from metajudge.types import AnyVerdict, Item, Judgment, Label
from metajudge.types.label import combined, settled


@dataclass(slots=True)
class ItemLabels:
    """What people say of each item, over all its records."""

    given: dict[str, AnyVerdict] = field(default_factory=dict)
    people: dict[str, tuple[Label, ...]] = field(default_factory=dict)

    def add(self, item: Item) -> None:
        """Notes what one record says of its item."""
        if item.label is not None:
            self.given[item.id] = item.label
        if item.labels:
            self.people[item.id] = combined(self.people.get(item.id, ()), item.labels)

    def values_of(self, item: str) -> list[AnyVerdict]:
        """Every label of an item."""
        given = [self.given[item]] if item in self.given else []
        return given + [one.value for one in self.people.get(item, ())]

    def truths(self) -> dict[str, AnyVerdict]:
        """Item -> its label, or what most people say; items on which they disagree are left out."""
        found = {name: settled(labels) for name, labels in self.people.items()}
        return {name: truth for name, truth in found.items() if truth is not None} | self.given

    @classmethod
    def of(cls, facts: Verdicts) -> "ItemLabels":
        """What the records themselves say is right; of one item's records the last one that says something."""
        labelled = np.flatnonzero(facts.truth >= 0)
        items, truths = facts.item[labelled].tolist(), facts.truth[labelled].tolist()
        return cls({facts.items[item].id: facts.truths[truth] for item, truth in zip(items, truths, strict=True)})


class Collected:
    """What :func:`table_of` needs to know of judgments; texts are not kept.

    Args:
        signals: those of the table; None for the default ones.
        report: which judgments become rows; None for all.

    Attributes:
        labels: what people say of the items.
    """

    def __init__(self, signals: Sequence[str] | None, report: Callable[[Judgment], bool] | None = None) -> None:
        self.labels = ItemLabels()
        self._builder = VerdictsBuilder(texts=signals is None or not TEXT_SIGNALS.isdisjoint(signals))
        self._report = report
        self._wanted = list[bool]()

    def add(self, judgment: Judgment) -> None:
        """Takes one judgment."""
        self.add_all([judgment])

    def add_all(self, judgments: Sequence[Judgment]) -> None:
        """Takes some judgments."""
        report, note, last = self._report, self.labels.add, None
        self._builder.add_all(judgments)
        for judgment in judgments:
            if judgment.item is not last:  # records of one item mostly follow one another, and share it
                last = judgment.item
                note(last)
        self._wanted += [report is None or report(judgment) for judgment in judgments]

    def facts(self) -> Verdicts:
        """The facts of all."""
        return self._builder.facts()

    @property
    def reported(self) -> Bools:
        """[n] which become rows."""
        return np.array(self._wanted, dtype=bool)
