"""The figures of a card: agreement with people and with the other judges, stability, use of the scale."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from metajudge.audit.card import ClassFigures, Confusion, Contested, Figure, Group, Kappa
from metajudge.audit.clues import iso
from metajudge.audit.conduct import category_codes, contrasts, prompt_codes
from metajudge.audit.preferences import both_orders
from metajudge.audit.table import NOTHING, Table
from metajudge.audit.view import View
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.stats.association import Association, associate, mean_of, share_of
from metajudge.stats.clustered import clustered_proportion
from metajudge.stats.jackknife import jackknife
from metajudge.stats.multiple import benjamini_yekutieli
from metajudge.types.verdict import AnyVerdict, Pairwise

MOST_CLASSES = 20
STRETCHES = 6
LEVEL = 0.05


def figure(found: Association, method: str, *, bounds: tuple[float, float] | None = None) -> Figure:
    """An estimate with its interval, cut to bounds; without one where a single question carries it."""
    interval: tuple[float, float] | None = (found.low, found.high)
    if not np.isfinite(found.error):
        interval = None
    elif bounds is not None:
        interval = (max(bounds[0], found.low), min(bounds[1], found.high))
    return Figure(
        estimate=found.estimate,
        interval=interval,
        n=found.n,
        questions=found.clusters,
        method=f"{method}; {found.method}",
    )


def share(values: Floats, clusters: Indices, method: str) -> Figure | None:
    """The mean of values in [0, 1]; None without any, NaN left out."""
    known = np.flatnonzero(~np.isnan(values))
    return figure(share_of(values[known], clusters[known]), method) if len(known) else None


def difference(values: Floats, exposed: Bools, clusters: Indices, method: str) -> Figure | None:
    """The mean where ``exposed`` minus that elsewhere; None where either is empty."""
    found = associate(values, exposed.astype(np.float64), clusters) if len(values) else None
    return None if found is None else figure(found, method, bounds=(-1.0, 1.0))


def accuracy(view: View) -> Figure | None:
    """Right verdicts by the declared rule among those with a label."""
    correct = view.table.correct[view.rows]
    known = np.flatnonzero(~np.isnan(correct))
    if not len(known):
        return None
    found = clustered_proportion(correct[known], view.cluster[known])
    return Figure(
        estimate=found.estimate,
        interval=(found.low, found.high),
        n=found.n,
        questions=found.clusters,
        method=f"share right by {view.table.right}, labelled verdicts; {found.method}",
    )


def peer_agreement(view: View) -> Figure | None:
    """Verdicts that are right by the majority (for grades the median) of the other judges."""
    table, thing = view.table, view.thing
    right = table.right_by(view.rows, view.peers.others[view.judge, thing], view.peers.others_number[view.judge, thing])
    return share(right, view.cluster, "share equal to the majority of the other judges")


def kappa(view: View) -> Kappa | None:
    """Cohen's kappa of verdicts and labels; with quadratic weights where the answers are grades or ordered.

    None where all labels are one answer: agreement by chance is then all there is.
    """
    table = view.table
    label = table.label[view.thing]
    rows = np.flatnonzero((view.answer != NOTHING) & (label != NOTHING))
    if len(np.unique(label[rows])) < 2:
        return None
    graded = table.spread is not None and not table.binary
    columns, statistic = (
        _quadratic(view.number[rows], table.label_number[view.thing][rows])
        if graded
        else _unweighted(view.answer[rows], label[rows], len(table.classes))
    )
    found = jackknife(_by_cluster(columns, view.cluster[rows]), statistic)
    if found is None:
        return None
    name = "Cohen's kappa, quadratic weights" if graded else "Cohen's kappa"
    return Kappa(
        name=name,
        estimate=found.estimate,
        interval=found.interval(-1.0, 1.0),
        n=len(rows),
        questions=found.clusters,
        method=f"{name}, chance from each side's own margins; jackknife by question",
    )


def _by_cluster(columns: Floats, clusters: Indices) -> Floats:
    present, place = np.unique(clusters, return_inverse=True)
    sums = np.zeros((len(present), columns.shape[1]))
    np.add.at(sums, place.ravel(), columns)
    return sums


def _unweighted(one: Indices, other: Indices, classes: int) -> tuple[Floats, Callable[[Floats], Floats]]:
    eye = np.eye(classes)
    columns = np.column_stack((np.ones(len(one)), one == other, eye[one], eye[other]))

    def statistic(sums: Floats) -> Floats:
        n = sums[:, 0]
        observed = sums[:, 1] / n
        expected = (sums[:, 2 : 2 + classes] * sums[:, 2 + classes :]).sum(axis=1) / n**2
        return np.asarray((observed - expected) / (1 - expected), dtype=np.float64)

    return columns, statistic


def _quadratic(one: Floats, other: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
    columns = np.column_stack((np.ones(len(one)), one, other, one**2, other**2, one * other))

    def statistic(sums: Floats) -> Floats:
        n, a, b, aa, bb, ab = sums.T
        observed = (aa + bb - 2 * ab) / n
        expected = (aa + bb) / n - 2 * a * b / n**2
        return np.asarray(1 - observed / expected, dtype=np.float64)

    return columns, statistic


def classes_of(view: View) -> tuple[tuple[ClassFigures, ...], Confusion | None]:
    """Sensitivity and specificity of each class, and the confusion matrix."""
    table = view.table
    label = table.label[view.thing]
    both = np.flatnonzero((view.answer != NOTHING) & (label != NOTHING))
    if not len(both):
        return (), None
    answer, label, cluster = view.answer[both], label[both], view.cluster[both]
    used = np.unique(np.concatenate((answer, label)))
    if len(used) > MOST_CLASSES:
        return (), None
    place = {int(code): at for at, code in enumerate(used)}
    counts = np.zeros((len(used), len(used)), dtype=int)
    np.add.at(counts, ([place[int(c)] for c in label], [place[int(c)] for c in answer]), 1)
    names = tuple(table.classes[code] for code in used)
    figures = tuple(_class(table.classes[code], label == code, answer == code, cluster) for code in used)
    rows = tuple(tuple(int(cell) for cell in row) for row in counts)
    return figures, Confusion(
        classes=names, counts=rows, omitted=int((~np.isnan(view.table.correct[view.rows])).sum()) - len(both)
    )


def _class(name: str, labelled: Bools, given: Bools, cluster: Indices) -> ClassFigures:
    said = given.astype(np.float64)
    return ClassFigures(
        value=name,
        sensitivity=share(said[labelled], cluster[labelled], "share of items labelled so that the judge calls so"),
        specificity=share(
            1 - said[~labelled], cluster[~labelled], "share of other items that the judge calls otherwise"
        ),
        n_labelled=int(labelled.sum()),
        n_given=int(given.sum()),
    )


def flips(view: View) -> tuple[Figure | None, Figure | None]:
    """Pairs with two answers in two orders, and among those with a net preference the share for the first place."""
    if view.table.kind != "pairwise" or (found := both_orders(view)) is None:
        return None, None
    net, thing = found
    question = view.table.question[thing]
    first = view.first_shown
    changed = np.zeros(len(thing))
    place = {int(one): at for at, one in enumerate(thing)}
    seen: dict[tuple[int, int], set[int]] = {}
    for at, shown, answer in zip(view.thing, first, view.answer, strict=True):
        if int(at) in place:
            seen.setdefault((int(at), int(shown)), set()).add(int(answer))
    for one, at in place.items():
        changed[at] = float(seen[one, 0] != seen[one, 1])
    moved = np.flatnonzero(net != 0)
    return (
        share(changed, question, "share of pairs judged in both orders with different answers"),
        share(
            (net[moved] > 0).astype(np.float64), question[moved], "share for the response shown first, of flipped pairs"
        ),
    )


def _pairs_of_rows(key: Indices, answer: Indices) -> tuple[Floats, Indices]:
    """For rows with the same key: the share of pairs of rows with one answer, and a row of each key."""
    order = np.lexsort((answer, key))
    present, start, counts = np.unique(key[order], return_index=True, return_counts=True)
    cells, often = np.unique(np.column_stack((key, answer)), axis=0, return_counts=True)
    same = np.zeros(len(present))
    np.add.at(same, np.searchsorted(present, cells[:, 0]), often * (often - 1) / 2)
    several = np.flatnonzero(counts > 1)
    pairs = counts * (counts - 1) / 2
    return same[several] / pairs[several], order[start[several]]


def repeats(view: View) -> Figure | None:
    """Judgments of the same thing in the same order, version and prompt: the share of pairs with one answer."""
    table = view.table
    parts = np.column_stack(
        (view.thing, *(column[view.rows] for column in (table.order, table.version, table.prompt, table.instruction)))
    )
    key = np.unique(parts, axis=0, return_inverse=True)[1].ravel()
    same, row = _pairs_of_rows(key, view.answer)
    return share(same, view.cluster[row], "share of pairs of repeats with the same answer")


def prompt_agreement(view: View) -> Figure | None:
    """The same thing in the same order under two prompts: the share of pairs with one answer."""
    codes, names = prompt_codes(view)
    rows = np.flatnonzero(codes != NOTHING)
    if not names:
        return None
    order = view.table.order[view.rows][rows]
    parts = np.column_stack((view.thing[rows], order, codes[rows]))
    _, first = np.unique(parts, axis=0, return_index=True)  # the first of repeats under one prompt
    key = np.unique(parts[first, :2], axis=0, return_inverse=True)[1].ravel()
    same, row = _pairs_of_rows(key, view.answer[rows][first])
    return share(same, view.cluster[rows][first][row], "share of pairs of prompts with the same answer")


def means(view: View) -> tuple[Figure | None, Figure | None]:
    """The mean number of the verdicts, and of the labels on labelled things."""
    table = view.table
    if not table.spread:
        return None, None
    return _mean(table, view.number, view.cluster), _mean(table, table.label_number[view.thing], view.cluster)


def _mean(table: Table, values: Floats, cluster: Indices) -> Figure | None:
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return None
    found = (share_of if table.binary else mean_of)(values[known], cluster[known])
    return figure(found, table.number_name)


def scale_use(view: View) -> dict[str, int]:
    """How often each answer is given, in order of the scale; the most frequent ones where there are many."""
    source = view.table.source
    if view.table.kind == "grade":
        given, counts = np.unique(view.table.raw[view.rows], return_counts=True)
        pairs = sorted(
            (float(str(source.verdicts.values[code])), int(count)) for code, count in zip(given, counts, strict=True)
        )
        named = [(f"{value:g}", count) for value, count in pairs]
    else:
        codes, counts = np.unique(view.answer[view.answer != NOTHING], return_counts=True)
        named = [(view.table.classes[code], int(count)) for code, count in zip(codes, counts, strict=True)]
    if len(named) > MOST_CLASSES:
        keep = sorted(range(len(named)), key=lambda at: -named[at][1])[:MOST_CLASSES]
        named = [named[at] for at in sorted(keep)]
    return dict(named)


def groups(view: View, what: Literal["categories", "versions"]) -> tuple[Group, ...]:
    """Accuracy (or agreement with peers) by category or version, with the share of false findings controlled."""
    codes, names = (
        category_codes(view)
        if what == "categories"
        else (_without_none(view.table.version[view.rows]), [one or "" for one in view.table.source.versions.values])
    )
    rows = np.flatnonzero((codes != NOTHING) & ~np.isnan(view.right))
    if len(np.unique(codes[rows])) < 2:
        return ()
    value, cluster, mine = view.right[rows], view.cluster[rows], codes[rows]
    against = contrasts(value, mine, cluster)
    tested = [code for code, one in against.items() if one.usable]
    adjusted = dict(zip(tested, benjamini_yekutieli([against[code].p_value() for code in tested]), strict=True))
    found = []
    for code in np.unique(mine):
        part = share(value[mine == code], cluster[mine == code], "share right")
        if part is None:
            continue
        apart = against.get(int(code))
        p = adjusted.get(int(code))
        found.append(
            Group(
                name=names[code],
                accuracy=part,
                difference=None if apart is None else figure(apart, "minus the rest", bounds=(-1.0, 1.0)),
                adjusted_p=None if p is None else float(p),
                finding=p is not None and bool(p <= LEVEL),
            )
        )
    return tuple(found)


def _without_none(codes: Indices) -> Indices:
    return np.where(codes == 0, NOTHING, codes)


def over_time(view: View) -> tuple[Group, ...]:
    """Accuracy (or agreement with peers) in at most six stretches of time with about equally many verdicts."""
    time = view.table.time[view.rows]
    rows = np.flatnonzero(~np.isnan(time) & ~np.isnan(view.right))
    if len(rows) < 2 or time[rows].min() == time[rows].max():
        return ()
    rows = rows[np.argsort(time[rows], kind="stable")]
    when = time[rows]
    cuts = np.unique(np.searchsorted(when, when[np.linspace(0, len(rows), STRETCHES + 1)[:-1].astype(int)]))
    found = []
    for part in np.split(rows, cuts[1:]):
        value = share(view.right[part], view.cluster[part], "share right")
        if value is not None:
            found.append(Group(name=iso(float(time[part].min())), accuracy=value))
    return tuple(found)


def contested(view: View) -> Contested | None:
    """Error rates where people disagree among themselves and where they agree; by labels alone."""
    if view.reference != "labels":
        return None
    items = view.table.source.items
    state = np.array([_unanimity([one.value for one in item.people]) for item in items])[view.table.item[view.thing]]
    rows = np.flatnonzero(~np.isnan(view.right) & ~np.isnan(state))
    if not len(rows):
        return None
    error, split, cluster = 1 - view.right[rows], state[rows] == 0, view.cluster[rows]
    return Contested(
        disagreed=share(error[split], cluster[split], "error rate where people disagree"),
        agreed=share(error[~split], cluster[~split], "error rate where people agree"),
        difference=difference(error, split, cluster, "difference of error rates"),
    )


def _unanimity(values: list[AnyVerdict]) -> float:
    """1 where at least two people say the same, 0 where two differ, NaN with fewer than two; strengths do not count."""
    said = {one.winner if isinstance(one, Pairwise) else one for one in values}
    return float("nan") if len(values) < 2 else float(len(said) == 1)
