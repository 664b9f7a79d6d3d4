from itertools import pairwise

import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.voting import dawid_skene


def labelled(seed=0, items=400, accuracies=(0.9, 0.8, 0.7, 0.6), classes=3):
    source = np.random.default_rng(seed)
    truth = source.integers(0, classes, items)
    wrong = (truth[:, None] + source.integers(1, classes, (items, len(accuracies)))) % classes
    given = np.where(source.random(wrong.shape) < accuracies, truth[:, None], wrong)
    rows = [(f"i{i}", f"v{v}", int(given[i, v])) for i in range(items) for v in range(len(accuracies))]
    return truth, tuple(zip(*rows, strict=True))


@pytest.mark.parametrize("model", ["full", "one_coin"])
def test_dawid_skene_recovers_accuracies_without_labels(model):
    truth, data = labelled()
    found = dawid_skene(*data, model=model)
    assert found.converged
    assert [v.accuracy for v in found.voters.values()] == pytest.approx([0.9, 0.8, 0.7, 0.6], abs=0.07)
    decisions = found.decisions()
    right = np.mean([decisions[f"i{i}"] == (int(t),) for i, t in enumerate(truth)])
    assert right > 0.9
    assert found.posterior.sum(axis=1) == pytest.approx(1.0)
    assert found.voters["v0"].labels == 400
    for voter in found.voters.values():
        assert np.sum(voter.confusion, axis=1) == pytest.approx(1.0)


def test_em_never_lowers_the_likelihood():
    _, data = labelled(seed=3, items=80)
    reached = [dawid_skene(*data, iterations=steps, tolerance=0).log_likelihood for steps in range(1, 12)]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(reached))


def test_log_likelihood_is_that_of_the_labels():
    _, data = labelled(seed=1, items=20, accuracies=(0.9, 0.7), classes=2)
    found = dawid_skene(*data, model="one_coin", iterations=3)
    order = found.classes
    total = 0.0
    for item in found.items:
        given = {v: label for i, v, label in zip(*data, strict=True) if i == item}
        total += np.log(
            sum(
                found.prior[c]
                * np.prod([found.voters[v].confusion[c][order.index(label)] for v, label in given.items()])
                for c in range(2)
            )
        )
    assert found.log_likelihood == pytest.approx(total)


def test_restarts_are_seeded_and_keep_the_best_start():
    _, data = labelled(seed=5, items=60, accuracies=(0.7, 0.6, 0.55))
    one, other = (dawid_skene(*data, restarts=6, rng=np.random.default_rng(1)) for _ in range(2))
    assert one.starts == other.starts
    assert len(one.starts) == 7
    assert one.log_likelihood == max(one.starts)


def test_one_undecided_item_keeps_both_classes():
    found = dawid_skene(["q", "q"], ["v", "w"], ["A", "B"], model="one_coin")
    assert set(found.decisions()["q"]) == {"A", "B"}


def test_items_of_one_pattern_share_a_row_and_nothing_changes():
    _, data = labelled(items=100, accuracies=(0.9, 0.8, 0.6), classes=2)
    wide = tuple(f"v{i}" for i in range(70))
    found = dawid_skene(*data, iterations=20, tolerance=0)
    # 70 voters need more than a 64-bit key, so no rows are shared; 67 of them label one further item alike.
    extra = (("x",) * 70, wide, (0,) * 70)
    joined = dawid_skene(*(a + b for a, b in zip(data, extra, strict=True)), iterations=20, tolerance=0)
    assert joined.posterior[:100] == pytest.approx(found.posterior, abs=0.05)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], [], []), {}, "there are no labels"),
        ((["q"], ["v"], []), {}, "1 items, 1 voters and 0 labels"),
        ((["q"], ["v"], ["A"]), {}, "every label is 'A'"),
        ((["q", "q"], ["v", "v"], ["A", "B"]), {}, "'v' labels item 'q' twice"),
        ((["q", "r"], ["v", "v"], ["A", None]), {}, "missing"),
        ((["q", "r"], ["v", "v"], ["A", float("nan")]), {}, "missing"),
        ((["q"], ["v"], ["C"]), {"classes": ["A", "B"]}, "'C' is not among the classes"),
        ((["q", "r"], ["v", "v"], ["A", "B"]), {"restarts": 1}, "restarts need rng"),
        ((["q", "r"], ["v", "v"], ["A", "B"]), {"model": "two_coin"}, "model must be"),
        ((["q", "r"], ["v", "v"], ["A", "B"]), {"smoothing": -1}, "0 or more"),
    ],
)
def test_bad_labels_are_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        dawid_skene(*arguments, **options)
