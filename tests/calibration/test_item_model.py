"""The model of the item: which features it has, what it learns of judges, and its symmetries."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from metajudge.calibration.item_model import PENALTIES, Workbench, logistic
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from metajudge.types import Grade, Item, Judgment, Pairwise

PAIRS = 150


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(limits=1):
        yield


def pairs(judges=("expert", "coin", "liar"), orders=("AB", "BA"), category=lambda _: "one", seed=3):
    """An expert that is mostly right, one that tosses a coin, and one that is mostly wrong."""
    rng = np.random.default_rng(seed)
    right = {"expert": 0.9, "coin": 0.5, "liar": 0.2}
    for number in range(PAIRS):
        item = Item(
            id=f"i{number:03}",
            question=f"question {number}",
            responses={"A": "x", "B": "y"},
            category=category(number),
            label=Pairwise("A", "B", 1) if number % 2 else Pairwise("B", "A", 1),
        )
        winner, loser = ("A", "B") if number % 2 else ("B", "A")
        for judge in judges:
            for order in orders:
                good = rng.random() < right[judge]
                verdict = Pairwise(winner, loser, 1) if good else Pairwise(loser, winner, 1)
                yield Judgment(
                    id=f"{item.id}-{judge}-{order}", item=item, judge=judge, order=tuple(order), verdict=verdict
                )


def table_of(judgments, signals=("order", "strength", "peers")):
    return build_table(judgments, list(signals)).sorted()


@pytest.fixture(scope="module")
def table():
    return table_of(pairs(category=lambda number: "even" if number % 3 else "odd"))


@pytest.fixture(scope="module")
def bench(table):
    return Workbench(table, table.categories)


def every(table):
    return np.arange(len(table))


def test_probabilities_of_opposite_verdicts_add_up_to_one(bench, table):
    fitted = bench.fit(0.3, every(table))
    assert fitted.model.intercept == 0
    found = fitted.model.probabilities(fitted.design.matrix(table, table.categories))
    by_answer = {}
    winners = table._source.rows.sign
    for item, winner, value in zip(table.item_ids, winners, found, strict=True):
        by_answer.setdefault(item, {}).setdefault(winner, []).append(value)
    contested = [each for each in by_answer.values() if len(each) == 2]
    assert len(contested) > 50
    for each in contested:
        assert np.ptp(each[1]) == pytest.approx(0, abs=1e-12)
        assert each[1][0] + each[-1][0] == pytest.approx(1)


def test_a_judge_counts_by_what_its_votes_are_worth_and_a_liar_against_itself(table):
    fitted = Workbench(table, ["one"] * len(table)).fit(1.0, every(table))
    weight = dict(zip(fitted.design.names(), fitted.model.coefficients, strict=True))
    assert weight["voices.expert"] > 1
    assert weight["voices.liar"] < -0.5
    assert abs(weight["voices.coin"]) < 0.3


def test_the_fit_minimises_the_penalised_loss_of_the_items(table):
    """Against a direct minimisation over the items, one row a pair, weighed by its verdicts."""
    penalty = 0.3
    bench = Workbench(table, ["one"] * len(table))
    fitted = bench.fit(penalty, every(table))
    rows, games = table._source.rows, table._source.games
    votes = (games.strength * games.given).sum(axis=2)
    pair, first, count = np.unique(rows.pair, return_index=True, return_counts=True)
    truth = np.where(table.correct[first] == (rows.sign[first] > 0), 1.0, -1.0)
    per_row = np.abs(votes[rows.pair])
    size = np.sqrt((np.unique(np.column_stack([rows.pair, rows.sign, per_row]), axis=0)[:, 2:] ** 2).mean())

    def loss(weights):
        margins = truth * ((votes[pair] / size) @ weights)
        return (count * len(pair) / len(table) * np.log1p(np.exp(-margins))).sum() + (weights**2).sum() / 2 / penalty

    expected = minimize(loss, np.zeros(3)).x
    assert fitted.model.coefficients == pytest.approx(expected, abs=1e-3)


def test_equal_rows_are_fitted_once_and_other_rows_predicted_by_the_stored_model(bench, table):
    assert bench.cases < len(table) / 2
    doubled = table.select(np.repeat(every(table), 2))
    again = Workbench(doubled, doubled.categories).fit(0.3, every(doubled))
    assert again.model.coefficients == pytest.approx(bench.fit(0.3, every(table)).model.coefficients, abs=1e-6)
    train, test = every(table)[: len(table) // 2], every(table)[len(table) // 2 :]
    fitted = bench.fit(0.3, train)
    ((found,),) = bench.fit_predict([0.3], train, [test])
    expected = fitted.model.probabilities(fitted.design.matrix(table, table.categories))[test]
    assert found == pytest.approx(expected)


def test_a_single_judge_is_read_by_its_own_signals_unless_they_contradict_themselves():
    table = table_of(pairs(judges=("expert",)), signals=("order", "strength"))
    bench = Workbench(table, table.categories)
    ((found,),) = bench.fit_predict([0.3], every(table), [every(table)])
    agrees = table.columns["order.agree"].values > 0
    assert not bench.antisymmetric
    assert found[agrees].min() > 0.9
    assert found[~agrees].max() < 0.7
    table = table_of(pairs(judges=("expert",)))
    ((found,),) = Workbench(table, table.categories).fit_predict([0.3], every(table), [every(table)])
    contradicted = table.columns["order.agree"].values == 0
    assert found[contradicted] == pytest.approx(0.5)
    assert found[~contradicted].min() > 0.8


def test_agents_scores_stand_beside_votes(table):
    scores = np.where(table.correct, 4.0, 2.0)
    column = table.columns["consensus.sum"]
    more = replace(table, columns={**table.columns, "agents.mean": type(column).full(scores)})
    fitted = Workbench(more, more.categories).fit(0.3, every(more))
    weight = dict(zip(fitted.design.names(), fitted.model.coefficients, strict=True))
    assert weight["agents.mean"] > 1
    assert not any(name.startswith(("order.", "strength.", "peers.")) for name in weight)


def test_grades_are_read_by_votes_too_and_without_signals_that_vary_there_is_nothing_to_fit():
    made = [
        Judgment(
            id=f"{number}-{judge}",
            item=Item(id=f"g{number}", question=f"q {number}", responses={"A": "x"}, label=Grade(number % 4 + 1.0)),
            judge=judge,
            verdict=Grade((number + off * (number % 3 == 0)) % 4 + 1.0),
        )
        for number in range(60)
        for judge, off in (("keen", 0), ("dull", 1))
    ]
    table = build_table(made, ["peers"]).sorted()
    ((found,),) = Workbench(table, table.categories).fit_predict([1.0], every(table), [every(table)])
    assert found[table.correct].mean() > found[~table.correct].mean() + 0.3
    table = table_of(pairs(judges=("expert",), orders=("AB",)), signals=("strength",))
    with pytest.raises(InputError, match="strength is the same over the"):
        Workbench(table, table.categories)


@pytest.mark.parametrize(("right", "expected"), [(True, 11 / 12), (False, 1 / 12)])
def test_of_one_class_alone_the_base_rate_is_drawn_to_the_middle(table, right, expected):
    rows = np.flatnonzero(table.correct == right)[:10]
    bench = Workbench(table, table.categories)
    ((first, second),) = bench.fit_predict([0.1], rows, [np.arange(3), np.arange(2)])
    assert first.tolist() == pytest.approx([expected] * 3)
    assert second.tolist() == pytest.approx([expected] * 2)


def test_weights_count_in_fit_and_loss_and_sum_to_the_items(table):
    heavy = replace(table, weights=np.where(np.array(table.judges) == "coin", 9.0, 1.0))
    bench = Workbench(heavy, heavy.categories)
    assert bench.weights.sum() == pytest.approx(PAIRS)
    assert bench.loss(np.ones(len(table))) == pytest.approx(len(table))
    losses = np.where(np.array(table.judges) == "coin", 1.0, 0.0)
    assert bench.loss(losses) == pytest.approx(len(table) * 9 / 11)


@pytest.mark.parametrize("intercept", [True, False])
def test_logistic_minimises_what_scikit_learn_does_for_every_penalty(intercept):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(120, 6)) * [1, 1, 1, 1, 8, 0]
    correct = rng.random(120) < 1 / (1 + np.exp(-matrix[:, 0]))
    weights = rng.uniform(0.2, 3, 120)
    for penalty, found in zip(
        PENALTIES, logistic(matrix, correct, PENALTIES, weights, intercept=intercept), strict=True
    ):
        oracle = LogisticRegression(C=penalty, solver="newton-cholesky", tol=1e-12, fit_intercept=intercept)
        oracle.fit(matrix, correct, sample_weight=weights)
        assert found.coefficients == pytest.approx(oracle.coef_[0], abs=1e-7)
        assert found.intercept == pytest.approx(float(np.ravel(oracle.intercept_)[0]), abs=1e-7)


def test_what_was_fitted_before_changes_the_way_of_a_fit_and_not_its_end(table):
    used, part = Workbench(table, table.categories), np.flatnonzero(np.array(table.judges) != "coin")
    used.fit_predict([3.0, 0.3], part, [part])
    for penalty in (0.3, 3.0):
        after = used.fit(penalty, every(table))
        alone = Workbench(table, table.categories).fit(penalty, every(table))
        assert after.design == alone.design
        assert after.model.coefficients == pytest.approx(alone.model.coefficients, abs=1e-7)


def test_logistic_ends_where_the_scores_separate_completely():
    x = np.linspace(-1, 1, 40)[:, None] * 50
    (found,) = logistic(x, x[:, 0] > 0, [1000.0], np.ones(40))
    assert np.isfinite(found.coefficients).all()
    assert found.coefficients[0] > 0
