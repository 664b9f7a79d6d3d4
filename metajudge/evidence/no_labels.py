"""P(right) without labels, for every verdict of an input: what agreement alone says.

It is an estimate under the assumptions of :mod:`metajudge.evidence.latent`, never checked against a label: not a
calibrated probability, no basis for a guarantee or a policy, and wrong where most judges share an error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from metajudge.evidence.class_answers import (
    ClassAnswers,
    Group,
    Subject,
    collect_class_answers,
    named_class,
    subject_of,
)
from metajudge.evidence.facts import SignalColumn
from metajudge.evidence.grouping import Interned, Key
from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.latent import LatentFit, fit_latent
from metajudge.evidence.recorded import Recorded
from metajudge.evidence.rules import Rules
from metajudge.types import NO_LABELS, Judgment, SignalValue, kind_of

FEWEST_JUDGES: Final = 3
"""With two judges agreement does not show which of them is right more often."""

FEWEST_ITEMS: Final = 20
"""Items that at least two judges judged."""

DECIMALS: Final = 4


def most_right(answers: ClassAnswers) -> float:
    """The share of the answers that can be right at most, by their disagreement alone, in [0, 1].

    On an item whose most frequent class was named m times, at most m answers are right. One without a single class
    (a tie, under a rule that asks for a winner) counts as wrong. It is a fact about these items and no estimate.
    """
    codes = answers.item[:, None] * answers.places + np.arange(answers.places)
    counts = np.bincount(codes[answers.hits], minlength=len(answers.subjects) * answers.places)
    return float(counts.reshape(-1, answers.places).max(axis=1).sum() / len(answers.said))


@dataclass(frozen=True, eq=False)
class GroupFit:
    """The model of one kind of answers.

    Attributes:
        answers: what was fitted.
        fit: the model, in which copies are one judge.
        most_right: share of the answers that can be right at most, in [0, 1]; see :func:`most_right`.
    """

    answers: ClassAnswers
    fit: LatentFit
    most_right: float

    @cached_property
    def at(self) -> dict[Subject, int]:
        """Subject -> its row."""
        return {subject: row for row, subject in enumerate(self.answers.subjects)}

    @property
    def title(self) -> str:
        """Whose agreement it is, in words."""
        return f"{len(self.answers.judges)} judges, worth {self.fit.effective:.1f} independent ones an item"

    def signal(self, probability: float) -> SignalValue:
        """P(right) of a verdict of the group as a signal."""
        detail = f"P(right) by the agreement of {self.title}; no label was seen and nothing is calibrated"
        return SignalValue(value=round(probability, DECIMALS), state=NO_LABELS, detail=detail)


class NoLabels:
    """Probabilities of being right for the verdicts of an input, by agreement alone.

    Args:
        rules: what counts as right.
        groups: the fitted models; none where the input is too small.
    """

    def __init__(self, rules: Rules, groups: dict[Group, GroupFit]) -> None:
        self.rules = rules
        self.groups = groups

    @classmethod
    def fit(cls, index: EvidenceIndex) -> "NoLabels":
        """Fits one model for each group of answers with :data:`FEWEST_JUDGES` on :data:`FEWEST_ITEMS` items."""
        return cls.of(index.recorded(), index.items, index.rules)

    @classmethod
    def of(cls, recorded: Recorded, items: Sequence[str], rules: Rules) -> "NoLabels":
        """The same from columns.

        Args:
            items: the id of each item.
            rules: what counts as right.
        """
        groups = {}
        for answers in collect_class_answers(recorded, items, rules):
            voices = one_voice_each(answers, recorded.copies)
            if is_enough(voices):
                groups[answers.group] = GroupFit(answers, fit_latent(voices, recorded.models), most_right(answers))
        return cls(rules, groups)

    def column(self, size: int) -> SignalColumn:
        """:meth:`signal` of every record that the models were fitted on; -1 where there is none.

        Args:
            size: number of the records.
        """
        codes = np.full(size, -1, dtype=np.int32)
        values: list[SignalValue] = []
        for group in self.groups.values():
            answers = group.answers
            hits = answers.hits
            named = np.flatnonzero(hits.any(axis=1))
            found = group.fit.posterior[answers.item[named], hits[named].argmax(axis=1)]
            different, place = np.unique(found, return_inverse=True)
            rounded = Interned[float]()
            code = [rounded.code(round(value, DECIMALS)) for value in different.tolist()]
            codes[answers.row[named]] = len(values) + np.array(code, dtype=np.int32)[place]
            values += [group.signal(value) for value in rounded.values]
        return SignalColumn(codes, values)

    def probability(self, judgment: Judgment) -> float | None:
        """P(right) in [0, 1] of one verdict; None where it names no class, or where nothing was fitted for it."""
        found = self._find(judgment)
        return None if found is None else found[0]

    def signal(self, judgment: Judgment) -> SignalValue | None:
        """The same as a signal in the state ``no_labels``, rounded to four digits."""
        found = self._find(judgment)
        if found is None:
            return None
        value, group = found
        return group.signal(value)

    def _find(self, judgment: Judgment) -> tuple[float, GroupFit] | None:
        verdict = judgment.verdict
        if verdict is None:
            return None
        kind = kind_of(verdict)
        named = named_class(verdict, self.rules.of(kind))
        group = self.groups.get(("choice", len(verdict.ids)) if verdict.ids else (kind, 0))
        if group is None or named is None or (kind == "ranking" and self.rules.of(kind).name != "top1"):
            return None
        row = group.at.get(subject_of(judgment.item.id, judgment.order, verdict))
        classes = () if row is None else group.answers.classes[row]
        if row is None or named not in classes:
            return None
        return float(group.fit.posterior[row, classes.index(named)]), group


def one_voice_each(answers: ClassAnswers, copies: Mapping[str, str]) -> ClassAnswers:
    """The answers without those of copies on items that the judge, or another of its copies, has answered.

    Args:
        copies: judge -> the judge whose copy it is; what is left of a copy's answers is taken for that judge's.
    """
    if not copies:
        return answers
    voices = [copies.get(name, name) for name in answers.judges]
    voice = np.array([voices.index(name) for name in voices], dtype=np.intp)
    size, said = len(answers.judges), voice[answers.judge]
    first = np.full(len(answers.subjects) * size, size, dtype=np.intp)
    np.minimum.at(first, answers.item * size + said, answers.judge)
    rows = np.flatnonzero(answers.judge == first[answers.item * size + said])
    names, judge = np.unique(said[rows], return_inverse=True)
    return replace(
        answers,
        judges=tuple(answers.judges[code] for code in names.tolist()),
        row=answers.row[rows],
        item=answers.item[rows],
        judge=judge.ravel(),
        said=answers.said[rows],
        place=answers.place[rows],
    )


def score_of(probability: float) -> float:
    """A probability in [0, 1] on the scale from 1 to 5."""
    return 1 + 4 * probability


def is_enough(answers: ClassAnswers) -> bool:
    """Whether agreement can be measured: three judges, and twenty items that two of them judged."""
    if len(answers.judges) < FEWEST_JUDGES:
        return False
    _, first = Key.of(answers.item, len(answers.subjects)).then(answers.judge, len(answers.judges)).distinct()
    judges = np.bincount(answers.item[first])
    return int((judges > 1).sum()) >= FEWEST_ITEMS
