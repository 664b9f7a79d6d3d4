"""Drift of signals with a controlled false discovery rate, and new identities."""

from bisect import bisect_left, bisect_right

import numpy as np
import pytest

from metajudge.monitor.drift import Decision, Identities, Streams, _placed, e_bh


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


def test_signals_with_two_values_drift_too_and_ties_are_no_drift():
    rng = np.random.default_rng(1)
    steady = stream("steady", (rng.random(400) < 0.8).astype(float))
    constant = stream("constant", np.ones(400))
    fallen = stream("fallen", np.concatenate((rng.random(200) < 0.9, rng.random(200) < 0.4)).astype(float))
    assert [one.judge for one in find_drift(steady + constant + fallen).found] == ["fallen"]


def test_judgments_of_one_question_are_one_observation():
    seen = [seen_of("a", None, "same question", float(at), {"strength": at / 100}) for at in range(200)]
    found = find_drift(seen)
    assert (found.tested, found.too_short, found.found) == (0, 1, ())


def test_e_bh_by_hand():
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


def test_what_the_fit_did_not_know_is_named_with_its_numbers():
    identity = [{"instruction": "old"}] * 6 + [{"instruction": "new"}] * 3 + [{"instruction": "old"}]
    seen = [seen_of("a", "math", f"q{at}", float(at), {}, one) for at, one in enumerate(identity)]
    seen.append(seen_of("b", "law", "q99", 99.0))
    found = {(one.field, one.value): one for one in new_identities(seen, {"judge": ["a"], "category": ["math"]})}
    assert set(found) == {("instruction", "new"), ("judge", "b"), ("category", "law")}
    changed = found["instruction", "new"]
    assert (changed.n, changed.total, changed.since, changed.known, changed.judge) == (3, 4, 6.0, ("old",), "a")


def test_a_field_that_differs_by_question_is_no_identity():
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


def test_many_streams_at_once_give_what_each_gives_alone():
    rng = np.random.default_rng(3)
    each = {judge: stream(judge, rng.normal(0, 1, 60) + (np.arange(60) > 30), signal=judge[:1]) for judge in "abcde"}
    mixed = [one for row in zip(*each.values(), strict=True) for one in row]
    found = {one.judge: one for one in find_drift(mixed, level=0.5).found}
    assert found
    for judge, one in found.items():
        (alone,) = find_drift(each[judge], level=0.5).found
        assert alone == one
