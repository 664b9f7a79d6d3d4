"""Agreement with people before and after a draft, paired by record."""

from dataclasses import replace

import pytest

from metajudge.decision import load_policy
from metajudge.errors import InputError
from metajudge.feedback.comparison import compare
from metajudge.feedback.drafts import Draft, DraftKind
from metajudge.feedback.patterns import PatternRecord
from tests.doubles.decided_cases import case, said
from tests.feedback.test_drafts import corrected

RISK = load_policy("risk_analysis")
PATTERN = PatternRecord(
    direction="too_lenient", kind="criterion", where="completeness", category=None,
    shift=-3, n=20, p_value=0.001, significant=True, text="completeness is scored too lenient by 3",
)  # fmt: skip


def draft():
    return Draft(
        draft_id="d", name="risk_analysis", base_digest=RISK.digest, kind=DraftKind.INSTRUCTION, change="c", policy=RISK,
        pattern=PATTERN, drafted_on=(), held_out=(), created_at=1.0,
    )  # fmt: skip


def pairs(scores, cases=None):
    before = cases or [corrected(n) for n in range(len(scores))]
    return [(one, replace(one, criteria={"completeness": score})) for one, score in zip(before, scores, strict=True)]


def test_scores_that_come_nearer_to_peoples_are_better_with_interval_and_n():
    found = compare(draft(), RISK, pairs([5, 6] * 10))
    assert found.better
    assert (found.score_error.before, found.score_error.after, found.score_error.n) == (3.0, 0.5, 20)
    assert found.score_error.difference == -2.5
    assert found.score_error.low <= -2.5 <= found.score_error.high < 0


def test_moving_what_people_let_stand_counts_against_a_draft():
    stood = [case(f"k{n}", criteria={"completeness": 8}, decisions=(said(f"k{n}", "approve"),)) for n in range(20)]
    found = compare(draft(), RISK, pairs([5] * 40, [*(corrected(n) for n in range(20)), *stood]))
    assert not found.better
    assert "not better beyond noise" in found.reason


def test_a_rejection_says_nothing_about_a_criterion():
    rejected = [case(f"r{n}", right=False, criteria={"completeness": 8}) for n in range(20)]
    found = compare(draft(), RISK, pairs([5] * 20, rejected))
    assert (found.score_error, found.better) == (None, False)
    assert "too few held-out records" in found.reason


def test_worse_agreement_stops_a_draft_that_improves_scores():
    cases = [replace(corrected(n), action="REVIEW") for n in range(30)]
    worse = [(a, replace(b, action="APPROVE")) for a, b in pairs([5] * 30, cases)]
    found = compare(draft(), RISK, worse)
    assert not found.better
    assert "agreement with people gets worse beyond noise (-100.0 points)" in found.reason


def test_few_questions_are_an_error_and_no_verdict():
    with pytest.raises(InputError, match="9 held-out records about 9 questions are too few"):
        compare(draft(), RISK, pairs([5] * 9))
