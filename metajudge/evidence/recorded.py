"""Recorded verdicts as columns: who said what about which item, in which order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metajudge.evidence.comparison import RecordedVerdict
from metajudge.evidence.grouping import Integers, Interned, Key
from metajudge.stats.arrays import Bools, Floats, Ints
from metajudge.types import AnyVerdict, Category, Grade, Pairwise


@dataclass(frozen=True, eq=False)
class Recorded:
    """The verdicts of n records.

    Attributes:
        item: [n] number of the item.
        judge, judges: who judged: places in a table of names.
        order, orders: response ids in the order shown, likewise.
        verdict, verdicts: the verdict, likewise; -1 where the judge gave none.
        models: judge -> the model behind it; a judge that is not named is a model of its own.
        copies: judge -> the judge whose copy it is (:attr:`~metajudge.evidence.dependence.Dependence.copies`), for
            judges that have one; they have one voice together.
    """

    item: Integers
    judge: Integers
    judges: Sequence[str]
    order: Integers
    orders: Sequence[tuple[str, ...]]
    verdict: Integers
    verdicts: Sequence[AnyVerdict]
    models: Mapping[str, str]
    copies: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, items: Iterable[Sequence[RecordedVerdict]], models: Mapping[str, str]) -> "Recorded":
        """The verdicts of items, one after the other."""
        judges, orders, verdicts = Interned[str](), Interned[tuple[str, ...]](), Interned[AnyVerdict]()
        rows = [
            (number, judges.code(one.judge), orders.code(one.order), -1 if said is None else verdicts.code(said))
            for number, records in enumerate(items)
            for one in records
            for said in (one.verdict,)
        ]
        columns = np.array(rows, dtype=np.int32).reshape(len(rows), 4).T
        item, judge, order, verdict = columns
        return cls(item, judge, judges.values, order, orders.values, verdict, verdicts.values, models)

    def __len__(self) -> int:
        return len(self.item)

    def select(self, rows: NDArray[np.integer[Any]]) -> "Recorded":
        """The chosen records, their items numbered anew in the order of the old numbers."""
        item, _ = Key.of(self.item[rows], int(self.item.max(initial=-1)) + 1).distinct()
        chosen = replace(self, item=item, judge=self.judge[rows], order=self.order[rows], verdict=self.verdict[rows])
        # What was worked out for the tables holds for the chosen records too.
        chosen.__dict__.update({name: getattr(self, name) for name in _OF_TABLES})
        return chosen

    @cached_property
    def items(self) -> int:
        """Above every item's number."""
        return int(self.item.max(initial=-1)) + 1

    @cached_property
    def names(self) -> Ints:
        """[judges] place of each judge's name among the sorted names."""
        places = np.empty(len(self.judges), dtype=np.int64)
        places[sorted(range(len(self.judges)), key=self.judges.__getitem__)] = np.arange(len(self.judges))
        return places

    @cached_property
    def model(self) -> Ints:
        """[judges] number of the model behind each judge, -1 where none is known."""
        known = Interned[str]()
        named = (self.models.get(judge) for judge in self.judges)
        return np.array([-1 if name is None else known.code(name) for name in named], dtype=np.int64)

    @cached_property
    def voice(self) -> Ints:
        """[judges] number of the voice of each judge, which copies share."""
        known = Interned[str]()
        return np.array([known.code(self.copies.get(judge, judge)) for judge in self.judges], dtype=np.int64)

    def are_variants(self, judge: Integers, other: Integers) -> Bools:
        """[n] whether two judges are one model under different names."""
        return np.asarray((judge != other) & (self.model[judge] >= 0) & (self.model[judge] == self.model[other]))

    @cached_property
    def shown(self) -> Ints:
        """[orders] number of the set of responses that each order shows."""
        known = Interned[frozenset[str]]()
        return np.array([known.code(frozenset(order)) for order in self.orders], dtype=np.int64)

    @property
    def pairs_only(self) -> bool:
        """Whether all verdicts that there are compare two responses."""
        return bool(self.paired[self.verdict].all())

    @cached_property
    def paired(self) -> Bools:
        """[verdicts + 1] whether each compares two responses; true for a missing one."""
        return np.array([*(isinstance(one, Pairwise) for one in self.verdicts), True], dtype=bool)

    @cached_property
    def graded(self) -> Bools:
        """[verdicts] whether each is a grade or a category."""
        return np.array([isinstance(one, Grade | Category) for one in self.verdicts], dtype=bool)


_OF_TABLES = ("names", "model", "voice", "shown", "paired", "graded")


def compared(
    own: Integers,
    other: Integers,
    owns: Sequence[AnyVerdict],
    others: Sequence[AnyVerdict],
    compare: Callable[[AnyVerdict, AnyVerdict], float | None],
) -> Floats:
    """[n] a comparison of two verdicts, made once for each different pair; NaN where it gives None.

    Args:
        own, other: [n] places in the tables ``owns`` and ``others``.
        compare: takes one verdict of each.
    """
    place, first = Key.of(own, len(owns)).then(other, len(others)).distinct()
    pairs = zip(own[first].tolist(), other[first].tolist(), strict=True)
    found = [compare(owns[mine], others[theirs]) for mine, theirs in pairs]
    return np.array(found, dtype=np.float64)[place] if found else np.zeros(0)
