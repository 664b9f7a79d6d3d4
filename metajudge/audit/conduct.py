"""Checks of how a judge behaves: severity, drift, versions, prompts, categories, and against the other judges."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from metajudge.audit.card import CheckName
from metajudge.audit.draft import FEWEST, Draft, Evidence, from_flips, from_slope
from metajudge.audit.preferences import RELEVANT_ON_SCALE, led
from metajudge.audit.table import NOTHING
from metajudge.audit.view import View
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.stats.association import Association, associate, mean_of
from metajudge.stats.paired import mean_ranks, sign_flip

MARGIN = 0.10
"""A judge counts as weaker than its peers from ten points on; how much further is tested against this."""

RELEVANT_COPY = 0.6
"""Of the way from the null share of common errors to all of them: at one half, a share of .8 must be seen."""

FEWEST_WITHOUT_LABELS = 5
"""Judges that the check for copies needs without labels: three others make the majority."""

MOST_PARTS = 20
"""Versions, prompts or categories compared at most, the most frequent ones."""


def severity(view: View) -> Draft | None:
    """Whether the judge passes more, or grades higher, than the reference on the same things."""
    table = view.table
    rows = np.flatnonzero(~np.isnan(view.number) & ~np.isnan(view.target_number))
    if not len(rows) or not table.coding.spread:
        return None
    mine, theirs = view.number[rows], view.target_number[rows]
    apart = (mine - theirs) / table.coding.spread
    whole = table.binary and bool((theirs == np.rint(theirs)).all())
    graded = not table.binary
    evidence = (
        from_flips(sign_flip(apart, view.cluster[rows]))
        if whole and len(rows) >= FEWEST
        else from_slope(mean_of(apart, view.cluster[rows]))
    )
    who = "people" if view.reference == "labels" else "the other judges"
    figures = (
        f"{mine.mean():.2f} against {theirs.mean():.2f}" if graded else f"{mine.mean():.0%} against {theirs.mean():.0%}"
    )
    says = f"Its {table.coding.number_name} is {figures} of {who} on the same responses (n = {len(rows):,})."
    unit = "difference of means, in parts of the scale" if graded else "difference of shares"
    details = {"judge": float(mine.mean()), "reference": float(theirs.mean())}
    more = {"relevant_effect": RELEVANT_ON_SCALE} if graded else {}
    return view.draft("severity", unit, evidence, rows, says, details=details, **more)


def outcome(view: View) -> tuple[Indices, Floats, str]:
    """What change over time and between versions is measured by.

    Returns:
        rows of the view, [rows] values, and their name. Where the other judges judged at least nine tenths of the same
        things, their mean is taken off, so that harder questions are not taken for a worse judge.
    """
    rows = np.flatnonzero(~np.isnan(view.right))
    value = view.right[rows]
    name = view.measure
    others = view.others_right()[rows]
    known = ~np.isnan(others)
    if len(rows) and known.mean() >= 0.9:
        return rows[known], value[known] - others[known], f"{name} (less that of the other judges on the same items)"
    return rows, value, name


def drift(view: View) -> Draft | None:
    """Whether the judge becomes better or worse from its first verdict to its last, on a straight line."""
    rows, value, name = outcome(view)
    time = view.time[rows]
    known = ~np.isnan(time)
    rows, value, time = rows[known], value[known], time[known]
    if len(rows) < 2 or time.min() == time.max():
        return None
    # From -1/2 for the first verdict to 1/2 for the last.
    found = associate(value, (mean_ranks(time) - 1) / (len(time) - 1) - 0.5, view.cluster[rows])
    if found is None:
        return None
    says = f"From the first verdict to the last its {name} changes by {100 * found.estimate:+.1f} points"
    unit = f"change of {name} from the first verdict to the last"
    evidence = from_slope(found)
    return view.draft("drift", unit, evidence, rows, f"{says} (n = {len(rows):,}).", wrong=0.5)


def versions(view: View) -> Draft | None:
    """Whether one version of the judge is better or worse than the others."""
    rows, value, name = outcome(view)
    version = view.table.source.version
    parts = view.named(version)[rows], version.values
    return _parts(view, "versions", rows, value, parts, name)


def categories(view: View) -> Draft | None:
    """Whether the judge is better or worse in one category than in the others."""
    rows = np.flatnonzero(~np.isnan(view.right))
    parts = view.category[rows], view.table.facts.categories
    return _parts(view, "categories", rows, view.right[rows], parts, view.measure)


def prompts(view: View) -> Draft | None:
    """Whether one prompt makes the same judge better or worse than its others, on the same things."""
    codes, names = prompt_codes(view)
    value, name = view.right, view.measure
    if view.reference == "nothing":
        value, name = view.number / (view.table.coding.spread or 1.0), view.table.coding.number_name
    rows = np.flatnonzero((codes != NOTHING) & ~np.isnan(value))
    strata = np.unique(view.thing[rows], return_inverse=True)[1].ravel()
    parts = codes[rows], names
    return _parts(view, "prompts", rows, value[rows], parts, name, strata)


def prompt_codes(view: View) -> tuple[Indices, Sequence[str]]:
    """[m] the number of each verdict's prompt, NOTHING without one, and the names.

    Prompts are named by the caller's data, or else told apart by the judge's instruction, where it has at most
    :data:`MOST_PARTS` different ones.
    """
    for one in (view.table.source.prompt, view.table.source.instruction):
        codes = view.named(one)
        if 2 <= len(np.unique(codes[codes != NOTHING])) <= MOST_PARTS:
            return codes, one.values
    return np.full(len(view.rows), NOTHING, dtype=np.intp), []


def _parts(
    view: View,
    name: CheckName,
    rows: Indices,
    value: Floats,
    parts: tuple[Indices, Sequence[str]],
    what: str,
    strata: Indices | None = None,
) -> Draft | None:
    """Each part against the rest; the part with the smallest p value, corrected for their number, is the check.

    Args:
        rows: r of the verdicts.
        value: [r] what is compared.
        parts: [r] the part of each, and the names of the parts.
        what: the name of what is compared.
        strata: [r] within which the parts are compared.
    """
    known = parts[0] != NOTHING
    rows, codes, names = rows[known], parts[0][known], parts[1]
    found = contrasts(value[known], codes, view.cluster[rows], strata)
    if not found:
        return None
    tested = {code: one for code, one in found.items() if one.usable}
    if not tested:
        return view.draft(name, f"difference of {what}", None, rows, "", things=0)
    worst = min(tested, key=lambda code: tested[code].p_value())
    one = tested[worst]
    return view.draft(
        name,
        f"difference of {what}, one part against the rest",
        from_slope(one),
        rows,
        f"The largest difference: in {names[worst]!r} its {what} is {100 * one.estimate:+.1f} points from that in the "
        f"rest ({len(found)} compared, n = {len(rows):,}).",
        wrong=led(codes != worst, one.estimate),
        parts=1 if len(found) == 2 else len(tested),  # two parts are one comparison, seen from both sides
        details={"part": names[worst], "compared": len(found)},
    )


def contrasts(
    value: Floats, codes: Indices, clusters: Indices, strata: Indices | None = None
) -> dict[int, Association]:
    """Part -> the mean there minus that of the rest, for parts with at least ten verdicts beside ten others."""
    present, counts = np.unique(codes, return_counts=True)
    large = [int(code) for code in present[np.argsort(-counts, kind="stable")][:MOST_PARTS]]
    sizes = dict(zip(present.tolist(), counts.tolist(), strict=True))
    enough = [code for code in large if min(sizes[code], len(codes) - sizes[code]) >= FEWEST]
    found = {code: associate(value, (codes == code).astype(np.float64), clusters, strata) for code in enough}
    return {code: one for code, one in found.items() if one is not None}


def weaker_than_peers(view: View) -> Draft | None:
    """Whether the judge is right less often than the other judges on the same things, by more than ten points."""
    if len(view.table.facts.judges) < (2 if view.reference == "labels" else 3):
        return None
    others = view.others_right()
    rows = np.flatnonzero(~np.isnan(view.right) & ~np.isnan(others))
    if not len(rows):
        return None
    found = mean_of(others[rows] - view.right[rows], view.cluster[rows])
    mine, theirs = float(view.right[rows].mean()), float(others[rows].mean())
    return view.draft(
        "weaker_than_peers",
        "share of right verdicts of the other judges less its own",
        from_slope(found, null=MARGIN, sides=1),
        rows,
        f"It is right in {mine:.0%}, the others in {theirs:.0%} of the same items "
        f"(n = {len(rows):,}; a gap of up to {MARGIN:.0%} is no finding).",
        details={"judge": mine, "others": theirs},
    )


def copy(view: View) -> Draft | None:
    """Whether another judge makes the same errors: more of the errors of either than half way from chance to all.

    Chance is the share of common errors that two judges with these error rates, by class of the reference, have when
    they err independently; half way is at least one half.
    """
    names = view.table.facts.judges
    found = {other: one for other in range(len(names)) if (one := _common_errors(view, other)) is not None}
    if not found:
        return None
    unit = "share of the errors of either that both make"
    tests = {other: pair.evidence for other, pair in found.items() if pair.evidence is not None}
    if not tests:
        most = max(pair.n for pair in found.values())
        fixed = next((names[other] for other, pair in found.items() if pair.forced), None)
        reason = (
            f"No estimate: for every label, it and {fixed!r} are always right or always wrong, so that independent "
            "judges would share all errors as well."
        )
        none = {} if fixed is None else {"status": "not_estimable", "sentence": reason}
        counts = {"relevant_effect": RELEVANT_COPY * 0.5, "n": most, "questions": 0, "things": most}
        return view.draft("copy", unit, None, view.every, "", **counts, **none)
    closest = min(tests, key=lambda other: (tests[other].p_value, -tests[other].estimate))
    name, best = names[closest], tests[closest]
    return view.draft(
        "copy",
        unit,
        best,
        view.every,
        f"Of {best.n:,} items on which it or {name!r} errs, both give the same wrong answer in {best.estimate:.0%} "
        f"(a finding above {best.null:.0%}).",
        relevant_effect=RELEVANT_COPY * (1 - best.null),
        n=best.n,
        questions=best.questions,
        parts=len(tests),
        wrong=None,
        details={"other": name},
    )


class _Common(NamedTuple):
    """Errors of either of two judges.

    Attributes:
        n: how many.
        forced: whether independent judges with these error rates would share every error.
        evidence: the share that both make, against that of independent judges; None where it is not tested.
    """

    n: int
    forced: bool
    evidence: Evidence | None


def _common_errors(view: View, other: int) -> _Common | None:
    table, peers, judge = view.table, view.peers, view.judge
    if other == judge or (table.numeric and view.reference != "labels"):
        return None
    if view.reference == "labels":
        target = table.label
    elif view.reference != "nothing" and len(table.facts.judges) >= FEWEST_WITHOUT_LABELS:
        target = peers.without(judge, other, len(table.coding.classes))
    else:
        return None
    mine, theirs = peers.mode[judge], peers.mode[other]
    known = (mine != NOTHING) & (theirs != NOTHING) & (target != NOTHING)
    known &= (mine != table.tie) & (theirs != table.tie)  # as two answers in two orders, it is no error that is shared
    if not known.any():
        return None
    first, second = (mine != target)[known], (theirs != target)[known]
    either = first | second
    same = (mine == theirs)[known] & first
    null = max(0.5, (1 + _by_chance(first, second, target[known])) / 2)
    n, forced = int(either.sum()), round(1 - null, 9) <= 0
    if n < FEWEST or forced:
        return _Common(n, forced, None)
    found = mean_of(same[either].astype(np.float64), table.question[known][either])
    sizes = np.unique(table.question[known][either], return_counts=True)[1].astype(np.float64)
    error = float(np.sqrt(null * (1 - null) * (sizes @ sizes))) / n  # the larger of its own variance and the null's
    return _Common(n, forced, from_slope(replace(found, error=max(found.error, error)), null=null, sides=1))


def _by_chance(first: Bools, second: Bools, target: Indices) -> float:
    """The share of common errors of two judges that err independently within each class of the reference."""
    both = either = 0.0
    for code in np.unique(target):
        mine = target == code
        one, two = float(first[mine].mean()), float(second[mine].mean())
        both += float(mine.sum()) * one * two
        either += float(mine.sum()) * (one + two - one * two)
    return both / either if either else 0.0
