"""Fitting a calibration: the model of the item, its penalty chosen by log loss on questions it was not fitted on."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from threadpoolctl import threadpool_limits

from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.calibration import (
    Calibration,
    CandidateLoss,
    Identity,
    JudgeGroup,
    KnownDependence,
    Provenance,
    Recipe,
)
from metajudge.calibration.folds import SPLIT_SHARE, question_folds, question_split, use_of
from metajudge.calibration.item_model import PENALTIES, Workbench
from metajudge.calibration.levels import Depth, Level, category_at, draw_in
from metajudge.calibration.profiles import profiles_of
from metajudge.calibration.quality import log_losses, quality
from metajudge.calibration.shipped import Shrink
from metajudge.calibration.table import SignalTable, absent_from, build_table
from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices
from metajudge.types import Judgment, Right, digest

LARGE = 250_000
"""Cases times features from which one division into folds must do."""

FOLDS, REPEATS = 5, 3

FEW = 50
"""Questions to choose a penalty by beside a prior."""

FEW_PENALTY = 0.1
"""C with fewer: near the best one with 10 and 30 labelled questions of the recorded sets."""

SLOPES = (1.0, 0.75, 0.5, 0.35, 0.25)

FEWEST_CATEGORIES = 3
"""With fewer there is nothing to measure a slope on: the model answers as it is."""

MOST_PARTS = 20
"""More categories than this are left out several at a time."""

_LABELS = {
    "pairwise": "that names a winner",
    "ranking": "that can be compared with its ranking",
    "grade": "that can be compared with its grade",
    "category": "that can be compared with its category",
}
_EXAMPLES = {"pairwise": '"A>B"', "ranking": '[["A"], ["B", "C"]]', "grade": "4", "category": '"pass"'}


def fit_calibration(
    table: SignalTable,
    *,
    prior: Shrink | None = None,
    seed: int = 0,
    folds: int = FOLDS,
    repeats: int | None = None,
    selection: str | None = None,
) -> Calibration:
    """Fits P(judgment correct) out of fold by question.

    For every fold the penalty is chosen by the log loss on the other folds, each predicted from those that are left
    (nested cross-validation), and its model predicts the fold; so the stored out-of-fold probabilities see neither a
    question's own label nor a penalty chosen with it. The final model has the penalty with the lowest out-of-fold log
    loss, and is fitted on everything. Fill values and scales come from the training folds; reliabilities of judges and
    scales of reward models come from all records, without labels, and are stored.

    Args:
        table: rows without a label are left out; with the signal ``share`` where there is a prior.
        prior: to whose log-odds the model is added; with under :data:`FEW` questions its penalty is not chosen.
        folds: at least 2.
        repeats: divisions into folds to average over; None for 3, or 1 in large tables.
        selection: how it came that just these rows have a label, where that is not by chance; recorded. Rows with
            weights count for them in fit and choice, not in the figures of quality.

    Raises:
        InputError: no labels, one class only, fewer questions than folds, or a signal that is absent everywhere.
    """
    rows = table.select(table.labelled).sorted()
    check_fittable(table, rows)
    # One thread: sums are made in one order, so equal input gives equal bytes; small problems are faster, too.
    with threadpool_limits(limits=1):
        made = _Fit.of(rows, prior, seed, folds, repeats)
        # How coarsely categories can be known, besides by their full names.
        depths: list[Depth] = ["parent", "none"] if any("/" in one for one in rows.categories) else ["none"]
        group = _group(made, {depth: _slope(made, depth) for depth in depths})
    return _calibration(made, group, seed, folds, selection)


def out_of_fold(table: SignalTable, *, seed: int = 0) -> Floats:
    """[n] nested out-of-fold probabilities of a fully labelled table, without the final fits."""
    check_fittable(table, table)
    order = np.array(sorted(range(len(table)), key=table.judgment_ids.__getitem__), dtype=np.intp)
    probabilities = np.zeros(len(table))
    with threadpool_limits(limits=1):
        probabilities[order] = _Fit.of(table.select(order), None, seed, FOLDS, 1).probabilities
    return probabilities


def why_no_calibration(judgments: Iterable[Judgment], right: Right | None = None) -> str | None:
    """The sentence with which a fit with default options would refuse judgments; None where it fits.

    Nothing is fitted: a fit of what passes can take long, but does not fail.
    """
    try:
        table = build_table(judgments, None, right=right)
        labelled = {question for question, one in zip(table.questions, table.labelled, strict=True) if one}
        if use_of(len(labelled))[0] == "split":
            table = table.select(question_split(table.questions, SPLIT_SHARE, 0) == 0)
        return why_not_fit(table.without_absent()[0])
    except InputError as error:
        return str(error)


def why_not_fit(table: SignalTable) -> str | None:
    """The same of a table."""
    rows = table.select(table.labelled)
    try:
        check_fittable(table, rows)
        question_folds(rows.questions, FOLDS, [0])
        Workbench(rows, rows.categories)
    except InputError as error:
        return str(error)
    return None


def check_fittable(table: SignalTable, rows: SignalTable) -> None:
    """Raises :class:`InputError` unless the labelled rows of a table can be fitted on; says why."""
    if not len(table):
        left = ", ".join(f"{count} x {reason}" for reason, count in table.left_out.items()) or "none given"
        raise InputError(f"there is no decided {table.kind} judgment to fit on ({left})")
    if not len(rows):
        raise InputError(
            f"none of the {len(table)} judgments has a label {_LABELS[table.kind]}: a calibration needs true labels "
            f"(item.label, such as {_EXAMPLES[table.kind]})"
        )
    if rows.correct.all() or not rows.correct.any():
        which = "right" if rows.correct.all() else "wrong"
        raise InputError(
            f"all {len(rows)} labelled judgments are {which}: a calibration learns from both right and wrong ones"
        )
    for group in rows.signals:
        if absent_from(rows.columns, group):
            raise InputError(
                f"the signal {group} is absent for every one of the {len(rows)} judgments: leave it out, or give the "
                "data it is made of"
            )


@dataclass(frozen=True, slots=True)
class _Fit:
    """Labelled rows, the mean log loss of every penalty, and the nested out-of-fold probabilities [n]."""

    rows: SignalTable
    bench: Workbench
    losses: Mapping[float, float]
    probabilities: Floats
    repeats: int

    @classmethod
    def of(cls, rows: SignalTable, prior: Shrink | None, seed: int, folds: int, repeats: int | None) -> "_Fit":
        """Means over several divisions into folds.

        Args:
            repeats: how many; None for :data:`REPEATS`, or 1 in large tables.
        """
        if repeats is not None and repeats < 1:
            raise InputError(f"repeats must be at least 1, not {repeats}")
        bench = Workbench(rows, rows.categories, prior)
        times = repeats or (1 if bench.size > LARGE else REPEATS)
        few = prior is not None and len(set(rows.questions)) < FEW
        penalties = (FEW_PENALTY,) if few else PENALTIES if folds > 2 else (PENALTIES[len(PENALTIES) // 2],)
        found = [
            _nested(bench, rows, question_folds(rows.questions, folds, [seed, repeat]), folds, penalties)
            for repeat in range(times)
        ]
        losses = {one: sum(each[one] / times for _, each in found) for one in found[0][1]}
        return cls(rows, bench, losses, np.asarray(sum(each / times for each, _ in found)), times)

    @property
    def penalty(self) -> float:
        """The penalty with the lowest loss; of equal ones the strongest."""
        return min(self.losses, key=lambda one: (self.losses[one], one))


def _nested(
    bench: Workbench, rows: SignalTable, fold: Indices, folds: int, penalties: Sequence[float]
) -> tuple[Floats, dict[float, float]]:
    """[n] every fold predicted with a penalty chosen on others; and the mean log loss of every penalty.

    The penalty for a fold is chosen on all others, each predicted without either: a fit without folds i and j predicts
    j where i is held out, and i where j is. Of one penalty there is nothing to choose.
    """
    losses = {one: np.zeros(folds) for one in penalties}
    parts = [np.flatnonzero(fold == part) for part in range(folds)]
    for first, second in combinations(range(folds), 2) if len(penalties) > 1 else ():
        train = np.flatnonzero((fold != first) & (fold != second))
        tests = [parts[first], parts[second]]
        for one, predicted in zip(penalties, bench.fit_predict(penalties, train, tests), strict=True):
            for held_out, at, values in zip((second, first), tests, predicted, strict=True):
                losses[one][held_out] += bench.loss(log_losses(values, rows.correct[at]), at)
    found = np.zeros(len(fold))
    for part, test in enumerate(parts):
        chosen = min(penalties, key=lambda one: (losses[one][part], one))
        ((found[test],),) = bench.fit_predict([chosen], np.flatnonzero(fold != part), [test])
    if len(penalties) == 1:
        return found, {penalties[0]: bench.loss(log_losses(found, rows.correct)) / len(rows)}
    return found, {one: float(losses[one].sum()) / ((folds - 1) * len(rows)) for one in penalties}


def _known_as(rows: SignalTable, depth: Depth) -> list[str]:
    return [category_at(category, depth) for category in rows.categories]


def _slope(made: _Fit, depth: Depth) -> float:
    """By how much log-odds are drawn in for categories that were not fitted on, at a depth.

    Categories differ more than their judgments do, so a model that does not know the category is wrong in a way that
    cross-validation by question cannot see. It is measured by leaving out whole categories, where others of their name
    at the depth remain: the slope with the lowest log loss there, each category with equal weight. The spread between
    categories so works as a random effect would.

    Returns:
        1 for the log-odds as they are, also where there are too few categories to measure on, 0 for the centre.
    """
    rows, known_as = made.rows, np.array(_known_as(made.rows, depth), dtype=str)
    names, place = np.unique(np.array(rows.categories, dtype=str), return_inverse=True)
    if len(names) < FEWEST_CATEGORIES:
        return 1.0
    bench = Workbench(rows, known_as.tolist(), made.bench.prior)
    category, losses = place.ravel(), {slope: list[float]() for slope in SLOPES}
    held_out = category % MOST_PARTS
    for part in range(held_out.max() + 1):
        train = np.flatnonzero(held_out != part)
        test = np.flatnonzero((held_out == part) & np.isin(known_as, known_as[train]))
        if not len(test):
            continue
        ((predicted,),) = bench.fit_predict([made.penalty], train, [test])
        for slope, found in losses.items():
            loss = log_losses(draw_in(predicted, slope, bench.centre(train)), bench.correct[test])
            found += [float(loss[category[test] == number].mean()) for number in np.unique(category[test])]
    return best_slope(losses)


def best_slope(losses: Mapping[float, Sequence[float]]) -> float:
    """The slope with the lowest mean loss, of equal ones the surest; 1 where nothing was measured."""
    return min(losses, key=lambda one: (float(np.mean(losses[one])) if losses[one] else 0.0, -one))


def _group(made: _Fit, slopes: dict[Depth, float]) -> JudgeGroup:
    tried = sorted(made.losses.items(), key=lambda pair: (pair[1], pair[0]))
    return JudgeGroup(
        judges=tuple(sorted(set(made.rows.judges))),
        chosen=_name(made.penalty),
        tried=tuple(CandidateLoss(name=_name(one), log_loss=loss) for one, loss in tried),
        levels=tuple(_levels(made, slopes)),
    )


def _name(penalty: float) -> str:
    return f"item C={penalty:g}"


def _levels(part: _Fit, slopes: dict[Depth, float]) -> list[Level]:
    levels = []
    depths: dict[Depth, float] = {"full": 1.0, **slopes}
    for depth, slope in depths.items():
        names = _known_as(part.rows, depth)
        if depth == "parent" and len(set(names)) == len(set(part.rows.categories)):
            continue
        every = np.arange(len(names))
        bench = part.bench if depth == "full" else Workbench(part.rows, names, part.bench.prior)
        fitted = bench.fit(part.penalty, every)
        levels.append(
            Level(
                depth=depth,
                categories=tuple(sorted(set(names))),
                design=fitted.design,
                model=fitted.model,
                slope=slope,
                centre=bench.centre(every),
                prior=bench.prior,
            )
        )
    return levels


def _calibration(made: _Fit, group: JudgeGroup, seed: int, folds: int, selection: str | None) -> Calibration:
    """A calibration with its identity, provenance and quality."""
    rows, probabilities = made.rows, np.round(made.probabilities, 9)
    scores = rows.agent_scores or AgentScores({})
    stored: dict[str, dict[str, float]] = {}
    said: dict[str, list[str]] = {}
    # The rows are sorted by judgment id, and so is what the judgments of each question say.
    values = zip(rows.questions, rows.judgment_ids, rows.said, probabilities, strict=True)
    for question, judgment, verdict, value in values:
        stored.setdefault(question, {})[judgment] = float(value)
        said.setdefault(question, []).append(verdict)
    judges = tuple(sorted(set(rows.judges)))
    figures = {"": quality(probabilities, rows.correct, rows.questions, seed)}
    names = np.array(rows.judges)
    for judge in judges:
        at = np.flatnonzero(names == judge)
        questions = [rows.questions[index] for index in at]
        figures[judge] = quality(probabilities[at], rows.correct[at], questions, seed)
    return Calibration(
        identity=Identity(
            judges=judges,
            signals=rows.signals,
            agents=dict(sorted(scores.agents.items())),
            rubrics=scores.rubrics,
            prompts=scores.prompts,
            kind=rows.kind,
            right=str(rows.right),
        ),
        provenance=Provenance(
            data=data_digest(rows),
            n=len(rows),
            questions=stored,
            verdicts={name: "".join(one) if rows.kind == "pairwise" else tuple(one) for name, one in said.items()},
            seed=seed,
            folds=folds,
            repeats=made.repeats,
            selection=selection,
            dependence=KnownDependence.of(rows.dependence),
        ),
        reliabilities=dict(rows.scales.reliabilities),
        scale_uses=dict(rows.scales.scale_uses),
        reward_scales=dict(rows.scales.rewards),
        groups=(group,),
        quality=figures,
        profiles=profiles_of(rows),
        categories=dict(sorted(Counter(rows.categories).items())),
        recipe=Recipe(unit=rows.unit),
    )


def data_digest(rows: SignalTable) -> str:
    """Digest of judgments' ids, judges, questions and outcomes, whatever their order."""
    return digest(
        sorted(
            [judgment, judge, question, bool(right)]
            for judgment, judge, question, right in zip(
                rows.judgment_ids, rows.judges, rows.questions, rows.correct, strict=True
            )
        )
    )


def fit_here(table: SignalTable, seed: int = 0) -> tuple[Calibration, str]:
    """Temporary."""
    rows = table.select(table.labelled).without_absent()[0]
    n = len(set(rows.questions))
    return fit_calibration(
        rows, seed=seed
    ), f"P(right) is fitted out of fold on {n} labelled questions of this file ({len(rows)} verdicts)."
