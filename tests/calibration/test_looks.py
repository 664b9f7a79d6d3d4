"""The ledger of looks: what is spent, what is free, and what is refused."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from metajudge.calibration.guarantee import Abstention, Guarantee, guaranteed_threshold, rising
from metajudge.calibration.looks import ByText, Ledger, Looks, Schedule
from metajudge.errors import InputError

GOOD = [0.97] * 60 + [0.3] * 20
RIGHT = [True] * 58 + [False] * 2 + [False] * 20


def data(n=80, right=RIGHT, scores=GOOD, prefix="q"):
    return list(scores[:n]), list(right[:n]), [f"{prefix}{at}" for at in range(n)]


def look(looks, sample=None, target=0.85, delta=0.1, **options):
    return guaranteed_threshold(*(sample or data()), target=target, delta=delta, looks=looks, **options)


@pytest.mark.parametrize(
    "schedule", [Schedule(), Schedule(first=0.5), Schedule(name="even", looks=8), Schedule(name="anytime")]
)
def test_a_schedule_never_spends_more_than_delta(schedule):
    shares = [schedule.share(number) for number in range(1, 5000)]
    assert math.fsum(shares) <= 1 + 1e-12
    assert shares[0] > 0
    assert min(shares) >= 0


def test_every_look_is_tested_at_the_level_it_spends_and_no_less_strictly():
    looks = Looks()
    for n in (20, 40, 60, 80):
        look(looks, data(n), target=0.97)
    levels = [one.level for one in looks.entries]
    assert levels == pytest.approx([0.075, 0.1 * 0.25 / 2, 0.1 * 0.25 / 6, 0.1 * 0.25 / 12])
    assert [one.relation for one in looks.entries] == ["first", "grown", "grown", "grown"]
    # 20 of 20 right pass at .1 for .89 (.89^20 = .097), and not at .075.
    sample = data(20, [True] * 20, [0.99] * 20)
    assert isinstance(look(None, sample, target=0.89, reference=[0.99]), Guarantee)
    found = look(Looks(), sample, target=0.89, reference=[0.99])
    assert isinstance(found, Abstention)
    assert (found.look, found.level) == (1, pytest.approx(0.075))


def test_the_very_same_look_again_returns_the_stored_outcome_and_spends_nothing():
    looks = Looks()
    first = look(looks)
    assert isinstance(first, Guarantee)
    scores, right, questions = data()
    order = np.random.default_rng(1).permutation(80)
    again = look(looks, ([scores[i] for i in order], [right[i] for i in order], [questions[i] for i in order]))
    assert again == first
    assert len(looks.entries) == 1


@pytest.mark.parametrize(
    "change", [{"target": 0.8}, {"delta": 0.2}, {"most_per_question": 2}], ids=["target", "delta", "most judgments"]
)
def test_another_test_of_the_same_labels_spends(change):
    looks = Looks()
    look(looks)
    found = look(looks, **change)
    assert found.look == 2
    assert found.level == pytest.approx(change.get("delta", 0.1) / 8)
    assert looks.entries[-1].relation == "same"
    scores, right, questions = data()
    assert look(looks, ([score - 0.01 for score in scores], right, questions)).look == 3, "another fit"
    assert looks.entries[-1].relation == "rescored"


def test_fewer_labels_and_other_labels_are_refused_unless_allowed_and_then_recorded():
    looks = Looks()
    look(looks)
    scores, right, questions = data()
    with pytest.raises(InputError, match="of the 80 questions looked at before, 40 are missing"):
        look(looks, (scores[:40], right[:40], questions[:40]))
    flipped = (scores, [not right[0], *right[1:]], questions)
    with pytest.raises(InputError, match="1 have other labels"):
        look(looks, flipped)
    assert len(looks.entries) == 1, "a refused look spends nothing"
    allowed = Looks(looks.ledger, accept_changes=True)
    assert look(allowed, flipped).look == 2
    assert look(allowed, (scores[:40], right[:40], questions[:40])).look == 3
    assert [one.relation for one in allowed.entries] == ["first", "changed", "fewer"]
    with pytest.raises(InputError, match="40 are missing"):
        look(Looks(allowed.ledger), (scores[:40], right[:40], questions[:40]), target=0.5)


def test_other_questions_spend_and_different_judges_have_a_delta_each():
    looks = Looks()
    first, other = data(), data(prefix="new")
    look(looks, first, target=0.97)
    look(looks, other, target=0.97)
    look(looks, other, target=0.96)
    assert [(one.number, one.relation) for one in looks.entries] == [(1, "first"), (2, "other"), (3, "same")]
    both = tuple([*one, *more] for one, more in zip(first, other, strict=True))
    look(looks, both, target=0.97)
    assert looks.entries[-1].relation == "grown"
    with pytest.raises(InputError, match="of the 160 questions looked at before, 80 are missing"):
        look(looks, other, target=0.9)
    looks = Looks()
    assert look(looks, judges=["owl"]).look == 1
    assert look(looks, judges=["wren"]).look == 1
    assert look(looks, judges=["owl"], target=0.8).look == 2


def test_the_schedule_is_declared_first_and_no_look_can_be_cut_from_a_ledger_of_the_callers_time():
    looks = Looks(schedule=Schedule(name="even", looks=2))
    look(looks)
    with pytest.raises(InputError, match="cannot be changed"):
        Looks(looks.ledger, schedule=Schedule())
    look(looks, target=0.8)
    with pytest.raises(InputError, match="no look left"):
        look(looks, target=0.75)
    looks = Looks()
    look(looks)
    look(looks, target=0.8)
    stored = looks.ledger.model_dump(mode="json")
    assert Ledger.model_validate(stored) == looks.ledger
    with pytest.raises(ValueError, match="a look is missing"):
        Ledger.model_validate({**stored, "entries": stored["entries"][1:]})
    looks = Looks(time="2026-11-22")
    look(looks)
    assert looks.entries[0].time == "2026-11-22"
    assert "look 1 at 2026-11-22: 80 questions" in looks.entries[0].line()


def by(unit, sample, texts):
    return ByText.of_rows(unit, sample[1], sample[2], texts)


def test_what_was_looked_at_under_one_unit_stays_looked_at_under_another():
    """40 texts of two items each: looked at by text, as version 0.2 did, then by item, then by text again."""
    texts = [f"t{at // 2}" for at in range(80)]
    scores, right, _ = data()
    by_text, by_item = (scores, right, texts), data()
    looks = Looks()
    look(looks, by_text)
    later = Looks(Ledger.model_validate_json(looks.ledger.model_dump_json()), by_text=by("item", by_item, texts))
    found = look(later, by_item)
    assert (found.look, found.level) == (2, pytest.approx(0.0125))
    half = (scores[:40], right[:40], by_item[2][:40])
    with pytest.raises(InputError, match="of the 40 questions looked at before, 20 are missing"):
        look(Looks(looks.ledger, by_text=by("item", half, texts[:40])), half)
    flipped = (scores, [not right[0], *right[1:]], by_item[2])
    with pytest.raises(InputError, match="of the 40 questions looked at before, 1 have other labels"):
        look(Looks(looks.ledger, by_text=by("item", flipped, texts)), flipped)
    back = Looks(Ledger.model_validate_json(later.ledger.model_dump_json()), by_text=by("text", by_text, texts))
    look(back, by_text, target=0.8)
    assert [one.relation for one in back.entries] == ["first", "rescored", "same"]
    assert [one.level for one in back.entries] == pytest.approx([0.075, 0.0125, 0.1 * 0.25 / 6])


def test_items_of_one_instruction_are_added_without_a_change_of_labels():
    texts, looks = ["toxic?"] * 80, Looks()
    for n in (40, 80):
        sample = data(n)
        looks = Looks(looks.ledger, by_text=by("item", sample, texts[:n]))
        look(looks, sample)
    assert [one.relation for one in looks.entries] == ["first", "grown"]
    other = data(20, prefix="x")
    looks = Looks(looks.ledger, by_text=by("item", other, texts[:20]))
    look(looks, other)
    assert looks.entries[-1].relation == "other"
    whole = (*data()[:2], texts)
    with pytest.raises(InputError, match="of the 1 questions looked at before, 1 have other labels"):
        look(Looks(looks.ledger, by_text=by("question", whole, texts)), whole)


# One look over targets in a fixed order: its value by an own computation, and that its promises rarely fail.
DELTA = 0.1


def sample(rng, questions, right, judgments=1):
    """Scores as probabilities [n], which are right [n], and the question of each; a question is often right as one."""
    scores = np.round(expit(rng.normal(1.2, 1.3, size=(questions, judgments))), 4)
    together = rng.random((questions, 1)) < 0.5
    chance = np.where(together, rng.random((questions, 1)), rng.random((questions, judgments)))
    return scores.ravel(), (chance < right(scores)).ravel(), [f"q{at // judgments}" for at in range(scores.size)]


def sought(rng, questions, right, target=0.95, judgments=1, **more):
    scores, correct, names = sample(rng, questions, right, judgments)
    reference, _, others = sample(rng, 150, right, judgments)
    about = {"reference": reference, "reference_questions": others, "or_lower": True}
    return guaranteed_threshold(scores, correct, names, target=target, delta=DELTA, **about, **more)


def by_hand(scores, correct, reference, target):
    """Targets at the first threshold, then thresholds at the target, written anew for over a thousand questions."""

    def passes(threshold, aim):
        kept = scores >= threshold
        return binom.cdf((kept & ~correct).sum(), kept.sum(), 1 - aim) <= DELTA

    n, falling = len(scores), np.sort(reference)[::-1]
    number = np.arange(1, len(falling) + 1) / len(falling) * n
    enough = binom.cdf(np.ceil((1 - target) / 2 * number), np.rint(number), 1 - target) <= DELTA
    fewer = np.maximum(number - 1.3 * np.sqrt(number * (1 - number / n)), 0)
    sure = binom.cdf(0, np.rint(fewer), 1 - target) <= DELTA
    start = falling[max(np.argmax(sure & (np.rint(fewer) > 0)), min(np.argmax(enough), 0.35 * len(falling) - 1))]
    reached = None
    for aim in [round(0.5 + 0.02 * step, 2) for step in range(25)]:
        if aim < target:
            if not passes(start, aim):
                return reached, start
            reached = aim
    return (target, None) if passes(start, target) else (reached, start)


@pytest.mark.parametrize("seed", range(4))
def test_the_highest_target_that_passes_at_the_start_is_the_one_computed_by_hand(seed):
    rng = np.random.default_rng(seed)
    scores, correct, names = sample(rng, 1200, lambda s: s - 0.2)
    reference, *_ = sample(rng, 400, lambda s: s)
    found = guaranteed_threshold(scores, correct, names, target=0.95, delta=DELTA, reference=reference, or_lower=True)
    target, threshold = by_hand(scores, correct, reference, 0.95)
    assert 0.6 < target < 0.95
    assert (found.target, found.threshold) == pytest.approx((target, threshold))


@pytest.mark.parametrize(
    ("right", "questions", "judgments"),
    [
        (lambda s: s - 0.12, 95, 1),  # surer than it is right
        (lambda s: np.full(s.shape, 0.499), 200, 1),  # below every target
        (lambda s: np.where(s > 0.9, 0.85, 0.95), 200, 1),  # worst on top
        (lambda s: np.where(s > 0.8, 0.89, 0.77), 150, 1),  # a hair below some targets
        (lambda s: s - 0.12, 60, 3),
    ],
    ids=["bold", "all below", "worst on top", "hair", "three a question"],
)
def test_the_chance_of_a_false_promise_stays_below_delta(right, questions, judgments):
    """Its truth is the precision of 300,000 judgments; the limit is delta and 2.6 standard errors."""
    draws, false = 100, 0
    scores = np.round(expit(np.random.default_rng(99).normal(1.2, 1.3, size=300_000)), 4)
    order = np.argsort(-scores)
    falling, precision = scores[order], np.cumsum(np.clip(right(scores[order]), 0, 1)) / np.arange(1, 300_001)
    for seed in range(draws):
        found = sought(np.random.default_rng([7, seed]), questions, right, judgments=judgments)
        if not isinstance(found, Abstention):
            last = np.searchsorted(-falling, -found.threshold, side="right") - 1
            false += precision[last] < found.target
    assert false / draws <= DELTA + 2.6 * (DELTA * (1 - DELTA) / draws) ** 0.5


def test_a_target_within_reach_keeps_as_much_as_by_itself_in_one_look():
    rng = np.random.default_rng(2)
    scores, correct, names = sample(rng, 300, lambda s: np.full(s.shape, 0.97))
    about = {"target": 0.9, "delta": DELTA, "reference": scores[::2], "reference_questions": names[::2]}
    alone = guaranteed_threshold(scores, correct, names, **about)
    assert guaranteed_threshold(scores, correct, names, **about, or_lower=True) == alone
    assert alone.target == 0.9
    looks = Looks()
    for _ in range(2):
        found = sought(np.random.default_rng(3), 95, lambda s: s, looks=looks)
        assert found.level == pytest.approx(0.075)
        (entry,) = looks.entries
    assert f"target 0.95, level 0.075 of delta 0.1: passed at {found.target:g}" in entry.line()
    sought(np.random.default_rng(3), 95, lambda s: s, target=0.94, looks=looks)
    assert [round(one.level, 4) for one in looks.entries] == [0.075, 0.0125]


def test_where_not_even_the_first_passes_it_says_so_and_bets_are_for_the_target_alone():
    found = sought(np.random.default_rng(3), 40, lambda s: np.full(s.shape, 0.3))
    assert isinstance(found, Abstention)
    assert found.target == 0.95
    assert "not even 50 % can be promised: " in found.reason
    bets = sought(np.random.default_rng(3), 40, lambda s: np.full(s.shape, 0.7), anytime=True)
    assert isinstance(bets, Abstention)
    assert "not even" not in bets.reason


@pytest.mark.parametrize(("target", "before"), [(0.5, []), (0.55, [0.5, 0.52, 0.54]), (0.3, [])])
def test_targets_rise_to_the_one_asked_for(target, before):
    assert rising(target) == before
