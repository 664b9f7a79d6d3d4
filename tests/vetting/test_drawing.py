"""Which labelled rows are of a random draw, and how questions are drawn."""

import numpy as np
import pytest

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.looks import Ledger, Plan
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from metajudge.types import Label
from metajudge.types.label import Drawn
from metajudge.vetting.drawing import Frame, drawn_rows
from tests.doubles.crowds import crowd

SKILLS = {"owl": 0.75, "wren": 0.7}


def table_of(*chosen, number=12):
    """Items whose labels say in turn how they were chosen."""
    records = crowd(number, seed=4, skills=SKILLS, prefix="n")
    for at, one in enumerate(records):
        label = Label(value=one.item.label, chosen=chosen[at // 4 % len(chosen)])
        records[at] = one.model_copy(update={"item": one.item.model_copy(update={"label": None, "labels": (label,)})})
    return build_table(records, ["order", "peers"])


@pytest.fixture(scope="module")
def fitted():
    return fit_calibration(build_table(crowd(40, seed=3, skills=SKILLS), ["order", "peers"]), seed=0, folds=2)


def planned(fitted, *floors, judges=()):
    plans = tuple(
        Plan(fit=fitted.fit_digest, judges=judges, target=0.9, floor=one, seed=0, questions=6, among=12)
        for one in floors
    )
    return fitted.model_copy(update={"looks": Ledger(plans=plans)})


EVEN = Drawn(probability=0.5, seed=0)
ABOVE = Drawn(probability=0.5, floor=0.6, seed=0)


@pytest.mark.parametrize(
    ("chosen", "floors", "stated", "taken", "floor"),
    [
        ((EVEN, "picked", None), (), False, {0}, None),
        ((EVEN, "picked", None), (), True, {0, 2}, None),
        ((ABOVE, EVEN), (0.6,), False, {0, 1}, 0.6),
        ((ABOVE, EVEN), (), False, {1}, None),  # a floor that the ledger does not have
        ((EVEN, Drawn(probability=0.75, seed=0)), (), False, {0, 1}, None),  # the same draw, made larger
    ],
)
def test_drawn_rows_carry_a_promise_and_stated_ones_on_request(fitted, chosen, floors, stated, taken, floor):
    table = table_of(*chosen)
    rows, found, notes = drawn_rows(planned(fitted, *floors), table, (), stated)
    place = [int(name[1:]) % len(chosen) for name in table.item_ids]
    assert {at for at, one in zip(place, rows, strict=True) if one} == taken
    assert found == floor
    assert bool(notes) == (len(taken) < len(chosen))


@pytest.mark.parametrize(
    ("chosen", "judges", "message"),
    [
        (("picked",), (), "0 drawn, 12 picked, 0 unknown"),
        ((None,), (), "--labels-drawn random"),
        ((ABOVE,), ("owl",), "12 drawn above a floor that this calibration's ledger does not have"),
        ((EVEN, Drawn(probability=0.1, seed=1)), (), "drawn with several probabilities"),
        ((Drawn(probability=0.5), Drawn(probability=0.1)), (), "drawn with several probabilities"),
    ],
)
def test_labels_of_no_even_draw_are_refused_with_what_was_seen(fitted, chosen, judges, message):
    with pytest.raises(InputError, match=message):
        drawn_rows(planned(fitted, 0.6), table_of(*chosen), judges, stated_random=False)


def test_a_floor_of_another_fit_is_not_one_of_this(fitted):
    other = planned(fitted.model_copy(update={"categories": {}}), 0.6).looks
    with pytest.raises(InputError, match="12 drawn above a floor"):
        drawn_rows(fitted.model_copy(update={"looks": other}), table_of(ABOVE), (), stated_random=False)


def test_the_draw_is_even_above_its_floor_and_knows_no_label(fitted):
    table = table_of(None, number=60)
    frame = Frame.of(fitted, table, target=0.9, judges=(), seed=0)
    best = {}
    for name, value in zip(table.questions, np.ma.getdata(fitted.probabilities(table).probabilities), strict=True):
        best[name] = max(best.get(name, 0), value)
    above = {name for name, value in best.items() if value >= frame.floor - 1e-9}
    assert set(frame.ordered) == above
    assert (len(above) + frame.below, frame.drawn(10)) == (
        60, Drawn(probability=10 / len(above), floor=frame.floor, seed=0),
    )  # fmt: skip
    wrong = table.with_labels(dict.fromkeys(table.judgment_ids, False), {})
    assert Frame.of(fitted, wrong, target=0.9, judges=(), seed=0).items(10) == frame.items(10)
    assert frame.items(20)[:10] == frame.items(10)
    assert Frame.of(fitted, table, target=0.9, judges=(), seed=1).items(10) != frame.items(10)
    kept = Frame.of(planned(fitted, 0.7), table, target=0.5, judges=(), seed=9)
    assert (kept.floor, kept.seed) == (0.7, 0), "the first plan's floor stays"
    plain = Frame.of(None, table, target=0.9, judges=(), seed=0)
    assert (plain.floor, len(plain.ordered)) == (None, 60)


def test_where_every_question_was_fitted_on_there_is_none_to_draw(fitted):
    table = build_table(crowd(40, seed=3, skills=SKILLS), ["order", "peers"])
    with pytest.raises(InputError, match="there is no question to draw"):
        Frame.of(fitted, table, target=0.9, judges=(), seed=0)
