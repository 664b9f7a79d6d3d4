"""Drafted changes: what they say, and what they are made of."""

import pytest

from metajudge.decision import load_policy
from metajudge.errors import InputError
from metajudge.feedback.drafts import (
    corrections,
    halves,
    mean_shift,
    reasons_of,
)
from tests.doubles.decided_cases import case, said

RISK = load_policy("risk_analysis")


def corrected(number, machine=8, people=5, reason="no follow-on effect is treated."):
    return case(
        f"c{number}",
        right=False,
        criteria={"completeness": machine},
        corrected={"completeness": people},
        decisions=(said(f"c{number}", "modify", scores={"completeness": people}, reason=reason),),
    )


LENIENT = corrections([corrected(n) for n in range(6)], "completeness")


def test_too_few_corrections_are_an_error_and_no_draft():
    with pytest.raises(InputError, match="4 corrections to draft on are too few: at least 5"):
        mean_shift(LENIENT[:4])


def test_halves_are_by_question_and_drawn_from_the_seed_alone():
    cases = [corrected(n) for n in range(40)]
    first, second = halves(cases, 1)
    assert {one.question for one in first}.isdisjoint(one.question for one in second)
    assert len(first) + len(second) == 40
    assert min(len(first), len(second)) > 8
    assert halves(cases[::-1], 1)[0] == first[::-1]


def test_reasons_are_at_most_five_each_once():
    cases = [corrected(n, reason=f"reason {n % 7}") for n in range(20)]
    assert reasons_of(corrections(cases, "completeness")) == tuple(f"reason {n}" for n in range(5))
