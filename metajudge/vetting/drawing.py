"""Questions drawn to be labelled, and which labelled rows are of a random draw: only these carry a promise."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.calibration.calibration import Calibration
from metajudge.calibration.looks import Plan
from metajudge.calibration.predictions import in_domain
from metajudge.calibration.procedures import above_floor, floor_for, rounded
from metajudge.calibration.table import SignalTable
from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats
from metajudge.types import text_digest
from metajudge.types.label import Chosen, Drawn, chosen_of


def plans_of(fitted: Calibration, judges: Sequence[str]) -> list[Plan]:
    """The draws that a ledger has for a fit and judges (empty for all of its judges), the first one first."""
    about = (fitted.fit_digest, tuple(sorted(judges)))
    return [one for one in (() if fitted.looks is None else fitted.looks.plans) if (one.fit, one.judges) == about]


def choices(table: SignalTable) -> list[Chosen | None]:
    """[n] how the item of each row was chosen; None where no label of it says so."""
    of_item = [chosen_of(one.labels) for one in table.facts.items]
    return [of_item[code] for code in table.facts.item.tolist()]


def drawn_rows(
    fitted: Calibration, table: SignalTable, judges: Sequence[str], stated_random: bool
) -> tuple[Bools, float | None, list[str]]:
    """[n] which labelled rows were drawn evenly, the floor of the draw, and what to know.

    Draws above a floor count where the ledger has them for this fit and these judges. Above the highest floor every
    draw is even; so are draws from all items, if they have one probability or one seed.

    Args:
        table: labelled rows, by the unit of the fit.
        judges: whose judgments, together; empty for all of the calibration's.
        stated_random: whether labels that do not say how their items were chosen are a random draw.

    Raises:
        InputError: none was drawn, or items were drawn with several probabilities.
    """
    chosen, plans = choices(table), plans_of(fitted, judges)
    known = {(one.floor, one.seed) for one in plans}
    even = {one for one in chosen if isinstance(one, Drawn) and (one.floor is None or (one.floor, one.seed) in known)}
    free = {one for one in even if one.floor is None}
    seeds = {one.seed for one in free}
    if len({one.probability for one in free}) > 1 and (len(seeds) > 1 or None in seeds):
        raise InputError(
            "labelled items were drawn with several probabilities, and a promise needs one draw in which all have the "
            "same: draw with `metajudge calibrate plan`, which makes a draw larger by the same seed"
        )
    taken = np.array([one in even or (one is None and stated_random) for one in chosen], dtype=bool)
    counts = Counter[str]()
    for _, one in {*zip(table.questions, chosen, strict=True)}:
        counts["picked" if one == "picked" else "unknown" if one is None else "drawn" if one in even else "other"] += 1
    other = f", {counts['other']} drawn above a floor that this calibration's ledger does not have"
    seen = f"{counts['drawn']} drawn, {counts['picked']} picked, {counts['unknown']} unknown" + other * bool(
        counts["other"]
    )
    if chosen and not taken.any():
        raise InputError(
            f"a promise needs labels of questions drawn at random, and none of these is known to be: {seen}. If those "
            "of unknown choice are a random draw, say so: --labels-drawn random. Else draw some: `metajudge calibrate "
            "plan FILE --for TARGET --calibration FILE`"
        )
    notes = [] if taken.all() else [f"Labelled questions: {seen}. Only drawn ones carry a promise."]
    floor = max((one.floor for one in even if one.floor is not None), default=None)
    asked = max((one.questions for one in plans if one.floor == floor), default=0)
    if counts["drawn"] < asked:
        notes.append(
            f"{counts['drawn']} of the {asked} questions drawn have a label. The promise holds if the others were not "
            "left out for what they are, as where a sheet is filled in from the top."
        )
    return taken, floor, notes


@dataclass(frozen=True, slots=True)
class Frame:
    """The questions that labels may be drawn from, with their scores without labels.

    Attributes:
        table: judgments of questions that were not fitted on, inside the calibration's domain.
        probabilities: theirs; empty without a calibration.
        floor: see :func:`~metajudge.calibration.procedures.floor_for`; that of the first plan, where there is one.
        seed: of the order of the draw; that of the first plan, where there is one.
        below: questions that the floor leaves out.
    """

    table: SignalTable
    probabilities: Floats
    floor: float | None
    seed: int
    below: int = 0

    @classmethod
    def of(
        cls, fitted: Calibration | None, table: SignalTable, *, target: float, judges: Sequence[str], seed: int
    ) -> "Frame":
        """The frame for a target; without a calibration there is no floor, since a fit changes the scores.

        Raises:
            InputError: no question is left.
        """
        if fitted is None:
            found = cls(table, np.zeros(0), None, seed)
        else:
            table = table.by(fitted.unit)
            table = table.select([one not in fitted.provenance.questions for one in table.questions])
            predicted = fitted.probabilities(table)
            inside = in_domain(predicted, approximate=False)
            table, values = table.select(inside), np.ma.getdata(predicted.probabilities)[inside]
            plans = plans_of(fitted, judges)
            if plans:
                floor, seed = plans[0].floor, plans[0].seed
            else:
                floor = floor_for(values, target) if len(values) else None
            place = np.unique(np.array(table.questions, dtype=str), return_inverse=True)[1].ravel()
            above = above_floor(rounded(values), place, floor)
            below = len({*table.select(~above).questions})
            found = cls(table.select(above), values[above], floor if below or plans else None, seed, below)
        if not len(found.table):
            raise InputError(
                "there is no question to draw: every judgment here was fitted on, or lies outside the calibration's "
                "domain. Give judgments of other questions"
            )
        return found

    @property
    def ordered(self) -> list[str]:
        """The questions in the order of the draw: a larger draw begins with a smaller one."""
        return sorted(set(self.table.questions), key=lambda name: text_digest(f"{self.seed} {name}"))

    def items(self, number: int) -> list[str]:
        """The ids of the items of the first so many questions, in the order of the draw."""
        place = {name: at for at, name in enumerate(self.ordered[:number])}
        rows = {*zip(self.table.questions, self.table.item_ids, strict=True)}
        return [item for _, item in sorted((place[name], item) for name, item in rows if name in place)]

    def drawn(self, number: int) -> Drawn:
        """How the first so many questions were chosen."""
        return Drawn(probability=number / len(self.ordered), floor=self.floor, seed=self.seed)
