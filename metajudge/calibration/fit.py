"""Fitting a calibration: models compared and chosen by log loss on questions they were not fitted on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from metajudge.calibration.calibration import (
    Calibration,
    CandidateLoss,
    Depth,
    Identity,
    JudgeGroup,
    JudgeReliability,
    JudgeScale,
    Level,
    Provenance,
    category_at,
)
from metajudge.calibration.candidates import Candidate, Workbench, candidates
from metajudge.calibration.design import (
    BaseMatrix,
    varying_factors,
)
from metajudge.calibration.fallback import Fallback, FallbackLosses, base_odds
from metajudge.calibration.folds import question_folds
from metajudge.calibration.profiles import profiles_of
from metajudge.calibration.quality import log_losses, quality
from metajudge.calibration.table import SignalTable, absent_from
from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types import digest

SELECTION_ROWS = 20_000
"""The choice of a model looks at this many judgments at most; the models themselves are fitted on all."""

ENOUGH_ALONE = 500
"""Default number of judgments from which a judge is fitted alone."""

REPEATS = 3

FALLBACK_GROUPS = 10
"""About so many groups of judges are asked which model answers for categories not fitted on."""


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

    For every fold the model is chosen by the log loss on the other folds, each predicted from those that are left
    (nested cross-validation), and predicts the fold; so the stored out-of-fold probabilities and their quality see
    neither a question's own label nor a choice made with it. The final model is the one with the lowest out-of-fold
    log loss, fitted on everything. Signals are standardised and filled in within the training folds; reliabilities of
    judges and scales of reward models come from all records, without labels, and are stored.

    Args:
        table: rows without a label are left out.
        pooled: True for one model for all judges, with the judge as a feature; False for one model a judge; None
            pools the judges that judged common items, unless half of them have 500 judgments or more each: so many
            speak for themselves.
        seed: of folds and resampling.
        folds: at least 2.
        repeats: divisions into folds to average over; None for 3, or 1 above 20,000 judgments.
        selection: how it came that just these rows have a label, where that is not by chance; recorded. Rows with
            weights count for them in fit and choice, not in the figures of quality.

    Raises:
        InputError: no labels, one class only, fewer questions than folds, or a signal that is absent everywhere.
    """
    rows = table.select(table.labelled).sorted()
    check_fittable(table, rows)
    options = _Options.of(rows, seed, folds, repeats)
    probabilities = np.zeros(len(rows))
    # One thread: sums are made in one order, so equal input gives equal bytes; small problems are faster, too.
    with threadpool_limits(limits=1):
        parts, names = [], np.array(rows.judges)
        for judges in judge_groups(rows, pooled):
            at = np.flatnonzero(np.isin(names, judges))
            part = rows.select(at)
            parts.append(_Part(judges, part, _choose(part, judges, options)))
            probabilities[at] = parts[-1].choice.probabilities
        fallbacks = {depth: _fallback(parts, depth, options) for depth in _depths(rows)}
        groups = [_group(part, fallbacks, options) for part in parts]
    return _calibration(rows, tuple(groups), np.round(probabilities, 9), options, selection)


def out_of_fold(
    table: SignalTable, *, pooled: bool | None = None, seed: int = 0, folds: int = 5, repeats: int = 1
) -> Floats:
    """[n] nested out-of-fold probabilities of a fully labelled table, without the final fits."""
    check_fittable(table, table)
    options = _Options.of(table, seed, folds, repeats)
    order = np.array(sorted(range(len(table)), key=table.judgment_ids.__getitem__), dtype=np.intp)
    rows, probabilities = table.select(order), np.zeros(len(table))
    names = np.array(rows.judges)
    with threadpool_limits(limits=1):
        for judges in judge_groups(rows, pooled):
            at = np.flatnonzero(np.isin(names, judges))
            probabilities[order[at]] = _choose(rows.select(at), judges, options).probabilities
    return probabilities


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


def judge_groups(table: SignalTable, pooled: bool | None) -> list[tuple[str, ...]]:
    """Which judges share a fit."""
    judges = sorted(set(table.judges))
    counts = Counter(table.judges)
    if pooled is False or (pooled is None and median(counts.values()) >= ENOUGH_ALONE):
        return [(judge,) for judge in judges]
    if pooled:
        return [tuple(judges)]
    root = {judge: judge for judge in judges}

    def find(judge: str) -> str:
        while root[judge] != judge:
            judge = root[judge]
        return judge

    first: dict[str, str] = {}
    for item, judge in zip(table.item_ids, table.judges, strict=True):
        one, other = sorted((find(judge), find(first.setdefault(item, judge))))
        root[other] = one
    found: dict[str, list[str]] = {}
    for judge in judges:
        found.setdefault(find(judge), []).append(judge)
    return [tuple(members) for members in found.values()]


@dataclass(frozen=True, slots=True)
class _Options:
    seed: int
    folds: int
    repeats: int
    quick: bool

    @classmethod
    def of(cls, rows: SignalTable, seed: int, folds: int, repeats: int | None) -> "_Options":
        quick = len(rows) > SELECTION_ROWS
        times = repeats if repeats is not None else (1 if quick else REPEATS)
        if times < 1:
            raise InputError(f"repeats must be at least 1, not {times}")
        return cls(seed, folds, times, quick)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Out-of-fold probabilities [n] by nested choice, and the mean log loss of every candidate."""

    probabilities: Floats
    losses: dict[Candidate, float]

    @property
    def best(self) -> Candidate:
        return min(self.losses, key=lambda candidate: (self.losses[candidate], candidate.name))


@dataclass(frozen=True, slots=True)
class _Part:
    """Judges that share a fit, their rows and the choice of their model."""

    judges: tuple[str, ...]
    rows: SignalTable
    choice: _Choice


def _group(part: _Part, fallbacks: dict[Depth, Fallback], options: _Options) -> JudgeGroup:
    tried = sorted(part.choice.losses.items(), key=lambda pair: (pair[1], pair[0].name))
    return JudgeGroup(
        judges=part.judges,
        chosen=part.choice.best.name,
        tried=tuple(CandidateLoss(name=one.name, log_loss=loss) for one, loss in tried),
        levels=tuple(_levels(part, fallbacks, options)),
    )


def _choose(rows: SignalTable, judges: Sequence[str], options: _Options) -> _Choice:
    if rows.correct.all() or not rows.correct.any():
        which = "right" if rows.correct.all() else "wrong"
        raise InputError(
            f"all {len(rows)} labelled judgments by {', '.join(judges)} are {which}: fit them together with others"
        )
    bench = _workbench(rows, rows.categories)
    tried = candidates(bench, quick=options.quick)
    probabilities = np.zeros(len(rows))
    losses = dict.fromkeys(tried, 0.0)
    for repeat in range(options.repeats):
        fold = question_folds(rows.questions, options.folds, [options.seed, repeat])
        chosen, inner = _inner_choice(bench, tried, fold, rows.questions, options)
        if options.quick and options.folds > 2:
            # The winners alone predict their folds; the losers' losses are those of the choice, on smaller fits.
            outer = {one: _cross_fit(bench, one, fold, options, chosen) for one in set(chosen)}
        else:
            outer = {one: _cross_fit(bench, one, fold, options) for one in tried}
            inner = {one: bench.loss(log_losses(values, rows.correct)) / len(rows) for one, values in outer.items()}
        for part in range(options.folds):
            at = fold == part
            probabilities[at] += outer[chosen[part]][at] / options.repeats
        for one in tried:
            losses[one] += inner[one] / options.repeats
    return _Choice(probabilities, losses)


def _workbench(rows: SignalTable, categories: Sequence[str]) -> Workbench:
    factors = varying_factors(rows, categories, judges=len(set(rows.judges)) > 1)
    if not any(factor.kind == "signal" for factor in factors):
        raise InputError(
            f"none of the signals {', '.join(rows.signals)} varies over the {len(rows)} judgments by "
            f"{', '.join(sorted(set(rows.judges)))}: there is nothing to fit; name other signals, or fit "
            "them together with others (--pooled)"
        )
    return Workbench(factors, BaseMatrix.of(rows, categories, factors), rows.correct, rows.weights)


def _cross_fit(
    bench: Workbench,
    candidate: Candidate,
    fold: Indices,
    options: "_Options",
    chosen: Sequence[Candidate] | None = None,
) -> Floats:
    """[n] each fold predicted from the others; given the choice for every fold, only where it is this candidate."""
    found = np.zeros(len(fold))
    for part in range(fold.max() + 1):
        if chosen is None or chosen[part] == candidate:
            train, test = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
            (found[test],) = bench.fit_predict(candidate, train, [test], options.seed)
    return found


def _inner_choice(
    bench: Workbench, tried: Sequence[Candidate], fold: Indices, questions: Sequence[str], options: _Options
) -> tuple[list[Candidate], dict[Candidate, float]]:
    """For every fold the candidate with the lowest log loss on others, fitted without either; and all mean log losses.

    A fit without folds i and j predicts j where i is held out, and i where j is: one fit serves two choices. A quick
    choice looks at the two neighbours of each fold instead of all others.
    """
    folds = options.folds
    if folds < 3:
        return [_safest(tried)] * folds, dict.fromkeys(tried, 0.0)
    taken = _sampled(fold, questions, options.seed)
    losses = {one: np.zeros(folds) for one in tried}
    predicted_rows = 0
    pairs = [(first, second) for first in range(folds) for second in range(first)]
    for first, second in pairs:
        if options.quick and (first - second) not in (1, folds - 1):
            continue
        train = np.flatnonzero(taken & (fold != first) & (fold != second))
        tests = [np.flatnonzero(taken & (fold == part)) for part in (first, second)]
        predicted_rows += len(tests[0]) + len(tests[1])
        for one in tried:
            predicted = bench.fit_predict(one, train, tests, options.seed)
            for held_out, test, values in zip((second, first), tests, predicted, strict=True):
                losses[one][held_out] += bench.loss(log_losses(values, bench.correct[test]), test)
    chosen = [min(tried, key=lambda one: (losses[one][part], one.name)) for part in range(folds)]
    return chosen, {one: float(losses[one].sum()) / predicted_rows for one in tried}


def _safest(tried: Sequence[Candidate]) -> Candidate:
    """With two folds there is nothing left to choose on."""
    return next((one for one in tried if one.name == "main C=0.1"), tried[0])


def _sampled(fold: Indices, questions: Sequence[str], seed: int) -> Bools:
    """[n] whether a row takes part in the choice: whole questions, at most so many rows."""
    if len(fold) <= SELECTION_ROWS:
        return np.ones(len(fold), dtype=bool)
    names, place = np.unique(np.array(questions, dtype=str), return_inverse=True)
    keep = np.random.default_rng([seed, 5]).random(len(names)) < SELECTION_ROWS / len(fold)
    return keep[place.ravel()]


def _depths(rows: SignalTable) -> list[Depth]:
    """How coarsely categories can be known, besides by their full names."""
    return ["parent", "none"] if any("/" in category for category in rows.categories) else ["none"]


def _fallback(parts: Sequence[_Part], depth: Depth, options: _Options) -> Fallback:
    """What answers for unknown categories at a depth, chosen on categories left out."""
    losses = FallbackLosses()
    for part in parts[:: max(1, len(parts) // FALLBACK_GROUPS)]:
        bench, names = _known_as(part.rows, depth)
        models: dict[Candidate | None, Candidate] = {None: part.choice.best}
        models |= {one: one for one in candidates(bench, quick=True) if one.family in ("main", "boosting")}
        losses.measure(bench, models, part.rows.categories, names, seed=options.seed, quick=options.quick)
    return losses.best()


def _known_as(rows: SignalTable, depth: Depth) -> tuple[Workbench, list[str]]:
    names = [category_at(category, depth) for category in rows.categories]
    return _workbench(rows, names), names


def _levels(part: _Part, fallbacks: dict[Depth, Fallback], options: _Options) -> list[Level]:
    levels = []
    answers: dict[Depth, Fallback] = {"full": Fallback(), **fallbacks}
    for depth, fallback in answers.items():
        bench, names = _known_as(part.rows, depth)
        if depth == "parent" and len(set(names)) == len(set(part.rows.categories)):
            continue
        fitted = bench.fit(fallback.candidate or part.choice.best, np.arange(len(names)), options.seed)
        levels.append(
            Level(
                depth=depth,
                categories=tuple(sorted(set(names))),
                design=fitted.design,
                model=fitted.model,
                slope=fallback.slope,
                centre=base_odds(part.rows.correct),
            )
        )
    return levels


def _calibration(
    rows: SignalTable,
    groups: tuple[JudgeGroup, ...],
    probabilities: Floats,
    options: _Options,
    selection: str | None,
) -> Calibration:
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
    figures = {"": quality(probabilities, rows.correct, rows.questions, options.seed)}
    names = np.array(rows.judges)
    for judge in judges:
        at = np.flatnonzero(names == judge)
        questions = [rows.questions[index] for index in at]
        figures[judge] = quality(probabilities[at], rows.correct[at], questions, options.seed)
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
            seed=options.seed,
            folds=options.folds,
            repeats=options.repeats,
            selection=selection,
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
        quality=figures,
        profiles=profiles_of(rows),
        categories=dict(sorted(Counter(rows.categories).items())),
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
