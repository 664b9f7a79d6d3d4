"""What a report shows of a run, gathered as results come, in bounded memory: counts, columns of numbers, a few texts.

Memory: 17 bytes for each labelled judgment, and no texts but those of :data:`MOST_SHOWN` judgments.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from metajudge.decision import Policy
from metajudge.errors import FailureKind
from metajudge.evidence.score import standing
from metajudge.evidence.units import Asked
from metajudge.strategies.rule import SAME_IN_BOTH_ORDERS, rule_of
from metajudge.types import Assessment, DecidedBy, Judgment
from metajudge.vetting.annotating import Block
from metajudge.vetting.intake import Intake

READ_FIRST: Final = 40
"""Judgments named that are to be read first, at most one of each item."""
MOST_SHOWN: Final = 12
"""Of these, those shown with their texts."""
MOST_WRONG: Final = 6
"""Judgments shown that were kept although their label says that they are wrong."""

LOWER_CUTS: Final = (0.8, 0.7)
"""Cuts in P of which it is told what they would keep."""
LOOKED_AT: Final = 10 * READ_FIRST
FAR: Final = 1e9
"""The distance where nothing decided; added to where free evidence puts such a judgment."""
EVEN: Final = 0.5
"""The probability that tells least."""
SAME: Final = 1e-9
"""Distances this close are equal: an assessment has rounded numbers."""
KEPT: Final = 2
"""The group of what is kept (:func:`group_of`)."""
NEVER: Final = 3
"""The group of what is never shown."""


def group_of(assessment: Assessment) -> int:
    """0 for what a policy sends to people, 1 for what else is not kept, 2 for what is, :data:`NEVER` for no verdict."""
    if assessment.failure is not None and assessment.failure.kind is FailureKind.NO_VERDICT:
        return NEVER
    if assessment.do.action == "keep":
        return KEPT
    return 0 if assessment.do.action == "ask" and assessment.do.source == "policy" else 1


@dataclass(slots=True)
class Shown:
    """One judgment that may be shown.

    Attributes:
        rank: what a policy has people decide comes first, then what is not kept; there the most doubtful one, then the
            first of the input.
        row: where it stands, to read its texts; None where ``judgment`` is there.
        blind: whether people have to judge it without any result.
    """

    rank: tuple[int, float, int]
    item: str
    assessment: Assessment
    right: bool | None
    blind: bool
    row: int | None = None
    judgment: Judgment | None = None

    @property
    def place(self) -> int:
        """The last part of its rank."""
        return self.rank[2]


@dataclass(slots=True)
class Doubtful:
    """Chosen judgments by item.

    Attributes:
        near: item -> its most doubtful judgment; at most :data:`READ_FIRST` items.
        wrong: item -> its first judgment that was kept although wrong; at most :data:`MOST_WRONG` items, the first
            of the input.
    """

    near: dict[str, Shown] = field(default_factory=dict)
    wrong: dict[str, Shown] = field(default_factory=dict)
    _seen: int = 0

    def offer(
        self,
        given: Judgment | int,
        item: str,
        assessment: Assessment,
        distance: float,
        right: bool | None,
        *,
        blind: bool,
    ) -> None:
        """Takes a judgment if it belongs to those shown.

        Args:
            given: at hand, in the order of the input; or its row there, whose texts are read later, by :meth:`read`.
        """
        self._seen += 1
        row, judgment = (given, None) if isinstance(given, int) else (None, given)
        place = self._seen if row is None else row
        rank = (group_of(assessment), distance, place)
        self._take(Shown(rank, item, assessment, right, blind, row, judgment))

    def nearest(
        self, distances: NDArray[np.float64], groups: NDArray[np.int64], wrong: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Places of a block that may be among those shown, ascending.

        Args:
            distances: [m] small where doubtful (:meth:`Picture.distance`).
            groups: [m] as :func:`group_of` gives them.
            wrong: [m] whether it was kept although wrong.
        """
        last = max((one.rank for one in self.near.values()), default=(NEVER, 0.0, 0))
        full = len(self.near) >= READ_FIRST
        # Of judgments as far as the last one the first of the input is shown, in whatever order the blocks come.
        near = distances <= last[1] + SAME
        nearer = (groups < last[0]) | ((groups == last[0]) & near) if full else groups < NEVER
        order = np.lexsort((distances, groups))
        # Several judgments of one item follow each other: more are looked at than can be shown.
        chosen = order[nearer[order]][:LOOKED_AT]
        room = np.flatnonzero(wrong)[:LOOKED_AT] if len(self.wrong) < MOST_WRONG else np.zeros(0, dtype=np.int64)
        return np.union1d(chosen, room).astype(np.int64)

    def read(self, judgment: Callable[[int], Judgment]) -> None:
        """Reads the texts that are still missing, in ascending order of rows."""
        waiting = [one for one in (*self.near.values(), *self.wrong.values()) if one.judgment is None]
        for one in sorted(waiting, key=lambda one: one.row or 0):
            if one.row is not None:
                one.judgment = judgment(one.row)

    def first(self) -> list[Shown]:
        """Those to be read first: what is not kept, the most doubtful first."""
        return sorted((one for one in self.near.values() if one.rank[0] < KEPT), key=lambda one: one.rank)

    def shown(self) -> list[Shown]:
        """Those shown with texts, the most doubtful first; those that are among the wrong ones stand there alone."""
        there = {one.assessment.judgment_id for one in self.wrong.values()}
        near = (one for one in self.near.values() if one.assessment.judgment_id not in there)
        return sorted(near, key=lambda one: one.rank)[:MOST_SHOWN]

    def _take(self, one: Shown) -> None:
        wrong = one.right is False and one.assessment.do.action == "keep"
        if wrong and (one.item not in self.wrong or one.place < self.wrong[one.item].place):
            self.wrong[one.item] = one
            if len(self.wrong) > MOST_WRONG:
                del self.wrong[max(self.wrong, key=lambda name: self.wrong[name].place)]
        if one.rank[0] == NEVER:
            return
        known = self.near.get(one.item)
        if known is not None and known.rank <= one.rank:
            return
        self.near[one.item] = one
        if len(self.near) > READ_FIRST:
            del self.near[max(self.near, key=lambda name: self.near[name].rank)]


Fate = Literal["keep", "ask", "discard"]
FATES: Final[tuple[Fate, ...]] = ("keep", "ask", "discard")

MOST_JUDGES: Final = 1_000
"""Judges that are counted by name; further ones are counted together."""
OTHERS: Final = "(further judges)"
DECIMALS: Final = 2
"""Scores and probabilities are rounded to this many places for the histogram."""


@dataclass(slots=True)
class Labelled:
    """Values of labelled judgments with whether these are right, under their questions: 17 bytes each."""

    values: "array[float]" = field(default_factory=lambda: array("d"))
    right: "array[int]" = field(default_factory=lambda: array("B"))
    questions: "array[int]" = field(default_factory=lambda: array("Q"))

    def __len__(self) -> int:
        return len(self.values)

    def add(self, value: float, right: bool, question: int) -> None:
        """Takes one; ``question`` is any number that names its question."""
        self.values.append(value)
        self.right.append(right)
        self.questions.append(question)


@dataclass(slots=True)
class Picture:
    """What a report shows of a run; it looks at results as they come.

    Args:
        policy: what decides; None without one. Texts that people are to judge blind stand here without any result.
        sampled: whether the policy's other decisions are sampled for review, too.

    Attributes:
        by: what judgments are kept by: of the first one that a rule decided on; its numbers are those that are drawn.
        fates: what is to be done, and what decided it -> judgments.
        judges: judge -> what is to be done -> judgments.
        evidence: signal and its state -> what is to be done -> judgments.
        values: rounded score, probability or share of peers, what is to be done -> judgments.
        reaching: cut in P below the default one -> judgments that reach it.
        threshold: what these are compared with, where it is the same for all judgments; None otherwise.
        doubtful: the judgments that are nearest to another decision.
    """

    policy: Policy | None = None
    sampled: bool = False
    by: DecidedBy | None = None
    fates: Counter[tuple[Fate, str]] = field(default_factory=Counter)
    judges: dict[str, Counter[Fate]] = field(default_factory=dict)
    evidence: dict[tuple[str, str], Counter[Fate]] = field(default_factory=dict)
    values: Counter[tuple[float, Fate]] = field(default_factory=Counter)
    reaching: Counter[float] = field(default_factory=Counter)
    thresholds: set[float] = field(default_factory=set)
    labelled: Labelled = field(default_factory=Labelled)
    doubtful: Doubtful = field(default_factory=Doubtful)
    _intake: Intake | None = None
    _correct: NDArray[np.int8] | None = None
    _questions: Sequence[int] = ()

    def add(self, judgment: Judgment, assessment: Assessment, right: bool | None, question: str | None = None) -> None:
        """Takes the result of one judgment."""
        self.count(assessment)
        value = self.value(assessment)
        if value is not None and right is not None:
            self.labelled.add(value, right, int((question or Asked.of(judgment.item).unit)[:16], 16))
        blind, distance = self.blind(assessment.do.action), self.distance(assessment, value)
        self.doubtful.offer(judgment, judgment.item.id, assessment, distance, right, blind=blind)

    def count(self, assessment: Assessment) -> None:
        """Takes the result of a judgment that is not at hand: it is counted, and neither labelled nor shown."""
        fate = assessment.do.action
        self._count(assessment, fate, 1)
        self._judge(assessment.judge, fate, 1)
        value = self.value(assessment)
        if value is not None:
            self.values[round(value, DECIMALS), fate] += 1

    def expect_blocks(self, intake: Intake, correct: NDArray[np.int8], questions: Sequence[int]) -> None:
        """Before blocks come: what was read, whether each verdict is right, and the questions of items as numbers."""
        self._intake, self._correct, self._questions = intake, correct, questions

    def add_block(self, block: Block, alike: Sequence[tuple[Assessment, int]]) -> None:
        """Takes the results of a block; ``alike`` are different ones, with how many are like each."""
        assert self._intake is not None
        assert self._correct is not None
        finals = block.said.kinds
        fates = [one.do.action for one in finals]
        for assessment, times in alike:
            self._count(assessment, assessment.do.action, times)
        facts = self._intake.facts
        order = np.array([FATES.index(one) for one in fates], dtype=np.int64)[block.said.codes]
        pairs, counts = np.unique(np.stack([facts.judge[block.rows], order], axis=1), axis=0, return_counts=True)
        for (judge, fate), count in zip(pairs.tolist(), counts.tolist(), strict=True):
            self._judge(facts.judges[judge], FATES[fate], count)
        values = block.said.probabilities  # what each is kept by; NaN where there is nothing
        if self.by != "probability":
            values = np.array([self.value(one) for one in finals], dtype=np.float64)[block.said.codes]
        if self.by == "probability":
            self.reaching.update({cut: int((values >= cut - 1e-9).sum()) for cut in LOWER_CUTS})
        for at in np.flatnonzero(~np.isnan(values)).tolist():
            code, row, value = int(block.said.codes[at]), int(block.rows[at]), float(values[at])
            self.values[round(value, DECIMALS), fates[code]] += 1
            if self._correct[row] >= 0:
                self.labelled.add(value, bool(self._correct[row]), self._questions[int(facts.item[row])])
        self._doubtful_of(block, values, fates)

    def finish_blocks(self) -> None:
        """After the last block: reads the texts of those to be shown once more, in the order of the input."""
        if self._intake is not None:
            self.doubtful.read(self._intake.texts.judgment)
        self._intake = None

    def value(self, assessment: Assessment) -> float | None:
        """What a judgment is kept by: its probability, the share of peers that agree, or its score."""
        if self.by == "probability":
            return assessment.probability
        score, rule = assessment.final_score, rule_of(assessment)
        if rule is not None and self.by == "agreement" and (rule.by != "agreement" or rule.cut is None):
            return None
        return (score - 1) / 4 if score is not None and self.by == "agreement" else score

    def distance(self, assessment: Assessment, value: float | None) -> float:
        """How clear a judgment is, small where doubtful.

        By a policy how far it is from another decision; else how far P is from 1/2, or a score from its threshold.
        Where nothing decided: beyond all others, in the order that free evidence gives.
        """
        if assessment.decision is not None and assessment.decision.margin is not None:
            return assessment.decision.margin
        threshold = EVEN if self.by == "probability" else self._threshold(assessment)
        if value is not None and threshold is not None:
            return abs(value - threshold)
        return FAR + standing(assessment.signals or {})

    def _threshold(self, assessment: Assessment) -> float | None:
        rule = rule_of(assessment)
        return rule.cut if rule is not None and rule.by == self.by else None

    def blind(self, fate: Fate) -> bool:
        """Whether a judgment with this fate may be among those that people have to judge blind."""
        if self.policy is None:
            return False
        if fate == "ask":
            return self.policy.review.is_blind(audited=False)
        return self.sampled and self.policy.review.is_blind(audited=True)

    @property
    def threshold(self) -> float | None:
        return next(iter(self.thresholds)) if len(self.thresholds) == 1 else None

    @property
    def judgments(self) -> int:
        """How many results there are."""
        return sum(self.fates.values())

    def _count(self, assessment: Assessment, fate: Fate, times: int) -> None:
        self.fates[fate, assessment.do.source] += times
        rule = rule_of(assessment)
        if self.by is None and rule is not None and rule != SAME_IN_BOTH_ORDERS:
            decision = assessment.decision
            basis = "score" if decision is None else decision.inputs.basis
            self.by = rule.by if rule.by != "policy" else "probability" if basis == "probability" else "score"
        threshold = self._threshold(assessment)
        if threshold is not None and len(self.thresholds) < 2:
            self.thresholds.add(threshold)
        for name, signal in (assessment.signals or {}).items():
            if signal.value is not None:
                self.evidence.setdefault((name, signal.state), Counter())[fate] += times

    def _judge(self, judge: str, fate: Fate, times: int) -> None:
        name = judge if judge in self.judges or len(self.judges) < MOST_JUDGES else OTHERS
        self.judges.setdefault(name, Counter())[fate] += times

    def _doubtful_of(self, block: Block, values: NDArray[np.float64], fates: Sequence[Fate]) -> None:
        """Offers what may be shown; only what could be among the nearest becomes an object."""
        assert self._intake is not None
        assert self._correct is not None
        finals, codes = block.said.kinds, block.said.codes
        limits = np.array([self._threshold(one) for one in finals], dtype=np.float64)[codes]
        distances = np.abs(values - (EVEN if self.by == "probability" else limits))
        if self.policy is not None:
            decisions = [one.decision for one in finals]
            own = np.array([None if one is None else one.margin for one in decisions], dtype=np.float64)[codes]
            margins = np.where(np.isnan(block.said.margins), own, block.said.margins)
            distances = np.where(np.isnan(margins), distances, margins)
        groups = np.array([group_of(one) for one in finals], dtype=np.int64)[codes]
        for at in np.flatnonzero(np.isnan(distances) & (groups < NEVER)).tolist():
            distances[at] = FAR + standing(block.assessments[at].signals or {})
        kept = np.array([one == "keep" for one in fates], dtype=bool)[codes]
        wrong = kept & (self._correct[block.rows] == 0)
        for at in self.doubtful.nearest(distances, groups, wrong).tolist():
            row, distance = int(block.rows[at]), float(distances[at])
            right = None if self._correct[row] < 0 else bool(self._correct[row])
            self.doubtful.offer(
                row,
                self._intake.facts.items[int(self._intake.facts.item[row])].id,
                block.assessments[at],
                distance,
                right,
                blind=self.blind(fates[int(codes[at])]),
            )
