"""Which judgments a benchmark run is about, and a sample of them in which every category has its share."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Literal

import numpy as np

from metajudge.errors import ConfigurationError
from metajudge.types import Judgment
from metajudge.types.frozen import Frozen


class Population(Frozen):
    """Which judgments count, and what becomes of those that are neither right nor wrong.

    Attributes:
        games: ``first`` takes, of each judge and item, the first judgment that saw the responses in the item's own
            order; ``both`` takes every judgment.
        undecided: ``wrong`` counts ties and missing verdicts as wrong judgments; ``left out`` counts them apart.
        responses_by: patterns for the models that wrote the responses, where the data name them; empty for all.
    """

    games: Literal["first", "both"] = "both"
    undecided: Literal["wrong", "left out"] = "left out"
    responses_by: tuple[str, ...] = ()

    def wrong(self, *, own: bool) -> tuple[str, ...]:
        """What counts as wrong of what names no winner: ``tie``, ``none``; in files of one's own ties do."""
        return ("tie", "none") if self.undecided == "wrong" else ("tie",) * own

    def __str__(self) -> str:
        games = "the first game of each pair" if self.games == "first" else "every judgment"
        by = f" answered by {self.responses_by[0]}" if self.responses_by else ""
        undecided = "count as wrong" if self.undecided == "wrong" else "are left out"
        return f"{games}{by}; ties and missing verdicts {undecided}"

    def members(self) -> Callable[[Judgment], bool]:
        """Whether a judgment belongs to the population, for one pass over the input in its order."""
        seen: set[tuple[str, str]] = set()

        def member(judgment: Judgment) -> bool:
            if not self._by_these_models(judgment):
                return False
            if self.games == "both":
                return True
            place = (judgment.judge, judgment.item.id)
            if judgment.order != tuple(judgment.item.responses) or place in seen:
                return False
            seen.add(place)
            return True

        return member

    def _by_these_models(self, judgment: Judgment) -> bool:
        models = set((judgment.item.models or {}).values()) if self.responses_by else set()
        return all(any(fnmatch(model, one) for one in self.responses_by) for model in models)


@dataclass(slots=True)
class Census:
    """What the data have of each judge, and its items by category.

    Attributes:
        present: judge -> judgments in the data, whatever the population.
        members: judge -> judgments of the population.
    """

    present: Counter[str] = field(default_factory=Counter)
    members: Counter[str] = field(default_factory=Counter)
    _items: defaultdict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, judgment: Judgment, *, member: bool, drawn_from: bool) -> None:
        """Counts a judgment; its item, too, where a sample is to be drawn."""
        self.present[judgment.judge] += 1
        if member:
            self.members[judgment.judge] += 1
            if drawn_from:
                self._items[judgment.judge][judgment.item.id] = judgment.item.category or ""

    def sample(self, judges: Collection[str] | None, size: int, seed: int) -> frozenset[str]:
        """Ids of items, drawn from those that any of the judges judged (None: any judge); the same for every judge."""
        found: dict[str, str] = {}
        for judge, items in self._items.items():
            if judges is None or judge in judges:
                found |= items
        return stratified(found, size, seed)


def stratified(categories: Mapping[str, str], size: int, seed: int) -> frozenset[str]:
    """Draws items so that each category has its share, and at least one.

    Proportional allocation by largest remainders, equal remainders by lot; within a category without replacement.
    The draw depends on ids, categories, size and seed alone, not on the order in which items come.

    Args:
        categories: item id -> category.
        size: items to draw; all where there are no more.

    Raises:
        ConfigurationError: fewer items than categories are asked for.
    """
    if size >= len(categories):
        return frozenset(categories)
    members: dict[str, list[str]] = defaultdict(list)
    for item, category in sorted(categories.items()):
        members[category].append(item)
    if size < len(members):
        raise ConfigurationError(
            f"--limit {size} is less than one item for each of the {len(members)} categories: give at least "
            f"{len(members)}"
        )
    rng = np.random.default_rng(seed)
    names = sorted(members)
    counts = _allocated([len(members[name]) for name in names], size, rng)
    drawn = [rng.choice(members[name], count, replace=False) for name, count in zip(names, counts, strict=True)]
    return frozenset(str(item) for part in drawn for item in part)


def _allocated(sizes: list[int], total: int, rng: np.random.Generator) -> list[int]:
    """[k] how many of each category: one each, the rest in proportion to what the exact share lacks."""
    shares = np.array(sizes) * total / sum(sizes)
    counts = np.maximum(1, np.floor(shares + 1e-9).astype(int))
    lots = rng.permutation(len(sizes))
    while counts.sum() != total:
        step = 1 if counts.sum() < total else -1
        lacking = step * (shares - counts)
        free = counts < sizes if step > 0 else counts > 1
        counts[max(np.flatnonzero(free), key=lambda place: (round(lacking[place], 9), lots[place]))] += step
    return [int(count) for count in counts]


def named(names: Iterable[str], most: int = 20) -> str:
    """Names in a row, the first of many."""
    every = sorted(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")
