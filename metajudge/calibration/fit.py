"""Fitting a calibration: the model of the item, out of fold by question."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
from metajudge.calibration.files import shipped_prior
from metajudge.calibration.folds import question_folds
from metajudge.calibration.item_model import PENALTIES, Workbench
from metajudge.calibration.levels import Level
from metajudge.calibration.profiles import profiles_of
from metajudge.calibration.quality import log_losses, quality
from metajudge.calibration.shipped import Shrink
from metajudge.calibration.table import FEW, SignalTable, absent_from, build_table
from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices
from metajudge.types import Judgment, Right, digest

LARGE = 250_000
"""Cases times features from which one division into folds must do."""

FOLDS, REPEATS = 5, 3

ENOUGH = 100
"""Labelled questions to choose a penalty by; with fewer it is the strongest, or the second for votes of a panel."""

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
    strict: bool = True,
) -> Calibration:
    """Fits P(judgment correct) out of fold by question.

    Every fold is predicted by models fitted on the others, with the penalty whose predictions of those others are best:
    no stored probability saw a label of its own question. The final model has the penalty with the lowest
    out-of-fold log loss, and is fitted on everything. Fill values and scales come from the training folds;
    reliabilities of judges and scales of reward models come from all records, without labels, and are stored.

    Args:
        table: rows without a label are left out; with the signal ``share`` where there is a prior.
        prior: to whose log-odds the model is added, with the strongest penalty.
        folds: at least 2; where there are fewer questions, each is a fold.
        repeats: divisions into folds to average over; None for 3, or 1 in large tables.
        selection: how it came that just these rows have a label, where that is not by chance; recorded. Rows with
            weights count for them in fit and choice, not in the figures of quality.
        strict: whether to refuse labels that cannot tell right from wrong; else P is then the base rate drawn to 1/2,
            with a note in the calibration.

    Raises:
        InputError: no labels; if strict, one class only, nothing that varies, or a signal that is absent everywhere.
    """
    rows = table.select(table.labelled).sorted()
    check_labelled(table, rows)
    if strict:
        check_fittable(table, rows)
    else:
        table, _ = table.without_absent()
        rows = table.select(table.labelled).sorted()
    # One thread: sums are made in one order, so equal input gives equal bytes; small problems are faster, too.
    with threadpool_limits(limits=1):
        return _calibration(_Fit.of(rows, prior, seed, folds, repeats), seed, selection)


def fit_here(table: SignalTable, seed: int = 0) -> tuple[Calibration, str]:
    """A calibration from the labels that are there, and one sentence on what it is worth.

    From :data:`FEW` labelled questions on it is fitted on them alone; fewer shrink the shipped prior, which knows the
    share of peers that agree (the signal ``share``; without peers a level).

    Raises:
        InputError: no row has a label.
    """
    rows = table.select(table.labelled)
    count = len(set(rows.questions))
    if count >= FEW:
        made = fit_calibration(table.without("share"), seed=seed, strict=False)
        told = f"P(right) is fitted out of fold on {count} labelled questions of this file ({len(rows)} verdicts)."
    else:
        made = fit_calibration(table, prior=shipped_prior().shrink, seed=seed, strict=False)
        number = f"{count} labelled question{'s' * (count != 1)}"
        told = f"P(right) rests on only {number}: the shipped default, shrunk by them."
    return made, told if made.note is None else f"{told} {made.note}"


def out_of_fold(table: SignalTable, *, seed: int = 0) -> Floats:
    """[n] out-of-fold probabilities of a fully labelled table, without the final fit."""
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
        return why_not_fit(build_table(judgments, None, right=right).without_absent()[0])
    except InputError as error:
        return str(error)


def why_not_fit(table: SignalTable) -> str | None:
    """The same of a table."""
    try:
        check_fittable(table, table.select(table.labelled))
    except InputError as error:
        return str(error)
    return None


def check_labelled(table: SignalTable, rows: SignalTable) -> None:
    """Raises :class:`InputError` where a table has no rows, or none with a label; says why."""
    if not len(table):
        left = ", ".join(f"{count} x {reason}" for reason, count in table.left_out.items()) or "none given"
        raise InputError(f"there is no decided {table.kind} judgment to fit on ({left})")
    if not len(rows):
        raise InputError(
            f"none of the {len(table)} judgments has a label {_LABELS[table.kind]}: a calibration needs true labels "
            f"(item.label, such as {_EXAMPLES[table.kind]})"
        )


def check_fittable(table: SignalTable, rows: SignalTable) -> None:
    """Raises :class:`InputError` unless the labelled rows of a table can tell right from wrong; says why."""
    check_labelled(table, rows)
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
    if len(set(rows.questions)) == 1:
        raise InputError(
            f"all {len(rows)} labelled judgments are of one question: a fit is tested on questions it did not see. "
            "Give labels of more questions, or say what a question is with --unit"
        )
    if not Workbench(rows).design.features:
        raise InputError(
            f"nothing tells one judgment from another: {', '.join(rows.signals) or 'no signal'} "
            f"{'is' if len(rows.signals) < 2 else 'are'} the same over the {len(rows)} labelled judgments by "
            f"{', '.join(sorted(set(rows.judges)))}. Add what varies: the same items in the other order, other "
            "judges' verdicts on them, stated confidence (meta.confidence) or agents' scores (--agent-scores). How "
            "often such a judge is right: `metajudge audit`"
        )


@dataclass(frozen=True, slots=True)
class _Fit:
    """Labelled rows, the mean log loss of every penalty, and the out-of-fold probabilities [n]."""

    rows: SignalTable
    bench: Workbench
    losses: dict[float, float]
    probabilities: Floats
    folds: int
    repeats: int

    @classmethod
    def of(cls, rows: SignalTable, prior: Shrink | None, seed: int, folds: int, repeats: int | None) -> "_Fit":
        """Means over several divisions into folds.

        Args:
            repeats: how many; None for :data:`REPEATS`, or 1 in large tables.
        """
        if repeats is not None and repeats < 1:
            raise InputError(f"repeats must be at least 1, not {repeats}")
        if folds < 2:
            raise InputError(f"folds must be at least 2, not {folds}: one part is to be predicted from the others")
        bench, questions = Workbench(rows, prior), len(set(rows.questions))
        parts = min(folds, questions)
        times = repeats or (1 if len(bench.design.features) * bench.cases > LARGE or parts == questions else REPEATS)
        penalties: Sequence[float] = PENALTIES[1:2] if bench.antisymmetric and prior is None else PENALTIES[:1]
        if prior is None and questions >= ENOUGH and parts > 2:
            penalties = PENALTIES
        losses, total = np.zeros(len(penalties)), np.zeros(len(rows))
        for repeat in range(times):
            fold = (
                question_folds(rows.questions, parts, [seed, repeat])
                if parts > 1
                else np.zeros(len(rows), dtype=np.intp)
            )
            found, each = _cross_fitted(bench, fold, penalties)
            total, losses = total + found / times, losses + each / times
        return cls(rows, bench, dict(zip(penalties, losses.tolist(), strict=True)), total, parts, times)

    @property
    def penalty(self) -> float:
        """The penalty with the lowest loss; of equal ones the strongest."""
        return min(self.losses, key=lambda one: (self.losses[one], one))


def _cross_fitted(bench: Workbench, fold: Indices, penalties: Sequence[float]) -> tuple[Floats, Floats]:
    """[n] each fold predicted by a fit on the others, with the penalty best on these; [penalties] mean losses."""
    found = np.zeros((len(penalties), len(fold)))
    for part in range(int(fold.max()) + 1):
        test = np.flatnonzero(fold == part)
        for at, fitted in enumerate(bench.fit(penalties, np.flatnonzero(fold != part))):
            found[at, test] = bench.predict(fitted, test)
    losses = log_losses(found, bench.correct) * bench.weights
    of_fold = np.stack([losses[:, fold == part].sum(axis=1) for part in range(int(fold.max()) + 1)], axis=1)
    best = np.argmin(of_fold.sum(axis=1, keepdims=True) - of_fold, axis=0)
    return found[best[fold], np.arange(len(fold))], of_fold.sum(axis=1) / bench.weights.sum()


def _calibration(made: _Fit, seed: int, selection: str | None) -> Calibration:
    """The final model as a calibration with its identity, provenance and quality."""
    rows, bench, probabilities = made.rows, made.bench, np.round(made.probabilities, 9)
    (fitted,) = bench.fit([made.penalty], np.arange(len(rows)))
    judges, categories = tuple(sorted(set(rows.judges))), tuple(sorted(set(rows.categories)))
    level = Level(
        depth="full",
        categories=categories,
        design=fitted.design,
        model=fitted.model,
        centre=bench.centre,
        prior=bench.prior,
    )
    tried = sorted(made.losses.items(), key=lambda pair: (pair[1], pair[0]))
    scores = rows.agent_scores or AgentScores({})
    stored: dict[str, dict[str, float]] = {}
    said: dict[str, list[str]] = {}
    # The rows are sorted by judgment id, and so is what the judgments of each question say.
    values = zip(rows.questions, rows.judgment_ids, rows.said, probabilities, strict=True)
    for question, judgment, verdict, value in values:
        stored.setdefault(question, {})[judgment] = float(value)
        said.setdefault(question, []).append(verdict)
    names, questions = np.array(rows.judges), np.array(rows.questions)
    chosen = {"": np.ones(len(rows), dtype=bool)} | {judge: names == judge for judge in judges}
    return Calibration(
        identity=Identity(
            judges=judges,
            signals=rows.signals if bench.prior is not None else rows.without("share").signals,
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
            folds=made.folds,
            repeats=made.repeats,
            selection=selection,
            dependence=KnownDependence.of(rows.dependence),
        ),
        reliabilities=dict(rows.scales.reliabilities),
        reward_scales=dict(rows.scales.rewards),
        groups=(
            JudgeGroup(
                judges=judges,
                chosen=_name(made.penalty),
                tried=tuple(CandidateLoss(name=_name(one), log_loss=loss) for one, loss in tried),
                levels=(level,),
            ),
        ),
        note=None if fitted.design.features else _base_rate(rows),
        quality={
            name: quality(probabilities[at], rows.correct[at], questions[at].tolist(), seed)
            for name, at in chosen.items()
        },
        profiles=profiles_of(rows),
        categories=dict(sorted(Counter(rows.categories).items())),
        recipe=Recipe(unit=rows.unit),
    )


def _base_rate(rows: SignalTable) -> str:
    """Why every P is the same."""
    right, n = int(rows.correct.sum()), len(rows)
    why = "nothing tells one verdict from another" if 0 < right < n else "all labels say the same"
    return f"{right} of {n} labelled verdicts are right and {why}: P(right) is the base rate drawn to 1/2."


def _name(penalty: float) -> str:
    return f"item C={penalty:g}"


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
