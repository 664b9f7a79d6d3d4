"""The prior over sets, the shipped default, and labels pooled with it."""

import base64

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from metajudge.calibration.calibration import Calibration
from metajudge.calibration.domain import Mark, outside_domain
from metajudge.calibration.files import load_calibration, save_calibration, shipped_calibration, shipped_prior
from metajudge.calibration.pooled_fit import fit_pooled
from metajudge.calibration.quality import log_losses
from metajudge.calibration.table import build_table
from metajudge.calibration.transfer import Transfer, evidence_of, mean_probability
from metajudge.calibration.transfer_fit import item_weights, pool, thinned
from tests.doubles.crowds import crowd

SIGNALS = ("order", "strength", "peers", "free")
TABLE = build_table(crowd(60), SIGNALS)


def test_shipped_default_answers_for_any_judge_and_promises_nothing() -> None:
    shipped = load_calibration("shipped")
    found = shipped.probabilities(TABLE)
    assert shipped.is_shipped
    assert not np.ma.getmaskarray(found.probabilities).any()
    assert all(Mark.TRANSFERRED in marks and outside_domain(marks) for marks in found.marks)
    assert all(
        shipped.promise_for(judge, marks) is None for judge, marks in zip(TABLE.judges, found.marks, strict=True)
    )
    state, _ = evidence_of(TABLE)
    assert (state == 1).all()  # pairs with peers
    assert not any(Mark.NO_BETTER in marks or Mark.UNTESTED in marks for marks in found.marks)
    base = np.full(len(TABLE), TABLE.correct.mean())
    assert log_losses(found.probabilities, TABLE.correct).mean() < log_losses(base, TABLE.correct).mean()


def test_opposite_evidence_alone_is_undecided_and_grades_are_untested() -> None:
    prior = shipped_prior()
    assert prior.standing("pairwise", "alone").result == "no_better"
    assert prior.standing("category", "crowd").result == "no_better"
    assert prior.standing("ranking", "crowd").result == "beside"
    assert prior.standing("grade", "crowd").result == "untested"


def test_questions_fitted_on_are_known_again() -> None:
    first = base64.b64encode(bytes.fromhex(TABLE.questions[0][:10])).decode()
    prior = shipped_prior().model_copy(update={"questions": first})
    seen = prior.fitted_on(TABLE.questions)
    assert seen.any()
    assert (seen == (np.array(TABLE.questions) == TABLE.questions[0])).all()


def test_labels_move_the_prior_and_without_any_it_stays() -> None:
    prior = shipped_prior()
    assert pool(TABLE.select(np.zeros(len(TABLE), dtype=bool)), prior) == Transfer(prior=prior)
    wrong = build_table(crowd(60), SIGNALS)
    turned = wrong.with_labels(dict(zip(wrong.judgment_ids, (~wrong.correct).tolist(), strict=True)), {})
    found, known = pool(turned, prior).probabilities(TABLE)
    assert known.all()
    assert log_losses(found, turned.correct).mean() < log_losses(found, TABLE.correct).mean()
    fresh = build_table(crowd(40, seed=9, prefix="new"), SIGNALS)
    few = TABLE.select(np.isin(np.array(TABLE.questions), sorted(set(TABLE.questions))[:10]))
    pooled, _ = pool(few, prior).probabilities(fresh)
    alone, _ = Transfer(prior=prior).probabilities(fresh)
    assert log_losses(pooled, fresh.correct).mean() < log_losses(alone, fresh.correct).mean()


def test_pooled_fit_is_a_calibration_like_any_other(tmp_path) -> None:
    fitted = fit_pooled(TABLE, shipped_prior())
    save_calibration(fitted, tmp_path / "cal.json")
    again = load_calibration(tmp_path / "cal.json")
    assert again == fitted
    assert not again.is_shipped
    fresh = build_table(crowd(40, seed=9, prefix="new"), SIGNALS)
    found = again.probabilities(fresh)
    assert not any(Mark.TRANSFERRED in marks for marks in found.marks)
    assert again.transfer is not None
    assert again.transfer.own is not None
    gain = again.transfer.own.gain
    assert gain is not None
    assert gain.low is not None
    assert gain.low > 0
    seen = again.probabilities(TABLE.select(np.arange(3)))
    assert all(Mark.SEEN in marks for marks in seen.marks)


def test_of_an_item_only_so_many_rows_are_drawn() -> None:
    some = thinned(TABLE, 2, 0)
    assert max(some.item_ids.count(item) for item in set(some.item_ids)) == 2
    assert set(some.item_ids) == set(TABLE.item_ids)


def test_files_without_a_prior_are_unchanged() -> None:
    assert "transfer" not in Calibration.model_validate(
        shipped_calibration().model_dump(exclude={"transfer"})
    ).model_dump(mode="json")


def test_mean_probability_is_near_the_integral() -> None:
    for odds, variance in ((0.3, 0.2), (2.0, 1.0), (-1.0, 3.0)):
        exact = quad(lambda x, o=odds, v=variance: expit(x) * norm.pdf(x, o, v**0.5), -30, 30)[0]
        assert mean_probability(np.array([odds]), np.array([variance]))[0] == pytest.approx(exact, abs=0.012)


def test_an_item_counts_once_however_many_judgments_it_has() -> None:
    assert item_weights(["a", "a", "a", "b"]).sum() == pytest.approx(2.0)
