"""A promise's report: observations by question, states, estimates and advice."""

from dataclasses import replace

import pytest

from metajudge.errors import InputError
from metajudge.monitor.drift import Audit, Decision
from metajudge.monitor.report import ALARM, State, Tally, Watched, promise_id, report_on, reports_on
from metajudge.types import GuaranteedThreshold


def decision(question, judge="a", *, kept=True, audit=None, probability=0.9, at=0.0):
    name = f"{question}-{judge}"
    return Decision(name, name, judge, None, question, at, kept=kept, probability=probability, audit=audit)


def audited(question, right, *, judge="a", opened=0.0, decided=1.0, inclusion=1.0, **given):
    audit = Audit(opened, inclusion, decided, right)
    return decision(question, judge, audit=audit, **given)


def many(n, wrong_from=None, every=3, **given):
    """Audits in order; from ``wrong_from`` on each ``every``-th is wrong."""
    return [
        audited(
            f"q{k}", wrong_from is None or k < wrong_from or k % every > 0, opened=float(k), decided=k + 0.5, **given
        )
        for k in range(n)
    ]


def watched(decisions, **given):
    return Watched(promise_id="id", target=0.9, delta=0.1, tally=Tally(decisions, keep=True), **given)


def test_a_question_is_one_observation_in_the_order_of_its_draw():
    found, counts = Tally(
        [
            audited("late", True, opened=5.0, decided=6.0),
            audited("early", False, judge="a", opened=1.0, decided=9.0),
            audited("early", True, judge="b", opened=1.0, decided=2.0),
            decision("early", "c"),
            audited("dropped", False, kept=False),
        ]
    ).audited()
    first, second = found
    assert (first.kept, first.errors, first.judgments, first.decided_at) == (2, 1, 2, 9.0)
    assert (second.kept, second.errors) == (1, 0)
    assert (counts.decisions, counts.kept, counts.drawn) == (5, 4, 3)


def test_unequal_draws_weigh_by_the_inverse_of_their_inclusion():
    sure, drawn = Tally(
        [audited("q1", False, opened=1.0, inclusion=1.0), audited("q2", False, opened=2.0, inclusion=0.1)]
    ).audited()[0]
    assert (sure.kept, sure.errors) == pytest.approx((0.1, 0.1))
    assert (drawn.kept, drawn.errors) == (1, 1)


def test_what_waits_is_right_until_then_and_what_nobody_can_tell_is_left_out():
    found, counts = Tally(
        [
            audited("open", None, opened=1.0, decided=None),
            audited("unclear", None, opened=2.0),
            audited("told", False, opened=3.0),
            audited("still open", None, opened=4.0, decided=None),
        ]
    ).audited()
    assert [(one.kept, one.errors, one.decided) for one in found] == [(1, 0, False), (1, 1, True)]
    assert (counts.waiting, counts.undecided) == (2, 1)


def test_the_states_and_a_recorded_alarm_that_stays():
    assert report_on(watched([])).state is State.TOO_LITTLE
    assert report_on(watched(many(40))).state is State.TOO_LITTLE
    assert report_on(watched(many(300))).state is State.HOLDS
    broken = report_on(watched(many(300, wrong_from=100)))
    assert broken.state is State.BROKEN
    assert 100 < broken.held.alarm < 200
    assert broken.alarm_at == broken.held.alarm - 0.5
    assert broken.advice()[0] == ALARM
    assert "carry no guarantee" in broken.advice()[1]
    found = report_on(watched(many(300), broken_since=123.0))
    assert (found.is_broken, found.alarm_at, found.held.alarm) == (True, 123.0, None)
    every = many(300, wrong_from=100)
    alarms = [report_on(watched(every[:n])).held.alarm for n in (100, 200, 300)]
    assert alarms[0] is None
    assert alarms[1] == alarms[2]


def test_a_promise_is_of_all_its_judges_and_its_precision_of_some_labels_and_all_probabilities():
    both = [one for k in range(120) for one in (audited(f"q{k}", True), audited(f"q{k}", True, judge="b"))]
    found = report_on(watched(both, judges=("a", "b", "c")))
    assert (found.most, found.held.audits) == (3, 120)
    assert report_on(watched(both, judges=("a", "b"), most=5)).most == 5
    with pytest.raises(InputError, match="may be 1 at most"):
        report_on(watched(both), most=1)
    rest = [decision(f"r{k}", probability=0.6) for k in range(200)]
    found = report_on(watched([*many(100, wrong_from=0, every=5), *rest])).predicted
    assert (found.n, found.clusters) == (100, 100)
    assert found.low < found.estimate < found.high
    assert report_on(watched(rest)).predicted is None


def test_what_was_decided_without_a_sample_counts_for_nothing_and_broken_promises_come_first():
    doubtful = [replace(one, sampled=False) for one in many(300, wrong_from=0)]
    found = report_on(watched([*doubtful, *many(20)]))
    assert (found.held.audits, found.counts.unsampled, found.predicted.n) == (20, 300, 20)
    assert any("300 of 320" in one for one in found.advice())
    one = watched([audited("q1", True), decision("q2"), decision("q2"), decision("q3", probability=None)])
    assert [found.judgment_id for found in one.tally.candidates()] == ["q2-a"]
    assert one.tally.labelled() == [("a", None)]
    good, bad = watched(many(200)), watched(many(150, wrong_from=0, every=2))
    assert reports_on([good, bad]) == [report_on(bad), report_on(good)]


def test_the_id_depends_on_what_is_promised():
    stamp = GuaranteedThreshold(threshold=0.8, target=0.9, delta=0.1, judges=("b", "a"))
    name = promise_id("calibration", stamp)
    assert len(name) == 16
    assert promise_id("calibration", stamp.model_copy(update={"judges": ("a", "b"), "questions": 7})) == name
    others = [
        stamp.model_copy(update=one)
        for one in ({"threshold": 0.7}, {"target": 0.8}, {"judges": ("a",)}, {"category": "law"})
    ]
    assert len({name, promise_id("other", stamp), *(promise_id("calibration", one) for one in others)}) == 6
