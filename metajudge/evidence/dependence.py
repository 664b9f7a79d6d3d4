"""Judges that are not independent, without labels: copies under other names, and judges that follow one another.

Good judges agree because they are right, and judges of any worth agree on easy items and err together on hard ones. So
agreement alone shows nothing. What shared truth and shared difficulty do is, to a first approximation, one factor: the
correlation of two judges' answers is then the product of what each has of it, and for any two others k and l

    c(i, j) c(k, l) = c(i, k) c(j, l)        (Spearman's vanishing tetrads, 1904)

whatever the judges' worth. So the correlation that judges i and j would have if they met in the shared factor alone is

    E(i, j) = sum over k, l of c(i, k) c(j, l) / sum over k, l of c(k, l),    k and l other judges,

and what is beyond it, ``follows = (c - E) / (1 - E)``, is zero for judges that are independent given the item, one for
a copy, and about p for a judge that gives the other's answer with probability p and its own otherwise: local
dependence, as item response theory calls it (Yen, 1984; Chen and Thissen, 1997). Both directions look the same.

Different models are not independent given one factor either: on recorded judgments most pairs of differently named
models lie between -.2 and .3. The test is therefore against
:data:`LEAST_FOLLOWS`, one-sided, by a jackknife over groups of questions and no smaller variance than under the
hypothesis, with Holm's correction over all pairs of a kind of answers.

It takes two judges beside a pair. Where there are none (all others are copies, too, or there are only three judges),
agreement cannot tell copies from judges that are right; equal lengths of long rationales can.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from metajudge.evidence.class_answers import Cells, cells_of
from metajudge.evidence.local_dependence import (
    FEWEST_QUESTIONS,
    LEAST_COPIES,
    LEAST_FOLLOWS,
    LEAST_TEXTS,
    LEVEL,
    NEAR,
    PairTests,
    Sums,
    TextTests,
)
from metajudge.evidence.rules import Rules
from metajudge.evidence.verdicts import Verdicts
from metajudge.stats.arrays import Ints
from metajudge.types.figure import Ends, WithInterval
from metajudge.types.frozen import Finite

COPIES_AGREE: Final = 0.9
"""Judges with the same texts are copies where they give the same verdict at least so often."""
NEARLY_ALL: Final = 0.98
"""Judges that give so many same verdicts, and are not found to be copies, are named."""
NEARLY_SAME: Final = 0.95
"""Judges that give so many may be copies."""
MOST_JUDGES: Final = 200
MOST_RECORDS: Final = 200_000
"""Judgments that are looked at, by evenly spaced questions."""

UNTOLD: Final = "cannot be told"

Finding = Literal["copy", "follower", "cannot be told"]


class _TwoJudges(Finite):
    first: str
    second: str
    finding: Finding
    declared: bool
    answers: int
    questions: int
    same: float
    expected: float | None
    follows: float | None


class DependentPair(WithInterval[Ends | None], _TwoJudges):
    """Two judges that are not independent, or of which it cannot be told.

    Attributes:
        first, second: names, sorted.
        finding: ``copy``: the same answers, or the same texts with nearly the same answers; ``follower``: the one
            follows the other more often than different models do; ``cannot be told``: nearly the same answers, and the
            other judges are too few to tell whether both are right.
        declared: whether both are one model by the records' own word.
        answers, questions: answers to the same things in the same order that both gave, and their questions.
        same: share of them that are the same, in [0, 1].
        expected: the share that judges of their worth would show who are independent given the item; None where it
            cannot be told.
        follows: share of what independence leaves open in which they agree beyond it, at most 1; None likewise.
        interval: of ``follows``, 95 %, by a jackknife over groups of questions.
        p_value: of ``follows`` against :data:`LEAST_FOLLOWS`, adjusted by Holm over all pairs; None likewise.
        same_texts: share of their long rationales with the same number of words, of ``texts``; None without any.
        texts: answers on which both gave a rationale of at least :data:`LONG_TEXT` words.
    """

    p_value: float | None
    same_texts: float | None
    texts: int


class _Counted(Finite):
    answers: str
    judges: tuple[str, ...]
    questions: int
    tested: int
    pairs: tuple[DependentPair, ...]
    possible: tuple[tuple[str, str], ...]
    counts_as: float


class JudgesTogether(WithInterval[Ends], _Counted):
    """The judges of one kind of answers.

    Attributes:
        answers: the kind: ``choice of 2`` responses, ``category``, ``grade``.
        judges: names, sorted.
        questions: of the judge with the most.
        tested: pairs that could be tested.
        pairs: those with a finding, closest first.
        possible: pairs without a finding whose interval of ``follows`` reaches :data:`LEAST_FOLLOWS`, or that give the
            same answer in :data:`NEARLY_SAME`.
        counts_as: how many independent judges they count as, ``J^2 / sum of dependence`` with 1 for each judge and
            ``follows`` for each ordered pair found (Kish's design effect); dependence that was not found is not in it.
        interval: of ``counts_as``, from the intervals of the pairs found.
    """

    @property
    def found(self) -> tuple[DependentPair, ...]:
        """Pairs that are dependent, without those of which it cannot be told."""
        return tuple(pair for pair in self.pairs if pair.finding != UNTOLD)


MOST_SENTENCES: Final = 5
"""Pairs that are put into words."""


def sentences(group: JudgesTogether) -> list[str]:
    """What was found of the judges of one kind of answers, closest pairs first; nothing where nothing was found."""
    undeclared = [pair for pair in group.found if not pair.declared]
    untold = [pair for pair in group.pairs if pair.finding == UNTOLD and not pair.declared]
    told = []
    if group.found:
        low, high = group.interval
        told.append(
            f"The evidence ({group.answers}) comes from {len(group.judges)} judges that count as "
            f"{group.counts_as:.1f} independent ones (95 % {low:.1f} to {high:.1f})."
        )
    told += [_sentence(pair) for pair in undeclared[:MOST_SENTENCES]]
    if len(undeclared) > MOST_SENTENCES:
        told.append(f"{len(undeclared) - MOST_SENTENCES} more pairs of judges are not independent.")
    if len(group.found) > len(undeclared):
        count = len(group.found) - len(undeclared)
        told.append(f"{count} pairs are one model under different names, as the records say.")
    if any(pair.finding == "copy" for pair in undeclared):
        told.append(
            "Copies count once, and not at all for each other's verdicts. No precision can be promised that was "
            "measured without copies: what is kept rests on fewer judges than there are names."
        )
    if any(pair.finding == "follower" for pair in undeclared):
        told.append(
            "Followers keep their votes. No precision can be promised that was measured without followers: what is "
            "kept may be less precise than with independent judges."
        )
    if untold:
        names = sorted({name for pair in untold for name in (pair.first, pair.second)})
        told.append(
            f"{', '.join(names)} gave the same verdict on {100 * min(pair.same for pair in untold):.0f} % or more of "
            f"{min(pair.questions for pair in untold):,} questions, and the other judges are too few to tell whether "
            "they are copies or right: no precision can be promised by their agreement."
        )
    return told


def _sentence(pair: DependentPair) -> str:
    beside = "" if pair.expected is None else f" (expected of independent judges {100 * pair.expected:.0f} %)"
    text = (
        f"{pair.first} and {pair.second} gave the same verdict on {100 * pair.same:.0f} % of {pair.answers:,} "
        f"answers to {pair.questions:,} questions{beside}"
    )
    if pair.finding == "follower" and pair.follows is not None and pair.interval is not None:
        low, high = (max(0.0, 100 * end) for end in pair.interval)
        text += f": one follows the other in about {100 * pair.follows:.0f} % ({low:.0f} to {high:.0f})"
    if pair.same_texts is not None and pair.same_texts >= LEAST_TEXTS:
        text += f"; {100 * pair.same_texts:.0f} % of their {pair.texts:,} long rationales have the same length"
    return f"{text}."


@dataclass(frozen=True, slots=True)
class Dependence:
    """What is known of the independence of an input's judges.

    Attributes:
        groups: by kind of answers; those of fewer than two judges are left out.
        too_many: judges, where they are more than :data:`MOST_JUDGES` and so not compared; else 0.
    """

    groups: tuple[JudgesTogether, ...] = ()
    too_many: int = 0

    @property
    def not_compared(self) -> str | None:
        """Why nothing was looked at although there is enough; None where there is no such reason."""
        if not self.too_many:
            return None
        return (
            f"{self.too_many:,} judges are too many to be compared ({MOST_JUDGES} at most): whether some are copies or "
            "followers is not known."
        )

    @property
    def copies(self) -> dict[str, str]:
        """Judge -> the first of those whose copy it is, for judges that are copies and do not say so themselves."""
        found: dict[str, str] = {}
        for pair in (pair for group in self.groups for pair in group.pairs):
            if pair.finding == "copy" and not pair.declared:
                first, second = found.get(pair.first, pair.first), found.get(pair.second, pair.second)
                one = min(first, second)
                found |= {pair.first: one, pair.second: one}
                found |= {name: one for name, of in found.items() if of in (first, second)}
        return found

    def found(self, finding: Finding) -> frozenset[tuple[str, str]]:
        """The pairs of a finding, without those that say themselves that they are one model."""
        pairs = (pair for group in self.groups for pair in group.pairs)
        return frozenset((pair.first, pair.second) for pair in pairs if pair.finding == finding and not pair.declared)

    @property
    def possible(self) -> frozenset[tuple[str, str]]:
        """Pairs that may follow each other, found or not."""
        possible = frozenset(pair for group in self.groups for pair in group.possible)
        return possible | self.found("copy") | self.found("follower") | self.found("cannot be told")


def dependence_of(facts: Verdicts, rules: Rules) -> Dependence:
    """What is known of the independence of the judges of an input."""
    if len(facts.judges) < 2 or len(facts.items) < FEWEST_QUESTIONS:
        return Dependence()
    if len(facts.judges) > MOST_JUDGES:
        return Dependence(too_many=len(facts.judges))
    if len(facts) > MOST_RECORDS:
        facts = facts.of_items(_evenly(facts.by_cluster, len(facts)))
    made = [cells for cells in cells_of(facts, rules) if len(cells.judges) > 1]
    return Dependence(tuple(_together(cells, facts.model_of) for cells in made))


def _evenly(question: Ints, size: int) -> Ints:
    """Rows of evenly spaced questions, about :data:`MOST_RECORDS` of them; ``question`` is that of each row."""
    count = int(question.max(initial=0)) + 1
    chosen = np.zeros(count, dtype=bool)
    chosen[np.linspace(0, count - 1, max(1, count * MOST_RECORDS // size)).astype(np.intp)] = True
    return np.flatnonzero(chosen[question])


def _together(cells: Cells, models: Mapping[str, str]) -> JudgesTogether:
    sums = Sums.of(cells)
    compared = _Compared(cells.judges, models, sums, PairTests.of(sums), TextTests.of(cells))
    first, second = np.triu_indices(len(cells.judges), 1)
    pairs = [
        pair for at in zip(first.tolist(), second.tolist(), strict=True) if (pair := compared.pair(*at)) is not None
    ]
    found = [pair for pair in pairs if pair.finding != UNTOLD]
    shares = np.array([_shares(pair) for pair in found]).reshape(-1, 3)
    count = len(cells.judges)
    counts_as, least, most = (count**2 / (count + 2 * shares.sum(axis=0))).tolist()
    group, size = cells.group
    return JudgesTogether(
        answers=f"{group} of {size}" if size else group,
        judges=cells.judges,
        questions=int(sums.questions.diagonal().max(initial=0)),
        tested=int((~np.isnan(compared.tests.expected[first, second])).sum()),
        possible=compared.possible(pairs),
        pairs=tuple(sorted(pairs, key=lambda pair: (pair.finding != "copy", pair.finding == UNTOLD, -pair.same))),
        counts_as=counts_as,
        interval=(least, most),
    )


def _shares(pair: DependentPair) -> tuple[float, float, float]:
    """What a pair that was found follows each other, and its interval from the high end to the low, in [0, 1]."""
    if pair.finding == "copy":
        return 1.0, 1.0, 1.0
    low, high = pair.interval or (0.0, 1.0)
    value = pair.follows if pair.follows is not None else pair.same_texts or 0.0
    return tuple(min(1.0, max(0.0, one)) for one in (value, high, low))  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    """All pairs of judges of one kind of answers, with what was measured of them."""

    judges: Sequence[str]
    models: Mapping[str, str]
    sums: Sums
    tests: PairTests
    texts: TextTests

    def pair(self, one: int, other: int) -> DependentPair | None:
        """What is found of a pair; None for nothing."""
        finding = self._finding(one, other)
        if finding is None:
            return None
        tests, at = self.tests, (one, other)
        expected = float(tests.expected[at])
        told = not np.isnan(expected)
        follows, half = float(tests.follows[at]), 1.96 * float(tests.error[at])
        texts = int(self.texts.both[at])
        names = self.judges[one], self.judges[other]
        models = [self.models.get(name) for name in names]
        return DependentPair(
            first=names[0],
            second=names[1],
            finding=finding,
            declared=models[0] is not None and models[0] == models[1],
            answers=round(float(self.sums.shared[at])),
            questions=int(self.sums.questions[at]),
            same=float(self.sums.same_share[at]),
            expected=float(tests.expected_share[at]) if told else None,
            follows=follows if told else None,
            interval=(max(-1.0, follows - half), min(1.0, follows + half)) if told else None,
            p_value=float(tests.adjusted[LEAST_FOLLOWS][at]) if told else None,
            same_texts=float(self.texts.equal[at]) if texts else None,
            texts=texts,
        )

    def possible(self, found: Sequence[DependentPair]) -> tuple[tuple[str, str], ...]:
        """See :attr:`JudgesTogether.possible`."""
        known = {(pair.first, pair.second) for pair in found}
        reach = np.nan_to_num(self.tests.follows + 1.96 * self.tests.error, nan=-1.0) >= LEAST_FOLLOWS
        every = zip(*(at.tolist() for at in np.triu_indices(len(self.judges), 1)), strict=True)
        rows = [at for at in every if reach[at] or self._is_nearly_same(at, NEARLY_SAME)]
        names = ((self.judges[one], self.judges[other]) for one, other in rows)
        return tuple(pair for pair in names if pair not in known)

    def _finding(self, one: int, other: int) -> Finding | None:
        at, tests, same = (one, other), self.tests, float(self.sums.same_share[one, other])
        texts = bool(self.texts.same[at])
        if tests.adjusted[LEAST_COPIES][at] <= LEVEL or (texts and same >= COPIES_AGREE):
            return "copy"
        if tests.adjusted[LEAST_FOLLOWS][at] <= LEVEL or texts:
            return "follower"
        return UNTOLD if self._is_nearly_same(at, NEARLY_ALL) else None

    def _is_nearly_same(self, at: tuple[int, int], least: float) -> bool:
        """Whether two judges that were not found agree so much that they could be copies."""
        near = self.tests.correlation[at] >= NEAR and self.sums.same_share[at] >= least
        return bool(near and self.sums.enough[at])
