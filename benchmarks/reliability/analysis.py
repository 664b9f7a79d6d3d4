"""The reliability of a panel, from its recorded evaluations: concordance, repetition, third run."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from random import Random
from statistics import fmean

from metajudge.stats.agreement import brennan_prediger
from metajudge.stats.intervals import binomial_test
from metajudge.stats.paired import mcnemar_exact
from metajudge.stats.stability import StabilityClass, ThirdRun, choose_third_run, retest, stability_class

from ..figure import SEED, Figures, FigureTable, absent, count, kappa, made, resampled_share, share, share_of, tested
from .judges import add_judges
from .records import Evaluation, by_item, by_run, once


def analyse(
    evaluations: Sequence[Evaluation],
    judges: Sequence[str],
    *,
    repeats: int,
    third: ThirdRun | None = None,
    independent: int | None = None,
) -> Figures:
    """Every statistic of a panel's reliability, by id.

    Args:
        evaluations: of all runs, one an item and run.
        judges: the configured panel, lost judges included.
        repeats: full runs; a run of a higher number is the targeted third.
        third: how its items were chosen.
        independent: different models among the judges; None where each is one of its own.

    Raises:
        InputError: an item is evaluated twice in one run.
    """
    table, rows = FigureTable(__package__), once(evaluations)
    full = [one for one in rows if one.run <= repeats]
    for run, mine in by_run(full).items():
        _concordance(table, run, mine)
    decided = [one for one in full if one.decided]
    clusters = [one.cluster for one in decided]
    few = "There are fewer than two different comparisons with a verdict."
    combined = resampled_share([one.right for one in decided], clusters, few)
    table.add("combined.clustered", combined, seed=SEED, size=len(set(clusters)), n=len(decided))
    for first, second in combinations(sorted({one.run for one in full}), 2):
        _retest(table, full, first, second)
    _stability(table, full)
    _third_run(table, [one for one in rows if one.run > repeats], third)
    _majority(table, rows)
    add_judges(table, [one for one in full if one.run == 1], judges, independent)
    return table.found


def third_run(evaluations: Sequence[Evaluation], size: int, *, seed: int = SEED) -> ThirdRun:
    """Chooses the items of a targeted third run from the runs so far; lots are drawn with the seed.

    Confidence is the mean of the runs' margins; a run without a verdict has none.
    """
    items = by_item(evaluations)
    classes = {item: stability_class([one.outcome for one in runs]) for item, runs in items.items()}
    margins = {item: [one.confidence for one in runs if one.confidence is not None] for item, runs in items.items()}
    return choose_third_run(
        classes, {item: fmean(known) if known else None for item, known in margins.items()}, size, Random(seed)
    )


def _concordance(table: FigureTable, run: int, rows: list[Evaluation]) -> None:
    n, decided = len(rows), [one for one in rows if one.decided]
    right = sum(one.right for one in decided)
    statuses = Counter(one.status for one in rows)
    costs = [one.cost_usd for one in rows if one.cost_usd is not None]
    sides = [(one.side(one.human), one.side(one.winner or "")) for one in decided]
    table.add("run{run}.n", count(n, n), run=run)
    results = {status: statuses[status] for status in ("ok", "tie", "no_verdict", "error")}
    table.add("run{run}.status", made(results, n), run=run)
    table.add("run{run}.concordance", share(right, len(decided)), run=run)
    table.add("run{run}.concordance_of_all", share(right, n), run=run)
    table.add("run{run}.kappa", kappa(sides), run=run)
    uniform = absent()
    if sides:
        found = brennan_prediger([one for one, _ in sides], [other for _, other in sides], ("A", "B"))
        uniform = made(found.estimate, found.n, found.ends)
    table.add("run{run}.kappa_uniform", uniform, run=run)
    cost = absent("No evaluation has a known cost.")
    if costs:
        cost = made(sum(costs), len(costs), suffix=", evaluations of known cost")
    unknown = n - len(costs)
    table.add("run{run}.cost", cost, f"{unknown} evaluations have no known cost." if unknown else "", run=run)


def _retest(table: FigureTable, rows: list[Evaluation], first: int, second: int) -> None:
    items = {item: {one.run: one for one in runs} for item, runs in by_item(rows).items()}
    pairs = [(runs[first], runs[second]) for runs in items.values() if first in runs and second in runs]
    found = retest([one.label for one, _ in pairs], [other.label for _, other in pairs])
    name, words = "retest.run{first}_run{second}", {"first": first, "second": second}
    lost = f"{found.without} items lack a verdict in one of the runs." if found.without else ""
    same = round((found.same.estimate if found.same else 0) * found.n)
    labels = [(one.label, other.label) for one, other in pairs if one.label is not None and other.label is not None]
    decided = [(one.right, other.right) for one, other in pairs if one.decided and other.decided]
    counts = Counter(decided)
    matrix = {
        "both_right": counts[True, True],
        f"only_run{first}_right": counts[True, False],
        f"only_run{second}_right": counts[False, True],
        "neither_right": counts[False, False],
    }
    test = mcnemar_exact([one for one, _ in decided], [other for _, other in decided]) if decided else None
    table.add(f"{name}.same", share(same, found.n), lost, **words)
    table.add(f"{name}.kappa_verdict", kappa(labels), **words)
    table.add(f"{name}.kappa_match", kappa(decided), **words)
    table.add(f"{name}.matrix", made(matrix, len(decided)), **words)
    table.add(f"{name}.mcnemar_exact", tested(test), **words)


def _stability(table: FigureTable, rows: list[Evaluation]) -> None:
    classes = Counter(stability_class([one.outcome for one in runs]) for runs in by_item(rows).values())
    wrong, unstable = classes[StabilityClass.STABLE_WRONG], classes[StabilityClass.UNSTABLE]
    table.add("stability.classes", made({str(kind): classes[kind] for kind in StabilityClass}, classes.total()))
    parts, total = absent("No item is stably wrong or unstable."), wrong + unstable
    if total:
        parts = made({"systematic": 100 * wrong / total, "stochastic": 100 * unstable / total}, total)
    table.add("stability.decomposition", parts)


def _third_run(table: FigureTable, rows: list[Evaluation], third: ThirdRun | None) -> None:
    if third is None:
        for name in ("still_wrong", "still_wrong_p", "unstable", "lowconf"):
            table.add("third.{missing}", absent("There was no such run."), missing=name)
        return
    decided = {one.item: one.right for one in rows if one.decided}
    undecided = len(rows) - len(decided)
    lost = f"{undecided} of its {len(rows)} evaluations came to no winner and are in none of the shares."
    wrong, unstable, low = (
        [decided[item] for item in chosen if item in decided]
        for chosen in (third.stable_wrong, third.unstable, third.low_confidence)
    )
    chosen = {
        "stable_wrong": len(third.stable_wrong),
        "unstable": len(third.unstable),
        "low_confidence": len(third.low_confidence),
        "drawn_among_equal_confidence": third.drawn,
        "left_out_at_that_confidence": len(third.left_out),
    }
    table.add("third.chosen", made(chosen, len(third.chosen)), lost if undecided else "", rule=third.rule)
    still = wrong.count(False)
    table.add("third.still_wrong", share(still, len(wrong)))
    table.add("third.still_wrong_p", tested(binomial_test(still, len(wrong), 0.5, "greater") if wrong else None))
    table.add("third.unstable", share_of(unstable))
    table.add("third.lowconf", share_of(not right for right in low))


def _majority(table: FigureTable, rows: list[Evaluation]) -> None:
    items = [[one.right for one in runs if one.decided] for runs in by_item(rows).values()]
    known = [matches for matches in items if matches]
    tied = sum(2 * sum(matches) == len(matches) for matches in known)
    right = sum(2 * sum(matches) > len(matches) for matches in known)
    without = len(items) - len(known)
    remarks = [f"{tied} items have as many runs for as against and are left out"] * bool(tied)
    remarks += [f"{without} items have no decided run"] * bool(without)
    table.add("majority.concordance", share(right, len(known) - tied), f"{'. '.join(remarks)}." if remarks else "")
