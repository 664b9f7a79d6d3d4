"""Metrics against people's decisions: denominators, absence, weights."""

from datetime import UTC, datetime

import numpy as np
import pytest

from metajudge.decision.deciding import decide
from metajudge.decision.policy import Policy
from metajudge.feedback.cases import actions
from metajudge.feedback.labels import review_labels
from metajudge.feedback.metrics import metrics, metrics_by
from metajudge.reviews.review import HumanDecision, Outcome, Review
from metajudge.stats.intervals import wilson
from metajudge.types import parse_right
from metajudge.types.decision import Absent
from tests.doubles.decided_cases import POLICY, case

CASES = [
    *[case(f"a{i}", "APPROVE", right=i != 0) for i in range(20)],  # 1 of 20 wrongly approved
    *[case(f"r{i}", "REJECT", right=i < 2) for i in range(10)],  # 2 of 10 wrongly rejected
    *[case(f"v{i}", "REVIEW", right=i < 1) for i in range(4)],  # 3 of 4 reviews were needed
    *[case(f"p{i}", "REVIEW_PRIORITY", right=False) for i in range(2)],
]


def test_every_rate_has_its_own_denominator_and_no_data_is_not_perfect():
    found = metrics(CASES)
    assert (found["false_approve_rate"].value, found["false_approve_rate"].n) == (1 / 20, 20)
    assert (found["false_reject_rate"].value, found["false_reject_rate"].n) == (2 / 10, 10)
    assert (found["review_efficiency"].value, found["review_efficiency"].n) == (5 / 6, 6)
    assert (found["accuracy"].value, found["accuracy"].n) == ((19 + 8 + 5) / 36, 36)
    interval = wilson(1, 20)
    assert (found["false_approve_rate"].low, found["false_approve_rate"].high) == (interval.low, interval.high)
    assert (found["false_approve_rate"].met, found["false_reject_rate"].met) == (True, False)
    for one in metrics([]).values():
        assert (one.value, one.low, one.high, one.n, one.met) == (None, None, None, 0, None)
    assert metrics([case(action="APPROVE")])["false_reject_rate"].value is None
    found = metrics([*CASES, case("x", "APPROVE", right=None), case("y", "REVIEW", right=None)])
    assert found == metrics(CASES)
    cases = [case("a", "APPROVE", right=True, truth=False), case("b", "REJECT", right=True, truth=False)]
    assert metrics(cases)["ground_truth_reliability"].value == 0.5
    assert metrics(CASES)["ground_truth_reliability"].value is None


def test_an_audited_share_counts_with_the_inverse_of_its_probability():
    cases = [
        *[case(f"a{i}", "APPROVE", right=i > 0, inclusion=0.1) for i in range(10)],
        *[case(f"v{i}", "REVIEW", right=False) for i in range(100)],
    ]
    found = metrics(cases)["accuracy"]
    assert found.value == pytest.approx((9 * 10 + 100) / (10 * 10 + 100))
    assert "inverse" in found.method
    assert found.low < found.value < found.high


def test_repeated_questions_are_resampled_together_and_few_audits_give_no_certainty():
    apart = metrics([case(f"a{i}", right=i % 4 > 0) for i in range(80)])["false_approve_rate"]
    together = metrics([case(f"a{i}", right=i % 4 > 0, question=f"q{i % 4}") for i in range(80)])["false_approve_rate"]
    assert apart.value == together.value
    assert together.high - together.low > 2 * (apart.high - apart.low)
    found = metrics_by([case("a", judge="owl"), case("b", judge="wren", right=False), case("c")], lambda one: one.judge)
    assert {name: one["false_approve_rate"].value for name, one in found.items()} == {"owl": 0.0, "wren": 1.0}
    cases = [case(f"a{i}", "APPROVE", right=True, inclusion=0.5 if i % 2 else 0.1) for i in range(12)]
    found = metrics(cases)["false_approve_rate"]
    assert found.value == 0.0
    assert found.high > 0.2
    repeated = metrics([case(f"a{i}", "APPROVE", right=True, question=f"q{i % 3}") for i in range(60)])
    assert repeated["false_approve_rate"].high > 0.5, "three questions, however often they are asked"


# People's decisions as labels: right or wrong.
AT = datetime(2026, 11, 22, tzinfo=UTC)


def graded(name: str) -> Review:
    return Review(
        review_id=name,
        subject_id=f"j-{name}",
        subject_digest=f"d-{name}",
        item_id="i",
        action="REVIEW",
        opened_at=1.0,
        verdict=4.0,
        reviewers=2,
    )


def said(name: str, reviewer: str, outcome: Outcome, verdict=None, day: int = 0) -> HumanDecision:
    at = AT.timestamp() + 86_400 * day
    return HumanDecision(review_id=name, reviewer=reviewer, outcome=outcome, verdict=verdict, decided_at=at)


async def test_a_corrected_grade_is_a_label_and_the_rule_says_whether_the_judge_was_right(store) -> None:
    await store.reviews.open([graded("a"), graded("b")])
    await store.reviews.import_decisions(
        [said("a", "ann", Outcome.MODIFY, "5"), said("b", "ann", Outcome.APPROVE), said("b", "ben", Outcome.REJECT)]
    )
    found = await review_labels(store, now=9.0)
    assert found.right == {"d-a": False}
    near = await review_labels(store, now=9.0, rule=parse_right("within:1"))
    assert near.right == {"d-a": True}


@pytest.mark.parametrize(
    ("decisions", "right"),
    [
        ([("a1", "ann", "approve", 2), ("a2", "ann", "reject", 1)], {"d-a": True, "d-b": True}),
        ([("a1", "ann", "approve", 1), ("a2", "ann", "reject", 2)], {"d-a": False, "d-b": True}),
        ([("a1", "ann", "approve", 1), ("a2", "ben", "reject", 2)], {"d-b": True}),
        (
            [("a1", "ann", "approve", 1), ("a1", "ben", "approve", 1), ("a2", "adjudicator", "reject", 0)],
            {"d-a": False, "d-b": True},
        ),
    ],
)
async def test_who_reviews_a_judgment_twice_is_one_person_and_a_ruling_decides(store, decisions, right) -> None:
    of_one = [graded(name).model_copy(update={"subject_digest": "d-a"}) for name in ("a1", "a2")]
    await store.reviews.open([*of_one, graded("b")])
    await store.reviews.import_decisions(
        [said("b", "ann", Outcome.APPROVE), *(said(a, who, Outcome(what), day=day) for a, who, what, day in decisions)]
    )
    assert (await review_labels(store, now=9.0)).right == right


SURE = Policy.model_validate(
    {
        **POLICY.model_dump(mode="json"),
        "bands": [
            {"action": "APPROVE", "value": {"at_least": 0.7}, "confidence": {"at_least": 0.8}, "justification": "x"},
            {"action": "REVIEW", "value": {"at_least": 0.7}, "confidence": {"below": 0.8}, "justification": "x"},
            {"action": "REVIEW_PRIORITY", "value": {"at_least": 0.4, "below": 0.7}, "justification": "x"},
            {"action": "REJECT", "value": {"below": 0.4}, "justification": "x"},
        ],
    }
)


@pytest.mark.parametrize("policy", [POLICY, SURE])
def test_a_replay_decides_as_the_policy_does(policy):
    rng = np.random.default_rng(0)
    values = [None, 0.4, 0.7, 0.7 - 1e-10, 0.7 - 1e-8, *rng.random(40).tolist()]
    sure = [None, 0.8, 0.8 - 1e-10, 0.2, 1.0]
    cases = [
        case(f"c{i}", probability=p, confidence=c) for i, (p, c) in enumerate((p, c) for p in values for c in sure)
    ]
    expected = [
        decide(
            policy,
            Absent("none") if one.probability is None else one.probability,
            Absent("none") if one.confidence is None else one.confidence,
        ).action.value
        for one in cases
    ]
    assert actions(policy, cases) == expected
