"""Everything that a benchmark run needs to know of its records, from one pass over them: their table, no texts."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property

from metajudge.evidence.columns import compare, signal_columns
from metajudge.evidence.dependence import dependence_of
from metajudge.evidence.peers import UNDECIDED_VOTES, PeerSupport
from metajudge.evidence.score import TERMS, signal_score
from metajudge.evidence.verdicts import SignalColumn, Verdicts, VerdictsBuilder, several_contents
from metajudge.readers import JudgmentSource, Reject
from metajudge.readers.right_rules import RightRules
from metajudge.types import Item, Judgment, Right, SignalValue

from .own_judges import WithOwnJudges
from .population import Census, Population

META = ("final", "judge_model", "judge_prompt", "phase", "pointwise", "sample")
"""What is kept of ``meta``: all that the benchmarks ask of it."""


class Records:
    """Collects records; then their table is there, with free evidence on every row of it.

    Args:
        right: what counts as right; None for the default of each kind of verdict.
        population: which judgments the census counts as members.
        sampled: whether a sample of the items is to be drawn.

    Attributes:
        judgments: without texts, apart from the question that an item opens with; of ``meta``, :data:`META`.
        reject: the first bad line.
    """

    def __init__(
        self, right: Right | None = None, population: Population | None = None, *, sampled: bool = False
    ) -> None:
        self.judgments: list[Judgment] = []
        self.rules, self.census = RightRules(right), Census()
        self.reject: Reject | None = None
        self._right, self._sampled = right, sampled
        self._member = (population or Population()).members()
        self._builder = VerdictsBuilder()
        self._items: dict[str, Item] = {}
        self._last: Item | None = None
        self._kept: Item | None = None
        self._scores: dict[tuple[object, ...], float | None] = {}

    @classmethod
    def of(
        cls, source: JudgmentSource | WithOwnJudges, right: Right | None, population: Population, *, sampled: bool
    ) -> "Records":
        """Reads a source."""
        if isinstance(source, JudgmentSource):
            return source.collect(lambda: cls(right, population, sampled=sampled))
        found = cls(right, population, sampled=sampled)
        for record in source.scan():
            found.add(record)
        return found

    def add(self, record: Judgment | Reject) -> None:
        """Takes one record."""
        self.add_block([record])

    def add_block(self, block: Sequence[Judgment | Reject]) -> None:
        """Takes some records."""
        judgments = [record for record in block if isinstance(record, Judgment)]
        if self.reject is None and len(judgments) < len(block):
            self.reject = next(record for record in block if isinstance(record, Reject))
        self._builder.add_all(judgments)
        for judgment in judgments:
            self.rules.add(judgment)
            self.census.add(judgment, member=self._member(judgment), drawn_from=self._sampled)
            item, given = judgment.item, judgment.meta
            if item is not self._last:  # records of one item mostly follow one another, and share it
                self._last, self._kept = item, self._without_texts(item)
            meta = {name: given[name] for name in META if name in given} if given else {}
            own = {"item": self._kept, "rationale": "", "instruction": None, "meta": meta}
            self.judgments.append(judgment.model_copy(update=own))

    @cached_property
    def facts(self) -> Verdicts:
        """The table.

        Raises:
            InputError: one item id is used for two different contents.
        """
        facts = self._builder.facts()
        for item_id, (first, other, *_) in facts.conflicts().items():
            rows = [facts.judgment_ids[int((facts.item == place).argmax())] for place in (first, other)]
            raise several_contents(item_id, *rows)
        return facts

    @cached_property
    def evidence(self) -> dict[str, SignalColumn]:
        """Signal -> its column, in the order of :data:`~metajudge.evidence.columns.SIGNALS`."""
        rules = self.facts.rules(self._right)
        together = replace(self.facts, copies=dependence_of(self.facts, rules).copies)
        return signal_columns(self.facts, compare(together, rules))

    @cached_property
    def agreement(self) -> list[float | None]:
        """[n] mean over a row's peers of the share of their verdicts by which it is right; not for pairs.

        Judges of one model are no peers of one another. None without a verdict, and without a peer.
        """
        found = compare(self.facts, self.facts.rules(self._right))
        shares = [_agreement(one) for one in found.supports]
        return [None if code < 0 else shares[code] for code in found.support.tolist()]

    def signals(self, row: int) -> dict[str, SignalValue]:
        """Every signal of a record."""
        values = {name: column.at(row) for name, column in self.evidence.items()}
        return {name: value for name, value in values.items() if value is not None}

    def heuristic(self, row: int, names: Collection[str] | None) -> float | None:
        """The score of free evidence (:func:`~metajudge.evidence.score.signal_score`).

        Args:
            names: of signals that may be weighed; None for all.
        """
        weighed = [name for name in TERMS if names is None or name in names]
        key = (*weighed, *(int(self.evidence[name].codes[row]) for name in weighed))
        if key not in self._scores:
            present = {name: value for name, value in self.signals(row).items() if name in weighed}
            self._scores[key] = signal_score(present).value
        return self._scores[key]

    def _without_texts(self, item: Item) -> Item:
        """The item without texts; records of one item share it where they say the same of it."""
        gone = {"question": item.opening, "conversation": (), "reference": None, "metadata": None}
        bare = item.model_copy(update={**gone, "responses": dict.fromkeys(item.responses, "")})
        known = self._items.get(item.id)
        if known is None or known != bare or list(known.responses) != list(bare.responses):
            known = self._items[item.id] = bare
        return known


def _agreement(support: PeerSupport) -> float | None:
    """The share of the peers that agree, in [0, 1]; the votes of a support are shares for minus shares against."""
    if support.value is None:
        return None
    return round((1 + support.value * (support.peers + UNDECIDED_VOTES) / support.peers) / 2, 12)
