"""Which models are tried, on which features, and what they predict on rows they did not see."""

import numpy as np
import pytest

from metajudge.calibration.candidates import MOST_JUDGES, Candidate, Workbench, candidates
from metajudge.calibration.design import BaseMatrix, Factor
from metajudge.calibration.model import Boosting, Isotonic, Logistic

ROWS = 240


def factor(kind, name):
    return Factor(kind=kind, name=name)


def bench(*names, judges=0, categories=(), weights=None, seed=1):
    factors = [factor("signal", name) for name in names]
    factors += [factor("category", name) for name in categories] + [factor("judge", f"j{i}") for i in range(judges)]
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(ROWS, len(factors)))
    for at, one in enumerate(factors):
        if one.kind != "signal":
            values[:, at] = values[:, at] > 0
    correct = rng.random(ROWS) < 1 / (1 + np.exp(-2 * values[:, 0]))
    return Workbench(factors, BaseMatrix(values, np.zeros(values.shape, dtype=bool)), correct, weights)


def names(*arguments, quick=False, **more):
    return [one.name for one in candidates(bench(*arguments, **more), quick=quick)]


def test_a_candidate_is_named_after_its_family_and_penalty():
    assert [Candidate("main", 0.3).name, Candidate("boosting").name, Candidate("isotonic").name] == [
        "main C=0.3",
        "boosting",
        "isotonic",
    ]


def test_what_is_tried_depends_on_the_factors_there_are():
    assert names("format.words", quick=True) == ["main C=0.1", "boosting"]
    assert names("order.signed", quick=True) == ["isotonic", "main C=0.1", "boosting"]
    assert names("agents.mean") == [
        "isotonic",
        *(f"main C={c}" for c in (0.03, 0.1, 0.3)),
        *(f"moderated C={c}" for c in (0.03, 0.1, 0.3)),
        "boosting",
    ]


def test_voices_need_peers_and_categories():
    voices = "voices C=0.1"
    assert voices in names("order.signed", "peers.of:x", categories=("a", "b"))
    assert voices not in names("order.signed", "peers.of:x")
    assert voices not in names("order.signed", "peers.votes", categories=("a", "b"))


@pytest.mark.parametrize(("judges", "tried"), [(0, False), (2, True), (MOST_JUDGES, True), (MOST_JUDGES + 1, False)])
def test_the_judge_is_a_feature_where_there_are_not_too_many(judges, tried):
    assert ("judges C=0.1" in names("order.signed", judges=judges)) == tried


@pytest.mark.parametrize(("judges", "among"), [(2, True), (MOST_JUDGES + 1, False)])
def test_boosting_sees_judges_where_there_are_not_too_many(judges, among):
    fitted = bench("order.signed", judges=judges).fit(Candidate("boosting"), np.arange(ROWS))
    assert isinstance(fitted.model, Boosting)
    assert any(name.startswith("judge:") for name in fitted.design.names()) == among


def test_isotonic_reads_the_strongest_single_score():
    fitted = bench("order.signed", "agents.mean", "consensus.log_odds").fit(Candidate("isotonic"), np.arange(ROWS))
    assert isinstance(fitted.model, Isotonic)
    assert fitted.design.names() == ["consensus.log_odds"]


def test_main_has_no_products_and_no_single_voices():
    work = bench("order.signed", "peers.of:x", "agents.mean", categories=("a", "b"), judges=2)
    fitted = work.fit(Candidate("main"), np.arange(ROWS))
    assert isinstance(fitted.model, Logistic)
    assert fitted.design.names() == ["order.signed", "agents.mean", "category:a", "category:b"]


def test_moderated_multiplies_evidence_by_categories_and_moderators():
    work = bench("agents.mean", "consensus.missing", "format.words", categories=("a", "b"))
    products = [name for name in work.fit(Candidate("moderated"), np.arange(ROWS)).design.names() if " * " in name]
    assert products == ["agents.mean * category:a", "agents.mean * category:b", "agents.mean * consensus.missing"]


def test_voices_multiplies_each_voice_by_the_categories():
    work = bench("peers.of:x", "order.agree", "format.words", categories=("a", "b"))
    names = work.fit(Candidate("voices"), np.arange(ROWS)).design.names()
    assert "peers.of:x" in names
    assert {name for name in names if " * " in name} == {
        f"{signal} * category:{category}" for signal in ("peers.of:x", "order.agree") for category in "ab"
    }


def test_judges_multiplies_evidence_by_the_judge():
    work = bench("order.agree", "format.words", judges=2)
    names = work.fit(Candidate("judges"), np.arange(ROWS)).design.names()
    assert {name for name in names if " * " in name} == {"order.agree * judge:j0", "order.agree * judge:j1"}
    assert "judge:j0" in names


def test_products_are_shrunk_more_than_main_effects():
    features = bench("agents.mean", categories=("a", "b")).fit(Candidate("moderated"), np.arange(ROWS)).design.features
    assert {feature.prior for feature in features if feature.times is None} == {1.0}
    assert {feature.prior for feature in features if feature.times is not None} == {0.5}


@pytest.mark.parametrize("family", ["isotonic", "main", "boosting"])
def test_predictions_on_other_rows_are_those_of_the_fitted_model(family):
    work = bench("order.signed", "format.words")
    train, test = np.arange(0, ROWS, 2), np.arange(1, ROWS, 2)
    fitted = work.fit(Candidate(family), train)
    (found,) = work.fit_predict(Candidate(family), train, [test])
    columns = [[one.name for one in work.factors].index(one.name) for one in fitted.design.factors]
    base = work.base.columns(np.array(columns)).rows(test)
    scale = np.array([feature.scale for feature in fitted.design.features])
    mean = np.array([feature.mean for feature in fitted.design.features])
    left = np.array([feature.factor for feature in fitted.design.features])
    assert found == pytest.approx(fitted.model.probabilities((base.values[:, left] - mean) / scale))
    assert np.mean(found[work.correct[test]]) > np.mean(found[~work.correct[test]]) + 0.1


@pytest.mark.parametrize(("right", "expected"), [(True, 11 / 12), (False, 1 / 12)])
def test_of_one_class_alone_the_base_rate_is_drawn_to_the_middle(right, expected):
    work = bench("order.signed")
    work.correct = np.full(ROWS, right)
    first, second = work.fit_predict(Candidate("main"), np.arange(10), [np.arange(3), np.arange(2)])
    assert first.tolist() == pytest.approx([expected] * 3)
    assert second.tolist() == pytest.approx([expected] * 2)


def test_losses_count_as_their_rows_do():
    plain = bench("order.signed")
    assert plain.loss(np.array([1.0, 2.0])) == 3
    weighed = bench("order.signed", weights=np.where(np.arange(ROWS) < ROWS // 2, 3.0, 1.0))
    assert weighed.loss(np.array([1.0, 2.0]), np.array([0, ROWS - 1])) == pytest.approx(1.5 + 2 * 0.5)


def test_rows_of_more_weight_pull_the_fit_their_way():
    weights = np.ones(ROWS)
    work = bench("order.signed", weights=weights)
    heavy = bench("order.signed", weights=np.where(work.correct, 5.0, 1.0))
    before, after = (one.fit(Candidate("main"), np.arange(ROWS)).model.intercept for one in (work, heavy))
    assert after > before + 0.5
