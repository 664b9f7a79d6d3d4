import json

from metajudge.benchmarks.agent_clash.figures import PUBLISHED, Explanation, agrees, compare
from metajudge.benchmarks.agent_clash.study import to_json

from tests.doubles.clash_study import row


def test_no_statistic_is_made_up_where_rows_are_missing(figures):
    found = figures([row(1)])
    assert {"t6.run1.matches", "e2e.stable", "run3.still_wrong", "t9.z", "self.first"} <= set(found)
    for name in (
        "t6.run1.wilson",
        "e2e.stable",
        "run3.still_wrong_p",
        "t9.z",
        "self.first",
        "exp1.kappa_side",
        "t3.ids",
    ):
        assert found[name].value in (None, []), name
    assert all(one.why for one in found.values() if one.value is None)
    assert {name for name in PUBLISHED if not name.startswith(("ablation", "split.by"))} <= set(found)
    parsed = json.loads(to_json(found))
    assert parsed["elo.direction"]["value"] is None
    assert "not published" in parsed["elo.direction"]["why"]


def test_an_explanation_counts_only_where_it_gives_the_papers_figure():
    good = compare("exp1.sign_p_exact", 0.2266, 11, "d", None, Explanation(how="another test", value=0.1317))
    assert good.why == "The paper's figure is another test."
    bad = compare("exp1.sign_p_exact", 0.2266, 11, "d", None, Explanation(how="another test", value=0.5))
    assert "here that gives 0.5" in str(bad.why)
    assert compare("exp1.sign_p_exact", 0.1317, 11, "d").why is None
    assert "No computation" in str(compare("exp1.sign_p_exact", 0.3, 11, "d").why)


def test_agreement_is_to_the_last_printed_digit():
    assert agrees(0.7604, PUBLISHED["exp1.kappa_side"])
    assert not agrees(0.7639, PUBLISHED["exp1.kappa_side"])  # printed 0.760
    assert agrees({"difference": -24.96, "n": 44, "more": 1}, PUBLISHED["self.by_model.gpt-4"])
    assert not agrees({"n": 44}, PUBLISHED["self.by_model.gpt-4"])
    assert not agrees(None, PUBLISHED["t9.z"])
