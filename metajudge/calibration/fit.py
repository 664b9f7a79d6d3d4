"""Fitting a calibration: the model of the item, its penalty chosen by log loss on questions it was not fitted on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from threadpoolctl import threadpool_limits

from metajudge.calibration.calibration import (
    Calibration,
    CandidateLoss,
    Identity,
    JudgeGroup,
    JudgeReliability,
    JudgeScale,
    KnownDependence,
    Provenance,
    Recipe,
    Sharing,
)
from metajudge.calibration.fallback import SlopeLosses
from metajudge.calibration.folds import question_folds
from metajudge.calibration.item_model import MOST_JUDGES, PENALTIES, Workbench
from metajudge.calibration.levels import Depth, Level, category_at
from metajudge.calibration.profiles import profiles_of
from metajudge.calibration.quality import log_losses, quality
from metajudge.calibration.table import SignalTable, absent_from
from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices
from metajudge.stats.bootstrap import bootstrap_mean
from metajudge.types import digest

LARGE = 250_000
"""Cases times features from which one division into folds must do."""

REPEATS = 3

RESAMPLES = 1000

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
    pooled: bool | None = None,
    seed: int = 0,
    folds: int = 5,
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
        table: rows without a label are left out.
        pooled: True for one model for all judges; False for one model a judge; None for one for all unless one model a
            judge has a clearly lower out-of-fold log loss (see
            :class:`~metajudge.calibration.calibration.Sharing`).
        seed: of folds and resampling.
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
        made = _Fit.of(rows, pooled, _Options(seed, folds, repeats))
        slopes = {depth: _slope(made.parts, depth) for depth in _depths(rows)}
        groups = tuple(_group(part, slopes) for part in made.parts)
    repeats = max(part.repeats for part in made.parts)
    return calibration_of(
        rows,
        groups,
        np.round(made.probabilities, 9),
        seed=seed,
        folds=folds,
        repeats=repeats,
        sharing=made.sharing,
        selection=selection,
    )


def out_of_fold(
    table: SignalTable, *, pooled: bool | None = None, seed: int = 0, folds: int = 5, repeats: int = 1
) -> Floats:
    """[n] nested out-of-fold probabilities of a fully labelled table, without the final fits."""
    check_fittable(table, table)
    order = np.array(sorted(range(len(table)), key=table.judgment_ids.__getitem__), dtype=np.intp)
    probabilities = np.zeros(len(table))
    with threadpool_limits(limits=1):
        made = _Fit.of(table.select(order), pooled, _Options(seed, folds, repeats))
    probabilities[order] = made.probabilities
    return probabilities


def why_not_fit(table: SignalTable, folds: int = 5) -> str | None:
    """The sentence with which :func:`fit_calibration` would refuse a table; None where it fits. Nothing is fitted."""
    rows = table.select(table.labelled)
    try:
        check_fittable(table, rows)
        question_folds(rows.questions, folds, [0])
        for way in (True, False) if _comparable(rows, folds) else (True,):
            for judges in judge_groups(rows, way):
                part = rows.select(np.flatnonzero(np.isin(np.array(rows.judges), judges)))
                Workbench(part, part.categories)
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


def judge_groups(table: SignalTable, pooled: bool) -> list[tuple[str, ...]]:
    """Which judges share a fit: all, or each alone."""
    judges = sorted(set(table.judges))
    return [tuple(judges)] if pooled else [(judge,) for judge in judges]


@dataclass(frozen=True, slots=True)
class _Options:
    seed: int
    folds: int
    repeats: int | None

    def times(self, large: bool) -> int:
        """How many divisions into folds are averaged."""
        if self.repeats is not None and self.repeats < 1:
            raise InputError(f"repeats must be at least 1, not {self.repeats}")
        return self.repeats or (1 if large else REPEATS)


@dataclass(frozen=True, slots=True)
class _Part:
    """Judges that share a fit: their rows, the mean log loss of every penalty and the nested probabilities [n]."""

    judges: tuple[str, ...]
    at: Indices
    rows: SignalTable
    bench: Workbench
    losses: dict[float, float]
    probabilities: Floats
    repeats: int

    @property
    def penalty(self) -> float:
        """The penalty with the lowest loss; of equal ones the strongest."""
        return min(self.losses, key=lambda one: (self.losses[one], one))

    @classmethod
    def once(cls, table: SignalTable, judges: tuple[str, ...], options: _Options) -> "_Part":
        """The part with one division into folds."""
        at = np.flatnonzero(np.isin(np.array(table.judges), judges))
        rows = table.select(at)
        if rows.correct.all() or not rows.correct.any():
            which = "right" if rows.correct.all() else "wrong"
            raise InputError(
                f"all {len(rows)} labelled judgments by {', '.join(judges)} are {which}: fit them together with others"
            )
        bench = Workbench(rows, rows.categories)
        probabilities, losses = _nested(bench, rows, _folds(rows, options, 0), options.folds)
        return cls(judges, at, rows, bench, losses, probabilities, 1)

    def divided(self, options: _Options) -> "_Part":
        """The same, mean over as many divisions as the options say, of which this is the first."""
        times = options.times(self.bench.size > LARGE)
        probabilities = self.probabilities / times
        losses = {penalty: loss / times for penalty, loss in self.losses.items()}
        for repeat in range(1, times):
            predicted, found = _nested(self.bench, self.rows, _folds(self.rows, options, repeat), options.folds)
            probabilities = probabilities + predicted / times
            losses = {penalty: loss + found[penalty] / times for penalty, loss in losses.items()}
        return replace(self, probabilities=probabilities, losses=losses, repeats=times)


def _folds(rows: SignalTable, options: _Options, repeat: int) -> Indices:
    return question_folds(rows.questions, options.folds, [options.seed, repeat])


@dataclass(frozen=True, slots=True)
class _Fit:
    """The parts of a table and how they were chosen; ``probabilities`` [n] are out of fold."""

    parts: tuple[_Part, ...]
    options: _Options
    sharing: Sharing | None
    probabilities: Floats

    @classmethod
    def of(cls, rows: SignalTable, pooled: bool | None, options: _Options) -> "_Fit":
        ways = [pooled is not False] if pooled is not None or not _comparable(rows, options.folds) else [True, False]
        tried = [[_Part.once(rows, judges, options) for judges in judge_groups(rows, way)] for way in ways]
        chosen, sharing = tried[0], None
        if len(tried) > 1:
            sharing = _sharing(
                rows, [log_losses(_together(rows, parts), rows.correct) for parts in tried], options.seed
            )
            chosen = tried[1] if sharing.apart_is_better else chosen
        parts = tuple(part.divided(options) for part in chosen)
        return cls(parts, options, sharing, _together(rows, parts))


def _together(rows: SignalTable, parts: Sequence[_Part]) -> Floats:
    """[n] the nested probabilities of all parts."""
    found = np.zeros(len(rows))
    for part in parts:
        found[part.at] = part.probabilities
    return found


def _sharing(rows: SignalTable, losses: Sequence[Floats], seed: int) -> Sharing:
    """Log losses [n] of shared models and of one model a judge, compared."""
    rng = np.random.default_rng([seed, 11])
    found = bootstrap_mean(losses[1] - losses[0], rows.questions, rng=rng, resamples=RESAMPLES)
    together, apart = (float(each.mean()) for each in losses)
    return Sharing(together=together, apart=apart, low=found.low, high=found.high)


def _comparable(rows: SignalTable, folds: int) -> bool:
    """Whether shared models can be compared with one a judge: each judge has right and wrong labels to learn from."""
    names, questions = np.array(rows.judges), np.array(rows.questions)
    judges = sorted(set(rows.judges))
    if not 1 < len(judges) <= MOST_JUDGES:
        return False
    for judge in judges:
        mine = names == judge
        right = rows.correct[mine]
        if len(set(questions[mine])) < 2 * folds or right.all() or not right.any():
            return False
    return True


def _nested(bench: Workbench, rows: SignalTable, fold: Indices, folds: int) -> tuple[Floats, dict[float, float]]:
    """[n] every fold predicted with a penalty chosen on others; and the mean log loss of every penalty.

    The penalty for a fold is chosen on all others, each predicted without either: a fit without folds i and j predicts
    j where i is held out, and i where j is. With two folds there is nothing left to choose on: the middle penalty.
    """
    losses = {one: np.zeros(folds) for one in PENALTIES}
    parts = [np.flatnonzero(fold == part) for part in range(folds)]
    for first, second in combinations(range(folds), 2) if folds > 2 else ():
        train = np.flatnonzero((fold != first) & (fold != second))
        tests = [parts[first], parts[second]]
        for one, predicted in zip(PENALTIES, bench.fit_predict(PENALTIES, train, tests), strict=True):
            for held_out, at, values in zip((second, first), tests, predicted, strict=True):
                losses[one][held_out] += bench.loss(log_losses(values, rows.correct[at]), at)
    found = np.zeros(len(fold))
    for part, test in enumerate(parts):
        middle = PENALTIES[len(PENALTIES) // 2]
        chosen = min(PENALTIES, key=lambda one: (losses[one][part], one)) if folds > 2 else middle
        ((found[test],),) = bench.fit_predict([chosen], np.flatnonzero(fold != part), [test])
    if folds < 3:
        return found, {PENALTIES[len(PENALTIES) // 2]: bench.loss(log_losses(found, rows.correct)) / len(rows)}
    return found, {one: float(losses[one].sum()) / ((folds - 1) * len(rows)) for one in PENALTIES}


def _depths(rows: SignalTable) -> list[Depth]:
    """How coarsely categories can be known, besides by their full names."""
    return ["parent", "none"] if any("/" in category for category in rows.categories) else ["none"]


def _known_as(rows: SignalTable, depth: Depth) -> list[str]:
    return [category_at(category, depth) for category in rows.categories]


def _slope(parts: Sequence[_Part], depth: Depth) -> float:
    """By how much log-odds are drawn in for unknown categories at a depth, chosen on categories left out."""
    losses = SlopeLosses()
    for part in parts:
        names = _known_as(part.rows, depth)
        losses.measure(Workbench(part.rows, names), part.penalty, part.rows.categories, names)
    return losses.best()


def _group(part: _Part, slopes: dict[Depth, float]) -> JudgeGroup:
    tried = sorted(part.losses.items(), key=lambda pair: (pair[1], pair[0]))
    return JudgeGroup(
        judges=part.judges,
        chosen=_name(part.penalty),
        tried=tuple(CandidateLoss(name=_name(one), log_loss=loss) for one, loss in tried),
        levels=tuple(_levels(part, slopes)),
    )


def _name(penalty: float) -> str:
    return f"item C={penalty:g}"


def _levels(part: _Part, slopes: dict[Depth, float]) -> list[Level]:
    levels = []
    depths: dict[Depth, float] = {"full": 1.0, **slopes}
    for depth, slope in depths.items():
        names = _known_as(part.rows, depth)
        if depth == "parent" and len(set(names)) == len(set(part.rows.categories)):
            continue
        every = np.arange(len(names))
        bench = part.bench if depth == "full" else Workbench(part.rows, names)
        fitted = bench.fit(part.penalty, every)
        levels.append(
            Level(
                depth=depth,
                categories=tuple(sorted(set(names))),
                design=fitted.design,
                model=fitted.model,
                slope=slope,
                centre=bench.centre(every),
            )
        )
    return levels


def calibration_of(
    rows: SignalTable,
    groups: tuple[JudgeGroup, ...],
    probabilities: Floats,
    *,
    seed: int,
    folds: int,
    repeats: int,
    sharing: Sharing | None,
    selection: str | None,
) -> Calibration:
    """A calibration with its identity, provenance and quality.

    Args:
        rows: labelled, sorted by judgment id.
        groups: the models; none where a prior over sets answers.
        probabilities: [n] out of fold.
        seed, folds, repeats, selection: recorded.
        sharing: how judges came to share a model.
    """
    scores = rows.agent_scores
    stored: dict[str, dict[str, float]] = {}
    verdicts: dict[str, str | tuple[str, ...]] = {}
    said: dict[str, list[str]] = {}
    # The rows are sorted by judgment id, and so is what the judgments of each question say.
    values = zip(rows.questions, rows.judgment_ids, rows.said, probabilities, strict=True)
    for question, judgment, verdict, value in values:
        stored.setdefault(question, {})[judgment] = float(value)
        said.setdefault(question, []).append(verdict)
    for question, each in said.items():
        verdicts[question] = "".join(each) if rows.kind == "pairwise" else tuple(each)
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
            agents={} if scores is None else dict(sorted(scores.agents.items())),
            rubrics=() if scores is None else scores.rubrics,
            prompts=() if scores is None else scores.prompts,
            kind=rows.kind,
            right=str(rows.right),
        ),
        provenance=Provenance(
            data=data_digest(rows),
            n=len(rows),
            questions=stored,
            verdicts=verdicts,
            seed=seed,
            folds=folds,
            repeats=repeats,
            selection=selection,
            dependence=KnownDependence.of(rows.dependence),
        ),
        reliabilities={
            name: JudgeReliability(plain=one.plain, strong=one.strong, share=one.share, sides=dict(one.sides))
            for name, one in rows.scales.reliabilities.items()
        },
        scale_uses={
            name: JudgeScale(mean=one.mean, sd=one.sd, quantiles=one.quantiles)
            for name, one in rows.scales.scale_uses.items()
        },
        reward_scales=dict(rows.scales.rewards),
        groups=groups,
        sharing=sharing,
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
