"""What several people's decisions come to: a majority, never one voice of several, never a tie settled by order."""

import pytest

from metajudge.reviews.agreement import Ruling, settlement_of
from metajudge.reviews.review import HumanDecision
from metajudge.types import parse_verdict


def decisions(*said):
    """``approve``, ``reject``, ``cannot_tell``, ``scores``, or a verdict that corrects."""
    found = []
    for number, one in enumerate(said):
        data = {"outcome": one}
        if one == "scores":
            data = {"outcome": "modify", "scores": {"accuracy": 2.0}}
        elif one not in ("approve", "reject", "cannot_tell"):
            data = {"outcome": "modify", "verdict": one}
        found.append(HumanDecision(review_id="r", reviewer=f"p{number}", decided_at=float(number), **data))
    return found


def settled(verdict, *said, reviewers=1):
    given = settlement_of(decisions(*said), None if verdict is None else parse_verdict(verdict), reviewers)
    return None if given is None else (given.ruling, None if given.verdict is None else given.verdict.to_json())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["approve"], (Ruling.RIGHT, None)),
        (["reject"], (Ruling.WRONG, None)),
        (["cannot_tell"], (Ruling.CANNOT_TELL, None)),
        (["scores"], (Ruling.CANNOT_TELL, None)),
        (["B>A"], (Ruling.CORRECTED, "B>A")),
        (["A=B"], (Ruling.CORRECTED, "A=B")),
        (["A>B"], (Ruling.RIGHT, "A>B")),
        (["A>>B"], (Ruling.RIGHT, None)),
        (["approve", "reject"], (Ruling.DIVIDED, None)),
        (["reject", "approve"], (Ruling.DIVIDED, None)),
        (["approve", "cannot_tell"], (Ruling.RIGHT, None)),
        (["approve", "approve", "reject"], (Ruling.RIGHT, None)),
        (["approve", "approve", "A>B"], (Ruling.RIGHT, None)),
        (["B>A", "B>>A", "approve"], (Ruling.CORRECTED, "B>A")),
        (["B>>A", "B>A", "approve"], (Ruling.CORRECTED, "B>A")),
        (["B>A", "reject", "approve"], (Ruling.WRONG, None)),
        (["B>A", "A=B"], (Ruling.WRONG, None)),
    ],
)
def test_the_majority_decides_and_a_tie_of_voices_decides_nothing(said, expected):
    assert settled("A>>B", *said, reviewers=len(said)) == expected


def test_one_voice_of_two_that_were_asked_settles_nothing():
    assert settled("A>B", "reject", reviewers=2) is None
    assert settled("A>B", reviewers=1) is None


def test_a_persons_verdict_stands_where_the_judge_gave_none():
    assert settled(None, "A>B") == (Ruling.CORRECTED, "A>B")
    assert settled(None, "cannot_tell") == (Ruling.CANNOT_TELL, None)


def test_a_corrected_ranking_is_kept_whole():
    assert settled([["A"], ["B"], ["C"]], [["B"], ["A"], ["C"]]) == (Ruling.CORRECTED, [["B"], ["A"], ["C"]])
