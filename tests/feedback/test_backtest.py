"""Changes of policy: replayed as decided, fitted in the right direction, refused when they are luck."""

from dataclasses import replace

import numpy as np
import pytest

from metajudge.decision.deciding import decide
from metajudge.decision.policy import Policy
from metajudge.errors import InputError
from metajudge.feedback.backtest import backtest
from metajudge.feedback.candidates import ChangeKind, moved_threshold, recalibrated, with_offsets, with_weights
from metajudge.feedback.cases import Direction
from metajudge.feedback.metrics import metrics
from metajudge.feedback.patterns import find_patterns
from metajudge.feedback.replay import actions, replayed
from metajudge.stats.intervals import wilson
from metajudge.types.decision import Absent
from tests.doubles.decided_cases import POLICY, SCORES, case, crowd

LENIENT, STRICT = Direction.TOO_LENIENT, Direction.TOO_STRICT
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


class TestFits:
    def test_approval_gets_stricter_where_people_reject_what_was_approved(self):
        new = moved_threshold(POLICY, crowd(600, 1, bias=0.15), LENIENT)
        assert new.bands[0].value.at_least > 0.7
        assert new.bands[1].value.below == new.bands[0].value.at_least
        assert new.bands[2] == POLICY.bands[2]

    def test_rejection_gets_milder_where_people_approve_what_was_rejected(self):
        new = moved_threshold(POLICY, crowd(2000, 2), STRICT)
        assert new.bands[2].value.below < 0.4
        assert new.bands[0] == POLICY.bands[0]

    def test_a_bound_never_parts_equal_values(self):
        cases = replayed(POLICY, [case(f"c{i}", right=i % 3 > 0, probability=0.8) for i in range(90)])
        assert moved_threshold(POLICY, cases, LENIENT) is None

    def test_too_few_cases_move_nothing(self):
        assert moved_threshold(POLICY, crowd(30, 0), LENIENT) is None

    def test_recalibration_finds_the_distortion(self):
        rng = np.random.default_rng(3)
        truth = rng.uniform(0.05, 0.95, 6000)
        odds = np.log(truth / (1 - truth))
        stated = 1 / (1 + np.exp(-(odds - 0.5) / 0.6))  # logit truth = .5 + .6 logit stated
        cases = [
            case(f"c{i}", right=bool(rng.random() < t), probability=float(s))
            for i, (t, s) in enumerate(zip(truth, stated, strict=True))
        ]
        fitted = recalibrated(POLICY, cases, LENIENT).adjustment.recalibration
        assert (fitted.intercept, fitted.slope) == pytest.approx((0.5, 0.6), abs=0.08)

    def test_offsets_are_the_mean_correction(self):
        cases = [
            case(f"c{i}", score=4.2, criteria={"accuracy": 4.0, "tone": 5.0}, corrected={"accuracy": 3.0 - i % 2})
            for i in range(6)
        ]
        new = with_offsets(SCORES, cases, LENIENT)
        assert new.adjustment.offsets == {"accuracy": -1.5}
        assert with_offsets(SCORES, cases[:4], LENIENT) is None

    def test_offsets_move_the_weighted_score_and_stay_on_the_scale(self):
        cases = [case(f"c{i}", criteria={"a": 4.0}, corrected={"a": 3.0}) for i in range(5)]
        new = with_offsets(SCORES, cases, LENIENT)
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
        weights = with_weights(SCORES, cases, LENIENT).adjustment.weights
        assert weights["a"] > 5 * weights["b"] > 0


class TestBacktest:
    def test_a_real_improvement_is_found(self):
        found = backtest(ChangeKind.THRESHOLD, LENIENT, POLICY, crowd(3000, 6, bias=0.15))
        assert found.better, found.reason
        assert found.false_approve.high < 0

    def test_and_holds_on_cases_nobody_fitted_on(self):
        new = moved_threshold(POLICY, crowd(1000, 6, bias=0.15), LENIENT)
        fresh = crowd(4000, 7, bias=0.15)
        before, after = metrics(fresh), metrics(replayed(new, fresh))
        assert after["false_approve_rate"].high < before["false_approve_rate"].low

    def test_deciding_less_is_no_better(self):
        """A recalibration that approves nothing any more has no false approvals, and is refused for it."""
        found = backtest(ChangeKind.RECALIBRATION, STRICT, POLICY, crowd(1000, 0, noise=None))
        assert not found.better
        assert "deciding less is no better" in found.reason or "beyond noise" in found.reason

    def test_the_same_seed_gives_the_same_answer(self):
        cases = crowd(300, 8)
        assert backtest(ChangeKind.THRESHOLD, LENIENT, POLICY, cases, seed=3) == backtest(
            ChangeKind.THRESHOLD, LENIENT, POLICY, cases, seed=3
        )

    def test_too_few_questions_are_an_error(self):
        with pytest.raises(InputError, match="too few to tell a better policy from luck"):
            backtest(ChangeKind.THRESHOLD, LENIENT, POLICY, crowd(20, 0))

    def test_cases_of_one_question_stay_on_one_side(self, monkeypatch):
        """A question's copies would make luck look sure: the fit would know the answers it is tested on."""
        cases = [replace(one, question=f"q{i % 60}") for i, one in enumerate(crowd(600, 9))]
        seen = []

        def remembering(_policy, train, _direction):
            seen.append({one.question for one in train})

        monkeypatch.setattr("metajudge.feedback.backtest.FITS", {ChangeKind.THRESHOLD: remembering})
        backtest(ChangeKind.THRESHOLD, LENIENT, POLICY, cases)
        held_out = [{f"q{i}" for i in range(60)} - train for train in seen]
        assert sorted(name for part in held_out for name in part) == sorted(f"q{i}" for i in range(60))

    @pytest.mark.slow
    @pytest.mark.timeout(1200)
    def test_pure_noise_is_refused(self):
        """200 times 1,000 decisions that know nothing: the 95 % limit of wrong proposals is at most 8 %."""
        kinds, ways = (ChangeKind.THRESHOLD, ChangeKind.RECALIBRATION), (LENIENT, STRICT)
        wrong = sum(
            any(backtest(kind, way, POLICY, cases, seed=seed, tried=4).better for kind in kinds for way in ways)
            for seed, cases in ((seed, crowd(1000, seed, noise=None)) for seed in range(200))
        )
        assert wilson(wrong, 200).high <= 0.08


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

    def test_a_criterion_that_is_scored_too_high(self):
        (found,) = find_patterns(POLICY, self.cases(-1.0))
        assert (found.direction, found.where, found.significant) == (LENIENT, "accuracy", True)
        assert found.shift == pytest.approx(-1.0, abs=0.02)
        assert found.describe().startswith("accuracy is scored too lenient by 1 (20 corrections")

    def test_too_few_corrections_are_no_pattern(self):
        assert find_patterns(POLICY, self.cases(-1.0, n=4)) == []

    def test_categories_apart(self):
        cases = [*self.cases(-1.0), *self.cases(1.0, category="Code")]
        found = {(one.category, one.direction) for one in find_patterns(POLICY, cases) if one.category}
        assert found == {("Math", LENIENT), ("Code", STRICT)}

    def test_an_action_that_is_wrong_more_often_than_the_target(self):
        cases = [case(f"a{i}", "APPROVE", right=i % 4 > 0) for i in range(40)]
        (found,) = find_patterns(POLICY, cases)
        assert (found.kind, found.where, found.direction, found.shift) == ("action", "APPROVE", LENIENT, 0.25)
        assert find_patterns(POLICY, [case(f"a{i}", "APPROVE") for i in range(40)]) == []
