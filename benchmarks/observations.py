"""The rows of a benchmark's table that are right or wrong, with their free evidence."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metajudge.evidence.counting import compared, compared_by, said_by
from metajudge.stats.arrays import Bools, Indices
from metajudge.types import VERDICT_KINDS, Judgment, Right, VerdictKind, kind_of, text_digest
from metajudge.types.right import DEFAULTS

from .records import Records

Name = Literal["judge", "category", "item", "question", "order"]


@dataclass(frozen=True, eq=False)
class Observations:
    """Rows of a table, each right or wrong: for pairs and rankings a verdict and a label that each name a winner.

    Attributes:
        records: what the rows are of.
        rows: [n] places in its table, in the order of the input.
        correct: [n] whether each is right.
        ended: [n] ``decided``; ``tie`` and ``none`` (no verdict) only where the population counts them as wrong.
        weighed: names of the signals that the score of free evidence may weigh; None for all.
        undecided: judge -> how its other judgments ended (``tie``, ``none``, ``no label``, ``tied label``,
            ``not comparable``).
    """

    records: Records
    rows: Indices
    correct: Bools
    ended: NDArray[np.str_]
    weighed: Collection[str] | None
    undecided: Mapping[str, Counter[str]]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def judges(self) -> list[str]:
        """Judges in the order of the input, those without a decided judgment included."""
        return list(dict.fromkeys([*self.of("judge"), *self.undecided]))

    @property
    def kinds(self) -> tuple[VerdictKind, ...]:
        """The kinds of verdicts, in the order of the input."""
        return tuple(VERDICT_KINDS[code] for code in dict.fromkeys(self.kind.tolist()))

    @cached_property
    def kind(self) -> Indices:
        """[n] place of the kind in :data:`~metajudge.types.VERDICT_KINDS`: of the verdict, else of the label."""
        facts = self.records.facts
        of_truth = [VERDICT_KINDS.index(kind_of(truth)) for truth in facts.truths]
        said, right = facts.kind[self.rows], np.array([*of_truth, -1], dtype=np.intp)[facts.truth[self.rows]]
        return np.where(said < 0, right, said)

    @cached_property
    def ids(self) -> list[str]:
        """[n] the id of each judgment."""
        return [self.records.facts.judgment_ids[row] for row in self.rows.tolist()]

    def of(self, name: Name) -> list[str]:
        """[n] the judge, the item, the question or the category of each ("" without one), or the order shown."""
        if name not in self._named:
            facts, rows = self.records.facts, self.rows
            if name == "order":
                found = [order_of(self.records.judgments[row]) for row in rows.tolist()]
            elif name in ("item", "question"):
                items = [facts.items[code] for code in facts.item[rows].tolist()]
                found = [one.id if name == "item" else one.question for one in items]
            else:
                judged = name == "judge"
                names, codes = (facts.judges, facts.judge) if judged else ([*facts.categories, ""], facts.category)
                found = [names[code] for code in codes[rows].tolist()]
            self._named[name] = found
        return self._named[name]

    def where(self, name: Name, value: str) -> Bools:
        """[n] which rows have this value."""
        return np.array([one == value for one in self.of(name)], dtype=bool)

    def only(self, judges: Collection[str], kind: VerdictKind | None = None) -> "Observations":
        """The rows of some judges, of one kind where it is named."""
        facts = self.records.facts
        codes = [code for code, judge in enumerate(facts.judges) if judge in judges]
        chosen = np.isin(facts.judge[self.rows], codes)
        if kind is not None:
            chosen &= self.kind == VERDICT_KINDS.index(kind)
        return replace(
            self,
            rows=self.rows[chosen],
            correct=self.correct[chosen],
            ended=self.ended[chosen],
            undecided={judge: counts for judge, counts in self.undecided.items() if judge in judges},
        )

    @property
    def agreement(self) -> list[float | None]:
        """[n] share of the peers that agree (:attr:`~.records.Records.agreement`)."""
        every = self.records.agreement
        found = zip(self.rows.tolist(), self.ended.tolist(), strict=True)
        return [every[row] if ended == "decided" else None for row, ended in found]

    @property
    def heuristic(self) -> list[float | None]:
        """[n] the score of free evidence."""
        return [self.records.heuristic(row, self.weighed) for row in self.rows.tolist()]

    @cached_property
    def _named(self) -> dict[Name, list[str]]:
        return {}


def question_of(judgment: Judgment) -> str:
    """The unit of independence: items that ask the same question belong together, and so do turns of a conversation."""
    return text_digest(judgment.item.opening)


def observed(
    records: Records,
    judgments: Iterable[tuple[int, Judgment]],
    weighed: Collection[str] | None = None,
    *,
    rules: Mapping[VerdictKind, Right] = DEFAULTS,
    wrong: Collection[str] = (),
) -> Observations:
    """The rows of judgments that are right or wrong.

    Args:
        wrong: which of ``tie`` and ``none`` (no verdict) are wrong judgments instead of being left out.
    """
    left: dict[str, Counter[str]] = {}
    found: list[tuple[int, bool, str]] = []
    for row, judgment in judgments:
        why = undecided(judgment, rules)
        if why is None or why in wrong:
            found.append((row, compared_by(judgment, rules) is True, why or "decided"))
        else:
            left.setdefault(judgment.judge, Counter())[why] += 1
    rows, correct, ended = zip(*found, strict=True) if found else ((), (), ())
    return Observations(
        records, np.array(rows, dtype=np.intp), np.array(correct, dtype=bool), np.array(ended, dtype=str), weighed, left
    )


def order_of(judgment: Judgment) -> str:
    """The order shown, as ids put together; ``pointwise`` where the responses were scored one by one."""
    return "pointwise" if judgment.meta.get("pointwise") else "".join(judgment.order)


def undecided(judgment: Judgment, rules: Mapping[VerdictKind, Right] = DEFAULTS) -> str | None:
    """Why a judgment is neither right nor wrong; None where it is one of both."""
    verdict, truth = judgment.verdict, judgment.item.truth
    if truth is None:
        return "no label"
    rule = rules.get("pairwise" if verdict is None else kind_of(verdict))
    if rule is None or rule.name == "top1":  # it asks for a winner
        if said_by(truth) == "undecided":
            return "tied label"
        if said_by(verdict) == "undecided":
            return "tie"
    found = compared(verdict, truth, rule)
    return None if isinstance(found, bool) else "none" if found == "no verdict" else found
