import numpy as np
import pytest

from metajudge.feedback.candidates import moved_threshold, recalibrated, with_offsets, with_weights
from metajudge.feedback.cases import Direction, replayed
from tests.doubles.decided_cases import POLICY, SCORES, case, crowd


class TestFits:
    def test_approval_gets_stricter_where_people_reject_what_was_approved(self):
        new = moved_threshold(POLICY, crowd(600, 1, bias=0.15), Direction.TOO_LENIENT)
        assert new.bands[0].value.at_least > 0.7
        assert new.bands[1].value.below == new.bands[0].value.at_least
        assert new.bands[2] == POLICY.bands[2]

    def test_rejection_gets_milder_where_people_approve_what_was_rejected(self):
        new = moved_threshold(POLICY, crowd(2000, 2), Direction.TOO_STRICT)
        assert new.bands[2].value.below < 0.4
        assert new.bands[0] == POLICY.bands[0]

    def test_a_bound_never_parts_equal_values(self):
        cases = replayed(POLICY, [case(f"c{i}", right=i % 3 > 0, probability=0.8) for i in range(90)])
        assert moved_threshold(POLICY, cases, Direction.TOO_LENIENT) is None

    def test_too_few_cases_move_nothing(self):
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

    def test_offsets_are_the_mean_correction(self):
        cases = [
            case(f"c{i}", score=4.2, criteria={"accuracy": 4.0, "tone": 5.0}, corrected={"accuracy": 3.0 - i % 2})
            for i in range(6)
        ]
        new = with_offsets(SCORES, cases, Direction.TOO_LENIENT)
        assert new.adjustment.offsets == {"accuracy": -1.5}
        assert with_offsets(SCORES, cases[:4], Direction.TOO_LENIENT) is None

    def test_offsets_move_the_weighted_score_and_stay_on_the_scale(self):
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
