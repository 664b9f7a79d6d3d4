"""Drift of signals with a controlled false discovery rate, and new identities."""

from bisect import bisect_left, bisect_right
from functools import partial

import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.monitor.change import ChangeTest, bets_on_errors, expected_delay, hold, precision_sequence
from metajudge.monitor.drift import Decision, Identities, Streams, _placed, e_bh
from metajudge.monitor.sampling import Purpose, pick, precision_estimate
from metajudge.stats.corrected_rates import prediction_powered_mean


def seen_of(judge, category, question, at, values=None, identity=None):
    return Decision("j", "content", judge, category, question, at, values or {}, identity or {})


def stream(judge, values, *, signal="strength", category="math"):
    return [
        seen_of(judge, category, f"q{place}", float(place), {signal: float(one)}) for place, one in enumerate(values)
    ]


def find_drift(seen, level=0.05):
    streams = Streams()
    for one in seen:
        streams.add(one)
    return streams.drifts(level)


def test_a_shifted_signal_is_found_with_its_numbers_and_the_others_are_not():
    rng = np.random.default_rng(0)
    moved = np.concatenate((rng.normal(0, 1, 200), rng.normal(1.5, 1, 100)))
    seen = stream("moved", moved)
    for judge in ("a", "b", "c"):
        seen += stream(judge, rng.normal(0, 1, 300))
    (found,) = find_drift(seen).found
    assert (found.judge, found.signal, found.category, found.n) == ("moved", "strength", "math", 300)
    assert found.before < 0.3 < 1.2 < found.after
    assert 85 <= found.after_n <= 115
    assert found.e_value > 4 / 0.05


def test_two_valued_signals_drift_too_by_question_and_e_bh_by_hand():
    rng = np.random.default_rng(1)
    steady = stream("steady", (rng.random(400) < 0.8).astype(float))
    constant = stream("constant", np.ones(400))
    fallen = stream("fallen", np.concatenate((rng.random(200) < 0.9, rng.random(200) < 0.4)).astype(float))
    assert [one.judge for one in find_drift(steady + constant + fallen).found] == ["fallen"]
    seen = [seen_of("a", None, "same question", float(at), {"strength": at / 100}) for at in range(200)]
    found = find_drift(seen)
    assert (found.tested, found.too_short, found.found) == (0, 1, ())
    names = [("s", judge, None) for judge in "abcd"]
    assert e_bh(dict(zip(names, (100, 39, 26, 1), strict=True)), 0.05) == [names[0]]
    assert e_bh(dict(zip(names, (100, 40, 26, 1), strict=True)), 0.05) == names[:2]
    assert e_bh(dict(zip(names, (79, 39, 26, 1), strict=True)), 0.05) == []
    assert e_bh({}, 0.05) == []


def new_identities(seen, known):
    found = Identities()
    for one in seen:
        found.add(one)
    return found.new(known)


def test_what_the_fit_did_not_know_is_named_and_a_field_that_differs_by_question_is_no_identity():
    identity = [{"instruction": "old"}] * 6 + [{"instruction": "new"}] * 3 + [{"instruction": "old"}]
    seen = [seen_of("a", "math", f"q{at}", float(at), {}, one) for at, one in enumerate(identity)]
    seen.append(seen_of("b", "law", "q99", 99.0))
    found = {(one.field, one.value): one for one in new_identities(seen, {"judge": ["a"], "category": ["math"]})}
    assert set(found) == {("instruction", "new"), ("judge", "b"), ("category", "law")}
    changed = found["instruction", "new"]
    assert (changed.n, changed.total, changed.since, changed.known, changed.judge) == (3, 4, 6.0, ("old",), "a")
    seen = [seen_of("a", None, f"q{at}", float(at), {}, {"instruction": f"about {at}"}) for at in range(20)]
    assert new_identities(seen, {}) == ()


@pytest.mark.parametrize("levels", [1, 2, 3, 7, 64, 1_000])
def test_places_among_earlier_values_are_those_of_a_sorted_list(levels):
    values = np.random.default_rng(levels).integers(0, levels, 333) / 7
    smaller, not_larger = _placed(values)
    for place in range(len(values)):
        earlier = sorted(values[: place + 1].tolist())
        assert smaller[place] == bisect_left(earlier, values[place])
        assert not_larger[place] == bisect_right(earlier, values[place])


# The test that a mean has not risen: an e-process, false alarms, delays, and the confidence sequence.
def test_by_hand_each_start_has_its_own_product_also_taken_in_parts():
    x, bet = np.array([0.5, -0.5, 0.5]), 0.4
    weights = (np.arange(200_000) + 30.0) ** -1.2
    total = weights.sum() + (200_030 - 0.5) ** -0.2 / 0.2
    weights = weights / total
    for n in (1, 2, 3):
        started = sum(weights[k] * np.prod(1 + bet * x[k:n]) for k in range(n))
        expected = started + 1 - weights[:n].sum()
        assert ChangeTest([bet]).extend(x)[n - 1] == pytest.approx(expected, rel=1e-6)
    x = np.random.default_rng(1).random((200, 3)) - 0.5
    whole = ChangeTest([0.2, 0.9], runs=3).extend(x)
    test = ChangeTest([0.2, 0.9], runs=3)
    assert np.concatenate([test.extend(part) for part in (x[:1], x[1:1], x[1:150], x[150:])]) == pytest.approx(whole)


def test_false_alarms_at_the_boundary_stay_below_delta():
    rng = np.random.default_rng(7)
    test = ChangeTest(bets_on_errors(0.9, 1), runs=300)
    alarms = np.zeros(300, dtype=bool)
    for _ in range(8):
        alarms |= (test.extend((rng.random((250, 300)) > 0.9) - 0.1) >= 10).any(axis=0)
    assert 0 < alarms.mean() < 0.1


def test_a_late_drop_costs_little_more_than_an_early_one_and_a_precision_that_swings_raises_the_alarm():
    assert 80 < expected_delay(0.9, 0.8, 0.1) < 130
    assert expected_delay(0.9, 0.899, 0.1, cap=500, runs=50) is None, "a delay without an end is not a number"
    rng = np.random.default_rng(1)

    def alarms(precisions):
        wrong = rng.random((len(precisions), 200)) > np.asarray(precisions)[:, None]
        return ChangeTest(bets_on_errors(0.9, 1), 200).extend(wrong - 0.1) >= 10

    late = alarms([0.9] * 500 + [0.8] * 900)
    assert 120 < (late[500:].argmax(axis=0) + 1)[~late[:500].any(axis=0)].mean() < 185
    swings = alarms(np.repeat([0.8, 1.0] * 10, 100))
    assert swings.any(axis=0).mean() > 0.85, "the mean is at the target, every second stretch is not"


def test_errors_of_one_question_are_one_observation():
    """Four judgments that fail together weigh as one question, not as four."""
    rng = np.random.default_rng(3)
    wrong = rng.random(400) > 0.85
    together = hold(4 * wrong, np.full(400, 4), target=0.9, delta=0.1, most=4)
    alone = hold(wrong, np.ones(400), target=0.9, delta=0.1)
    assert together.largest == pytest.approx(alone.largest)
    assert together.alarm == alone.alarm
    assert (together.precision.low, together.precision.high) == pytest.approx(
        (alone.precision.low, alone.precision.high), abs=0.03
    )


def test_what_waits_counts_as_right_and_without_audits_nothing_is_known():
    rng = np.random.default_rng(5)
    wrong = rng.random(300) > 0.75
    full = hold(wrong, np.ones(300), target=0.9, delta=0.1)
    for share in (0.2, 0.6):
        known = rng.random(300) < share
        part = hold(wrong & known, np.ones(300), known, target=0.9, delta=0.1)
        assert part.largest <= full.largest
        assert part.audits == known.sum()
        assert part.precision.estimate == pytest.approx(1 - wrong[known].mean())
    found = hold([], [], target=0.9, delta=0.1)
    assert (found.audits, found.e_value, found.largest, found.alarm, found.precision) == (0, 1, 1, None, None)


@pytest.mark.parametrize(
    ("call", "given", "words"),
    [
        (partial(hold, target=0.9, delta=0.1), ([1], [0]), "between 0 and the judgments kept"),
        (partial(hold, target=0.9, delta=0.1, most=2), ([0], [3]), "may be 2 at most"),
        (partial(hold, target=1.0, delta=0.1), ([0], [1]), "strictly between"),
        (ChangeTest([2.0]).extend, ([-0.5],), "larger than declared"),
    ],
)
def test_numbers_that_contradict_each_other_or_lose_everything_are_refused(call, given, words):
    with pytest.raises(InputError, match=words):
        call(*given)


def test_the_confidence_sequence_covers_at_all_looks_and_narrows():
    rng = np.random.default_rng(11)
    misses = 0
    for _ in range(25):
        wrong = (rng.random(1_000) > 0.85).astype(float)
        looks = [precision_sequence(wrong[:n], np.ones(n)) for n in (5, 20, 60, 200, 1_000)]
        misses += any(not one.low <= 0.85 <= one.high for one in looks)
        assert looks[-1].high - looks[-1].low < 0.12
    assert misses <= 2
    few = precision_sequence([0, 0, 0], [1, 1, 1])
    assert few.estimate == few.high == 1
    assert few.low < 0.5


def test_the_confidence_sequence_by_hand():
    errors, kept, most = np.array([0, 1, 0, 2, 0] * 12), np.array([1, 2, 1, 3, 1] * 12), 3
    scales = np.geomspace(0.003, 0.75, 14)
    inside = []
    for p in np.linspace(0, 1, 2_001):
        total = spread = wrong = all_kept = 0.0
        for place, (e, k) in enumerate(zip(errors, kept, strict=True), 1):
            guess = ((wrong + 0.1) / place - (1 - p) * (all_kept + 1) / place) / most
            x = (e - (1 - p) * k) / most
            total, spread = total + x, spread + (x - guess) ** 2
            wrong, all_kept = wrong + e, all_kept + k
        bounds = [np.mean(np.exp(sign * scales * total - (-np.log(1 - scales) - scales) * spread)) for sign in (-1, 1)]
        if max(bounds) <= 2 / 0.05:
            inside.append(p)
    found = precision_sequence(errors, kept, most=most)
    assert found.estimate == pytest.approx(1 - errors.sum() / kept.sum())
    assert (found.low, found.high) == pytest.approx((inside[0], inside[-1]), abs=0.0011)


# Which judgments to label, with known probabilities, and the precision estimated from them.
def candidates(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Decision(
            f"j{k}", f"content{seed}-{k}", "ab"[k % 2], "math", "?", 0.0, kept=bool(p >= 0.7), probability=float(p)
        )
        for k, p in enumerate(rng.random(n))
    ]


@pytest.mark.parametrize("purpose", Purpose)
def test_the_expected_number_is_the_budget_and_the_draw_depends_on_content_alone(purpose):
    given = candidates()
    numbers = [len(pick(given, purpose, 40, at_least=0.5, seed=seed)) for seed in range(60)]
    assert np.mean(numbers) == pytest.approx(40, abs=3)
    first = pick(given, purpose, 40, at_least=0.5)
    assert pick(given[::-1], purpose, 40, at_least=0.5) == first
    assert all(0 < one.inclusion <= 1 for one in first)


def test_each_purpose_draws_what_it_gains_from_a_large_budget_everything_and_none_is_refused():
    given = candidates()
    certify = pick(given, Purpose.CERTIFY, 60, at_least=0.5)
    assert len({one.inclusion for one in certify}) == 1
    assert all(one.candidate.probability >= 0.5 for one in certify)
    drift = pick(given, Purpose.DRIFT, 60)
    assert all(one.candidate.kept for one in drift)
    by_probability = sorted(drift, key=lambda one: one.candidate.probability)
    assert by_probability[0].inclusion > by_probability[-1].inclusion
    refit = pick(given, Purpose.REFIT, 60, labelled=[("a", "math")] * 99)
    assert sum(one.candidate.judge == "b" for one in refit) > 0.7 * len(refit)
    given = candidates(5)
    assert [one.inclusion for one in pick(given, Purpose.REFIT, 50)] == [1.0] * 5
    assert pick([], Purpose.REFIT, 5) == []
    with pytest.raises(InputError, match="at least 1"):
        pick(given, Purpose.REFIT, 0)


def test_unequal_draws_do_not_bias_the_estimate():
    """The likelier wrong ones are drawn more often: unweighted, the precision would come out far too low."""
    rng = np.random.default_rng(2)
    found, naive, hits = [], [], 0
    for _ in range(150):
        p = rng.beta(8, 2, 600)
        right = (rng.random(600) < p).astype(float)
        chance = np.clip(0.02 + 0.6 * (1 - p), 0, 1)
        drawn = rng.random(600) < chance
        order = [str(one) for one in (*np.flatnonzero(drawn), *np.flatnonzero(~drawn))]
        one = precision_estimate(right[drawn], p[drawn], chance[drawn], p[~drawn], order)
        found.append(one.estimate)
        naive.append(right[drawn].mean())
        hits += one.low <= 0.8 <= one.high
    assert np.mean(found) == pytest.approx(0.8, abs=0.01)
    assert np.mean(naive) < 0.74
    assert hits >= 134  # 95 % of 150, less 3.2 standard errors


def test_with_equal_chances_it_is_the_prediction_powered_mean_and_questions_widen_it():
    rng = np.random.default_rng(4)
    p = rng.random(500)
    right = (rng.random(500) < p).astype(float)
    mine = precision_estimate(right[:100], p[:100], np.full(100, 0.2), p[100:], [str(one) for one in range(500)])
    known = prediction_powered_mean(right[:100], p[:100], p[100:])
    assert mine.estimate == pytest.approx(known.estimate, abs=0.005)
    assert (mine.low, mine.high) == pytest.approx((known.low, known.high), abs=0.01)
    rng = np.random.default_rng(6)
    right = np.repeat((rng.random(50) < 0.8).astype(float), 4)
    given = (right, np.full(200, 0.8), np.full(200, 0.5), np.full(100, 0.8))
    own = [f"rest{one}" for one in range(100)]
    alone = precision_estimate(*given, [*map(str, range(200)), *own])
    together = precision_estimate(*given, [*(str(one // 4) for one in range(200)), *own])
    assert together.high - together.low > 1.8 * (alone.high - alone.low)
    assert together.clusters == 50


@pytest.mark.parametrize("inclusion", [[0.5, 0.0], [0.5]])
def test_impossible_inclusion_probabilities_are_refused(inclusion):
    with pytest.raises(InputError):
        precision_estimate([1, 0], [0.5, 0.5], inclusion, [], ["a", "b"])
