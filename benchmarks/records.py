"""Everything that a benchmark run needs to know of its records, from one pass over them: facts, labels, no texts."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from metajudge.calibration.collecting import ItemLabels
from metajudge.evidence.columns import compare, signal_columns
from metajudge.evidence.dependence import dependence_of
from metajudge.evidence.facts import Facts, FactsBuilder, SignalColumn
from metajudge.evidence.index import several_contents
from metajudge.evidence.recorded import Recorded
from metajudge.evidence.rules import Rules
from metajudge.evidence.score import TERMS, signal_score
from metajudge.types import Item, Judgment, Right, SignalValue

META = ("final", "judge_model", "judge_prompt", "phase", "pointwise", "sample")
"""What is kept of ``meta``: all that the benchmarks ask of it."""


class Records:
    """Collects records; then their evidence is there, compared at once.

    Attributes:
        judgments: without texts, apart from the question that an item opens with; of ``meta``, :data:`META`.
    """

    def __init__(self, right: Right | None = None) -> None:
        self.judgments: list[Judgment] = []
        self.labels = ItemLabels()
        self._right = right
        self._builder = FactsBuilder()
        self._items: dict[str, Item] = {}
        self._last: Item | None = None
        self._kept: Item | None = None

    def add(self, judgment: Judgment) -> None:
        """Takes one record."""
        self.add_all([judgment])

    def add_all(self, judgments: Sequence[Judgment]) -> None:
        """Takes some records."""
        self._builder.add_all(judgments)
        for judgment in judgments:
            item, given = judgment.item, judgment.meta
            if item is not self._last:  # records of one item mostly follow one another, and share it
                self.labels.add(item)
                self._last, self._kept = item, self._without_texts(item)
            meta = {name: given[name] for name in META if name in given} if given else {}
            own = {"item": self._kept, "rationale": "", "instruction": None, "meta": meta}
            self.judgments.append(judgment.model_copy(update=own))

    def __iter__(self) -> Iterator[tuple[int, Judgment]]:
        """Row and judgment, in the order of the input."""
        return enumerate(self.judgments)

    @cached_property
    def facts(self) -> Facts:
        """Of all records.

        Raises:
            InputError: one item id is used for two different contents.
        """
        facts = self._builder.facts()
        for item_id, (first, other, *_) in facts.conflicts().items():
            rows = [facts.judgment_ids[int((facts.item == place).argmax())] for place in (first, other)]
            raise several_contents(item_id, *rows)
        return facts

    @cached_property
    def evidence(self) -> "Evidence":
        """Free evidence on every record."""
        return Evidence.of(self.facts, self._right)

    def _without_texts(self, item: Item) -> Item:
        """The item without texts; records of one item share it where they say the same of it."""
        known = self._items.get(item.id)
        if known is None or not _alike(known, item):
            gone = {"question": item.opening, "conversation": (), "reference": None, "metadata": None}
            known = item.model_copy(update={**gone, "responses": dict.fromkeys(item.responses, "")})
            self._items[item.id] = known
        return known


def _alike(known: Item, item: Item) -> bool:
    """Whether two items say the same, texts apart."""
    return (
        (known.label, known.labels, known.category, known.models, known.scale)
        == (item.label, item.labels, item.category, item.models, item.scale)
        and list(known.responses) == list(item.responses)
        and known.question == item.opening
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The signals of n records as columns.

    Attributes:
        columns: signal -> column, in the order of :data:`~metajudge.evidence.columns.SIGNALS`.
    """

    columns: dict[str, SignalColumn]
    recorded: Recorded
    rules: Rules
    _items: tuple[str, ...]
    _scores: dict[tuple[object, ...], float | None] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Facts, right: Right | None) -> "Evidence":
        """Compares all verdicts at once."""
        rules = facts.rules(right)
        recorded = replace(facts.recorded, copies=dependence_of(facts, rules).copies)
        columns = signal_columns(facts, compare(recorded, rules))
        return cls(columns, recorded, rules, tuple(item.id for item in facts.items))

    def signals(self, row: int) -> dict[str, SignalValue]:
        """Every signal of a record."""
        values = {name: column.at(row) for name, column in self.columns.items()}
        return {name: value for name, value in values.items() if value is not None}

    def heuristic(self, row: int, names: Collection[str] | None) -> float | None:
        """The score of free evidence (:func:`~metajudge.evidence.score.signal_score`).

        Args:
            names: of signals that may be weighed; None for all.
        """
        weighed = [name for name in TERMS if names is None or name in names]
        key = (*weighed, *(int(self.columns[name].codes[row]) for name in weighed))
        if key not in self._scores:
            values = {name: self.columns[name].at(row) for name in weighed}
            present = {name: value for name, value in values.items() if value is not None}
            self._scores[key] = signal_score(present).value
        return self._scores[key]
