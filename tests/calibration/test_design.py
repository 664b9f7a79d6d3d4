"""From signals to a matrix: filled in, indicators of absence, products, standardised; learned from training rows alone."""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from metajudge.calibration.advice import _Labelled, _lean, advise
from metajudge.calibration.design import Base, Design, Factor, Feature, design_of, varying_factors
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from metajudge.evidence.consensus import Column
from tests.doubles.crowds import crowd


@pytest.fixture(scope="module")
def table():
    made = build_table(crowd(20), ["order", "strength"])
    there = np.arange(len(made)) % 4 > 0
    columns = {
        "order.signed": Column(np.where(there, 1.0, 0.0), there),
        "format.words": Column(np.arange(len(made), dtype=np.float64), np.ones(len(made), dtype=bool)),
        "agents.mean": Column(np.where(there, 4.0 + np.arange(len(made)) % 3, 0.0), there),
        "peers.of:x": Column(np.where(there, 0.5, 0.0), there),
        "strength.strong": Column(np.ones(len(made)), np.ones(len(made), dtype=bool)),
    }
    return replace(made, columns=columns)


def signal(name):
    return Factor(kind="signal", name=name)


def base(values, absent=None):
    values = np.array(values, dtype=np.float64)
    return Base(values, np.zeros(values.shape, dtype=bool) if absent is None else np.array(absent))


def numbers(design, what):
    return [getattr(one, what) for one in (design.factors if what in ("fill", "centre") else design.features)]


def test_factors_are_read_off_the_table_and_rows_chosen_with_their_absence(table):
    factors = [
        signal("agents.mean"),
        Factor(kind="absent", name="agents.mean"),
        Factor(kind="category", name="hard"),
        Factor(kind="judge", name=table.judges[0]),
        signal("not there"),
        Factor(kind="absent", name="not there"),
    ]
    categories = ["hard" if row % 2 else "easy" for row in range(len(table))]
    found = Design(factors=tuple(factors), features=()).base(table, categories)
    column = table.columns["agents.mean"]
    assert found.values[:, 0].tolist() == column.values.tolist()
    assert found.absent[:, 0].tolist() == (~column.present).tolist()
    assert found.values[:, 1].tolist() == (~column.present).astype(float).tolist()
    assert found.values[:, 2].tolist() == [row % 2 for row in range(len(table))]
    assert found.values[:, 3].tolist() == [float(judge == table.judges[0]) for judge in table.judges]
    assert found.absent[:, 4].all()
    assert (found.values[:, 5] == 1).all()
    assert not found.absent[:, 5].any()
    part = found.rows(np.array([3, 0]))
    assert (part.values[0].tolist(), part.absent[1].tolist()) == (found.values[3].tolist(), found.absent[0].tolist())


def test_columns_are_standardised_by_the_training_rows_and_absent_ones_filled():
    rows = base([[1, 4], [0, 0], [1, 2]], [[False, False], [True, True], [False, False]])
    design = design_of([signal("order.signed"), signal("agents.mean")], [0, 1], {}).learned(rows)
    assert numbers(design, "fill") == [0, 3]
    assert numbers(design, "centre") == pytest.approx([2 / 3, 3])
    train = base([[1, 2], [3, 6]])
    design = design_of([signal("x"), signal("y")], [0], {(0, 1): 0.5}).learned(train)
    assert design.matrix(train)[:, 0].tolist() == [-1, 1]
    raw = np.array([1 * (2 - 4.0), 3 * (6 - 4.0)])
    assert design.matrix(train)[:, 1] == pytest.approx(0.5 * (raw - raw.mean()) / raw.std())
    assert design.matrix(base([[5, 4]]))[0].tolist() == pytest.approx([3, 0.5 * (0 - raw.mean()) / raw.std()])


def test_products_with_the_consensus_keep_their_sign_and_a_constant_column_is_not_blown_up():
    """Of a vote for and one against, 1 or 3 times another factor less its mean of 2: (1 * -1, -1 * 1)."""
    design = design_of([signal("x"), signal("consensus.sum")], [1], {(1, 0): 1.0}).learned(
        base([[1, 1], [3, -1], [2, 3]])
    )
    assert numbers(design, "mean") == [1, 0]  # the sum itself is centred, its product is not
    assert numbers(design, "scale") == pytest.approx([np.sqrt(8 / 3), np.sqrt(2 / 3)])
    design = design_of([signal("x")], [0], {}).learned(base([[2.0], [2.0 + 1e-12]]))
    assert numbers(design, "scale") == [1.0]
    assert abs(design.matrix(base([[3.0]]))[0, 0] - 1) < 1e-6


@pytest.mark.parametrize("feature", [Feature(factor=1), Feature(factor=0, times=1), Feature(factor=-1)])
def test_a_feature_beyond_the_factors_is_refused(feature):
    with pytest.raises(ValidationError, match="points beyond the 1 factors"):
        Design(factors=(signal("x"),), features=(feature,))
    Design(factors=(signal("x"),), features=(Feature(factor=0, times=0),))


def test_a_design_drops_factors_that_nothing_uses_and_reads_the_same_from_a_file(table):
    design = design_of([signal("a"), signal("b"), signal("c"), signal("d")], [2], {(2, 3): 0.5, (0, 3): 0.25})
    assert design.names() == ["c", "c * d", "a * d"]
    assert [factor.name for factor in design.factors] == ["a", "c", "d"]
    assert numbers(design, "prior") == [1, 0.5, 0.25]
    assert Design.model_validate_json(design.model_dump_json()) == design


def test_factors_that_vary_are_kept_and_one_indicator_for_each_pattern_of_absence(table):
    categories = ["hard" if row % 2 else "easy" for row in range(len(table))]
    signals = ["agents.mean", "format.words", "order.signed", "peers.of:x", "absent:agents.mean"]
    labels = ["category:easy", "category:hard", *(f"judge:{name}" for name in sorted(set(table.judges)))]
    found = [factor.title for factor in varying_factors(table, categories)]
    assert found == [*signals, *labels, "side:1", "side:2"]
    assert "category:easy" not in [factor.title for factor in varying_factors(table, ["one"] * len(table))]


# What further labels can do: chances by simulation of the procedure, and never a bare number.
def drawn(n, right, seed=0, size=1):
    rng = np.random.default_rng(seed)
    scores = np.repeat(rng.random(n), size)
    return scores, rng.random(n * size) < right(scores), [f"q{at // size}" for at in range(n * size)]


def enough(number):
    """A procedure that passes from so many questions on."""
    return lambda scores, correct, questions: len(set(questions)) >= number


def precise(target, least=20):
    """Passes where the better half, of at least so many, is right often enough."""

    def passes(scores, correct, questions):
        kept = scores >= 0.5
        return kept.sum() >= least and correct[kept].mean() - 1 / np.sqrt(kept.sum()) >= target

    return passes


def advised(rows, passes, **options):
    return advise(*rows, passes=passes, level=0.0125, **{"draws": 60, **options})


def test_the_procedure_itself_is_simulated_on_old_and_new_labels_together():
    found = advised(drawn(100, lambda s: 0.9), enough(150))
    assert [one.further for one in found.chances] == [25, 50, 100, 200, 400]
    assert [one.probability for one in found.chances] == [0, 1, 1, 1, 1]
    assert 25 < found.recommended <= 50


def test_more_labels_help_where_the_scores_separate_and_settle_the_chance():
    good = advised(drawn(120, lambda s: np.where(s > 0.5, 0.98, 0.5)), precise(0.8))
    assert good.chances[-1].probability > 0.8
    hopeless = advised(drawn(120, lambda s: np.full(len(s), 0.7)), precise(0.85))
    assert hopeless.recommended is None
    assert hopeless.chances[-1].probability < 0.2
    assert "not reachable" in "\n".join(hopeless.lines())
    shape = lambda s: 0.5 + 0.4 * s  # noqa: E731
    few = [advised(drawn(15, shape, seed), precise(0.8), sizes=(40,)).chances[0].probability for seed in range(6)]
    many = [advised(drawn(900, shape, seed), precise(0.8), sizes=(1,)).chances[0].probability for seed in range(6)]
    open_few, open_many = (np.mean([one * (1 - one) for one in found]) for found in (few, many))
    assert open_few > 2 * open_many


def test_judgments_of_one_question_that_lean_together_tell_less_by_their_mean_product():
    rng = np.random.default_rng(3)
    right = np.repeat(rng.random(60) < 0.85, 5)
    scores = np.full(300, 0.6)
    together = [f"q{at // 5}" for at in range(300)]
    alike = advise(scores, right, together, passes=precise(0.84), level=0.1, draws=100, sizes=(10,))
    apart = advise(
        scores, right, [f"q{at}" for at in range(300)], passes=precise(0.84), level=0.1, draws=100, sizes=(10,)
    )
    assert 0.5 < alike.chances[0].probability < apart.chances[0].probability - 0.05
    residuals = np.array([1.0, 0.5, 1.0, -0.25, 2.0, 9.0, 9.0])  # the last two score below the median
    data = _Labelled.of([0.9, 0.8, 0.9, 0.8, 0.9, 0.1, 0.1], np.ones(7), list("aabbcdd"))
    assert _lean(residuals, data) == pytest.approx((1 * 0.5 + 1 * -0.25) / 2)


def test_order_and_seed_of_the_same_labels_give_the_same_advice_and_nothing_labelled_is_no_basis():
    scores, right, questions = drawn(80, lambda s: 0.6 + 0.4 * s)
    first = advised((scores, right, questions), precise(0.8))
    order = np.random.default_rng(1).permutation(80)
    assert advised((scores[order], right[order], [questions[at] for at in order]), precise(0.8)) == first
    with pytest.raises(InputError, match="no labelled judgment"):
        advise([], [], [], passes=enough(1), level=0.1)
