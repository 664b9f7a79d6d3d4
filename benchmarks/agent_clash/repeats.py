"""Repeated runs of experiment 2: table 8, stability classes, the targeted third run, and the majority over runs."""

from collections import Counter, defaultdict

from metajudge.stats.intervals import binomial_test
from metajudge.stats.paired import mcnemar_exact
from metajudge.stats.stability import Correctness, StabilityClass, stability_class

from ..figure import NO_ROWS, FigureTable, absent, kappa, kappa_of, of_rows, share, share_of, tested
from .records import LoggedEvaluation, Study, by_id


def add(table: FigureTable, study: Study) -> None:
    """All figures of repeated runs."""
    other, again = by_id(study.judged("arena", 2)), by_id(study.valid("arena", 2))
    first = [row for row in study.judged("arena", 1) if str(row.eval_id) in other]
    matched = [(row.match, other[str(row.eval_id)].match) for row in first]
    repeats = [(row, again[str(row.eval_id)]) for row in study.valid("arena", 1) if str(row.eval_id) in again]
    verdicts = [(one.side(one.ai_winner), one.side(two.ai_winner)) for one, two in repeats]
    counts = Counter(matched)
    matrix = {
        "both_match": counts[True, True],
        "only_run1_matches": counts[True, False],
        "only_run2_matches": counts[False, True],
        "neither_matches": counts[False, False],
    }
    table.add("t8.matrix", of_rows(matrix, len(matched)))
    table.add("t8.same", share_of(one == two for one, two in verdicts))
    of_matches = kappa_of(matched).estimate if matched else None
    table.add("t8.kappa_verdict", kappa(verdicts), theirs=of_matches)
    table.add("t8.kappa_match", kappa(matched))
    test = mcnemar_exact([one for one, _ in matched], [two for _, two in matched]) if matched else None
    words = {} if test is None else {"first": test.favour_first, "second": test.favour_second}
    table.add("t8.mcnemar_exact", tested(test), **words)
    _stability(table, matched)
    _third_run(table, study)
    _majority(table, study)


def _stability(table: FigureTable, matched: list[tuple[bool, bool]]) -> None:
    outcomes = {True: Correctness.RIGHT, False: Correctness.WRONG}
    classes = Counter(stability_class([outcomes[one], outcomes[two]]) for one, two in matched)
    kinds = (StabilityClass.STABLE_RIGHT, StabilityClass.STABLE_WRONG, StabilityClass.UNSTABLE)
    right, wrong, unstable = (classes[kind] for kind in kinds)
    value = {"stable_right": right, "stable_wrong": wrong, "unstable": unstable}
    table.add("stability.classes", of_rows(value, len(matched)))
    n = wrong + unstable
    split = {"systematic": 100 * wrong / max(1, n), "stochastic": 100 * unstable / max(1, n)}
    why = "Every evaluation is stably right: nothing is to be decomposed." if matched else NO_ROWS
    table.add("stability.decomposition", of_rows(split, n) if n else absent(why))


def _third_run(table: FigureTable, study: Study) -> None:
    third = study.judged("arena", 3)
    wrong, unstable, low = (
        [row for row in third if row.category == kind] for kind in ("STABLE_WRONG", "UNSTABLE", "LOW_CONF_OK")
    )
    still = sum(not row.match for row in wrong)
    test = binomial_test(still, len(wrong), 0.5, "greater") if wrong else None
    words = {} if test is None else {"still": still, "n": len(wrong), "p": test.p_value}
    table.add("run3.still_wrong", share(still, len(wrong)), _exceptions([row for row in wrong if row.match]))
    table.add("run3.still_wrong_p", tested(test), **words)
    table.add("run3.unstable", share_of(row.match for row in unstable))
    table.add("run3.lowconf", share_of(not row.match for row in low))


def _exceptions(flipped: list[LoggedEvaluation]) -> str:
    """A tie that label order settled is no confirmation and no exception either; the reader must see it."""
    ties = [str(row.eval_id) for row in flipped if row.weighted_tie]
    if not ties:
        return ""
    return (
        f"The right verdict of id {', '.join(ties)} is an exact tie of the weighted score, settled by label order: "
        "without that rule there is no exception."
    )


def _majority(table: FigureTable, study: Study) -> None:
    votes: defaultdict[str, list[bool]] = defaultdict(list)
    for row in study.judged("arena"):
        votes[str(row.eval_id)].append(row.match)
    tied = sum(2 * sum(matches) == len(matches) for matches in votes.values())
    remark = f"{tied} evaluations have as many runs for as against." if tied else ""
    table.add("majority.concordance", share_of(2 * sum(one) > len(one) for one in votes.values()), remark)
