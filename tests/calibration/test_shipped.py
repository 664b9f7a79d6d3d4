"""The shipped default: two numbers on the share of peers, where they decide, and fits that are added to them."""

import json

import numpy as np
import pytest
from scipy.special import expit, logit

from metajudge.calibration.calibration import Calibration
from metajudge.calibration.domain import Mark, outside_domain
from metajudge.calibration.files import load_calibration, save_calibration, save_fit, shipped_prior
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.quality import log_losses
from metajudge.calibration.shipped import LeftOut, Prior, Shrink
from metajudge.calibration.sources import in_votes
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from tests.doubles.crowds import crowd
from tests.doubles.graders import graded
from tests.doubles.judgments import judgment

SIGNALS = ("order", "strength", "peers", "share")
TABLE = build_table(crowd(60), SIGNALS)
PRIOR = Shrink(level=0.2, slope=0.9)


def votes(*verdicts):
    about = {"item_id": "i", "question": "q"}
    return [judgment(f"j{at}", judge=f"judge{at}", verdict=one, **about) for at, one in enumerate(verdicts)]


def made(*left_out):
    sets = tuple(
        LeftOut(name=name, kind="ranking", n=9, loss=loss, base=base, data="") for name, loss, base in left_out
    )
    return Prior(level=0, slope=1, made="2026-01-01", command="none", sets=sets)


@pytest.mark.parametrize(
    ("verdicts", "agree", "peers"),
    [
        (("A>B", "A>B", "A>B", "B>A"), 2, 3),
        (("A>B", "B>A"), 0, 1),
        (("A>>B", "A=B", "B>A"), 0.5, 2),  # a tie agrees by half
        (("A>B", *["A>B"] * 9), 9, 9),
    ],
)
def test_the_share_of_peers_is_what_was_counted_by_hand(verdicts, agree, peers):
    table = build_table(votes(*verdicts), ["share"])
    row = table.judgment_ids.index("j0")
    assert expit(table.columns["share.log_odds"].values[row]) == pytest.approx((agree + 1) / (peers + 2))
    found = shipped_prior().predict(table)
    by_hand = 1 / (1 + np.exp(-0.232 - 0.905 * logit((agree + 1) / (peers + 2))))
    assert found.probabilities[row] == pytest.approx(by_hand)


def test_it_answers_for_any_judge_with_peers_promises_nothing_and_says_nothing_without_a_peer():
    shipped = load_calibration("shipped")
    found = shipped.probabilities(TABLE)
    assert shipped.is_shipped
    assert not np.ma.getmaskarray(found.probabilities).any()
    assert set(found.marks) == {(Mark.TRANSFERRED,)}
    assert shipped.promise_for(TABLE.judges[0], found.marks[0]) is None
    base = np.full(len(TABLE), TABLE.correct.mean())
    assert log_losses(found.probabilities, TABLE.correct).mean() < log_losses(base, TABLE.correct).mean()
    found = shipped_prior().predict(build_table(votes("A>B"), ["share"]))
    assert np.ma.getmaskarray(found.probabilities).all()
    assert found.marks == ((Mark.ABSENT_SIGNAL, Mark.TRANSFERRED),)


@pytest.mark.parametrize(("kind", "mark"), [("category", Mark.NO_BETTER), ("grade", Mark.UNTESTED)])
def test_it_decides_nothing_where_it_was_no_better_or_never_tested(kind, mark):
    found = shipped_prior().predict(build_table(graded(3, kind=kind), ["share"]))
    assert set(found.marks) == {(Mark.TRANSFERRED, mark)}, "vetting asks a person about such rows"
    assert outside_domain(found.marks[0])


def test_a_kind_is_judged_by_its_mean_over_sets_and_names_where_it_was_worse():
    better = made(("near", 0.5, 0.6), ("far", 0.65, 0.6))
    assert better.result("ranking") == "decides"
    assert "worse than the base rate on far;" in better.sentence("ranking")
    assert made(("near", 0.55, 0.6), ("far", 0.65, 0.6)).result("ranking") == "no_better"
    assert better.result("grade") == "untested"
    assert better.sentence("grade") == "grade: never tested; it decides nothing"


def test_a_fit_on_few_labels_is_added_to_it_and_is_a_calibration_like_any_other(tmp_path):
    few = TABLE.select(np.isin(np.array(TABLE.questions), sorted(set(TABLE.questions))[:12]))
    fitted = fit_calibration(few, prior=PRIOR, repeats=1)
    assert [one.name for one in fitted.groups[0].tried] == ["item C=0.1"]
    save_calibration(fitted, tmp_path / "cal.json")
    again = load_calibration(tmp_path / "cal.json")
    assert again == fitted
    assert not again.is_shipped
    fresh = build_table(crowd(40, seed=9, prefix="new"), SIGNALS)
    found = again.probabilities(fresh)
    assert not any(Mark.TRANSFERRED in marks for marks in found.marks)
    level = again.groups[0].levels[0]
    matrix = level.design.matrix(level.design.base(fresh, fresh.categories))
    by_hand = matrix @ np.array(level.model.coefficients) + 0.2 + 0.9 * fresh.columns["share.log_odds"].values
    assert np.asarray(found.probabilities) == pytest.approx(expit(by_hand))
    alone = expit(PRIOR.odds(fresh))
    assert log_losses(found.probabilities, fresh.correct).mean() < log_losses(alone, fresh.correct).mean()
    plain = fit_calibration(TABLE.without("share"), repeats=1).model_dump(mode="json")
    assert not {"shipped", "sharing"} & plain.keys()
    assert "prior" not in plain["groups"][0]["levels"][0]


def test_a_file_drawn_to_the_prior_of_an_earlier_version_is_refused_and_its_looks_stay_spent(tmp_path):
    fitted = fit_calibration(TABLE.without("share"), repeats=1)
    ledger = {"schedule": {"name": "declining", "first": 0.75}, "entries": [], "populations": []}
    old = {**json.loads(fitted.to_json()), "transfer": {"prior": {"version": 1}}, "looks": ledger}
    path = tmp_path / "old.json"
    path.write_text(json.dumps(old))
    with pytest.raises(InputError, match=r"`metajudge calibrate fit --data FILE --prior shipped --out .*old.json`"):
        load_calibration(path)
    assert save_fit(fitted, path) == 0
    assert load_calibration(path).looks is not None
    path.write_text(json.dumps({**old, "looks": {"entries": "lost"}}))
    with pytest.raises(InputError, match="what it spent is unknown"):
        save_fit(fitted, path)


def test_a_calibration_of_an_earlier_version_keeps_its_digest():
    """It may hold what comparing one model with one a judge gave, which is not made any more."""
    sharing = {"together": 0.4, "apart": 0.41, "low": -0.01, "high": 0.02}
    old = json.loads(fit_calibration(TABLE.without("share"), repeats=1).to_json()) | {"sharing": sharing}
    assert json.loads(Calibration.model_validate(old).to_json()) == old


def test_signals_that_votes_contain_change_nothing_and_are_named():
    assert in_votes("pairwise", ("order", "strength", "peers", "rewards")) == ["order", "strength"]
    assert in_votes("pairwise", ("order", "strength")) == []
    assert in_votes("ranking", ("order", "peers")) == []
    both, alone = (fit_calibration(build_table(crowd(30), names), repeats=1) for names in (SIGNALS[:3], ["peers"]))
    assert both.groups == alone.groups
