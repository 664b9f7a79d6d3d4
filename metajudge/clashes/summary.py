"""What many evaluations have in common: by category, and of judges on their own answers. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metajudge.clashes.record import ClashRecord
from metajudge.stats.clustered import ClusteredProportion, clustered_proportion


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """One category.

    Attributes:
        best: candidates with the most evaluations won alone; several where they won as many.
        won: how many each of them won.
    """

    category: str | None
    evaluations: int
    decided: int
    unanimous: int
    tied: int
    escalated: int
    best: tuple[str, ...]
    won: int


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """A judge that is a candidate, on its own answers.

    Attributes:
        share: of the evaluations in which it ranked its own answer those in which it put it first, alone; by prompt.
        panel: how often the panel's verdict put that answer first, alone, in the same evaluations.
    """

    judge: str
    own: str
    share: ClusteredProportion
    panel: int

    def sentence(self) -> str:
        """What was found; no test, since a candidate's answers may be the best."""
        share = self.share
        return (
            f"{self.judge} put its own answer first in {share.successes} of {share.n} evaluations "
            f"({share.estimate:.0%} [{share.low:.0%} to {share.high:.0%}] by prompt); the panel did in {self.panel}"
        )

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        share, who = self.share, {"judge": self.judge, "own": self.own}
        counts = {"first": share.successes, "n": share.n, "prompts": share.clusters}
        return {**who, **counts, "low": share.low, "high": share.high, "panel": self.panel}


def by_category(records: Sequence[ClashRecord]) -> list[CategoryRow]:
    """A row each, by name; evaluations without a category last. Nothing where no evaluation has one."""
    names = {record.category for record in records}
    if names <= {None}:
        return []
    ordered = sorted(name for name in names if name is not None)
    return [
        _category(name, [record for record in records if record.category == name])
        for name in [*ordered, *([None] if None in names else [])]
    ]


def _category(name: str | None, records: Sequence[ClashRecord]) -> CategoryRow:
    wins = Counter(record.winner for record in records if record.winner is not None)
    most = max(wins.values(), default=0)
    return CategoryRow(
        category=name,
        evaluations=len(records),
        decided=sum(record.status == "ok" for record in records),
        unanimous=sum(record.tally is not None and record.tally.unanimous for record in records),
        tied=sum(record.status == "tie" for record in records),
        escalated=sum(record.tally is None or record.tally.triage != "accept" for record in records),
        best=tuple(sorted(one for one, won in wins.items() if won == most)),
        won=most,
    )


def self_preference(records: Sequence[ClashRecord]) -> list[SelfPreference]:
    """Every judge, voter and observer that ranked an answer of its own, by name."""
    found: dict[tuple[str, str], list[tuple[str, bool, bool]]] = {}
    for record in records:
        for vote in record.votes:
            first = vote.own_first
            if vote.own is not None and first is not None:
                rows = found.setdefault((vote.judge, vote.own), [])
                rows.append((record.item_id, first, record.winner == vote.own))
    return [_preference(judge, own, rows) for (judge, own), rows in sorted(found.items())]


def _preference(judge: str, own: str, rows: Sequence[tuple[str, bool, bool]]) -> SelfPreference:
    prompts = {item: number for number, item in enumerate(dict.fromkeys(item for item, _, _ in rows))}
    share = clustered_proportion([float(first) for _, first, _ in rows], [prompts[item] for item, _, _ in rows])
    return SelfPreference(judge, own, share, panel=sum(won for _, _, won in rows))
