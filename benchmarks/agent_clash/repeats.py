"""Repeated runs of experiment 2: table 8, stability classes, the targeted third run, and the majority over runs."""

from collections import Counter, defaultdict

from metajudge.stats.intervals import binomial_test
from metajudge.stats.paired import mcnemar_exact
from metajudge.stats.stability import Correctness, StabilityClass, stability_class

from ..figure import NO_ROWS, Figure, Figures, absent
from .figures import Explanation, compare, kappa, kappa_of, share
from .records import LoggedEvaluation, Study, by_id


def figures(study: Study) -> Figures:
    """All figures of repeated runs, by id."""
    first, second = study.judged("arena", 1), study.judged("arena", 2)
    return {**_retest(study, first, second), **_third_run(study)}


def _retest(study: Study, first: list[LoggedEvaluation], second: list[LoggedEvaluation]) -> Figures:
    other, again = by_id(second), by_id(study.valid("arena", 2))
    matched = [(row.match, other[str(row.eval_id)].match) for row in first if str(row.eval_id) in other]
    repeats = [(row, again[str(row.eval_id)]) for row in study.valid("arena", 1) if str(row.eval_id) in again]
    which = "evaluations with a verdict in both arena runs 1 and 2"
    verdicts = [(one.side(one.ai_winner), one.side(two.ai_winner)) for one, two in repeats]
    same = sum(one == two for one, two in verdicts)
    found_match = kappa_of(matched).estimate if matched else None
    of_matches = Explanation(
        how="the kappa of match against mismatch with the human (t8.kappa_match), not of the two runs' verdicts",
        value=found_match,
    )
    return {
        "t8.matrix": _matrix(matched, which),
        "t8.same": share(same, len(verdicts), f"{which}: the two runs name the same winner"),
        "t8.kappa_verdict": kappa(verdicts, f"verdicts of the two runs as side A or B, {which}", of_matches),
        "t8.kappa_match": kappa(matched, f"match with the human (yes or no) in each run, {which}"),
        "t8.mcnemar_exact": _mcnemar(matched, which),
        **_stability(matched, which),
    }


def _matrix(matched: list[tuple[bool, bool]], which: str) -> Figure:
    counts = Counter(matched)
    value = {
        "both_match": counts[True, True],
        "only_run1_matches": counts[True, False],
        "only_run2_matches": counts[False, True],
        "neither_matches": counts[False, False],
    }
    return compare(value, len(matched), f"{which} by whether each run names the human winner; counts")


def _mcnemar(matched: list[tuple[bool, bool]], which: str) -> Figure:
    text = f"exact two-sided p value of McNemar's test that the runs match the human equally often, {which}"
    if not matched:
        return absent(text)
    test = mcnemar_exact([one for one, _ in matched], [two for _, two in matched])
    remark = (
        f"{test.favour_first} evaluations match in run 1 alone, {test.favour_second} in run 2 alone. The paper prints "
        "chi-squared = 0.00 with continuity correction, p > 0.05, for the same table."
    )
    return compare(test.p_value, test.n, text, remark=remark)


def _stability(matched: list[tuple[bool, bool]], which: str) -> Figures:
    classes = Counter(stability_class([_outcome(one), _outcome(two)]) for one, two in matched)
    right, wrong, unstable = (
        classes[kind] for kind in (StabilityClass.STABLE_RIGHT, StabilityClass.STABLE_WRONG, StabilityClass.UNSTABLE)
    )
    value = {"stable_right": right, "stable_wrong": wrong, "unstable": unstable}
    text = f"{which}: both runs name the human winner, neither does, or one does; counts"
    parts = f"of the {which} that are not stably right: stably wrong (systematic) and unstable (stochastic), in percent"
    found: Figures = {"stability.classes": compare(value, len(matched), text)}
    if not wrong + unstable:
        why = "Every evaluation is stably right: nothing is to be decomposed." if matched else NO_ROWS
        return found | {"stability.decomposition": absent(parts, why)}
    split = {"systematic": 100 * wrong / (wrong + unstable), "stochastic": 100 * unstable / (wrong + unstable)}
    return found | {"stability.decomposition": compare(split, wrong + unstable, parts)}


def _outcome(match: bool) -> Correctness:
    return Correctness.RIGHT if match else Correctness.WRONG


def _third_run(study: Study) -> Figures:
    third = study.judged("arena", 3)
    groups = {
        kind: [row for row in third if row.category == kind] for kind in ("STABLE_WRONG", "UNSTABLE", "LOW_CONF_OK")
    }
    wrong = groups["STABLE_WRONG"]
    still = sum(not row.match for row in wrong)
    p_text = (
        "P(X >= still wrong ones) for X of Binomial(n, 1/2): exact one-sided test that stable errors are coin flips"
    )
    p_value: Figure = absent(p_text)
    if wrong:
        test = binomial_test(still, len(wrong), 0.5, "greater")
        remark = f'{still} of {len(wrong)} give {test.p_value:.3g}; the paper prints "p < 0.00002" for 19 of 20.'
        p_value = compare(test.p_value, len(wrong), p_text, remark=remark)
    text = "arena run 3 rows of category {} with a verdict: {}"
    return {
        "run3.still_wrong": share(
            still,
            len(wrong),
            text.format("STABLE_WRONG", "the verdict is again not the human winner"),
            remark=_exceptions([row for row in wrong if row.match]),
        ),
        "run3.still_wrong_p": p_value,
        "run3.unstable": share(
            sum(row.match for row in groups["UNSTABLE"]),
            len(groups["UNSTABLE"]),
            text.format("UNSTABLE", "the verdict names the human winner"),
        ),
        "run3.lowconf": share(
            sum(not row.match for row in groups["LOW_CONF_OK"]),
            len(groups["LOW_CONF_OK"]),
            text.format("LOW_CONF_OK", "the verdict flipped to what is not the human winner"),
        ),
        "majority.concordance": _majority(study),
    }


def _exceptions(flipped: list[LoggedEvaluation]) -> str:
    """A tie that label order settled is no confirmation and no exception either; the reader must see it."""
    ties = [str(row.eval_id) for row in flipped if row.weighted_tie]
    if not ties:
        return ""
    return (
        f"The right verdict of id {', '.join(ties)} is an exact tie of the weighted score, settled by label order: "
        "without that rule there is no exception."
    )


def _majority(study: Study) -> Figure:
    definition = (
        "arena evaluations whose majority over their available runs (1 to 3) names the human winner; runs without a "
        "majority stay in the denominator and do not match"
    )
    votes: defaultdict[str, list[bool]] = defaultdict(list)
    for row in study.judged("arena"):
        votes[str(row.eval_id)].append(row.match)
    right = sum(2 * sum(matches) > len(matches) for matches in votes.values())
    tied = sum(2 * sum(matches) == len(matches) for matches in votes.values())
    remark = f"{tied} evaluations have as many runs for as against." if tied else ""
    return share(right, len(votes), definition, remark=remark)
