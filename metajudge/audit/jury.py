"""What the judges of one kind are worth together: common errors, effective number, panels."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from metajudge.audit.card import Figure, JudgePair, Jury, Panel, Reference
from metajudge.audit.figures import figure, jackknifed
from metajudge.audit.table import NOTHING, Table
from metajudge.audit.view import Peers
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.stats.association import mean_of, share_of
from metajudge.types.right import DECIMALS

FEWEST_ITEMS = 10
"""Judges that share fewer items are not compared."""

MARGIN = 0.02
"""A panel is as good as all judges where its accuracy is at most two points lower, by the end of the interval."""

MOST_JUDGES = 30


@dataclass(frozen=True, slots=True)
class _Bench:
    """J judges on the T things that all of them judged.

    Attributes:
        mode, number: [J, T] answers, and the same as numbers; ``target``, ``target_number``: [T] those of the label.
        wrong: [J, T] 1 where the answer is not the label's; NaN without labels.
        question: [T] numbers.
    """

    table: Table
    names: tuple[str, ...]
    mode: Indices
    number: Floats
    target: Indices
    target_number: Floats
    wrong: Floats
    question: Indices
    reference: Reference

    def credit(self, seats: list[int]) -> tuple[Floats, int]:
        """[T] 1 where some judges together are right, half where they are undecided; and how often they are.

        Answers by majority, where a tie is no vote if only a winner can be right; grades by their median, which is
        always decided.
        """
        if self.table.numeric:
            median = np.median(self.number[seats], axis=0)
            return self.table.agrees(self.target, median, self.target, self.target_number), 0
        abstains = NOTHING if self.table.right.name == "equal" else self.table.tie
        votes = np.zeros((len(self.target), int(max(self.mode.max(), self.target.max())) + 1))
        at = np.arange(len(self.target))
        for seat in seats:
            votes[at, self.mode[seat]] += self.mode[seat] != abstains
        top = votes.max(axis=1)
        alone = (top > 0) & ((votes == top[:, None]).sum(axis=1) == 1)
        right = (votes[at, self.target] == top).astype(np.float64)
        return np.where(alone, right, 0.5), int((~alone).sum())


def jury_of(table: Table, peers: Peers) -> Jury | None:
    """The jury; None where fewer than two judges share items.

    Errors are departures from the label. Without labels only the agreement of every two judges is given: departures
    from a majority that the judges make themselves do not tell common errors from common sense.
    """
    bench = _bench(table, peers)
    if bench is None:
        return None
    pairs = tuple(_pair(bench, one, other) for one, other in combinations(range(len(bench.names)), 2))
    effective = _effective(bench)
    panels = _panels(bench) if bench.reference == "labels" else ()
    less = [(one, one.difference) for one in panels[:-1]]
    good = [one for one, apart in less if apart and apart.interval and apart.interval[0] > -MARGIN]
    cheapest = min(good, key=lambda one: (len(one.judges), -one.accuracy.estimate), default=None)
    dropped = [] if cheapest is None else [name for name in bench.names if name not in cheapest.judges]
    return Jury(
        kind=table.kind,
        judges=bench.names,
        reference=bench.reference,
        effective=effective,
        pairs=pairs,
        drop=tuple((name, _why(bench, pairs, name)) for name in dropped),
        panels=panels,
        cheapest=cheapest,
        sentence=_sentence(bench, effective, panels, cheapest),
    )


def _bench(table: Table, peers: Peers) -> _Bench | None:
    labelled = bool((table.label != NOTHING).any())
    there = (peers.mode != NOTHING) & ((table.label != NOTHING) | (not labelled))
    seats = _seats(there)
    if len(seats) < 2 or len(there) > MOST_JUDGES:
        return None
    common = np.flatnonzero(there[seats].all(axis=0))
    if labelled:
        common = common[~np.isnan(peers.correct[np.ix_(seats, common)]).any(axis=0)]
    if len(common) < FEWEST_ITEMS:
        return None
    both = np.ix_(seats, common)
    targets = table.label[common], table.label_number[common]
    names = tuple(table.facts.judges[seat] for seat in seats)
    reference: Reference = "labels" if labelled else "nothing"
    mode, number, wrong = peers.mode[both], peers.number[both], 1 - peers.correct[both]
    return _Bench(table, names, mode, number, *targets, wrong, table.question[common], reference)


def _seats(there: Bools) -> Indices:
    """Judges with many items in common: the one with fewest leaves until enough are shared."""
    seats = np.flatnonzero(there.any(axis=1))
    while len(seats) > 1:
        shared = int(there[seats].all(axis=0).sum())
        counts = there[seats].sum(axis=1)
        if shared >= max(FEWEST_ITEMS, int(counts.max()) // 2):
            break
        seats = np.delete(seats, int(counts.argmin()))
    return seats


def _pair(bench: _Bench, one: int, other: int) -> JudgePair:
    same = (bench.mode[one] == bench.mode[other]).astype(np.float64)
    errors = None
    if bench.reference == "labels":
        columns, correlations = _correlations(bench.wrong[[one, other]])
        found, text = lambda sums: correlations(sums)[:, 0, 1], "correlation of errors"
        errors = jackknifed(columns, bench.question, found, text, (-1.0, 1.0))
    alike = figure(share_of(same, bench.question), "share of the same answers")
    return JudgePair(first=bench.names[one], second=bench.names[other], agreement=alike, error_correlation=errors)


def _effective(bench: _Bench) -> Figure | None:
    """Kish's design effect of the mean of errors: ``J^2 / sum of correlations``, negative ones taken as 0."""
    erring = np.flatnonzero(bench.wrong.std(axis=1) > 0)
    if bench.reference == "nothing" or len(erring) < 2:
        return None
    columns, correlations = _correlations(bench.wrong[erring])

    def statistic(sums: Floats) -> Floats:
        return np.asarray(len(erring) ** 2 / np.maximum(correlations(sums), 0.0).sum(axis=(1, 2)))

    text = "effective number of judges, J^2 / sum of error correlations (Kish's design effect)"
    return jackknifed(columns, bench.question, statistic, text, (1.0, float(len(erring))))


def _correlations(wrong: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Columns [T, any] of errors [J, T], and what makes correlations [any, J, J] of sums [any, columns] of them."""
    count = len(wrong)
    first, second = np.triu_indices(count)

    def correlations(sums: Floats) -> Floats:
        mean = sums[:, 1 : 1 + count] / sums[:, :1]
        moments = np.zeros((len(sums), count, count))
        moments[:, first, second] = moments[:, second, first] = sums[:, 1 + count :] / sums[:, :1]
        covariance = moments - mean[:, :, None] * mean[:, None, :]
        deviation = np.sqrt(np.einsum("kii->ki", covariance))
        return np.asarray(covariance / (deviation[:, :, None] * deviation[:, None, :]), dtype=np.float64)

    return np.column_stack((np.ones(wrong.shape[1]), wrong.T, (wrong[first] * wrong[second]).T)), correlations


def _panels(bench: _Bench) -> tuple[Panel, ...]:
    """Greedy: the best judge first, then the judge that raises the panel's accuracy most."""
    chosen: list[int] = []
    for _ in bench.names:
        rest = [seat for seat in range(len(bench.names)) if seat not in chosen]
        means = {seat: round(float(bench.credit([*chosen, seat])[0].mean()), DECIMALS) for seat in rest}
        chosen.append(max(rest, key=means.__getitem__))
    whole, found = bench.credit(chosen)[0], []
    for size in range(1, len(chosen) + 1):
        credit, undecided = bench.credit(chosen[:size])
        right = figure(share_of(credit, bench.question), "share right by majority, half where undecided")
        apart = figure(mean_of(credit - whole, bench.question), "minus all judges together", bounds=(-1.0, 1.0))
        names = tuple(bench.names[seat] for seat in chosen[:size])
        found.append(Panel(judges=names, accuracy=right, difference=apart, undecided=undecided))
    return tuple(found)


def _why(bench: _Bench, pairs: tuple[JudgePair, ...], name: str) -> str:
    alike = [
        (one.error_correlation.estimate, one.second if one.first == name else one.first)
        for one in pairs
        if name in (one.first, one.second) and one.error_correlation is not None
    ]
    share, other = max(alike, key=lambda one: one[0], default=(0.0, ""))
    right = f"right in {1 - float(bench.wrong[bench.names.index(name)].mean()):.0%}"
    if share > 0.5:
        return f"{right}; its errors are those of {other} (correlation {share:.2f})"
    return f"{right}; the majority is as good without it"


def _sentence(bench: _Bench, effective: Figure | None, panels: tuple[Panel, ...], cheapest: Panel | None) -> str:
    count = len(bench.names)
    if bench.reference == "nothing":
        return "Without labels it is known how often the judges agree, not which errors they share."
    said = "" if effective is None else f"{count} judges err together like {effective.estimate:.1f} independent ones. "
    if cheapest is None:
        return f"{said}No smaller panel is shown to be as good as all {count} within {MARGIN:.0%}."
    return (
        f"{said}{', '.join(cheapest.judges)} alone are as good as all (right in {cheapest.accuracy.estimate:.0%} "
        f"against {panels[-1].accuracy.estimate:.0%}, within {MARGIN:.0%})."
    )
