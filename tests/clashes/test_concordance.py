"""Panel against people: who counts, in which interval, and what may be promised."""

import pytest

from metajudge.clashes.concordance import Call, concordance, words
from metajudge.stats.intervals import clopper_pearson_lower, wilson


def calls(agreed, n, panel="unanimous", *, source="blind", start=0):
    return [Call(f"q{start + k}", k < agreed, panel, source) for k in range(n)]


def test_shares_and_wilson_intervals_apart_for_unanimous_and_divided():
    found = concordance([*calls(17, 20), *calls(6, 10, "divided", start=100)])
    for one, agreed, n in ((found.overall, 23, 30), (found.unanimous, 17, 20), (found.divided, 6, 10)):
        expected = wilson(agreed, n)
        assert (one.successes, one.n) == (agreed, n)
        assert (one.low, one.high) == pytest.approx((expected.low, expected.high))
    assert "85.0% [64.0% to 94.8%], 17 of 20 evaluations" in words(found.unanimous)


def test_evaluations_of_one_prompt_are_not_independent():
    once = concordance(calls(8, 10)).overall
    thrice = concordance(calls(8, 10) * 3).overall
    assert (thrice.n, thrice.clusters) == (30, 10)
    assert thrice.high - thrice.low >= once.high - once.low - 1e-9


def test_calls_after_the_verdict_was_seen_and_no_calls_do_not_count_and_are_said():
    found = concordance(
        [*calls(1, 2), *calls(5, 5, source="seen"), Call("z", None, "divided", "blind", "people could not tell")]
    )
    assert (found.overall.n, found.seen.n) == (2, 5)
    assert found.left_out == {"people could not tell": 1}
    assert found.divided is None


class TestPromise:
    def test_the_lower_bound_of_unanimous_verdicts_by_prompt(self):
        found = concordance([*calls(19, 20), Call("q0", False, "unanimous", "label")])
        assert f"at least {clopper_pearson_lower(18, 20).low:.0%}" in found.promise  # q0 fails in one of its two

    def test_nothing_is_promised_of_what_nobody_decided_or_too_little(self):
        assert "promises nothing here" in concordance(calls(3, 3, "divided")).promise
        assert "at least 10 are needed" in concordance(calls(9, 9)).promise
