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

from ..figure import SEED, Figure, Figures, absent, count, kappa, made, resampled_share, share, tested
from .judges import judge_figures
from .records import Evaluation, by_item, by_run, once

NOT_DONE = "There was no such run."


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
    rows = once(evaluations)
    full = [one for one in rows if one.run <= repeats]
    found: Figures = {}
    for run, mine in by_run(full).items():
        found |= _concordance(run, mine)
    found["combined.clustered"] = _combined(full)
    for first, second in combinations(sorted({one.run for one in full}), 2):
        found |= _retest(full, first, second)
    found |= _stability(full)
    found |= _third_run([one for one in rows if one.run > repeats], third)
    found["majority.concordance"] = _majority(rows)
    return found | judge_figures([one for one in full if one.run == 1], judges, independent)


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


def _concordance(run: int, rows: list[Evaluation]) -> Figures:
    name, decided = f"run{run}", [one for one in rows if one.decided]
    right = sum(one.right for one in decided)
    statuses = Counter(one.status for one in rows)
    costs = [one.cost_usd for one in rows if one.cost_usd is not None]
    sides = [(one.side(one.human), one.side(one.winner or "")) for one in decided]
    unknown = len(rows) - len(costs)
    return {
        f"{name}.n": count(len(rows), len(rows), f"evaluations of run {run}"),
        f"{name}.status": made(
            {status: statuses[status] for status in ("ok", "tie", "no_verdict", "error")},
            len(rows),
            f"evaluations of run {run} by result: a winner, a tie, answers without a verdict, "
            "judges that could not be asked; counts",
        ),
        f"{name}.concordance": share(
            right, len(decided), f"decided evaluations of run {run} that name the human's choice"
        ),
        f"{name}.concordance_of_all": share(
            right,
            len(rows),
            f"all evaluations of run {run} that name the human's choice, undecided ones in the denominator",
        ),
        f"{name}.kappa": kappa(sides, f"human's and panel's choice as side A or B, decided evaluations of run {run}"),
        f"{name}.kappa_uniform": _uniform(sides, run),
        f"{name}.cost": made(
            sum(costs),
            len(costs),
            f"dollars of run {run}, evaluations of known cost",
            why=f"{unknown} evaluations have no known cost." if unknown else None,
        )
        if costs
        else absent(f"dollars of run {run}", "No evaluation has a known cost."),
    }


def _uniform(sides: list[tuple[str, str]], run: int) -> Figure:
    text = (
        f"the same with chance of one half (Brennan and Prediger): 2 p - 1 of run{run}.concordance, often printed as "
        "Cohen's; interval from Wilson's"
    )
    if not sides:
        return absent(text)
    found = brennan_prediger([one for one, _ in sides], [other for _, other in sides], ("A", "B"))
    return made(found.estimate, found.n, text, interval=found.ends)


def _combined(rows: list[Evaluation]) -> Figure:
    decided = [one for one in rows if one.decided]
    clusters = [one.cluster for one in decided]
    text = (
        "decided evaluations of all full runs that name the human's choice, in percent; 95 % percentile interval of "
        f"10,000 bootstrap samples (seed {SEED}) of whole comparisons: repeats of one comparison are not independent"
    )
    few = "There are fewer than two different comparisons with a verdict."
    found, size = resampled_share([one.right for one in decided], clusters, text, few)
    if found.value is None:
        return found
    return found.model_copy(update={"why": f"{size} different comparisons, {found.n} evaluations."})


def _retest(rows: list[Evaluation], first: int, second: int) -> Figures:
    items = {item: {one.run: one for one in runs} for item, runs in by_item(rows).items()}
    pairs = [(runs[first], runs[second]) for runs in items.values() if first in runs and second in runs]
    found = retest([one.label for one, _ in pairs], [other.label for _, other in pairs])
    name, which = f"retest.run{first}_run{second}", f"items with a verdict in runs {first} and {second}"
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
    text = f"exact two-sided p of McNemar's test that runs {first} and {second} are right equally often"
    test = mcnemar_exact([one for one, _ in decided], [other for _, other in decided]) if decided else None
    return {
        f"{name}.same": share(same, found.n, f"{which}: the same verdict in both (a tie is a verdict)", lost),
        f"{name}.kappa_verdict": kappa(labels, f"verdicts of the two runs (side A, side B, tie), {which}"),
        f"{name}.kappa_match": kappa(
            decided, f"right or wrong in each run, items decided in runs {first} and {second}"
        ),
        f"{name}.matrix": made(matrix, len(decided), f"items decided in runs {first} and {second}; counts"),
        f"{name}.mcnemar_exact": tested(test, text),
    }


def _stability(rows: list[Evaluation]) -> Figures:
    classes = Counter(stability_class([one.outcome for one in runs]) for runs in by_item(rows).values())
    n = classes.total()
    wrong, unstable = classes[StabilityClass.STABLE_WRONG], classes[StabilityClass.UNSTABLE]
    text = (
        "items by their full runs: all verdicts right, all wrong, all ties, verdicts that differ, or fewer than two "
        "verdicts; counts"
    )
    parts = "of the items stably wrong or unstable: systematic (stably wrong) and stochastic (unstable), in percent"
    found: Figures = {"stability.classes": made({str(kind): classes[kind] for kind in StabilityClass}, n, text)}
    total = wrong + unstable
    if not total:
        return found | {"stability.decomposition": absent(parts, "No item is stably wrong or unstable.")}
    value = {"systematic": 100 * wrong / total, "stochastic": 100 * unstable / total}
    return found | {"stability.decomposition": made(value, total, parts)}


def _third_run(rows: list[Evaluation], third: ThirdRun | None) -> Figures:
    names = ("third.still_wrong", "third.still_wrong_p", "third.unstable", "third.lowconf")
    if third is None:
        return {name: absent("targeted third run", NOT_DONE) for name in names}
    decided = {one.item: one.right for one in rows if one.decided}
    undecided = len(rows) - len(decided)
    lost = (
        f"{undecided} of its {len(rows)} evaluations came to no winner and are in none of the shares."
        if undecided
        else ""
    )
    groups = {
        kind: [decided[item] for item in chosen if item in decided]
        for kind, chosen in (
            ("wrong", third.stable_wrong),
            ("unstable", third.unstable),
            ("lowconf", third.low_confidence),
        )
    }
    still = groups["wrong"].count(False)
    p_text = (
        "P(X >= still wrong ones) for X of Binomial(n, 1/2): exact one-sided test that stable errors are coin flips"
    )
    test = binomial_test(still, len(groups["wrong"]), 0.5, "greater") if groups["wrong"] else None
    chosen = {
        "stable_wrong": len(third.stable_wrong),
        "unstable": len(third.unstable),
        "low_confidence": len(third.low_confidence),
        "drawn_among_equal_confidence": third.drawn,
        "left_out_at_that_confidence": len(third.left_out),
    }
    text = f"items of the targeted third run: {third.rule}; counts"
    return {
        "third.chosen": made(chosen, len(third.chosen), text, why=lost or None),
        "third.still_wrong": share(
            still, len(groups["wrong"]), "stably wrong items that are wrong again in the third run"
        ),
        "third.still_wrong_p": tested(test, p_text),
        "third.unstable": share(
            groups["unstable"].count(True), len(groups["unstable"]), "unstable items that are right in the third run"
        ),
        "third.lowconf": share(
            groups["lowconf"].count(False),
            len(groups["lowconf"]),
            "stably right items of least confidence that are wrong in the third run",
        ),
    }


def _majority(rows: list[Evaluation]) -> Figure:
    items = [[one.right for one in runs if one.decided] for runs in by_item(rows).values()]
    known = [matches for matches in items if matches]
    tied = sum(2 * sum(matches) == len(matches) for matches in known)
    right = sum(2 * sum(matches) > len(matches) for matches in known)
    without = len(items) - len(known)
    remark = ". ".join(
        part
        for part in (
            f"{tied} items have as many runs for as against and are left out" if tied else "",
            f"{without} items have no decided run" if without else "",
        )
        if part
    )
    text = "items whose majority over their decided runs names the human's choice, of those with a majority"
    return share(right, len(known) - tied, text, f"{remark}." if remark else "")
