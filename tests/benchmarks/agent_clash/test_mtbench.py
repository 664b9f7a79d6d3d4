from tests.doubles.clash_study import lost, row


def test_an_evaluation_without_a_verdict_is_in_n_but_in_no_kappa(figures):
    found = figures([row(1), row(2, "bbb"), row(3), lost(4)])
    assert found["exp1.n"].value == 4
    assert found["exp1.n_valid"].value == 3
    assert found["exp1.matches"].value == 2
    assert found["exp1.concordance"].value == 50
    assert "1 of them without a verdict" in found["exp1.concordance"].definition
    assert "3 rows with a verdict it is 66.7" in found["exp1.concordance"].why
    assert found["exp1.kappa_side"].n == 3
    assert found["exp1.kappa_ci"].n == 3
    assert found["audit.fewer_than_panel"].value == 1


def test_a_human_tie_is_neither_match_nor_mismatch(figures):
    found = figures([row(1), row(2, human=None), row(3, "bbb")])
    assert found["exp1.n_valid"].value == 2
    assert found["t3.ids"].value == [3]
    assert found["exp1.kappa_side"].n == 2
