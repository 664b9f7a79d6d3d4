import pytest

from metajudge.decision import load_policy
from metajudge.feedback.cases import Direction, recorded_case, same_categories, with_labels
from metajudge.feedback.metrics import metrics
from tests.doubles.decided_cases import case, said


@pytest.mark.parametrize(
    ("action", "right", "direction"),
    [
        ("APPROVE", False, Direction.TOO_LENIENT),
        ("REJECT", True, Direction.TOO_STRICT),
        ("REVIEW", True, Direction.NEEDLESS_REVIEW),
        ("APPROVE", True, None),
        ("REJECT", False, None),
        ("REVIEW", False, None),
        ("APPROVE", None, None),
    ],
)
def test_disagreements_go_both_ways(action, right, direction):
    assert case(action=action, right=right).disagreement is direction


def test_a_modified_case_needed_its_review():
    one = case("v", "REVIEW", right=None, decisions=(said("v", "modify", scores={"accuracy": 2.0}),))
    assert one.review_was_needed is True


RECORD = {
    "case_id": "k", "case_digest": "d", "label": False, "judge_models": {"a": "m"}, "weights_used": "climate",
    "policy_digest": "p", "overall_quality_score": 9.0, "overall_confidence": 0.9,
    "quotes": {"given": 4, "found": 3}, "decision": {"action": "APPROVE", "policy": "risk_analysis"},
    "stages": {"s": {"criteria": {"clarity": {"score": 8.0, "confidence": 0.9}}}},
}  # fmt: skip


def test_a_labelled_record_counts_for_ground_truth_and_nothing_else():
    found = recorded_case(RECORD, "risk_analysis")
    assert (found.truth, found.right, found.agreed, found.quotes) == (False, None, None, 0.75)
    assert recorded_case(RECORD, "another") is None
    assert recorded_case({**RECORD, "label": None}, "risk_analysis") is None
    counted = metrics([found])
    assert (counted["ground_truth_reliability"].value, counted["ground_truth_reliability"].n) == (0.0, 1)
    assert {name for name, one in counted.items() if one.n} == {"ground_truth_reliability"}


def test_a_case_that_is_decided_and_labelled_counts_once():
    both = with_labels([case(question="d", truth=True)], [recorded_case(RECORD, "risk_analysis")])
    assert [one.truth for one in both] == [None, False]
    assert metrics(both)["ground_truth_reliability"].n == 1


def test_spellings_of_a_category_are_one_by_the_profile_or_by_themselves():
    plan = load_policy("risk_analysis").cases
    given = [case(category=name) for name in ("Climatique", "climate", "Réglementaire", "Finance", "finance", None)]
    assert [one.category for one in same_categories(given, plan)] == [
        "climate", "climate", "regulatory", "Finance", "Finance", None,
    ]  # fmt: skip
    assert {one.category for one in same_categories(given[:2], None)} == {"Climatique", "climate"}


def test_what_people_let_stand_is_their_score_and_a_rejection_says_nothing():
    criteria = {"criteria": {"clarity": 8.0, "depth": 7.0}}
    changed = case(
        right=False, corrected={"clarity": 5.0}, decisions=(said("c", "modify", scores={"clarity": 5}),), **criteria
    )
    assert (changed.people_score("clarity"), changed.people_score("depth"), changed.people_score("x")) == (
        5.0,
        7.0,
        None,
    )
    assert case(right=False, **criteria).people_score("clarity") is None
