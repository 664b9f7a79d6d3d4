"""People's decisions as labels: right or wrong, and the answers they gave."""

from datetime import UTC, datetime

import pytest

from metajudge.feedback.labels import review_labels
from metajudge.reviews import HumanDecision, Outcome, Review
from metajudge.store import open_store
from metajudge.types import Label, parse_right

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


def said(name: str, reviewer: str, outcome: Outcome, verdict=None) -> HumanDecision:
    at = AT.timestamp()
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
    assert found.labels == {
        "d-a": (Label(value=5.0, annotator="ann", time=AT),),
        "d-b": (Label(value=4.0, annotator="ann", time=AT),),
    }
    near = await review_labels(store, now=9.0, rule=parse_right("within:1"))
    assert near.right == {"d-a": True}
