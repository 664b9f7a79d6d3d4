"""People's decisions as labels: right or wrong."""

from datetime import UTC, datetime

import pytest

from metajudge.feedback.labels import review_labels
from metajudge.reviews.review import HumanDecision, Outcome, Review
from metajudge.store import open_store
from metajudge.types import parse_right

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


@pytest.fixture
async def store(tmp_path):
    opened = await open_store(tmp_path / "reviews.duckdb")
    yield opened
    await opened.close()


async def test_a_corrected_grade_is_a_label_and_the_rule_says_whether_the_judge_was_right(store) -> None:
    await store.reviews.open([graded("a"), graded("b")])
    await store.reviews.import_decisions(
        [
            said("a", "ann", Outcome.MODIFY, "5"),
            said("b", "ann", Outcome.APPROVE),
            said("b", "ben", Outcome.REJECT),
        ]
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
