"""Evidence over a whole set of judgments: one pass to build, then signals for any judgment."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from metajudge.errors import InputError
from metajudge.evidence.comparison import RecordedVerdict
from metajudge.evidence.format import has_explanation, length_ratio, rationale_words
from metajudge.evidence.order import order_consistency
from metajudge.evidence.peers import PeerSupport, peer_support, votes_on
from metajudge.evidence.rationale import rationale_agreement
from metajudge.evidence.strength import stated_strength
from metajudge.types import AnyVerdict, Judgment, SignalValue

SIGNALS = (
    "order",
    "strength",
    "peers",
    "rationale",
    "rationale_words",
    "has_explanation",
    "length_ratio",
)
"""The names of the signals, in the order in which :meth:`EvidenceIndex.signals` returns them."""

MANY_VERDICTS = 16
"""From so many verdicts on an item what its judges say is counted once and not for each of its judgments."""


@dataclass(slots=True)
class _ItemRecord:
    digest: str
    first_judgment: str
    verdicts: list[RecordedVerdict] = field(default_factory=list)
    votes: dict[tuple[str | None, tuple[str, ...]], dict[str, float]] = field(default_factory=dict)

    def peer_votes(self, own: AnyVerdict) -> dict[str, float]:
        """The peer votes on a verdict's winner, counted once."""
        key = (own.winner, own.ids)
        found = self.votes.get(key)
        if found is None:
            found = self.votes[key] = votes_on(own, self.verdicts)
        return found


class EvidenceIndex:
    """All recorded verdicts by item and judge.

    The index keeps verdicts, not texts: about 250 bytes a judgment, and more where many judges judged an item. Build it
    over all records of an input before any filter by judge, since peers and the other order are evidence even where
    they are not vetted themselves.

    Example:
        >>> index = EvidenceIndex.build(judgments)  # doctest: +SKIP
        >>> index.signals(judgments[0])["peers"].state  # doctest: +SKIP
        'unanimous_for'
    """

    def __init__(self) -> None:
        self._items: dict[str, _ItemRecord] = {}
        # Equal parts are kept once: an input names few judges, orders and verdicts, many times.
        self._records: dict[RecordedVerdict, RecordedVerdict] = {}

    @classmethod
    def build(cls, judgments: Iterable[Judgment]) -> "EvidenceIndex":
        """Indexes judgments in one pass.

        Raises:
            InputError: one item id is used for two different contents.
        """
        index = cls()
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
            record = _ItemRecord(judgment.item.digest, judgment.id)
            self._items[judgment.item.id] = record
        seen = RecordedVerdict(judgment.judge, judgment.order, judgment.verdict)
        record.verdicts.append(self._records.setdefault(seen, seen))
        record.votes.clear()

    def __len__(self) -> int:
        """Number of items."""
        return len(self._items)

    def signals(self, judgment: Judgment, families: Mapping[str, str] | None = None) -> dict[str, SignalValue]:
        """Collects every signal of a judgment, which need not be in the index itself.

        Args:
            judgment: the judgment in question.
            families: judge -> family; see :func:`~metajudge.evidence.peers.peer_support`.

        Returns:
            One value a name of :data:`SIGNALS`, in that order; an absent signal says why in its state.

        Raises:
            InputError: the judgment's item id was indexed with another content.
        """
        verdicts = self._verdicts(judgment)
        values = (
            order_consistency(judgment, verdicts),
            stated_strength(judgment),
            self.peers(judgment, families).signal(),
            rationale_agreement(judgment),
            rationale_words(judgment),
            has_explanation(judgment),
            length_ratio(judgment),
        )
        return dict(zip(SIGNALS, values, strict=True))

    def peers(self, judgment: Judgment, families: Mapping[str, str] | None = None) -> PeerSupport:
        """Peer support with its counts and extremes; arguments and errors as for :meth:`signals`."""
        record = self._record(judgment)
        if record is None:
            return peer_support(judgment, (), families)
        known = record.peer_votes if len(record.verdicts) >= MANY_VERDICTS else None
        return peer_support(judgment, record.verdicts, families, known)

    def peer_verdicts(self, judgment: Judgment) -> dict[str, list[AnyVerdict]]:
        """The other judges' verdicts on the judgment's item, by judge."""
        by_judge: dict[str, list[AnyVerdict]] = {}
        for seen in self._verdicts(judgment):
            if seen.judge != judgment.judge and seen.verdict is not None:
                by_judge.setdefault(seen.judge, []).append(seen.verdict)
        return by_judge

    def _verdicts(self, judgment: Judgment) -> list[RecordedVerdict]:
        record = self._record(judgment)
        return record.verdicts if record else []

    def _record(self, judgment: Judgment) -> _ItemRecord | None:
        record = self._items.get(judgment.item.id)
        if record is not None and record.digest != judgment.item.digest:
            raise InputError(
                f"item {judgment.item.id!r} has two different contents: in judgment {record.first_judgment!r} and in "
                f"judgment {judgment.id!r}. Evidence compares verdicts on the same item: give each content its own "
                "item id, or repair the record that differs."
            )
        return record
