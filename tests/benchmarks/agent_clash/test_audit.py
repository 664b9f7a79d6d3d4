import pytest

from tests.doubles.clash_study import PANEL, row


@pytest.mark.parametrize("ranking", [["A1", "A0", "A0"], ["A0"], [], ["A0", "A7"], ["A7", "A0"]])
def test_a_ranking_that_is_no_permutation_is_found_and_an_unknown_label_chooses_nobody(figures, ranking):
    bad = row(1)
    bad["judges"][0]["ranking"] = ranking
    found = figures([bad, row(2)])
    assert found["audit.invalid_rankings"].value == 1
    chose = bool(ranking) and ranking[0] in ("A0", "A1")
    assert found[f"ablation.mtbench.{PANEL[0]}"].n == 1 + chose
