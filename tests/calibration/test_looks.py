"""The ledger of looks: what is spent, what is free, and what is refused."""

import math

import numpy as np
import pytest

from metajudge.calibration.guarantee import Abstention, Guarantee, guaranteed_threshold
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


def test_every_look_is_tested_at_the_level_it_spends():
    looks = Looks()
    for n in (20, 40, 60, 80):
        look(looks, data(n), target=0.97)
    levels = [one.level for one in looks.entries]
    assert levels == pytest.approx([0.075, 0.1 * 0.25 / 2, 0.1 * 0.25 / 6, 0.1 * 0.25 / 12])
    assert [one.relation for one in looks.entries] == ["first", "grown", "grown", "grown"]
    assert looks.spent() == pytest.approx(sum(levels) / 0.1)


def test_what_passes_at_delta_must_not_pass_at_what_is_left_of_it():
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
    "change",
    [{"target": 0.8}, {"delta": 0.2}, {"most_per_question": 2}],
    ids=["target", "delta", "most judgments"],
)
def test_another_test_of_the_same_labels_spends(change):
    looks = Looks()
    look(looks)
    found = look(looks, **change)
    assert found.look == 2
    assert found.level == pytest.approx(change.get("delta", 0.1) / 8)
    assert looks.entries[-1].relation == "same"


def test_another_fit_of_the_same_labels_spends():
    looks = Looks()
    look(looks)
    scores, right, questions = data()
    look(looks, ([score - 0.01 for score in scores], right, questions))
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


def test_other_questions_spend_and_are_no_selection_of_the_first_ones():
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


def test_promises_about_different_judges_have_a_delta_each():
    looks = Looks()
    assert look(looks, judges=["owl"]).look == 1
    assert look(looks, judges=["wren"]).look == 1
    assert look(looks, judges=["owl"], target=0.8).look == 2


def test_the_schedule_is_declared_at_the_first_look():
    looks = Looks(schedule=Schedule(name="even", looks=2))
    look(looks)
    with pytest.raises(InputError, match="cannot be changed"):
        Looks(looks.ledger, schedule=Schedule())
    look(looks, target=0.8)
    with pytest.raises(InputError, match="no look left"):
        look(looks, target=0.75)


def test_a_ledger_from_which_a_look_was_cut_is_refused():
    looks = Looks()
    look(looks)
    look(looks, target=0.8)
    stored = looks.ledger.model_dump(mode="json")
    assert Ledger.model_validate(stored) == looks.ledger
    with pytest.raises(ValueError, match="a look is missing"):
        Ledger.model_validate({**stored, "entries": stored["entries"][1:]})


def test_time_is_the_callers():
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
