"""Checks of how a judge behaves: severity, drift, versions, prompts, categories, and against the other judges."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from metajudge.audit.card import CheckName
from metajudge.audit.draft import FEWEST, Draft, Evidence, from_flips, from_slope
from metajudge.audit.preferences import RELEVANT, RELEVANT_ON_SCALE
from metajudge.audit.table import NOTHING
from metajudge.audit.view import View
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.stats.association import Association, associate, mean_of
from metajudge.stats.sign_flip import sign_flip

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
    if not len(rows) or not table.spread:
        return None
    mine, theirs = view.number[rows], view.target_number[rows]
    apart = (mine - theirs) / table.spread
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
    return Draft(
        "severity",
        "Severity",
        view.reference,
        "difference of means, in parts of the scale" if graded else "difference of shares",
        RELEVANT_ON_SCALE if graded else RELEVANT,
        evidence,
        len(rows),
        _count(view, rows),
        view.things(rows),
        f"Its {table.number_name} is {figures} of {who} on the same responses (n = {len(rows):,}).",
        details={"judge": float(mine.mean()), "reference": float(theirs.mean())},
    )


def outcome(view: View) -> tuple[Indices, Floats, str]:
    """What change over time and between versions is measured by.

    Returns:
        rows of the view, [rows] values, and their name. Where the other judges judged at least nine tenths of the same
        things, their mean is taken off, so that harder questions are not taken for a worse judge.
    """
    rows = np.flatnonzero(~np.isnan(view.right))
    value = view.right[rows]
    name = "accuracy" if view.reference == "labels" else "agreement with the other judges"
    others = view.others_right()[rows]
    known = ~np.isnan(others)
    if len(rows) and known.mean() >= 0.9:
        return rows[known], value[known] - others[known], f"{name} (less that of the other judges on the same items)"
    return rows, value, name


def drift(view: View) -> Draft | None:
    """Whether the judge becomes better or worse from its first verdict to its last, on a straight line."""
    rows, value, name = outcome(view)
    time = view.table.time[view.rows][rows]
    known = ~np.isnan(time)
    rows, value, time = rows[known], value[known], time[known]
    if len(rows) < 2 or time.min() == time.max():
        return None
    found = associate(value, _ranks(time), view.cluster[rows])
    if found is None:
        return None
    return Draft(
        "drift",
        "Drift over time",
        view.reference,
        f"change of {name} from the first verdict to the last",
        RELEVANT,
        from_slope(found),
        len(rows),
        found.clusters,
        view.things(rows),
        f"From the first verdict to the last its {name} changes by {100 * found.estimate:+.1f} points "
        f"(n = {len(rows):,}).",
    )


def versions(view: View) -> Draft | None:
    """Whether one version of the judge is better or worse than the others."""
    rows, value, name = outcome(view)
    codes = view.table.version[view.rows][rows]
    names = view.table.source.versions.values
    return _parts(
        view,
        "versions",
        "Differs between versions",
        (rows[codes != 0], value[codes != 0]),
        codes[codes != 0],
        [one or "" for one in names],
        name,
    )


def categories(view: View) -> Draft | None:
    """Whether the judge is better or worse in one category than in the others."""
    rows = np.flatnonzero(~np.isnan(view.right))
    codes, names = category_codes(view)
    mine = codes[rows]
    name = "accuracy" if view.reference == "labels" else "agreement with the other judges"
    known = mine != NOTHING
    return _parts(
        view,
        "categories",
        "Differs between categories",
        (rows[known], view.right[rows][known]),
        mine[known],
        names,
        name,
    )


def category_codes(view: View) -> tuple[Indices, list[str]]:
    """[m] the number of each verdict's category, NOTHING without one, and the names."""
    items = view.table.source.items
    names = sorted({one.category for one in items if one.category is not None})
    place: dict[str | None, int] = {name: at for at, name in enumerate(names)}
    of_item = np.array([place.get(one.category, NOTHING) for one in items], dtype=np.intp)
    return of_item[view.table.item[view.thing]], names


def prompts(view: View) -> Draft | None:
    """Whether one prompt makes the same judge better or worse than its others, on the same things."""
    codes, names = prompt_codes(view)
    scored = ~np.isnan(view.right) if view.reference != "nothing" else ~np.isnan(view.number)
    rows = np.flatnonzero((codes != NOTHING) & scored)
    if not len(rows):
        return None
    value = view.right[rows] if view.reference != "nothing" else view.number[rows] / (view.table.spread or 1.0)
    name = "accuracy" if view.reference == "labels" else "agreement with the other judges"
    if view.reference == "nothing":
        name = view.table.number_name
    strata = np.unique(view.thing[rows], return_inverse=True)[1].ravel()
    return _parts(view, "prompts", "Differs between prompts", (rows, value), codes[rows], names, name, strata)


def prompt_codes(view: View) -> tuple[Indices, list[str]]:
    """[m] the number of each verdict's prompt, NOTHING without one, and the names.

    Prompts are named by the caller's data, or else told apart by the judge's instruction, where it has at most
    :data:`MOST_PARTS` different ones.
    """
    table = view.table
    nothing = np.full(len(view.rows), NOTHING, dtype=np.intp)
    for codes, names in (
        (table.prompt[view.rows], table.source.prompts.values),
        (table.instruction[view.rows], table.source.instructions.values),
    ):
        different = np.unique(codes[codes != 0])
        if 2 <= len(different) <= MOST_PARTS:
            place = nothing.copy()
            for at, code in enumerate(different):
                place[codes == code] = at
            return place, [str(names[code]) for code in different]
    return nothing, []


def _parts(
    view: View,
    name: CheckName,
    title: str,
    rows_and_values: tuple[Indices, Floats],
    codes: Indices,
    names: Sequence[str],
    what: str,
    strata: Indices | None = None,
) -> Draft | None:
    """Each part against the rest; the part with the smallest p value, corrected for their number, is the check."""
    rows, value = rows_and_values
    found = contrasts(value, codes, view.cluster[rows], strata)
    if not found:
        return None
    tested = {code: one for code, one in found.items() if one.usable}
    if not tested:
        return Draft(
            name, title, view.reference, f"difference of {what}", RELEVANT, None, len(rows), _count(view, rows), 0, ""
        )
    worst = min(tested, key=lambda code: tested[code].p_value())
    one = tested[worst]
    # Two parts are one comparison, seen from both sides.
    parts = 1 if len(found) == 2 else len(tested)
    return Draft(
        name,
        title,
        view.reference,
        f"difference of {what}, one part against the rest",
        RELEVANT,
        from_slope(one),
        len(rows),
        one.clusters,
        view.things(rows),
        f"The largest difference: in {names[worst]!r} its {what} is {100 * one.estimate:+.1f} points from that in the "
        f"rest ({len(found)} compared, n = {len(rows):,}).",
        parts,
        {"part": names[worst], "compared": len(found)},
    )


def contrasts(
    value: Floats, codes: Indices, clusters: Indices, strata: Indices | None = None
) -> dict[int, Association]:
    """Part -> the mean there minus that of the rest, for parts with at least ten verdicts beside ten others."""
    present, counts = np.unique(codes, return_counts=True)
    large = [int(code) for code in present[np.argsort(-counts, kind="stable")][:MOST_PARTS]]
    sizes = dict(zip(present.tolist(), counts.tolist(), strict=True))
    found = {}
    for code in large:
        if min(sizes[code], len(codes) - sizes[code]) < FEWEST:
            continue
        one = associate(value, (codes == code).astype(np.float64), clusters, strata)
        if one is not None:
            found[code] = one
    return found


def weaker_than_peers(view: View) -> Draft | None:
    """Whether the judge is right less often than the other judges on the same things, by more than ten points."""
    if len(view.peers.mode) < (2 if view.reference == "labels" else 3):
        return None
    others = view.others_right()
    rows = np.flatnonzero(~np.isnan(view.right) & ~np.isnan(others))
    if not len(rows):
        return None
    found = mean_of(others[rows] - view.right[rows], view.cluster[rows])
    return Draft(
        "weaker_than_peers",
        "Weaker than the other judges",
        view.reference,
        "share of right verdicts of the other judges less its own",
        RELEVANT,
        from_slope(found, null=MARGIN, sides=1),
        len(rows),
        found.clusters,
        view.things(rows),
        f"It is right in {view.right[rows].mean():.0%}, the others in {others[rows].mean():.0%} of the same items "
        f"(n = {len(rows):,}; a gap of up to {MARGIN:.0%} is no finding).",
        details={"judge": float(view.right[rows].mean()), "others": float(others[rows].mean())},
    )


def copy(view: View) -> Draft | None:
    """Whether another judge makes the same errors: more of the errors of either than half way from chance to all.

    Chance is the share of common errors that two judges with these error rates, by class of the reference, have when
    they err independently; half way is at least one half.
    """
    found = {other: one for other in range(len(view.peers.mode)) if (one := _common_errors(view, other)) is not None}
    if not found:
        return None
    title, unit = "Errs like another judge", "share of the errors of either that both make"
    tests = {other: test for other, pair in found.items() if (test := _common_evidence(pair)) is not None}
    if not tests:
        most = max(len(pair.same) for pair in found.values())
        fixed = next((view.table.source.judges.values[other] for other, pair in found.items() if pair.forced), None)
        draft = Draft("copy", title, view.reference, unit, RELEVANT_COPY * 0.5, None, most, 0, most, "")
        if fixed is None:
            return draft
        reason = (
            f"No estimate: for every label, it and {fixed!r} are always right or always wrong, so that independent "
            "judges would share all errors as well."
        )
        return replace(draft, status="not_estimable", reason=reason)
    closest = min(tests, key=lambda other: (tests[other].p_value, -tests[other].estimate))
    name, best = view.table.source.judges.values[closest], tests[closest]
    return Draft(
        "copy",
        title,
        view.reference,
        unit,
        RELEVANT_COPY * (1 - best.null),
        best,
        best.n,
        best.questions,
        view.things(np.arange(len(view.rows))),
        f"Of {best.n:,} items on which it or {name!r} errs, both give the same wrong answer in {best.estimate:.0%} "
        f"(a finding above {best.null:.0%}).",
        len(tests),
        {"other": name},
    )


@dataclass(frozen=True, slots=True)
class _Common:
    """Errors of either of two judges.

    Attributes:
        same: [errors] whether both gave the same wrong answer.
        question: [errors] numbers.
        null: the share of common errors that is tested against.
    """

    same: Bools
    question: Indices
    null: float

    @property
    def forced(self) -> bool:
        """Whether independent judges with these error rates would share every error."""
        return round(1 - self.null, 9) <= 0


def _common_evidence(pair: _Common) -> Evidence | None:
    """The share of common errors against its null share, with the larger of its own variance and the null's."""
    if len(pair.same) < FEWEST or pair.forced:
        return None
    found = mean_of(pair.same.astype(np.float64), pair.question)
    sizes = np.unique(pair.question, return_counts=True)[1].astype(np.float64)
    error = float(np.sqrt(pair.null * (1 - pair.null) * (sizes @ sizes))) / len(pair.same)
    return from_slope(replace(found, error=max(found.error, error)), null=pair.null, sides=1)


def _common_errors(view: View, other: int) -> _Common | None:
    table, peers, judge = view.table, view.peers, view.judge
    if other == judge or (table.kind == "grade" and table.right.name != "side" and view.reference != "labels"):
        return None
    if view.reference == "labels":
        target = table.label
    elif view.reference != "nothing" and len(peers.mode) >= FEWEST_WITHOUT_LABELS:
        target = peers.without(judge, other, len(table.classes))
    else:
        return None
    mine, theirs = peers.mode[judge], peers.mode[other]
    known = (mine != NOTHING) & (theirs != NOTHING) & (target != NOTHING)
    if table.kind in ("pairwise", "ranking"):  # a tie, and two answers in two orders, are no error that is shared
        tie = len(table.classes) - 1
        known &= (mine != tie) & (theirs != tie)
    if not known.any():
        return None
    first, second = (mine != target)[known], (theirs != target)[known]
    either = first | second
    same = (mine == theirs)[known] & first
    null = max(0.5, (1 + _by_chance(first, second, target[known])) / 2)
    return _Common(same[either], table.question[known][either], null)


def _by_chance(first: Bools, second: Bools, target: Indices) -> float:
    """The share of common errors of two judges that err independently within each class of the reference."""
    both = either = 0.0
    for code in np.unique(target):
        mine = target == code
        one, two = float(first[mine].mean()), float(second[mine].mean())
        both += float(mine.sum()) * one * two
        either += float(mine.sum()) * (one + two - one * two)
    return both / either if either else 0.0


def _ranks(time: Floats) -> Floats:
    """Ranks of times from -1/2 to 1/2, equal times sharing their mean."""
    _, place, counts = np.unique(time, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle = (ends - (counts + 1) / 2)[place.ravel()]
    return middle / max(1.0, float(len(time) - 1)) - 0.5


def _count(view: View, rows: Indices) -> int:
    return len(np.unique(view.cluster[rows]))
