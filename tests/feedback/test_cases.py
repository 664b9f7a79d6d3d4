from dataclasses import replace

import numpy as np
import pytest

from metajudge.decision import load_policy
from metajudge.errors import InputError
from metajudge.feedback.backtest import moved_threshold, recalibrated, with_offsets, with_weights
from metajudge.feedback.cases import Direction, recorded_case, replayed, same_categories, with_labels
from metajudge.feedback.changes import Draft, DraftKind, compare, corrections, halves, mean_shift, reasons_of
from metajudge.feedback.metrics import Pattern, advise, find_patterns, metrics
from tests.doubles.decided_cases import POLICY, SCORES, case, crowd, said


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


def test_a_labelled_record_counts_for_ground_truth_and_nothing_else_and_once_if_decided_too():
    found = recorded_case(RECORD, "risk_analysis")
    assert (found.truth, found.right, found.agreed, found.quotes) == (False, None, None, 0.75)
    assert recorded_case(RECORD, "another") is None
    assert recorded_case({**RECORD, "label": None}, "risk_analysis") is None
    counted = metrics([found])
    assert (counted["ground_truth_reliability"].value, counted["ground_truth_reliability"].n) == (0.0, 1)
    assert {name for name, one in counted.items() if one.n} == {"ground_truth_reliability"}
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


# Agreement with people before and after a draft, paired by record.
RISK = load_policy("risk_analysis")
PATTERN = Pattern(
    direction="too_lenient", kind="criterion", where="completeness", category=None,
    shift=-3, n=20, p_value=0.001, significant=True, text="completeness is scored too lenient by 3",
)  # fmt: skip


def draft():
    return Draft(
        draft_id="d", name="risk_analysis", base_digest=RISK.digest, kind=DraftKind.INSTRUCTION, change="c", policy=RISK,
        pattern=PATTERN, drafted_on=(), held_out=(), created_at=1.0,
    )  # fmt: skip


def pairs(scores, cases=None):
    before = cases or [corrected_case(n) for n in range(len(scores))]
    return [(one, replace(one, criteria={"completeness": score})) for one, score in zip(before, scores, strict=True)]


def test_scores_nearer_to_peoples_are_better_and_moving_what_they_let_stand_counts_against_a_draft():
    found = compare(draft(), RISK, pairs([5, 6] * 10))
    assert found.better
    assert (found.score_error.before, found.score_error.after, found.score_error.n) == (3.0, 0.5, 20)
    assert found.score_error.value == -2.5
    assert found.score_error.low <= -2.5 <= found.score_error.high < 0
    stood = [case(f"k{n}", criteria={"completeness": 8}, decisions=(said(f"k{n}", "approve"),)) for n in range(20)]
    found = compare(draft(), RISK, pairs([5] * 40, [*(corrected_case(n) for n in range(20)), *stood]))
    assert not found.better
    assert "not better beyond noise" in found.reason
    rejected = [case(f"r{n}", right=False, criteria={"completeness": 8}) for n in range(20)]
    found = compare(draft(), RISK, pairs([5] * 20, rejected))
    assert (found.score_error, found.better) == (None, False)
    assert "too few held-out records" in found.reason


def test_worse_agreement_stops_a_draft_that_improves_scores_and_few_questions_are_an_error():
    cases = [replace(corrected_case(n), action="REVIEW") for n in range(30)]
    worse = [(a, replace(b, action="APPROVE")) for a, b in pairs([5] * 30, cases)]
    found = compare(draft(), RISK, worse)
    assert not found.better
    assert "agreement with people gets worse beyond noise (-100.0 points)" in found.reason
    with pytest.raises(InputError, match="9 held-out records about 9 questions are too few"):
        compare(draft(), RISK, pairs([5] * 9))


class TestFits:
    def test_bounds_of_approval_and_rejection_move_as_people_decide_never_between_equals_or_by_few(self):
        new = moved_threshold(POLICY, crowd(600, 1, bias=0.15), Direction.TOO_LENIENT)
        assert new.bands[0].value.at_least > 0.7
        assert new.bands[1].value.below == new.bands[0].value.at_least
        assert new.bands[2] == POLICY.bands[2]
        new = moved_threshold(POLICY, crowd(2000, 2), Direction.TOO_STRICT)
        assert new.bands[2].value.below < 0.4
        assert new.bands[0] == POLICY.bands[0]
        cases = replayed(POLICY, [case(f"c{i}", right=i % 3 > 0, probability=0.8) for i in range(90)])
        assert moved_threshold(POLICY, cases, Direction.TOO_LENIENT) is None
        assert moved_threshold(POLICY, crowd(30, 0), Direction.TOO_LENIENT) is None

    def test_recalibration_finds_the_distortion(self):
        rng = np.random.default_rng(3)
        truth = rng.uniform(0.05, 0.95, 6000)
        odds = np.log(truth / (1 - truth))
        stated = 1 / (1 + np.exp(-(odds - 0.5) / 0.6))  # logit truth = .5 + .6 logit stated
        cases = [
            case(f"c{i}", right=bool(rng.random() < t), probability=float(s))
            for i, (t, s) in enumerate(zip(truth, stated, strict=True))
        ]
        fitted = recalibrated(POLICY, cases, Direction.TOO_LENIENT).adjustment.recalibration
        assert (fitted.intercept, fitted.slope) == pytest.approx((0.5, 0.6), abs=0.08)

    def test_offsets_are_the_mean_correction_move_the_weighted_score_and_stay_on_the_scale(self):
        cases = [
            case(f"c{i}", score=4.2, criteria={"accuracy": 4.0, "tone": 5.0}, corrected={"accuracy": 3.0 - i % 2})
            for i in range(6)
        ]
        new = with_offsets(SCORES, cases, Direction.TOO_LENIENT)
        assert new.adjustment.offsets == {"accuracy": -1.5}
        assert with_offsets(SCORES, cases[:4], Direction.TOO_LENIENT) is None
        cases = [case(f"c{i}", criteria={"a": 4.0}, corrected={"a": 3.0}) for i in range(5)]
        new = with_offsets(SCORES, cases, Direction.TOO_LENIENT)
        one = case(score=4.0, criteria={"a": 4.0, "b": 4.0}, criterion_weights={"a": 3.0, "b": 1.0})
        assert new.adjustment.apply(4.0, SCORES.scale, one.criteria, one.criterion_weights) == pytest.approx(3.25)
        low = {"a": 1.0, "b": 1.0}
        assert new.adjustment.apply(1.0, SCORES.scale, low, one.criterion_weights) == 1.0

    def test_weights_go_to_the_criterion_people_follow(self):
        rng = np.random.default_rng(4)
        cases = []
        for number in range(400):
            a, b = rng.integers(1, 6, 2).tolist()
            cases.append(
                case(
                    f"c{number}",
                    right=bool(rng.random() < (0.9 if a >= 3 else 0.1)),
                    score=(a + b) / 2,
                    criteria={"a": float(a), "b": float(b)},
                    criterion_weights={"a": 1.0, "b": 1.0},
                )
            )
        weights = with_weights(SCORES, cases, Direction.TOO_LENIENT).adjustment.weights
        assert weights["a"] > 5 * weights["b"] > 0


class TestPatterns:
    def cases(self, shift, n=20, category="Math"):
        return [
            case(
                f"{category}{i}",
                category=category,
                criteria={"accuracy": 4.0},
                corrected={"accuracy": 4.0 + shift + (i % 3 - 1) / 10},
            )
            for i in range(n)
        ]

    def test_a_pattern_is_of_a_criterion_scored_too_high_often_enough_and_by_category(self):
        (found,) = find_patterns(self.cases(-1.0))
        assert (found.direction, found.where, found.significant) == (Direction.TOO_LENIENT, "accuracy", True)
        assert found.shift == pytest.approx(-1.0, abs=0.02)
        assert found.describe().startswith("accuracy is scored too lenient by 1 (20 corrections")
        assert found.text == found.describe()
        assert find_patterns(self.cases(-1.0, n=4)) == []
        cases = [*self.cases(-1.0), *self.cases(1.0, category="Code")]
        found = {(one.category, one.direction) for one in find_patterns(cases) if one.category}
        assert found == {("Math", Direction.TOO_LENIENT), ("Code", Direction.TOO_STRICT)}

    def test_an_action_that_is_wrong_more_often_than_the_target(self):
        cases = [case(f"a{i}", "APPROVE", right=i % 4 > 0) for i in range(40)]
        (found,) = find_patterns(cases)
        assert (found.kind, found.where, found.direction, found.shift) == (
            "action",
            "APPROVE",
            Direction.TOO_LENIENT,
            0.25,
        )
        assert find_patterns([case(f"a{i}", "APPROVE") for i in range(40)]) == []


def corrected(count, shifts, category=None):
    """[count] cases scored 4 throughout, corrected by the shifts of some criteria."""
    return [
        case(
            f"{category}{i}",
            category=category,
            criteria=dict.fromkeys(shifts, 4.0),
            corrected={name: 4.0 + shift for name, shift in shifts.items()},
        )
        for i in range(count)
    ]


class TestAdvice:
    def test_advice_is_on_a_wording_or_the_prompt_or_one_category_and_never_on_noise(self):
        (one,) = advise(find_patterns(corrected(20, {"clarity": -1.5})))
        assert (one.kind, one.where, one.direction) == ("rubric", "clarity", Direction.TOO_LENIENT)
        (all_,) = advise(find_patterns(corrected(20, dict.fromkeys(("accuracy", "clarity", "depth", "tone"), 1.0))))
        assert (all_.kind, all_.where, all_.direction) == ("prompt", None, Direction.TOO_STRICT)
        assert advise(find_patterns(corrected(5, {"clarity": -1.0}))) == []
        both = [*corrected(10, {"clarity": -1.0}), *corrected(9, {"clarity": 1.0}, category="x")]
        assert advise(find_patterns(both)) == []
        cases = [*corrected(20, {"clarity": -1.0}, category="law"), *corrected(20, {"accuracy": 0.0}, category="sums")]
        assert {one.category for one in advise(find_patterns(cases))} == {None, "law"}


# Drafted changes: what they say, and what they are made of.


def corrected_case(number, machine=8, people=5, reason="no follow-on effect is treated."):
    return case(
        f"c{number}",
        right=False,
        criteria={"completeness": machine},
        corrected={"completeness": people},
        decisions=(said(f"c{number}", "modify", scores={"completeness": people}, reason=reason),),
    )


LENIENT = corrections([corrected_case(n) for n in range(6)], "completeness")


def test_drafts_need_corrections_halves_are_by_question_and_reasons_at_most_five():
    with pytest.raises(InputError, match="4 corrections to draft on are too few: at least 5"):
        mean_shift(LENIENT[:4])
    cases = [corrected_case(n) for n in range(40)]
    first, second = halves(cases, 1)
    assert {one.question for one in first}.isdisjoint(one.question for one in second)
    assert len(first) + len(second) == 40
    assert min(len(first), len(second)) > 8
    assert halves(cases[::-1], 1)[0] == first[::-1]
    cases = [corrected_case(n, reason=f"reason {n % 7}") for n in range(20)]
    assert reasons_of(corrections(cases, "completeness")) == tuple(f"reason {n}" for n in range(5))
