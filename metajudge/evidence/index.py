"""Evidence over a whole set of judgments: one pass to build, then signals for any judgment."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from metajudge.errors import InputError
from metajudge.evidence.comparison import RecordedVerdict, same_subject
from metajudge.evidence.format import has_explanation, length_ratio, rationale_words
from metajudge.evidence.order import order_consistency
from metajudge.evidence.peers import PeerSupport, peer_support, votes_on
from metajudge.evidence.rationale import rationale_agreement
from metajudge.evidence.repeats import repeat_agreement, variant_agreement
from metajudge.evidence.rules import Rules
from metajudge.evidence.strength import stated_strength
from metajudge.types import AnyVerdict, Judgment, Pairwise, Right, SignalValue, kind_of

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

STABILITY = ("repeats", "variants")
"""Further signals of rankings, grades and categories: the same judge again, its model under other prompts.

On pairs a repeated verdict is a further game of the judge, and another prompt of its model is a peer.
"""

MANY_VERDICTS = 16
"""From so many verdicts on an item what its judges say is counted once and not for each of its judgments."""


@dataclass(slots=True)
class _ItemRecord:
    digest: str
    first_judgment: str
    verdicts: list[RecordedVerdict] = field(default_factory=list)
    votes: dict[object, dict[str, float]] = field(default_factory=dict)

    def peer_votes(self, judgment: Judgment, own: AnyVerdict, rule: Right) -> dict[str, float]:
        """The peer votes on a verdict, counted once."""
        key = (own.winner, own.ids) if isinstance(own, Pairwise) else (own, rule, judgment.order if not own.ids else ())
        found = self.votes.get(key)
        if found is None:
            about = (one for one in self.verdicts if same_subject(judgment, one))
            found = self.votes[key] = votes_on(own, about, rule)
        return found


class EvidenceIndex:
    """All recorded verdicts by item and judge.

    The index keeps verdicts, not texts: about 250 bytes a judgment, and more where many judges judged an item. Build it
    over all records of an input before any filter by judge, since peers and the other order are evidence even where
    they are not vetted themselves.

    Args:
        right: what counts as right, for the kinds of verdicts it applies to; None for the default of each kind.

    Example:
        >>> index = EvidenceIndex.build(judgments)  # doctest: +SKIP
        >>> index.signals(judgments[0])["peers"].state  # doctest: +SKIP
        'unanimous_for'
    """

    def __init__(self, right: Right | None = None) -> None:
        self.rules = Rules(right)
        self.models: dict[str, str] = {}
        self._items: dict[str, _ItemRecord] = {}
        # Equal parts are kept once: an input names few judges, orders and verdicts, many times.
        self._records: dict[RecordedVerdict, RecordedVerdict] = {}

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
            record = _ItemRecord(judgment.item.digest, judgment.id)
            self._items[judgment.item.id] = record
        seen = RecordedVerdict(judgment.judge, judgment.order, judgment.verdict)
        record.verdicts.append(self._records.setdefault(seen, seen))
        record.votes.clear()
        self.rules.add(judgment)
        model = judgment.meta.get("judge_model")
        if isinstance(model, str) and model:
            self.models.setdefault(judgment.judge, model)

    def records(self) -> Iterator[tuple[str, list[RecordedVerdict]]]:
        """Every item's id with the verdicts on it, in the order of the input."""
        for name, record in self._items.items():
            yield name, record.verdicts

    def __len__(self) -> int:
        """Number of items."""
        return len(self._items)

    def signals(
        self, judgment: Judgment, families: Mapping[str, str] | None = None, *, support: PeerSupport | None = None
    ) -> dict[str, SignalValue]:
        """Collects every signal of a judgment, which need not be in the index itself.

        Args:
            judgment: the judgment in question.
            families: judge -> family; see :func:`~metajudge.evidence.peers.peer_support`.
            support: what :meth:`peers` gives for it, where that is known already.

        Returns:
            One value a name of :data:`SIGNALS`, in that order, and for rankings, grades and categories of
            :data:`STABILITY`; an absent signal says why in its state.

        Raises:
            InputError: the judgment's item id was indexed with another content.
        """
        verdicts = self._verdicts(judgment)
        values = (
            order_consistency(judgment, verdicts),
            stated_strength(judgment),
            (support or self.peers(judgment, families)).signal(),
            rationale_agreement(judgment),
            rationale_words(judgment),
            has_explanation(judgment),
            length_ratio(judgment),
        )
        found = dict(zip(SIGNALS, values, strict=True))
        if judgment.verdict is None or isinstance(judgment.verdict, Pairwise):
            return found
        rule = self.rules.of(kind_of(judgment.verdict))
        stability = (
            repeat_agreement(judgment, verdicts, rule),
            variant_agreement(judgment, verdicts, rule, self._variants(judgment.judge, verdicts)),
        )
        return found | dict(zip(STABILITY, stability, strict=True))

    def peers(self, judgment: Judgment, families: Mapping[str, str] | None = None) -> PeerSupport:
        """Peer support with its counts and extremes; arguments and errors as for :meth:`signals`."""
        record, verdict = self._record(judgment), judgment.verdict
        if record is None:
            return peer_support(judgment, (), families)
        rule = None if verdict is None else self.rules.of(kind_of(verdict))
        known = None
        if rule is not None and len(record.verdicts) >= MANY_VERDICTS:
            known = partial(record.peer_votes, judgment, rule=rule)
        variants = self._variants(judgment.judge, record.verdicts)
        return peer_support(judgment, record.verdicts, families, known, rule=rule, variants=variants)

    def _variants(self, judge: str, verdicts: Iterable[RecordedVerdict]) -> set[str]:
        """Judges of an item that are the judge's model under another name."""
        model = self.models.get(judge)
        if model is None:
            return set()
        return {one.judge for one in verdicts if one.judge != judge and self.models.get(one.judge) == model}

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
