"""Changes of policy: replayed as decided, fitted in the right direction, refused when they are luck."""

from dataclasses import replace

import pytest

from metajudge.errors import InputError
from metajudge.feedback.backtest import backtest
from metajudge.feedback.candidates import ChangeKind, moved_threshold
from metajudge.feedback.cases import Direction, replayed
from metajudge.feedback.metrics import metrics
from metajudge.stats.intervals import wilson
from tests.doubles.decided_cases import POLICY, SCORES, case, crowd, said


class TestBacktest:
    def test_a_real_improvement_is_found(self):
        found = backtest(ChangeKind.THRESHOLD, Direction.TOO_LENIENT, POLICY, crowd(3000, 6, bias=0.15))
        assert found.better, found.reason
        assert found.false_approve.high < 0

    @pytest.mark.slow
    def test_and_holds_on_cases_nobody_fitted_on(self):
        new = moved_threshold(POLICY, crowd(1000, 6, bias=0.15), Direction.TOO_LENIENT)
        fresh = crowd(4000, 7, bias=0.15)
        before, after = metrics(fresh), metrics(replayed(new, fresh))
        assert after["false_approve_rate"].high < before["false_approve_rate"].low

    def test_deciding_less_is_no_better(self):
        """A recalibration that approves nothing any more has no false approvals, and is refused for it."""
        found = backtest(ChangeKind.RECALIBRATION, Direction.TOO_STRICT, POLICY, crowd(1000, 0, noise=None))
        assert not found.better
        assert "deciding less is no better" in found.reason or "beyond noise" in found.reason

    def test_the_same_seed_gives_the_same_answer(self):
        cases = crowd(300, 8)
        assert backtest(ChangeKind.THRESHOLD, Direction.TOO_LENIENT, POLICY, cases, seed=3) == backtest(
            ChangeKind.THRESHOLD, Direction.TOO_LENIENT, POLICY, cases, seed=3
        )

    def test_too_few_questions_are_an_error(self):
        with pytest.raises(InputError, match="too few to show that a policy is better"):
            backtest(ChangeKind.THRESHOLD, Direction.TOO_LENIENT, POLICY, crowd(20, 0))

    def test_cases_of_one_question_stay_on_one_side(self, monkeypatch):
        """A question's copies would make luck look sure: the fit would know the answers it is tested on."""
        cases = [replace(one, question=f"q{i % 60}") for i, one in enumerate(crowd(600, 9))]
        seen = []

        def remembering(_policy, train, _direction):
            seen.append({one.question for one in train})

        monkeypatch.setattr("metajudge.feedback.backtest.FITS", {ChangeKind.THRESHOLD: remembering})
        backtest(ChangeKind.THRESHOLD, Direction.TOO_LENIENT, POLICY, cases)
        held_out = [{f"q{i}" for i in range(60)} - train for train in seen]
        assert sorted(name for part in held_out for name in part) == sorted(f"q{i}" for i in range(60))

    @pytest.mark.slow
    @pytest.mark.timeout(1200)
    def test_pure_noise_is_refused(self):
        """60 times 1,000 decisions that know nothing: the 95 % limit of wrong proposals is at most 8 %."""
        kinds, ways = (ChangeKind.THRESHOLD, ChangeKind.RECALIBRATION), (Direction.TOO_LENIENT, Direction.TOO_STRICT)
        wrong = sum(
            any(backtest(kind, way, POLICY, cases, seed=seed, tried=4).better for kind in kinds for way in ways)
            for seed, cases in ((seed, crowd(1000, seed, noise=None)) for seed in range(60))
        )
        assert wilson(wrong, 60).high <= 0.08


def test_offsets_are_better_where_scores_come_nearer_though_no_action_was_wrong():
    def one(number, people):
        fixed = {"criteria": {"accuracy": 3.5 + number % 2}, "criterion_weights": {"accuracy": 1.0}, "score": 3.5}
        said_so = said(f"c{number}", "modify", scores={"accuracy": people})
        return case(f"c{number}", "REVIEW", right=False, corrected={"accuracy": people}, decisions=(said_so,), **fixed)

    cases = [one(number, 2.0 + number % 2) for number in range(40)]
    found = backtest(ChangeKind.OFFSETS, Direction.TOO_LENIENT, SCORES, cases)
    assert found.better, found.reason
    assert found.score_error.value == pytest.approx(-1.5)
    assert found.score_error.active_n == 40
    luck = [one(number, 3.5 + number % 2 + (-1) ** (number // 2)) for number in range(40)]
    assert not backtest(ChangeKind.OFFSETS, Direction.TOO_LENIENT, SCORES, luck).better
