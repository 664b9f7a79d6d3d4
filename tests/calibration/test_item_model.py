"""The model of the item: which features it has, what it learns of judges, and its symmetries."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from metajudge.calibration.item_model import Workbench, logistic
from metajudge.calibration.shipped import Shrink
from metajudge.calibration.table import build_table
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
    return Workbench(table)


def every(table):
    return np.arange(len(table))


def fit(table, penalty=0.3, rows=None):
    return Workbench(table).fit([penalty], every(table) if rows is None else rows)[0]


def uncategorised(table):
    facts = table.facts
    return replace(table, facts=replace(facts, category=np.full(len(facts), -1, dtype=facts.category.dtype)))


def in_sample(table, penalty=0.3):
    bench = Workbench(table)
    return bench.predict(bench.fit([penalty], every(table))[0], every(table))


def weights_of(fitted):
    return dict(zip(fitted.design.names(), fitted.model.coefficients, strict=True))


def test_probabilities_of_opposite_verdicts_add_up_to_one(table):
    assert fit(table).model.intercept == 0
    by_answer = {}
    for item, winner, value in zip(table.item_ids, table._source.rows.sign, in_sample(table), strict=True):
        by_answer.setdefault(item, {}).setdefault(winner, []).append(value)
    contested = [each for each in by_answer.values() if len(each) == 2]
    assert len(contested) > 50
    for each in contested:
        assert np.ptp(each[1]) == pytest.approx(0, abs=1e-12)
        assert each[1][0] + each[-1][0] == pytest.approx(1)


def test_a_judge_counts_by_what_its_votes_are_worth_and_a_liar_against_itself(table):
    weight = weights_of(fit(uncategorised(table), 1.0))
    assert weight["voices.expert"] > 1
    assert weight["voices.liar"] < -0.5
    assert abs(weight["voices.coin"]) < 0.3


def test_the_fit_minimises_the_penalised_loss_of_the_items(table):
    """Against a direct minimisation over the items, one row a pair, weighed by its verdicts."""
    penalty, plain = 0.3, uncategorised(table)
    fitted = fit(plain, penalty)
    rows, games = plain._source.rows, plain._source.games
    votes = (games.strength * games.given).sum(axis=2)
    pair, first, count = np.unique(rows.pair, return_index=True, return_counts=True)
    truth = np.where(table.correct[first] == (rows.sign[first] > 0), 1.0, -1.0)
    per_row = np.abs(votes[rows.pair])
    size = np.sqrt((np.unique(np.column_stack([rows.pair, rows.sign, per_row]), axis=0)[:, 2:] ** 2).mean())

    def loss(weights):
        margins = truth * ((votes[pair] / size) @ weights)
        return (count * len(pair) / len(table) * np.log1p(np.exp(-margins))).sum() + (weights**2).sum() / 2 / penalty

    assert fitted.model.coefficients == pytest.approx(minimize(loss, np.zeros(3)).x, abs=1e-3)


def test_equal_rows_are_fitted_once_and_other_rows_predicted_by_the_stored_model(bench, table):
    assert bench.cases < len(table) / 2
    again = fit(table.select(np.repeat(every(table), 2)))
    assert again.model.coefficients == pytest.approx(fit(table).model.coefficients, abs=1e-6)
    train, test = every(table)[: len(table) // 2], every(table)[len(table) // 2 :]
    (fitted,) = bench.fit([0.3], train)
    expected = fitted.model.probabilities(fitted.design.matrix(fitted.design.base(table, table.categories)))[test]
    assert bench.predict(fitted, test) == pytest.approx(expected)


def test_a_single_judge_is_read_by_its_own_signals_unless_they_contradict_themselves():
    table = table_of(pairs(judges=("expert",)), signals=("order", "strength"))
    agrees, found = table.columns["order.agree"].values > 0, in_sample(table)
    assert not Workbench(table).antisymmetric
    assert found[agrees].min() > 0.85
    assert found[~agrees].max() < 0.7
    table = table_of(pairs(judges=("expert",)))
    contradicted, found = table.columns["order.agree"].values == 0, in_sample(table)
    assert found[contradicted] == pytest.approx(0.5)
    assert found[~contradicted].min() > 0.8


def test_the_place_of_the_response_chosen_tells_of_a_judge_alone_in_one_order():
    """It always says that the first one is better where it does not know: "the second" is then worth more."""
    made = [
        one.model_copy(update={"verdict": Pairwise("A", "B", 1)}) if number % 3 else one
        for number, one in enumerate(pairs(judges=("expert",), orders=("AB",)))
    ]
    table = table_of(made, signals=("strength",))
    found, second = in_sample(table), np.array(table.sides) == "2"
    assert found[second].min() > 0.75 > 0.65 > found[~second].max()


def test_agents_scores_stand_beside_votes(table):
    column = type(table.columns["consensus.sum"]).full(np.where(table.correct, 4.0, 2.0))
    weight = weights_of(fit(replace(table, columns={**table.columns, "agents.mean": column})))
    assert weight["agents.mean"] > 1
    assert not any(name.startswith(("order.", "strength.", "peers.", "format.")) for name in weight)


def test_grades_are_read_by_votes_too():
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
    found = in_sample(table, 1.0)
    assert found[table.correct].mean() > found[~table.correct].mean() + 0.3


@pytest.mark.parametrize(("right", "rate"), [(True, 11 / 12), (False, 1 / 12)])
def test_of_one_class_alone_the_base_rate_is_drawn_to_the_middle_and_a_prior_moved_that_way(table, right, rate):
    rows = np.flatnonzero(table.correct == right)[:10]
    bench = Workbench(table)
    for fitted in bench.fit([0.1, 1.0], rows):
        assert bench.predict(fitted, np.arange(3)) == pytest.approx([rate] * 3)
    alone = table_of(pairs(judges=("expert",), orders=("AB",)), signals=("strength",))
    drawn = Workbench(alone, Shrink(level=0.6, slope=0.5))
    rows = np.flatnonzero(alone.correct == right)[:10]
    (nothing,), (moved,) = drawn.fit([0.1], rows[:0]), drawn.fit([0.1], rows)
    assert drawn.predict(nothing, rows) == pytest.approx(1 / (1 + np.exp(-0.6)))
    assert (drawn.predict(moved, rows) > drawn.predict(nothing, rows)).all() == right


def test_weights_count_in_the_fit_and_sum_to_the_questions(table):
    heavy = replace(table, weights=np.where(np.array(table.judges) == "coin", 9.0, 1.0))
    assert Workbench(heavy).weights.sum() == pytest.approx(PAIRS)
    assert np.unique(Workbench(heavy).weights / Workbench(heavy).weights.min()) == pytest.approx([1, 9])


@pytest.mark.parametrize("penalty", [0.03, 0.3, 3.0])
def test_logistic_minimises_what_scikit_learn_does_and_an_offset_counts_as_known(penalty):
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=(120, 6)) * [1, 1, 1, 1, 8, 0], np.ones(120)])
    correct = rng.random(120) < 1 / (1 + np.exp(-x[:, 0]))
    weights, ridge = rng.uniform(0.2, 3, 120), np.array([*[1 / penalty] * 6, 1e-12])
    found = logistic(x, correct, weights, ridge, np.zeros(7), np.zeros(120))
    oracle = LogisticRegression(C=penalty, solver="newton-cholesky", tol=1e-12)
    oracle.fit(x[:, :6], correct, sample_weight=weights)
    assert found == pytest.approx([*oracle.coef_[0], oracle.intercept_[0]], abs=1e-7)
    part = logistic(x, correct, weights, np.zeros(7) + 1e-9, found, x[:, 0])
    whole = logistic(x, correct, weights, np.zeros(7) + 1e-9, found, np.zeros(120))
    assert part[0] + 1 == pytest.approx(whole[0], abs=1e-4)


def test_logistic_ends_where_the_scores_separate_completely():
    x = np.linspace(-1, 1, 40)[:, None] * 50
    found = logistic(x, x[:, 0] > 0, np.ones(40), np.array([1e-3]), np.zeros(1), np.zeros(40))
    assert np.isfinite(found).all()
    assert found[0] > 0
