"""Checks of how a judge behaves: severity, drift, versions, prompts, categories, and against the other judges."""

from collections.abc import Sequence

import numpy as np

from metajudge.audit.card import CheckName
from metajudge.audit.draft import FEWEST, Draft, from_flips, from_slope
from metajudge.audit.preferences import RELEVANT, RELEVANT_ON_SCALE
from metajudge.audit.table import NOTHING
from metajudge.audit.view import View
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.stats.association import Association, associate, mean_of
from metajudge.stats.sign_flip import sign_flip

MARGIN = 0.10
"""A judge counts as weaker than its peers from ten points on; how much further is tested against this."""

COPY = 0.5
"""Two judges count as copies where more than half of the errors of either are the same error of both."""

RELEVANT_COPY = 0.3
"""So that a share of .8 of common errors must be seen."""

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
    """Whether another judge makes the same errors: most errors of either are one answer of both."""
    found = {other: one for other in range(len(view.peers.mode)) if (one := _common_errors(view, other)) is not None}
    if not found:
        return None
    tests = {
        other: sign_flip(2.0 * same - 1.0, clusters, sides=1)
        for other, (same, clusters) in found.items()
        if len(same) >= FEWEST
    }
    title, unit = "Copies another judge", "share of the errors of either that both make"
    if not tests:
        most = max((len(same) for same, _ in found.values()), default=0)
        return Draft("copy", title, view.reference, unit, RELEVANT_COPY, None, most, 0, most, "")
    closest = min(tests, key=lambda other: (tests[other].p_value, -tests[other].estimate))
    name, test = view.table.source.judges.values[closest], tests[closest]
    share = (test.estimate + 1) / 2
    return Draft(
        "copy",
        title,
        view.reference,
        unit,
        RELEVANT_COPY,
        from_flips(test, scale=0.5, shift=COPY),
        test.n,
        test.clusters,
        view.things(np.arange(len(view.rows))),
        f"Of {test.n:,} errors of it or {name!r}, {share:.0%} are the same error of both (a finding above half).",
        len(tests),
        {"other": name},
    )


def _common_errors(view: View, other: int) -> tuple[Bools, Indices] | None:
    """[errors of either] whether both gave the same wrong answer, and [errors of either] the question."""
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
    either = np.flatnonzero(known & ((mine != target) | (theirs != target)))
    if not known.any():
        return None
    return mine[either] == theirs[either], table.question[either]


def _ranks(time: Floats) -> Floats:
    """Ranks of times from -1/2 to 1/2, equal times sharing their mean."""
    _, place, counts = np.unique(time, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle = (ends - (counts + 1) / 2)[place.ravel()]
    return middle / max(1.0, float(len(time) - 1)) - 0.5


def _count(view: View, rows: Indices) -> int:
    return len(np.unique(view.cluster[rows]))
