"""A calibration by labels of one's own, pooled with the prior over sets."""

import numpy as np

from metajudge.calibration.calibration import Calibration
from metajudge.calibration.fit import calibration_of, check_fittable
from metajudge.calibration.quality import RESAMPLES, Figure, log_losses
from metajudge.calibration.table import SignalTable
from metajudge.calibration.transfer import Prior, Transfer, evidence_of
from metajudge.calibration.transfer_fit import pool, pooled_out_of_fold
from metajudge.stats.bootstrap import bootstrap_mean


def fit_pooled(
    table: SignalTable, prior: Prior, *, seed: int = 0, folds: int = 5, selection: str | None = None
) -> Calibration:
    """Fits P(judgment correct) to a few labels, drawn to what other sets have shown.

    The stored probabilities and the figures of quality are out of fold by question, as in
    :func:`~metajudge.calibration.fit.fit_calibration`: nothing of a question's own label is in them.

    Args:
        table: with the signal ``free``; rows without a label or without evidence are left out.
        prior: over sets.
        seed, folds, selection: see :func:`~metajudge.calibration.fit.fit_calibration`.

    Raises:
        InputError: no labels, or all of them right or wrong.
    """
    state, _ = evidence_of(table)
    rows, _ = table.select(table.labelled & (state >= 0)).sorted().without_absent()
    check_fittable(table, rows)
    probabilities = np.round(pooled_out_of_fold(rows, prior, folds=folds, seed=seed), 9)
    made = calibration_of(rows, (), probabilities, seed=seed, folds=folds, repeats=1, sharing=None, selection=selection)
    found = pool(rows, prior, seed=seed)
    assert found.own is not None
    base = log_losses(np.full(len(rows), rows.correct.mean()), rows.correct)
    rng = np.random.default_rng([seed, 13])
    gain = bootstrap_mean(base - log_losses(probabilities, rows.correct), rows.questions, rng=rng, resamples=RESAMPLES)
    figure = Figure(estimate=gain.estimate, low=gain.low, high=gain.high)
    return made.model_copy(
        update={"transfer": Transfer(prior=prior, own=found.own.model_copy(update={"gain": figure}))}
    )
