"""Drafted changes: what they say, and what they are made of."""

import pytest

from metajudge.decision import case_rubric, load_policy
from metajudge.errors import InputError
from metajudge.feedback.drafts import (
    DraftKind,
    confirmed,
    corrections,
    criterion_of,
    halves,
    instruction_text,
    level_texts,
    mean_shift,
    reasons_of,
    with_confidence,
    with_instruction,
    with_levels,
    with_offset,
)
from tests.doubles.decided_cases import case, said

RISK = load_policy("risk_analysis")
COMPLETENESS = criterion_of(case_rubric(RISK), "completeness")


def corrected(number, machine=8, people=5, reason="no follow-on effect is treated."):
    return case(
        f"c{number}",
        right=False,
        criteria={"completeness": machine},
        corrected={"completeness": people},
        decisions=(said(f"c{number}", "modify", scores={"completeness": people}, reason=reason),),
    )


LENIENT = corrections([corrected(n) for n in range(6)], "completeness")
STRICT = corrections([corrected(n, machine=3, people=7, reason="costs are given") for n in range(6)], "completeness")


def test_the_offset_is_peoples_mean_shift_and_others_stay():
    other = RISK.model_validate({**RISK.model_dump(mode="json"), "adjustment": {"offsets": {"traceability": 0.5}}})
    new = with_offset(other, "completeness", LENIENT)
    assert new.adjustment.offsets == {"traceability": 0.5, "completeness": -3.0}


def test_too_few_corrections_are_an_error_and_no_draft():
    with pytest.raises(InputError, match="4 corrections to draft on are too few: at least 5"):
        mean_shift(LENIENT[:4])


def test_a_lenient_criterion_gets_peoples_reasons_at_every_level_above_their_score():
    texts = level_texts(COMPLETENESS, LENIENT)
    assert list(texts) == [7, 10]
    assert all(text.endswith("Not where people found: no follow-on effect is treated.") for text in texts.values())
    assert texts[7].startswith(COMPLETENESS.levels[7])


def test_a_strict_one_gets_them_at_the_level_nearest_to_their_score():
    assert level_texts(COMPLETENESS, STRICT) == {
        7: f"{COMPLETENESS.levels[7]} Also where people found: costs are given."
    }


def test_an_instruction_names_direction_size_and_reasons_once():
    text = instruction_text(COMPLETENESS, LENIENT)
    assert "completeness (Completeness) was scored too high, by 3 points on average" in text
    assert text.count("no follow-on effect") == 1
    assert "too low, by 4 points" in instruction_text(COMPLETENESS, STRICT)


def test_a_policy_carries_the_texts_and_its_rubric_has_them():
    worded = with_levels(RISK, "completeness", level_texts(COMPLETENESS, LENIENT))
    new = with_instruction(worded, "completeness", "Look twice.")
    assert criterion_of(case_rubric(new), "completeness").levels[10].endswith("is treated.")
    assert new.cases.instructions == {"completeness": "Look twice."}
    assert new.digest != RISK.digest


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


@pytest.mark.parametrize(
    ("score", "right", "truth", "held"),
    [
        *((9, True, None, True), (9, False, None, False), (6.9, False, None, True), (7, False, True, False)),
        *((9, None, True, True), (9, None, None, None), (None, True, None, None)),
    ],
)
def test_a_score_holds_where_people_fall_on_its_side_of_the_rejections_bound(score, right, truth, held):
    assert confirmed(RISK, case(right=right, score=score, truth=truth)) is held


def stated(n, confidence, right):
    return case(f"s{n}-{confidence}", score=9, confidence=confidence, right=right)


def test_overstated_confidence_is_lowered_and_keeps_its_order():
    cases = [stated(n, 0.95, n % 2 == 0) for n in range(40)] + [stated(n, 0.6, n % 4 == 0) for n in range(40)]
    curve = with_confidence(RISK, cases).adjustment.confidence
    assert curve.apply(0.95) == pytest.approx(0.5, abs=0.06)
    assert curve.apply(0.6) < curve.apply(0.95)


@pytest.mark.parametrize(
    "cases", [[stated(n, 0.9, n % 2 == 0) for n in range(39)], [stated(n, 0.9, True) for n in range(60)]]
)
def test_confidence_stays_as_stated_where_too_little_is_known(cases):
    with pytest.raises(InputError, match="it stays as stated"):
        with_confidence(RISK, cases)


def test_confidence_that_says_nothing_is_not_calibrated():
    cases = [stated(n, 0.95, n % 4 == 0) for n in range(60)] + [stated(n, 0.3, n % 4 != 0) for n in range(60)]
    with pytest.raises(InputError, match="more confident ones held no more often"):
        with_confidence(RISK, cases)


def test_only_texts_ask_models():
    assert [kind for kind in DraftKind if kind.asks_models] == [DraftKind.LEVELS, DraftKind.INSTRUCTION]
