"""How the labels of an input, where there are any, bear out what ``metajudge vet`` kept."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from metajudge.evidence.units import Clusters
from metajudge.readers.right_rules import right_of
from metajudge.stats.clustered import ClusteredTally
from metajudge.types import Assessment, Judgment, Right, VerdictKind
from metajudge.types.right import DEFAULTS

MOST_NAMED = 10


@dataclass(slots=True)
class LabelCount:
    """Right ones by what was decided; each judgment is counted under its question, the unit of independence.

    Only judgments that were assessed and have a comparable label are counted.

    Attributes:
        rules: what counts as right, for each kind of verdict.
        guaranteed, unguaranteed: the kept ones that a guaranteed threshold covers, and the other ones.
        wrongly_kept: ids of the first ones that were kept although they are wrong.
        clusters: the questions of the input's items.
        note: what to know of the unit of dependence.
    """

    rules: Mapping[VerdictKind, Right] = field(default_factory=lambda: DEFAULTS)
    all: ClusteredTally = field(default_factory=ClusteredTally)
    kept: ClusteredTally = field(default_factory=ClusteredTally)
    guaranteed: ClusteredTally = field(default_factory=ClusteredTally)
    unguaranteed: ClusteredTally = field(default_factory=ClusteredTally)
    wrongly_kept: list[str] = field(default_factory=list)
    clusters: Clusters = field(default_factory=Clusters)
    note: str | None = None

    def add(self, judgment: Judgment, assessment: Assessment) -> None:
        """Counts one judgment under its question."""
        covered = assessment.guarantee is not None
        question = self.clusters.name(judgment.item)
        self.count_key(
            judgment.id, int(question[:16], 16), assessment.accepted, right_of(judgment, self.rules), guaranteed=covered
        )

    def count_key(
        self, name: str, key: int, accepted: bool | None, correct: bool | None, *, guaranteed: bool = False
    ) -> None:
        """Counts one judgment by its fields; ``key`` is the first 16 hex digits of its question's name as a number."""
        if correct is None or accepted is None:
            return
        self.all.add(key, correct)
        if not accepted:
            return
        self.kept.add(key, correct)
        (self.guaranteed if guaranteed else self.unguaranteed).add(key, correct)
        if not correct and len(self.wrongly_kept) < MOST_NAMED:
            self.wrongly_kept.append(name)

    def to_json(self) -> dict[str, Any] | None:
        """Plain data, with 95 % intervals by question; None without labels."""
        if not self.all.n:
            return None
        tallies = {"all": self.all, "kept": self.kept}
        tallies |= {"kept_under_guarantee": self.guaranteed, "kept_without_guarantee": self.unguaranteed}
        return {
            "right": {kind: str(rule) for kind, rule in self.rules.items()},
            "all": self.all.n,
            "all_correct": self.all.successes,
            "kept": self.kept.n,
            "kept_correct": self.kept.successes,
            "precision": {name: asdict(one.proportion()) if one.n else None for name, one in tallies.items()},
        }
