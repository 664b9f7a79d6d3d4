"""The figures of a card: agreement with people and with the other judges, stability, use of the scale."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from metajudge.audit.card import Ceiling, ClassFigures, Confusion, Figure, Group, Kappa
from metajudge.audit.conduct import contrasts, prompt_codes
from metajudge.audit.draft import LEVEL
from metajudge.audit.gather import iso
from metajudge.audit.preferences import both_orders
from metajudge.audit.table import NOTHING, Table
from metajudge.audit.view import View
from metajudge.evidence.grouping import compared
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.stats.association import Association, associate, mean_of, share_of
from metajudge.stats.clustered import ClusteredProportion, clustered_proportion
from metajudge.stats.multiple import benjamini_yekutieli
from metajudge.types.right import is_right
from metajudge.types.verdict import AnyVerdict, Pairwise

MOST_CLASSES = 20
STRETCHES = 6


def figure(
    found: Association | ClusteredProportion, method: str, *, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> Figure:
    """An estimate with its interval, cut to bounds; without one where a single question carries it."""
    known = not isinstance(found, Association) or np.isfinite(found.error)
    interval = (max(bounds[0], found.low), min(bounds[1], found.high)) if known else None
    return Figure(
        estimate=found.estimate,
        interval=interval,
        n=found.n,
        questions=found.clusters,
        method=f"{method}; {found.method}",
    )


def jackknifed(
    columns: Floats, clusters: Indices, statistic: Callable[[Floats], Floats], method: str, bounds: tuple[float, float]
) -> Figure | None:
    """A statistic of sums of [n, columns], with a 95 % interval that leaves out one cluster at a time.

    Efron and Stein, 1981; by Student's t, cut to bounds, and absent where fewer than two statistics without a cluster
    are defined. None where the statistic of all is undefined.
    """
    from scipy.special import stdtrit

    present, place = np.unique(clusters, return_inverse=True)
    sums = np.zeros((len(present), columns.shape[1]))
    np.add.at(sums, place.ravel(), columns)
    total, k = sums.sum(axis=0), len(present)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate, left = float(statistic(total[None])[0]), statistic(total - sums)
    if not np.isfinite(estimate):
        return None
    known, interval = left[np.isfinite(left)], None
    if (m := len(known)) > 1:
        error = np.sqrt((m - 1) / m * float(((known - known.mean()) ** 2).sum()))
        half = float(stdtrit(max(1, k - 1), 0.975) * error)
        interval = max(bounds[0], estimate - half), min(bounds[1], estimate + half)
    method = f"{method}; jackknife by question"
    return Figure(estimate=estimate, interval=interval, n=len(columns), questions=k, method=method)


def _known(
    of: Callable[[Floats, Indices], Association | ClusteredProportion],
    values: Floats,
    clusters: Indices,
    method: str,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Figure | None:
    """What ``of`` makes of the values that are known; None without any."""
    known = np.flatnonzero(~np.isnan(values))
    return figure(of(values[known], clusters[known]), method, bounds=bounds) if len(known) else None


def share(values: Floats, clusters: Indices, method: str) -> Figure | None:
    """The mean of values in [0, 1]; None without any, NaN left out."""
    return _known(share_of, values, clusters, method)


def accuracy(view: View) -> Figure | None:
    """Right verdicts by the declared rule among those with a label."""
    correct, method = view.table.correct[view.rows], f"share right by {view.table.right}, labelled verdicts"
    return _known(clustered_proportion, correct, view.cluster, method)


def peer_agreement(view: View) -> Figure | None:
    """Verdicts that are right by the majority (for grades the median) of the other judges."""
    others, numbers = (of[view.judge, view.thing] for of in (view.peers.others, view.peers.others_number))
    right = view.table.agrees(view.answer, view.number, others, numbers)
    return share(right, view.cluster, "share equal to the majority of the other judges")


def ceiling_of(table: Table) -> Ceiling | None:
    """How well people agree: each beside the others of an item; None where no item has two people."""
    found = [
        (item, one.annotator, float(right))
        for item, pairs in table.left_out.items()
        for one, others in pairs
        if (right := is_right(one.value, others, table.right)) is not None
    ]
    if not found:
        return None
    items, people, agrees = zip(*found, strict=True)
    agreement = share_of(np.array(agrees), table.facts.question[np.array(items)])
    named = {name or place for place, name in enumerate(people)}
    method = "share of people's answers that are right by the majority of the other people"
    return Ceiling(kind=table.kind, agreement=figure(agreement, method), annotators=len(named))


def ceiling_gap(view: View) -> Figure | None:
    """The judge's agreement with all but one of the people, less that of the one left out, item by item."""
    table, facts = view.table, view.table.facts
    if table.unlike[view.judge]:
        return None

    def apart(item: int, verdict: AnyVerdict) -> float | None:
        pairs = [
            (is_right(verdict, others, table.right), is_right(one.value, others, table.right))
            for one, others in table.left_out.get(item, ())
        ]
        known = [float(mine) - float(person) for mine, person in pairs if mine is not None and person is not None]
        return sum(known) / len(known) if known else None

    items = range(len(facts.items))
    value = compared(facts.item[view.rows], facts.verdict[view.rows], items, facts.verdicts, apart)
    method = "agreement with all people but one, less that of the one"
    return _known(mean_of, value, view.cluster, method, (-1.0, 1.0))


def kappa(view: View) -> Kappa | None:
    """Cohen's kappa of verdicts and labels; with quadratic weights where the answers are grades or ordered.

    One formula for both: 1 less the mean squared distance of the two sides by that expected of independent ones, where
    an answer is a number, or else a corner of its own, as far from every other one.

    None where all labels are one answer: agreement by chance is then all there is.
    """
    table, label = view.table, view.table.label[view.thing]
    rows = np.flatnonzero((view.answer != NOTHING) & (label != NOTHING))
    if len(np.unique(label[rows])) < 2:
        return None
    graded = table.coding.spread is not None and not table.binary
    if graded:
        one, other = view.number[rows][:, None], table.label_number[view.thing][rows][:, None]
    else:
        corners = np.eye(len(table.coding.classes))
        one, other = corners[view.answer[rows]], corners[label[rows]]
    squares = [(part**2).sum(axis=1) for part in (one - other, one, other)]
    width = one.shape[1]

    def statistic(sums: Floats) -> Floats:
        n, apart, mine, theirs = sums[:, :4].T
        product = (sums[:, 4 : 4 + width] * sums[:, 4 + width :]).sum(axis=1)
        return np.asarray(1 - apart / (mine + theirs - 2 * product / n))

    name = "Cohen's kappa, quadratic weights" if graded else "Cohen's kappa"
    method = f"{name}, chance from each side's own margins"
    columns = np.column_stack((np.ones(len(rows)), *squares, one, other))
    found = jackknifed(columns, view.cluster[rows], statistic, method, (-1.0, 1.0))
    return None if found is None else Kappa(name=name, **dict(found))


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
    counts = np.zeros((len(used), len(used)), dtype=int)
    np.add.at(counts, (np.searchsorted(used, label), np.searchsorted(used, answer)), 1)
    names = tuple(table.coding.classes[code] for code in used)
    figures = tuple(_class(table.coding.classes[code], label == code, answer == code, cluster) for code in used)
    omitted = int((~np.isnan(table.correct[view.rows])).sum()) - len(both)
    return figures, Confusion(classes=names, counts=tuple(map(tuple, counts.tolist())), omitted=omitted)


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
    question, moved = view.table.question[thing], np.flatnonzero(net != 0)
    given: dict[tuple[int, int], set[int]] = {}
    for at, shown, answer in zip(view.thing.tolist(), view.first_shown.tolist(), view.answer.tolist(), strict=True):
        given.setdefault((at, shown), set()).add(answer)
    changed = np.array([float(given[at, 0] != given[at, 1]) for at in thing.tolist()])
    first = (net[moved] > 0).astype(np.float64)
    return (
        share(changed, question, "share of pairs judged in both orders with different answers"),
        share(first, question[moved], "share for the response shown first, of flipped pairs"),
    )


def _same(view: View, rows: Indices, parts: Indices, method: str) -> Figure | None:
    """The share of pairs of rows with one answer, among rows [n] with equal parts [n, any]; each group counts once."""
    key = np.unique(parts, axis=0, return_inverse=True)[1].ravel()
    counts = np.bincount(key, minlength=1)
    often = np.unique(np.column_stack((key, view.answer[rows])), axis=0, return_counts=True)
    alike = np.bincount(often[0][:, 0], weights=often[1] * (often[1] - 1) / 2, minlength=len(counts))
    several = np.flatnonzero(counts > 1)
    first = np.unique(key, return_index=True)[1][several]
    return share(alike[several] / (counts * (counts - 1) / 2)[several], view.cluster[rows][first], method)


def repeats(view: View) -> Figure | None:
    """Judgments of the same thing in the same order, version and prompt: the share of pairs with one answer."""
    return _same(view, view.every, view.table.asked[view.rows], "share of pairs of repeats with the same answer")


def prompt_agreement(view: View) -> Figure | None:
    """The same thing in the same order under two prompts: the share of pairs with one answer."""
    codes, _ = prompt_codes(view)
    rows = np.flatnonzero(codes != NOTHING)
    order = view.table.facts.order[view.rows][rows]
    parts: Indices = np.column_stack((view.thing[rows], order, codes[rows])).astype(np.intp)
    first: Indices = np.unique(parts, axis=0, return_index=True)[1]  # the first of repeats under one prompt
    return _same(view, rows[first], parts[first, :2], "share of pairs of prompts with the same answer")


def means(view: View) -> tuple[Figure | None, Figure | None]:
    """The mean number of the verdicts, and of the labels on labelled things."""
    if not view.table.coding.spread:
        return None, None
    of, name = share_of if view.table.binary else mean_of, view.table.coding.number_name
    labels = view.table.label_number[view.thing]
    return _known(of, view.number, view.cluster, name), _known(of, labels, view.cluster, name)


def scale_use(view: View) -> dict[str, int]:
    """How often each answer is given, in order of the scale; the most frequent ones where there are many."""
    facts, classes = view.table.facts, view.table.coding.classes
    if view.table.kind == "grade":
        given = Counter(facts.verdict[view.rows].tolist())
        named = [
            (f"{grade:g}", often)
            for grade, often in sorted((float(str(facts.verdicts[k])), n) for k, n in given.items())
        ]
    else:
        given = Counter(view.answer[view.answer != NOTHING].tolist())
        named = [(classes[code], often) for code, often in sorted(given.items())]
    kept = sorted(sorted(range(len(named)), key=lambda at: -named[at][1])[:MOST_CLASSES])
    return dict(named[at] for at in kept)


def groups(view: View, codes: Indices, names: Sequence[str]) -> tuple[Group, ...]:
    """Accuracy (or agreement with peers) by category or version, with the share of false findings controlled.

    Args:
        codes: [m] places in the names, NOTHING without one.
    """
    rows = np.flatnonzero((codes != NOTHING) & ~np.isnan(view.right))
    if len(np.unique(codes[rows])) < 2:
        return ()
    value, cluster, mine = view.right[rows], view.cluster[rows], codes[rows]
    against = contrasts(value, mine, cluster)
    tested = [code for code, one in against.items() if one.usable]
    adjusted = dict(
        zip(tested, benjamini_yekutieli([against[code].p_value() for code in tested]).tolist(), strict=True)
    )
    return tuple(
        Group(
            name=names[code],
            accuracy=figure(share_of(value[mine == code], cluster[mine == code]), "share right"),
            difference=figure(against[code], "minus the rest", bounds=(-1.0, 1.0)) if code in against else None,
            adjusted_p=adjusted.get(code),
            finding=adjusted.get(code, 1.0) <= LEVEL,
        )
        for code in np.unique(mine).tolist()
    )


def over_time(view: View) -> tuple[Group, ...]:
    """Accuracy (or agreement with peers) in at most six stretches of time with about equally many verdicts."""
    time = view.time
    rows = np.flatnonzero(~np.isnan(time) & ~np.isnan(view.right))
    if len(rows) < 2 or time[rows].min() == time[rows].max():
        return ()
    rows = rows[np.argsort(time[rows], kind="stable")]
    when = time[rows]
    cuts = np.unique(np.searchsorted(when, when[np.linspace(0, len(rows), STRETCHES + 1)[:-1].astype(int)]))
    parts = np.split(rows, cuts[1:])
    shares = [figure(share_of(view.right[part], view.cluster[part]), "share right") for part in parts]
    starts = [iso(float(time[part].min())) for part in parts]
    return tuple(Group(name=start, accuracy=one) for start, one in zip(starts, shares, strict=True))


def contested(view: View) -> dict[str, Figure | None] | None:
    """Error rates where people disagree among themselves and where they agree; by labels alone."""
    if view.reference != "labels":
        return None
    people = view.table.source.people
    state = np.array([_unanimity([one.value for one in said]) for said in people])[view.table.facts.item[view.rows]]
    rows = np.flatnonzero(~np.isnan(view.right) & ~np.isnan(state))
    if not len(rows):
        return None
    error, split, cluster = 1 - view.right[rows], state[rows] == 0, view.cluster[rows]
    apart = associate(error, split.astype(np.float64), cluster)
    return {
        "disagreed": share(error[split], cluster[split], "error rate where people disagree"),
        "agreed": share(error[~split], cluster[~split], "error rate where people agree"),
        "difference": None if apart is None else figure(apart, "difference of error rates", bounds=(-1.0, 1.0)),
    }


def _unanimity(values: list[AnyVerdict]) -> float:
    """1 where at least two people say the same, 0 where two differ, NaN with fewer than two; strengths do not count."""
    said = {one.winner if isinstance(one, Pairwise) else one for one in values}
    return float("nan") if len(values) < 2 else float(len(said) == 1)
