"""The one place that counts the verdicts of a file, and how many of these are right.

Every judgment given is counted, whatever became of it. It stands in one row by what the judge said, in one by what is
to be done with it, and in the row of all (:data:`ROWS`). Right is counted among verdicts that can be compared with
their label; a judge's tie is wrong where the label names a winner (:func:`compared`).
"""

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metajudge.errors import FailureKind
from metajudge.evidence.units import Clusters
from metajudge.evidence.verdicts import Verdicts
from metajudge.stats.clustered import ClusteredProportion, clustered_proportion
from metajudge.types import (
    AnyVerdict,
    Assessment,
    Judgment,
    Pairwise,
    Ranking,
    Right,
    Status,
    VerdictKind,
    is_right,
    kind_of,
)
from metajudge.types.right import DEFAULTS

Said: TypeAlias = Literal["decided", "undecided", "no_verdict"]
Fate: TypeAlias = Literal["kept_under_guarantee", "kept_without_guarantee", "discarded", "asked", "failed"]
Why: TypeAlias = Literal["no verdict", "no label", "tied label", "not comparable"]
"""Why a judgment is neither right nor wrong."""

SAID: Final[tuple[Said, ...]] = ("decided", "undecided", "no_verdict")
FATES: Final[tuple[Fate, ...]] = ("kept_under_guarantee", "kept_without_guarantee", "discarded", "asked", "failed")
WHY: Final[tuple[Why, ...]] = ("no verdict", "no label", "tied label", "not comparable")
"""In a column a judgment is 1 where it is right, 0 where it is wrong, and -1 - its place here where it is neither."""
MOST_NAMED: Final = 10

_CELLS: Final = tuple(product(SAID, FATES))
_OF_ROW: Final[Mapping[str, Collection[str]]] = {
    "all": SAID,
    "decided": ("decided",),
    "undecided": ("undecided",),
    "no_verdict": ("no_verdict",),
    "kept": FATES[:2],
    "kept_under_guarantee": FATES[:1],
    "kept_without_guarantee": FATES[1:2],
    "discarded": ("discarded",),
    "asked": ("asked", "failed"),
    "failed": ("failed",),
}
ROWS: Final[Mapping[str, tuple[int, ...]]] = {
    name: tuple(at for at, cell in enumerate(_CELLS) if set(cell) & set(parts)) for name, parts in _OF_ROW.items()
}
"""Row -> the cells that it is made of. all = decided + undecided + no_verdict = kept + discarded + asked.

``decided`` verdicts name one answer, ``undecided`` ones are ties. ``asked``: nothing decided, so a person is asked;
``failed`` of them could not be asked about, although there is a verdict.
"""

WORDS: Final[Mapping[str, str]] = {
    "all": "all given",
    "decided": "verdicts that name an answer",
    "undecided": "ties",
    "no_verdict": "no verdict",
    "kept": "kept",
    "kept_under_guarantee": "kept under the guarantee",
    "kept_without_guarantee": "kept without it",
    "discarded": "discarded",
    "asked": "asked, nothing decided",
    "failed": "failed, of those asked",
}


def said_by(verdict: AnyVerdict | None) -> Said:
    """What a judge said: one answer, a tie, or nothing."""
    if verdict is None:
        return "no_verdict"
    return "undecided" if isinstance(verdict, Pairwise | Ranking) and verdict.winner is None else "decided"


def fate_of(kept: bool | None, *, covered: bool = False, failed: bool = False) -> Fate:
    """What becomes of a judgment.

    Args:
        kept: None where nothing decided.
        covered: whether a guarantee covers it.
        failed: whether it has a verdict and could not be asked about.
    """
    if kept is None:
        return "failed" if failed else "asked"
    return "discarded" if not kept else "kept_under_guarantee" if covered else "kept_without_guarantee"


def status_of(assessment: Assessment) -> str:
    """How vetting ended: as the status says, but ``no_verdict`` where the judge gave none. Nothing failed then."""
    failure = assessment.failure
    silent = failure is not None and failure.kind is FailureKind.NO_VERDICT
    return "no_verdict" if silent else assessment.status.value


def ending_of(assessment: Assessment) -> Fate:
    """:func:`fate_of` an assessment's judgment."""
    failed = status_of(assessment) == Status.FAILED
    return fate_of(assessment.kept, covered=assessment.guarantee is not None, failed=failed)


def places_of(said: Sequence[Said], fates: Sequence[Fate]) -> NDArray[np.intp]:
    """[said, fates] the cell of each pair."""
    return np.array([[_CELLS.index((one, other)) for other in fates] for one in said], dtype=np.intp)


def compared(verdict: AnyVerdict | None, truth: AnyVerdict | None, rule: Right | None) -> bool | Why:
    """Whether a verdict is right, or why it is neither right nor wrong.

    A tie is wrong where the label names a winner. Where people call a tie as well, it is right by ``equal`` and
    ``kendall``; by ``top1`` such an item is not compared.

    Args:
        truth: the label; None without one.
        rule: of the verdict's kind; None where there is none.
    """
    if verdict is None or truth is None:
        return "no verdict" if verdict is None else "no label"
    right = None if rule is None else is_right(verdict, truth, rule)
    if right is not None:
        return right
    tied = rule is not None and rule.name == "top1" and said_by(truth) == "undecided"
    return "tied label" if tied else "not comparable"


def compared_by(judgment: Judgment, rules: Mapping[VerdictKind, Right]) -> bool | Why:
    """:func:`compared` of a judgment, by the rule of its kind."""
    verdict = judgment.verdict
    return compared(verdict, judgment.item.truth, None if verdict is None else rules.get(kind_of(verdict)))


def code_of(found: bool | Why) -> int:
    """1, 0 or a negative number; see :data:`WHY`."""
    return int(found) if isinstance(found, bool) else -1 - WHY.index(found)


@dataclass(frozen=True, slots=True)
class Counted:
    """One row.

    Attributes:
        n: judgments in it.
        share: right ones among those of them that can be compared, with the 95 % interval by cluster; None without any.
    """

    n: int
    share: ClusteredProportion | None = None

    @property
    def compared(self) -> int:
        return 0 if self.share is None else self.share.n

    @property
    def right(self) -> int:
        return 0 if self.share is None else self.share.successes

    def to_json(self) -> dict[str, Any]:
        """Plain data; share, low and high are None without a judgment that can be compared."""
        found = self.share
        ends = (None, None, None, 0) if found is None else (found.estimate, found.low, found.high, found.clusters)
        names = ("n", "compared", "right", "share", "low", "high", "clusters")
        return dict(zip(names, (self.n, self.compared, self.right, *ends), strict=True))


@dataclass(slots=True)
class Counts:
    """Judgments as they come, in nine bytes for each that can be compared.

    Attributes:
        rules: what counts as right, for each kind of verdict.
        why: why judgments cannot be compared -> how many.
        wrongly_kept: ids of the first ones that were kept although they are wrong.
        clusters: the questions of the input's items.
        note: what to know of the unit of dependence.
        known: the rows, where an earlier run has counted them.
    """

    rules: Mapping[VerdictKind, Right] = field(default_factory=lambda: DEFAULTS)
    why: Counter[str] = field(default_factory=Counter)
    wrongly_kept: list[str] = field(default_factory=list)
    clusters: Clusters = field(default_factory=Clusters)
    note: str | None = None
    known: Mapping[str, Counted] | None = None
    _given: Counter[int] = field(default_factory=Counter)
    _clusters: "array[int]" = field(default_factory=lambda: array("Q"))
    _outcomes: "array[int]" = field(default_factory=lambda: array("B"))

    def add(self, judgment: Judgment, assessment: Assessment | None = None) -> None:
        """Counts a judgment and what became of it; None: nothing decided."""
        fate: Fate = "asked" if assessment is None else ending_of(assessment)
        code = code_of(compared_by(judgment, self.rules))
        self.count(judgment.id, self.clusters.number(judgment.item), said_by(judgment.verdict), fate, code)

    def count(self, name: str, cluster: int, said: Said, fate: Fate, code: int) -> None:
        """Counts one judgment by its fields.

        Args:
            name: its id.
            cluster: the number of what it depends on, in [0, 2**64).
            code: see :data:`WHY`.
        """
        one = np.array([code]), np.array([cluster], dtype=np.uint64)
        self.count_rows(places_of([said], [fate])[0], *one, lambda _at: name)

    def count_rows(
        self, cells: NDArray[np.intp], codes: NDArray[Any], clusters: NDArray[np.uint64], name: Callable[[int], str]
    ) -> None:
        """Counts m judgments: [m] their cells, codes and clusters; ``name`` gives the id of one by its place."""
        self._given.update(dict(enumerate(np.bincount(cells, minlength=len(_CELLS)).tolist())))
        known = codes >= 0
        self.why.update(WHY[-1 - code] for code in codes[~known].tolist())
        self._clusters.frombytes(clusters[known].astype(np.uint64).tobytes())
        self._outcomes.frombytes((2 * cells + codes)[known].astype(np.uint8).tobytes())
        wrong = np.flatnonzero(np.isin(cells, ROWS["kept"]) & (codes == 0))
        self.wrongly_kept += [name(at) for at in wrong[: MOST_NAMED - len(self.wrongly_kept)].tolist()]

    def extend(self, other: "Counts") -> None:
        """Counts what another one has counted by the same rules."""
        self.why.update(other.why)
        self._given.update(other._given)
        self._clusters.extend(other._clusters)
        self._outcomes.extend(other._outcomes)

    def rows(self) -> dict[str, Counted]:
        """Every row; see :data:`ROWS`."""
        if self.known is not None:
            return dict(self.known)
        outcomes, clusters = np.array(self._outcomes, dtype=np.uint8), np.array(self._clusters, dtype=np.uint64)

        def share(cells: Collection[int]) -> ClusteredProportion | None:
            there = np.isin(outcomes // 2, list(cells))
            return clustered_proportion(outcomes[there] % 2, clusters[there]) if there.any() else None

        return {name: Counted(sum(self._given[cell] for cell in cells), share(cells)) for name, cells in ROWS.items()}

    @property
    def labelled(self) -> bool:
        """Whether any judgment can be compared with its label."""
        return bool(self._outcomes) if self.known is None else self.known["all"].compared > 0

    def to_json(self) -> dict[str, Any]:
        """Plain data: the rows, the rules, and why judgments are not compared."""
        return {
            "right": {kind: str(rule) for kind, rule in self.rules.items()},
            "rows": {name: row.to_json() for name, row in self.rows().items()},
            "not_compared": dict(sorted(self.why.items())),
        }


def without_comparison(counts: Counts) -> list[str]:
    """Sentences on what is in no share; missing verdicts have a row of their own."""
    tied, none, other = (counts.why[name] for name in ("tied label", "no label", "not comparable"))
    said = [f"{tied:,} on items that people call a tie (top1 asks for a winner; --right equal compares them)"] * (
        tied > 0
    )
    said += [f"{none:,} without a label"] * (none > 0)
    return said + [f"{other:,} that cannot be compared with their label"] * (other > 0)


def correctness(facts: Verdicts, rules: Mapping[VerdictKind, Right]) -> NDArray[np.int8]:
    """Whether each verdict is right by the rule of its kind.

    Returns:
        [n]: 1 right, 0 wrong, negative where it is neither (:data:`WHY`).
    """
    pairs = np.stack([facts.verdict, facts.truth], axis=1)
    different, places = np.unique(pairs, axis=0, return_inverse=True)
    found = [_right(facts, rules, verdict, truth) for verdict, truth in different.tolist()]
    return np.array(found, dtype=np.int8)[places.reshape(-1)]


def _right(facts: Verdicts, rules: Mapping[VerdictKind, Right], verdict: int, truth: int) -> int:
    said = facts.verdict_of(verdict)
    rule = None if said is None else rules.get(kind_of(said))
    return code_of(compared(said, None if truth < 0 else facts.truths[truth], rule))


class RowCounting:
    """Counts rows of facts.

    Args:
        correct: [n] by :func:`correctness`.
        counts: counts them by its rules.

    Attributes:
        questions: the number of each item's question; empty without labels.
    """

    def __init__(self, facts: Verdicts, correct: NDArray[np.int8], counts: Counts) -> None:
        self._facts, self._correct, self._counts = facts, correct, counts
        labelled = bool((correct >= 0).any())
        self.questions = [int(item.question[:16], 16) for item in facts.items] if labelled else []
        self._clusters = np.array(self.questions or [0] * len(facts.items), dtype=np.uint64)
        said = [SAID.index(said_by(one)) for one in (*facts.verdicts, None)]  # the last one is meant by the code -1
        self._said = np.array(said, dtype=np.intp)

    def add(self, rows: NDArray[np.int64], fates: Sequence[Fate], codes: NDArray[np.int64]) -> None:
        """Counts m rows; ``codes`` [m] are the places of their ends in ``fates``."""
        ends = np.array([FATES.index(one) for one in fates], dtype=np.intp)
        cells = self._said[self._facts.verdict[rows]] * len(FATES) + ends[codes]
        names, clusters = self._facts.judgment_ids, self._clusters[self._facts.item[rows]]
        self._counts.count_rows(cells, self._correct[rows], clusters, lambda at: names[int(rows[at])])
