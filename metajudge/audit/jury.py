"""What the judges of one kind are worth together: common errors, effective number, panels."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from metajudge.audit.card import Figure, JudgePair, Jury, Panel, Reference
from metajudge.audit.figures import figure
from metajudge.audit.peers import Peers
from metajudge.audit.table import NOTHING, Table
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.stats.association import mean_of, share_of
from metajudge.stats.jackknife import Jackknifed, jackknife
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
        seats: [J] numbers of the judges.
        names: their names.
        mode: [J, T] answers.
        target: [T] the label.
        number: [J, T] grades, and their label in the last row; None where the answers are no grades.
        margin: by which a grade may miss its label.
        abstains: the answer that is no vote: a tie, where only a winner can be right.
        wrong: [J, T] 1 where the answer is not the label's; NaN without labels.
        question: [T] numbers.
    """

    seats: Indices
    names: tuple[str, ...]
    mode: Indices
    target: Indices
    number: Floats | None
    margin: float
    abstains: int
    wrong: Floats
    question: Indices
    reference: Reference

    def credit(self, seats: list[int]) -> tuple[Floats, int]:
        """[T] 1 where some judges together are right, half where they are undecided; and how often they are.

        Answers by majority; grades by their median, which is always decided.
        """
        if self.number is not None:
            apart = np.abs(np.median(self.number[seats], axis=0) - self.number[-1]) - self.margin
            return (np.round(apart, DECIMALS) <= 0).astype(np.float64), 0
        votes = np.zeros((len(self.target), int(max(self.mode.max(), self.target.max())) + 1))
        at = np.arange(len(self.target))
        for seat in seats:
            votes[at, self.mode[seat]] += self.mode[seat] != self.abstains
        top = votes.max(axis=1)
        alone = (top > 0) & ((votes == top[:, None]).sum(axis=1) == 1)
        right = (votes[at, self.target] == top).astype(np.float64)
        return np.where(alone, right, 0.5), int((~alone).sum())


def jury_of(table: Table, peers: Peers, costs: Mapping[str, float] | None = None) -> Jury | None:
    """The jury; None where fewer than two judges share items.

    Errors are departures from the label. Without labels only the agreement of every two judges is given: departures
    from a majority that the judges make themselves do not tell common errors from common sense.

    Args:
        table: verdicts of one kind.
        peers: of the same.
        costs: judge -> relative price of a verdict; where a panel has judges without, the number of judges counts.
    """
    bench = _bench(table, peers)
    if bench is None:
        return None
    pairs = tuple(_pair(bench, one, other) for one, other in combinations(range(len(bench.names)), 2))
    effective = _effective(bench)
    panels = _panels(bench, costs) if bench.reference == "labels" else ()
    whole = panels[-1] if panels else None
    good = [one for one in panels[:-1] if one.difference is not None and _as_good(one.difference)]
    cheapest = min(
        good, key=lambda one: (len(one.judges) if one.cost is None else one.cost, -one.accuracy.estimate), default=None
    )
    kept = set() if cheapest is None else set(cheapest.judges)
    drop = tuple((name, _why(bench, pairs, name)) for name in bench.names if cheapest is not None and name not in kept)
    return Jury(
        kind=table.kind,
        judges=bench.names,
        reference=bench.reference,
        effective=effective,
        pairs=pairs,
        drop=drop,
        panels=panels,
        cheapest=cheapest,
        sentence=_sentence(bench, effective, whole, cheapest),
    )


def _bench(table: Table, peers: Peers) -> _Bench | None:
    judges = len(peers.mode)
    labelled = bool((table.label != NOTHING).any())
    base = np.asarray(table.label != NOTHING, dtype=np.bool_) if labelled else np.ones(len(table.item), dtype=np.bool_)
    seats = _seats((peers.mode != NOTHING) & base)
    if len(seats) < 2 or judges > MOST_JUDGES:
        return None
    common = np.flatnonzero((peers.mode[seats] != NOTHING).all(axis=0) & base)
    mode = peers.mode[seats][:, common]
    target = table.label[common]
    wrong = 1 - peers.correct[seats][:, common]
    known = ~np.isnan(wrong).any(axis=0) if labelled else np.ones(len(common), dtype=np.bool_)
    if known.sum() < FEWEST_ITEMS:
        return None
    names = tuple(table.source.judges.values[seat] for seat in seats)
    question = table.question[common]
    reference: Reference = "labels" if labelled else "nothing"
    numbers = np.vstack((peers.number[seats][:, common], table.label_number[common]))[:, known]
    graded = table.kind == "grade" and table.right.name != "side"
    return _Bench(
        seats=seats,
        names=names,
        mode=mode[:, known],
        target=target[known],
        number=numbers if graded else None,
        margin=(table.right.value or 0.0) if table.right.name == "within" else 0.0,
        abstains=len(table.classes) - 1
        if table.kind in ("pairwise", "ranking") and table.right.name != "equal"
        else NOTHING,
        wrong=wrong[:, known],
        question=question[known],
        reference=reference,
    )


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
    alike = figure(share_of(same, bench.question), "share of the same answers")
    if bench.reference == "nothing":
        return JudgePair(first=bench.names[one], second=bench.names[other], agreement=alike, error_correlation=None)
    x, y = bench.wrong[one], bench.wrong[other]
    found = jackknife(
        _sums(np.column_stack((np.ones(len(x)), x, y, x * x, y * y, x * y)), bench.question), _correlation
    )
    return JudgePair(
        first=bench.names[one],
        second=bench.names[other],
        agreement=alike,
        error_correlation=None if found is None else _figure(found, len(x), "correlation of errors", (-1.0, 1.0)),
    )


def _sums(columns: Floats, clusters: Indices) -> Floats:
    present, place = np.unique(clusters, return_inverse=True)
    found = np.zeros((len(present), columns.shape[1]))
    np.add.at(found, place.ravel(), columns)
    return found


def _correlation(sums: Floats) -> Floats:
    n, x, y, xx, yy, xy = sums.T
    return np.asarray((n * xy - x * y) / np.sqrt((n * xx - x * x) * (n * yy - y * y)), dtype=np.float64)


def _effective(bench: _Bench) -> Figure | None:
    """Kish's design effect of the mean of errors: ``J^2 / sum of correlations``, negative ones taken as 0."""
    if bench.reference == "nothing":
        return None
    erring = np.flatnonzero(bench.wrong.std(axis=1) > 0)
    if len(erring) < 2:
        return None
    wrong = bench.wrong[erring]
    count = len(erring)
    first, second = np.triu_indices(count)
    columns = np.column_stack((np.ones(wrong.shape[1]), wrong.T, (wrong[first] * wrong[second]).T))

    def statistic(sums: Floats) -> Floats:
        n, mean = sums[:, :1], sums[:, 1 : 1 + count] / sums[:, :1]
        moments = np.zeros((len(sums), count, count))
        moments[:, first, second] = sums[:, 1 + count :] / n
        moments[:, second, first] = sums[:, 1 + count :] / n
        covariance = moments - mean[:, :, None] * mean[:, None, :]
        deviation = np.sqrt(np.einsum("kii->ki", covariance))
        correlation = covariance / (deviation[:, :, None] * deviation[:, None, :])
        return np.asarray(count**2 / np.maximum(correlation, 0.0).sum(axis=(1, 2)), dtype=np.float64)

    found = jackknife(_sums(columns, bench.question), statistic)
    text = "effective number of judges, J^2 / sum of error correlations (Kish's design effect)"
    return None if found is None else _figure(found, wrong.shape[1], text, (1.0, float(count)))


def _figure(found: Jackknifed, n: int, method: str, bounds: tuple[float, float]) -> Figure:
    return Figure(
        estimate=found.estimate,
        interval=found.interval(*bounds),
        n=n,
        questions=found.clusters,
        method=f"{method}; jackknife by question",
    )


def _panels(bench: _Bench, costs: Mapping[str, float] | None) -> tuple[Panel, ...]:
    """Greedy: the best judge first, then the judge that raises the panel's accuracy most; ties go to the lower cost."""
    chosen: list[int] = []
    while len(chosen) < len(bench.names):
        rest = [seat for seat in range(len(bench.names)) if seat not in chosen]
        means = {seat: round(float(bench.credit([*chosen, seat])[0].mean()), DECIMALS) for seat in rest}
        chosen.append(max(rest, key=lambda seat: (means[seat], -_cost(bench, [seat], costs))))
    whole = bench.credit(chosen)[0]
    return tuple(_panel(bench, chosen[:size], whole, costs) for size in range(1, len(chosen) + 1))


def _panel(bench: _Bench, seats: list[int], whole: Floats, costs: Mapping[str, float] | None) -> Panel:
    credit, undecided = bench.credit(seats)
    names = tuple(bench.names[seat] for seat in seats)
    known = costs is not None and all(name in costs for name in names)
    return Panel(
        judges=names,
        accuracy=figure(share_of(credit, bench.question), "share right by majority, half where undecided"),
        difference=figure(mean_of(credit - whole, bench.question), "minus all judges together", bounds=(-1.0, 1.0)),
        undecided=undecided,
        cost=_cost(bench, seats, costs) if known else None,
    )


def _cost(bench: _Bench, seats: list[int], costs: Mapping[str, float] | None) -> float:
    return float(sum((costs or {}).get(bench.names[seat], 1.0) for seat in seats))


def _as_good(one: Figure) -> bool:
    return one.interval is not None and one.interval[0] > -MARGIN


def _why(bench: _Bench, pairs: tuple[JudgePair, ...], name: str) -> str:
    mine = [one for one in pairs if name in (one.first, one.second) and one.error_correlation is not None]
    closest = max(mine, key=lambda one: one.error_correlation.estimate if one.error_correlation else 0.0, default=None)
    rate = 1 - float(bench.wrong[bench.names.index(name)].mean())
    if closest is not None and closest.error_correlation is not None and closest.error_correlation.estimate > 0.5:
        other = closest.second if closest.first == name else closest.first
        alike = closest.error_correlation.estimate
        return f"right in {rate:.0%}; its errors are those of {other} (correlation {alike:.2f})"
    return f"right in {rate:.0%}; the majority is as good without it"


def _sentence(bench: _Bench, effective: Figure | None, whole: Panel | None, cheapest: Panel | None) -> str:
    count = len(bench.names)
    if bench.reference == "nothing":
        return "Without labels it is known how often the judges agree, not which errors they share."
    parts = []
    if effective is not None:
        parts.append(f"{count} judges err together like {effective.estimate:.1f} independent ones.")
    if whole is not None and cheapest is not None:
        parts.append(
            f"{', '.join(cheapest.judges)} alone are as good as all (right in {cheapest.accuracy.estimate:.0%} against "
            f"{whole.accuracy.estimate:.0%}, within {MARGIN:.0%})."
        )
    elif whole is not None:
        parts.append(f"No smaller panel is shown to be as good as all {count} within {MARGIN:.0%}.")
    return " ".join(parts)
