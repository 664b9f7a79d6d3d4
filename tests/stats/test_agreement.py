import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metajudge.errors import InputError
from metajudge.stats.agreement import brennan_prediger, cohen_kappa, fleiss_kappa, krippendorff_alpha, landis_koch

# Fleiss, Psychological Bulletin 76 (1971), as commonly reprinted: ten subjects, fourteen raters, five categories.
SUBJECTS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C: four observers, twelve units.
UNITS: list[list[int | None]] = [
    [1, 1, None, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [None, 5, 5, 5],
    [None, None, 1, 1],
    [None, 3, None, None],
]


def spread(table: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    cells = [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    return [i for i, _ in cells], [j for _, j in cells]


# Kappa and the limits of the normal interval from statsmodels 0.15 (cohens_kappa on the same tables).
@pytest.mark.parametrize(
    ("table", "kappa", "low", "high"),
    [
        ([[20, 5], [10, 15]], 0.4, 0.151092290476661, 0.6489077095233389),
        ([[88, 14, 18], [10, 40, 10], [2, 6, 12]], 0.49152542372881347, 0.3915637020535469, 0.59148714540408),
    ],
)
def test_cohen_golden(table: list[list[int]], kappa: float, low: float, high: float) -> None:
    found = cohen_kappa(*spread(table))
    assert found.estimate == pytest.approx(kappa, rel=1e-10)
    assert found.bounded.interval == pytest.approx((low, high), abs=0.04)
    many = cohen_kappa(*spread([[100 * count for count in row] for row in table]))
    # A hundred times the items: the score interval and the normal one agree but for how the margins enter.
    half = (high - low) / 20
    assert many.bounded.interval == pytest.approx((kappa - half, kappa + half), rel=0.005)
    assert "observed margins" in found.method


def test_fleiss_and_krippendorff_golden_and_by_hand() -> None:
    ratings = [[label for label, count in enumerate(row) for _ in range(count)] for row in SUBJECTS]
    found = fleiss_kappa(ratings)
    assert found.estimate == pytest.approx(0.20993070442195522, rel=1e-10)  # printed as .210
    assert (found.observed, found.expected) == pytest.approx((0.378, 0.213), abs=5e-4)
    assert found.bounded.low < 0.21 < found.bounded.high
    nominal, ordinal = krippendorff_alpha(UNITS), krippendorff_alpha(UNITS, "ordinal")
    interval = krippendorff_alpha(UNITS, "interval")
    assert interval.estimate == pytest.approx(0.849, abs=5e-4)  # printed; irrCAC 0.4.4, quadratic weights: 0.84911
    assert interval.estimate == pytest.approx(0.84911, abs=5e-6)
    assert nominal.estimate == pytest.approx(0.743, abs=5e-4)
    assert ordinal.estimate == pytest.approx(0.815, abs=5e-4)
    assert nominal.n == ordinal.n == 11
    for found in (nominal, ordinal):
        assert 0 <= found.expected <= found.observed <= 1
    # Krippendorff (2011), section A: ten units, two observers, binary; alpha = .095
    first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    found = krippendorff_alpha(list(zip(first, second, strict=True)))
    assert found.estimate == pytest.approx(0.095, abs=5e-4)


RATINGS = st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=3, max_size=30)


@given(RATINGS)
def test_relabelling_and_reordering_change_nothing(ratings: list[list[int]]) -> None:
    names = {0: "delta", 1: "alpha", 2: "charlie", 3: "bravo"}
    renamed = [[names[value] for value in reversed(unit)] for unit in reversed(ratings)]
    for measure in (fleiss_kappa, krippendorff_alpha):
        one: Any = measure(ratings)
        other: Any = measure(renamed)
        if one.estimate is None:
            assert other.estimate is None
        else:
            assert other.estimate == pytest.approx(one.estimate)
    ordered: Any = krippendorff_alpha(ratings, "ordinal")
    turned: Any = krippendorff_alpha([[3 - value for value in unit] for unit in ratings], "ordinal")
    if ordered.estimate is not None:
        assert turned.estimate == pytest.approx(ordered.estimate)


@given(st.lists(st.integers(0, 3), min_size=3, max_size=30))
def test_perfect_agreement_is_one_unless_there_is_one_label_only(labels: list[int]) -> None:
    pairs = [[label, label] for label in labels]
    found = [cohen_kappa(labels, labels), fleiss_kappa(pairs), krippendorff_alpha(pairs)]
    for agreement in found:
        if len(set(labels)) == 1:
            assert agreement.estimate is None
            assert "same label" in agreement.reason or "one and the same" in agreement.reason
        else:
            assert agreement.estimate == pytest.approx(1)


def test_jackknife_interval_covers_about_as_often_as_it_says() -> None:
    source = np.random.default_rng(9)
    covered = 0
    for _ in range(200):
        truth = source.integers(0, 2, size=60)
        noise = source.random((60, 3)) < 0.1
        ratings = (truth[:, None] ^ noise).tolist()
        found = krippendorff_alpha(ratings)
        low, high = found.bounded.interval
        covered += low <= 1 - 2 * 0.1 * 0.9 / 0.5 <= high  # observed disagreement 2 e (1 - e), expected 1/2
    assert 0.89 <= covered / 200 <= 0.99


def test_too_few_items_have_no_interval_but_a_reason_and_ordinal_words_have_their_order() -> None:
    found = krippendorff_alpha([[1, 1], [2, 1]])
    assert found.estimate is not None
    assert found.bounded is None
    assert "too few" in found.reason
    found = krippendorff_alpha(WORDS, "ordinal", ["low", "mid", "high"])
    numbers = krippendorff_alpha([[1, 2], [3, 3], [1, 1]], "ordinal")
    assert found.estimate == pytest.approx(numbers.estimate)


WORDS = [["low", "mid"], ["high", "high"], ["low", "low"]]
SAME = ["A", "A", "B", "A"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cohen_kappa([], []), "no items"),
        (lambda: cohen_kappa(["a"], ["a", "b"]), "first has 1 labels, second 2"),
        (lambda: cohen_kappa(["a", None], ["a", "b"]), "first has no label at position 1"),
        (lambda: cohen_kappa(["a", "b"], ["a", math.nan]), "second has no label at position 1"),
        (lambda: fleiss_kappa([]), "no items"),
        (lambda: fleiss_kappa([["a", "b"], ["a"]]), "item 1 has 1 ratings, the first 2"),
        (lambda: fleiss_kappa([["a"]]), "two at least"),
        (lambda: krippendorff_alpha([]), "no unit has two ratings"),
        (lambda: krippendorff_alpha([[1, None]]), "no unit has two ratings"),
        (lambda: krippendorff_alpha([[1, math.nan]]), "no label at position 1"),
        (lambda: krippendorff_alpha([[1, 2]], "ratio"), "level must be"),  # type: ignore[arg-type]
        (lambda: krippendorff_alpha(WORDS, "ordinal"), "give it as categories"),
        (lambda: krippendorff_alpha(WORDS, "ordinal", ["low", "mid"]), "missing: high"),
        (lambda: krippendorff_alpha([["low", "high"]], "interval"), "needs numbers"),
        (lambda: brennan_prediger(SAME, SAME, ["A", "C"]), r"missing: .*B"),
        (lambda: brennan_prediger(["A"], ["A"], ["A"]), "two at least"),
        (lambda: landis_koch(1.2), "up to 1"),
        (lambda: landis_koch(math.nan), "up to 1"),
    ],
)
def test_bad_input_is_refused_with_specifics(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_landis_koch_words() -> None:
    values = (-0.1, 0, 0.2, 0.21, 0.4, 0.6, 0.61, 0.8, 0.1 + 0.7, 0.81, 1)
    words = "poor, slight, slight, fair, fair, moderate, substantial, substantial, substantial"
    assert [landis_koch(value) for value in values] == [*words.split(", "), "almost perfect", "almost perfect"]


# irrCAC 0.4.4, CAC(...).bp() on the same labels: 0.8 and 0.73
@pytest.mark.parametrize(("table", "kappa"), [([[80, 8], [2, 10]], 0.8), ([[44, 4, 2], [5, 21, 4], [1, 2, 17]], 0.73)])
def test_brennan_prediger_golden(table: list[list[int]], kappa: float) -> None:
    found = brennan_prediger(*spread(table), range(len(table)))
    assert found.estimate == pytest.approx(kappa)
    assert found.bounded.low < kappa < found.bounded.high
    assert "uniform" in found.method


def test_chance_of_a_uniform_draw_counts_unused_categories() -> None:
    two, three = (brennan_prediger(SAME, ["A", "A", "B", "B"], names) for names in (["A", "B"], ["A", "B", "tie"]))
    assert (two.estimate, three.estimate) == pytest.approx((0.5, 0.625))


@pytest.mark.parametrize("n", [2, 4, 12, 60])
def test_perfect_agreement_of_few_items_is_no_certainty(n: int) -> None:
    labels = ["a", "b"] * (n // 2)
    for found in (
        cohen_kappa(labels, labels),
        *(
            [fleiss_kappa([[one] * 3 for one in labels]), krippendorff_alpha([[one] * 3 for one in labels])]
            if n > 2
            else []
        ),
    ):
        assert found.estimate == found.bounded.high == 1
        assert found.bounded.low < 1
    few, many = cohen_kappa(["a", "b"] * 5, ["a", "b"] * 5), cohen_kappa(["a", "b"] * 50, ["a", "b"] * 50)
    assert few.bounded.low < many.bounded.low < 1


def test_kappa_of_few_items_is_covered_as_often_as_promised() -> None:
    rng = np.random.default_rng(4)
    margins, kappa = np.array([0.7, 0.3]), 0.8
    cells = (kappa * np.diag(margins) + (1 - kappa) * np.outer(margins, margins)).ravel()
    covered = drawn = 0
    for counts in rng.multinomial(20, cells, size=400):
        found = cohen_kappa(*spread(counts.reshape(2, 2).tolist()))
        if found.bounded is not None:
            drawn, covered = drawn + 1, covered + (found.bounded.low <= kappa <= found.bounded.high)
    assert 0.92 <= covered / drawn <= 0.99
