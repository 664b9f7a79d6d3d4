"""Evidence for one judgment at a time, among all judgments of an input."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate

import numpy as np

from metajudge.errors import InputError
from metajudge.evidence.columns import STABILITY, Comparisons, compare
from metajudge.evidence.comparison import RecordedVerdict
from metajudge.evidence.dependence import Dependence, dependence_among
from metajudge.evidence.format import explanation_signal, length_ratio, words_signal
from metajudge.evidence.grouping import Interned
from metajudge.evidence.peers import PeerSupport
from metajudge.evidence.rationale import rationale_agreement
from metajudge.evidence.recorded import Recorded
from metajudge.evidence.rules import Rules
from metajudge.evidence.units import Asked, unit_of
from metajudge.types import Judgment, Right, SignalValue


@dataclass(slots=True)
class _ItemRecord:
    digest: str
    first_judgment: str
    asked: Asked
    verdicts: list[RecordedVerdict] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    start: int = 0


class EvidenceIndex:
    """All recorded verdicts by item and judge.

    The index keeps verdicts, not texts: about 260 bytes a judgment. Build it over all records of an input before any
    filter by judge, since peers and the other order are evidence even where they are not vetted themselves. Verdicts
    are compared at once (:func:`~metajudge.evidence.columns.compare`) when the first judgment is asked about: add all
    of them before.

    Args:
        right: what counts as right, for the kinds of verdicts it applies to; None for the default of each kind.
    """

    def __init__(self, right: Right | None = None) -> None:
        self.rules = Rules(right)
        self.models: dict[str, str] = {}
        self._items: dict[str, _ItemRecord] = {}
        # Equal parts are kept once: an input names few judges, orders and verdicts, many times.
        self._records: dict[RecordedVerdict, RecordedVerdict] = {}
        # Of all verdicts at once, from the first question after a change on.
        self._compared: Comparisons | None = None
        self._dependence: Dependence | None = None

    @classmethod
    def build(cls, judgments: Iterable[Judgment], right: Right | None = None) -> "EvidenceIndex":
        """Indexes judgments in one pass.

        Raises:
            InputError: one item id is used for two different contents.
        """
        index = cls(right)
        for judgment in judgments:
            index.add(judgment)
        return index

    def add(self, judgment: Judgment) -> None:
        """Records one more judgment.

        Raises:
            InputError: its item id was seen with another content.
        """
        record = self._record(judgment)
        if record is None:
            record = _ItemRecord(judgment.item.digest, judgment.id, Asked.of(judgment.item))
            self._items[judgment.item.id] = record
        seen = _seen(judgment)
        record.verdicts.append(self._records.setdefault(seen, seen))
        record.words.append(judgment.words)
        self.rules.add(judgment.verdict, judgment.item.truth)
        self.rules.scales.add(judgment.judge, judgment.verdict, judgment.item)
        model = judgment.meta.get("judge_model")
        if isinstance(model, str) and model:
            self.models.setdefault(judgment.judge, model)
        self._compared, self._dependence = None, None

    @property
    def items(self) -> list[str]:
        """The ids of all items, in the order of the input."""
        return list(self._items)

    def recorded(self) -> Recorded:
        """All verdicts, by item in the order of :attr:`items`."""
        found = Recorded.of((one.verdicts for one in self._items.values()), self.models)
        if self._dependence is None:
            numbers = Interned[str]()
            asked = [one.asked for one in self._items.values()]
            unit = unit_of(asked)
            questions = [numbers.code(one.named(unit)) for one in asked]
            words = [count for one in self._items.values() for count in one.words]
            self._dependence = dependence_among(found, np.array(questions), np.array(words), self.rules)
        return replace(found, copies=self._dependence.copies)

    @property
    def dependence(self) -> Dependence:
        """What is known of the independence of the judges."""
        if self._dependence is None:
            self.recorded()
        assert self._dependence is not None
        return self._dependence

    def __len__(self) -> int:
        """Number of items."""
        return len(self._items)

    def signals(self, judgment: Judgment) -> dict[str, SignalValue]:
        """Collects every signal of a judgment, which need not be in the index itself.

        Returns:
            One value a name of :data:`~metajudge.evidence.columns.SIGNALS`, in that order, and for rankings, grades and
            categories of :data:`~metajudge.evidence.columns.STABILITY`; an absent signal says why in its state.

        Raises:
            InputError: the judgment's item id was indexed with another content.
        """
        found, row = self._evidence(judgment)
        signals = {
            "order": found.order.at(row),
            "strength": found.strength.at(row),
            "peers": found.supports[int(found.support[row])].signal(),
            "rationale": rationale_agreement(judgment),
            "rationale_words": words_signal(judgment.words),
            "has_explanation": explanation_signal(judgment.words),
            "length_ratio": length_ratio(judgment),
        }
        signals |= {name: getattr(found, name).at(row) for name in STABILITY}
        return {name: signal for name, signal in signals.items() if signal is not None}

    def peers(self, judgment: Judgment) -> PeerSupport:
        """Peer support with its counts and extremes; errors as for :meth:`signals`."""
        found, row = self._evidence(judgment)
        return found.supports[int(found.support[row])]

    def _evidence(self, judgment: Judgment) -> tuple[Comparisons, int]:
        """The comparisons that a judgment's verdict is in, and its row there."""
        record, seen = self._record(judgment), _seen(judgment)
        verdicts = [] if record is None else record.verdicts
        known = self._records.get(seen)
        place = next((at for at, one in enumerate(verdicts) if one is known), None)
        if record is None or place is None:  # not in the index: compared with what is there on its item
            recorded = replace(Recorded.of([[*verdicts, seen]], self.models), copies=self.dependence.copies)
            return compare(recorded, self.rules), len(verdicts)
        found = self._compared
        if found is None:
            starts = accumulate((len(one.verdicts) for one in self._items.values()), initial=0)
            for one, start in zip(self._items.values(), starts, strict=False):
                one.start = start
            # Last, since threads may ask at the same time.
            found = self._compared = compare(self.recorded(), self.rules)
        return found, record.start + place

    def _record(self, judgment: Judgment) -> _ItemRecord | None:
        record = self._items.get(judgment.item.id)
        if record is not None and record.digest != judgment.item.digest:
            raise several_contents(judgment.item.id, record.first_judgment, judgment.id)
        return record


def several_contents(item_id: str, first: str, other: str) -> InputError:
    """The error about an item whose content differs between two judgments."""
    return InputError(
        f"item {item_id!r} has two different contents: in judgment {first!r} and in judgment {other!r}. Evidence "
        "compares verdicts on the same item: give each content its own item id, or repair the record that differs."
    )


def _seen(judgment: Judgment) -> RecordedVerdict:
    return RecordedVerdict(judgment.judge, judgment.order, judgment.verdict)
