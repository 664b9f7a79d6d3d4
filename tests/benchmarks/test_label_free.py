"""P(right) without labels against the heuristic: the arithmetic of the table."""

import importlib

import pytest

from metajudge.types import Item, Judgment

label_free = importlib.import_module("metajudge.benchmarks.label_free")


def crowd():
    """Judge z is wrong on every third item, the others never."""
    for item in range(45):
        truth = item % 2 == 0
        content = Item(id=f"i{item}", question=f"q{item}", responses={"A": "a"}, label=truth)
        for judge in "wxyz":
            said = truth != (judge == "z" and item % 3 == 0)
            yield Judgment(id=f"{item}{judge}", item=content, judge=judge, verdict=said)


def test_every_method_is_compared_on_the_same_verdicts():
    rows = label_free.compare("made", list(crowd()))
    assert [row.method for row in rows] == ["latent", "heuristic", "dawid-skene", "peers"]
    assert {(row.n, row.questions) for row in rows} == {(180, 45)}
    for row in rows:
        assert row.raw == pytest.approx(100 * 165 / 180)
        assert row.auc > 0.99
        assert row.best["60"].value == row.best["40"].value == 100.0
        assert row.log_loss < row.constant + 0.5


def test_the_share_of_peers_and_independent_judges_by_hand():
    methods = label_free.methods_of(given := list(crowd()))
    wrong = next(one for one in given if one.id == "0z")
    assert methods["peers"](wrong) == pytest.approx(0.5 / 4)
    assert methods["dawid-skene"](wrong) < 0.01
    assert methods["heuristic"](wrong) == pytest.approx(1 / (1 + 2.718281828 ** (3 * 3 / 4)), abs=1e-6)


def test_the_table_has_a_row_a_method_with_intervals():
    table = label_free.markdown(label_free.compare("made", list(crowd()))).splitlines()
    assert len(table) == 6
    assert table[2].startswith("| made | 180 | 91.7 | latent | ")
    assert "100.0 (88.3 to 100.0)" in table[2]


def test_without_labels_there_is_nothing_to_compare():
    bare = [one.model_copy(update={"item": one.item.model_copy(update={"label": None})}) for one in crowd()]
    assert label_free.compare("made", bare) == []
