"""Checks of what a judge prefers beside what is right: a place, length, its own family or its own answers."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from metajudge.audit.card import CheckName
from metajudge.audit.draft import FEWEST, Draft, from_flips, from_slope
from metajudge.audit.table import NOTHING
from metajudge.audit.view import View
from metajudge.evidence.grouping import spread
from metajudge.providers.families import family_of
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.stats.association import Association, associate
from metajudge.stats.paired import sign_flip

T = TypeVar("T")

RELEVANT_ON_SCALE = 0.05
"""The effect that is declared to matter for grades: a twentieth of the scale."""

COVERED = 0.25
"""From this share of verdicts on items with several people on, people are the standard of preference."""

MOST_STRATA = 20
"""Reference grades with more values are cut into so many parts of equal count."""


def position(view: View) -> Draft | None:
    """Whether the place in which a response is shown decides.

    With pairs in both orders: the share of pairs decided for the response shown first less that for the one shown
    second. With rankings in several orders: how much more often a response is put first where it is shown first. With
    one order each: the error rate where the right response is shown elsewhere less that where it is shown first.
    """
    if not view.table.prefers:
        return None
    swaps = both_orders(view) if view.table.kind == "pairwise" else None
    if swaps is not None:
        net, thing = swaps
        found = sign_flip(net, view.table.question[thing])
        first, second, n = int((net > 0).sum()), int((net < 0).sum()), len(net)
        says = (
            f"Of {n:,} pairs judged in both orders, {first:,} went to the response shown first and {second:,} "
            "to the one shown second, whichever that was."
        )
        unit = "share of pairs decided for the first place less that for the second"
        evidence = from_flips(found, scale=0.5) if n >= FEWEST else None
        details = {"first": first, "second": second, "pairs": n}
        same = {"reference": "nothing", "details": details, "n": n, "questions": found.clusters, "things": n}
        same |= {"wrong": 0.5}  # of a pair that goes with the place one verdict of two is wrong
        return view.draft("position", unit, evidence, view.every, says, **same)
    if view.table.kind == "ranking" and (draft := _ranked_places(view)) is not None:
        return draft
    return _pull(view, "position", view.first_shown, "the response shown first")


def both_orders(view: View) -> tuple[Floats, Indices] | None:
    """Pairs judged in both orders: [pairs] -2 to 2, above 0 for the place shown first, and [pairs] their things."""
    first, answer = view.first_shown, view.answer
    sign = np.where((answer == view.table.tie) | (answer == NOTHING), 0, np.where(answer == first, 1, -1))
    things, place = np.unique(view.thing, return_inverse=True)
    place = place.ravel()
    sums, counts = np.zeros((len(things), 2)), np.zeros((len(things), 2))
    np.add.at(sums, (place, first), sign)
    np.add.at(counts, (place, first), 1)
    both = (counts > 0).all(axis=1)
    if not both.any():
        return None
    return np.sign(sums[both]).sum(axis=1), things[both]


def _ranked_places(view: View) -> Draft | None:
    """Rankings shown in several orders: each response against itself in other places."""
    widths = np.array([len(one) for one in view.table.shapes], dtype=np.intp)[view.table.shape]
    width = widths[view.thing]
    place, row = spread(np.zeros_like(width), width)
    chosen = (view.answer[row] == place).astype(np.float64)
    first = (view.first_shown[row] == place).astype(np.float64)
    strata = view.thing[row] * int(widths.max()) + place
    found = associate(chosen, first, view.cluster[row], np.unique(strata, return_inverse=True)[1].ravel())
    if found is None:
        return None
    says = (
        f"A response is put first {100 * found.estimate:+.1f} points more often where it is shown first than where the "
        "same response is shown elsewhere."
    )
    unit = "difference of the share put first, shown first against elsewhere"
    return view.draft("position", unit, from_slope(found), view.every, says, reference="nothing")


def length(view: View) -> Draft | None:
    """Whether longer responses are preferred, given what is right."""
    lengths = view.table.each(lambda item, name: len(item.responses[name]))
    if view.table.prefers:
        longest = np.array([_only(one, max(one)) if len(one) > 1 else NOTHING for one in lengths], dtype=np.intp)
        return _pull(view, "length", longest[view.thing], "the longest response")
    logs = np.log1p(np.array([sum(one) for one in lengths], dtype=np.float64))[view.thing]
    spread = float(logs.std())
    if spread == 0:
        return None
    unit = "change by one standard deviation of log length, in parts of the scale"
    return _partial(view, "length", (logs - logs.mean()) / spread, unit, "by one standard deviation of length")


def own_family(view: View) -> Draft | None:
    """Whether responses of the judge's own model family are preferred, given what is right."""
    family = family_of(view.name)
    return _own(view, "own_family", lambda model: family_of(model) == family, "own family")


def own_answer(view: View) -> Draft | None:
    """Whether the judge's own responses are preferred, given what is right."""
    name = _bare(view.name)
    return _own(view, "own_answer", lambda model: _bare(model) == name, "own model")


def _own(view: View, name: CheckName, mine: Callable[[str], bool], what: str) -> Draft | None:
    named = view.table.models
    models = {model: mine(model) for one in named for model in one if model is not None}
    if not any(models.values()):
        return None
    own = [tuple(None if model is None else models[model] for model in one) for one in named]
    if view.table.prefers:
        place = np.array([NOTHING if None in one else _only(one, True) for one in own], dtype=np.intp)
        return _pull(view, name, place[view.thing], f"the response of its {what}")
    exposure = np.array([np.nan if one[0] is None else float(one[0]) for one in own])[view.thing]
    unit = f"difference between responses of its {what} and others, in parts of the scale"
    return _partial(view, name, exposure, unit, f"for its {what}")


def _pull(view: View, name: CheckName, special: Indices, what: str) -> Draft | None:
    """The error rate where the right response is another than the special one, less that where it is that one."""
    rows = np.flatnonzero(view.has_target & (special != NOTHING) & (view.answer != NOTHING))
    if not len(rows) or view.reference == "nothing":
        return None
    error, against = error_of(view, view.answer[rows], view.target[rows]), view.target[rows] != special[rows]
    found = associate(error, against.astype(np.float64), view.cluster[rows])
    if found is None:
        return None
    away, towards = float(error[against].mean()), float(error[~against].mean())
    says = (
        f"It errs in {away:.0%} where {what} is not the right one, and in {towards:.0%} where it is "
        f"(n = {len(rows):,}, by {view.people})."
    )
    unit = f"difference of error rates, {what} wrong against right"
    details: dict[str, float | int | str | None] = {"error_where_wrong": away, "error_where_right": towards}
    beside = _pull_beside_people(view, len(rows), special)
    if beside is not None:
        found, far, near = beside
        details |= {"people_where_wrong": far, "people_where_right": near}
        unit += ", less that of people"
        says += f" People, each by the others, err in {far:.0%} and {near:.0%}; the effect is the judge's less theirs."
    shown = len(rows) / np.count_nonzero(view.has_target & (view.answer != NOTHING))
    more = {"questions": found.clusters, "details": details, "wrong": shown * led(against, found.estimate)}
    return view.draft(name, unit, from_slope(found), rows, says, **more)


def led(exposed: Bools, effect: float) -> float:
    """The share of verdicts that an effect of this sign makes wrong: of those exposed to it, or of the others."""
    share = float(exposed.mean())
    return share if effect > 0 else 1 - share


def _pull_beside_people(view: View, labelled: int, special: Indices) -> tuple[Association, float, float] | None:
    """The judge's difference of error rates less that of people, and people's two rates.

    Each person is left out in turn, and judge and person are compared with the majority of the others: errors of the
    labels themselves then count for both. None where people are no standard (:func:`_beside_people`).
    """
    people = view.peers.people
    row, at = _beside_people(view, labelled, (special != NOTHING) & (view.answer != NOTHING))
    known = people.target[at] != view.table.tie
    row, at = row[known], at[known]
    if not len(row):
        return None
    target, against = people.target[at], people.target[at] != special[row]
    mine, theirs = error_of(view, view.answer[row], target), error_of(view, people.answer[at], target)
    found = associate(mine - theirs, against.astype(np.float64), view.cluster[row])
    return None if found is None else (found, float(theirs[against].mean()), float(theirs[~against].mean()))


def _beside_people(view: View, labelled: int, known: Bools) -> tuple[Indices, Indices]:
    """The known verdicts, and what people said beside each; none where they are fewer than a quarter of the labelled.

    Args:
        known: [m] which verdicts.

    Returns:
        [pairs] places in the m verdicts and [pairs] places in the comparisons of people.
    """
    rows = np.flatnonzero(known)
    row, at = view.peers.people.beside(view.thing[rows])
    if view.reference != "labels" or len(np.unique(row)) < COVERED * labelled:
        return row[:0], at[:0]
    return rows[row], at


def error_of(view: View, answer: Indices, target: Indices) -> Floats:
    """1 where another answer than the target is given, half for a tie; for pairs and rankings."""
    return np.where(answer == view.table.tie, 0.5, (answer != target).astype(np.float64))


def _partial(view: View, name: CheckName, exposure: Floats, unit: str, words: str) -> Draft | None:
    """The change of the grade with an exposure among responses that the reference calls equal."""
    rows = np.flatnonzero(~np.isnan(view.number) & ~np.isnan(view.target_number) & ~np.isnan(exposure))
    spread = view.table.coding.spread
    if not len(rows) or not spread:
        return None
    strata = strata_of(view.target_number[rows])
    found = associate(view.number[rows] / spread, exposure[rows], view.cluster[rows], strata)
    if found is None:
        return None
    graded = not view.table.binary
    says = (
        f"Its verdicts change by {_size(found.estimate, graded)} {words}, among responses that {view.people} call "
        f"equal (n = {len(rows):,})."
    )
    beside = _partial_beside_people(view, len(rows), exposure, spread)
    if beside is not None:
        own, found = found, beside
        theirs = _size(own.estimate - found.estimate, graded)
        unit += ", less that of people"
        says += (
            f" Those of people, each by the others, change by about {theirs}; the effect is the judge's less theirs."
        )
    more: dict[str, Any] = {"relevant_effect": RELEVANT_ON_SCALE} if graded else {}
    more |= {"questions": found.clusters, "wrong": led(exposure[rows] > 0, found.estimate)}
    return view.draft(name, unit, from_slope(found), rows, says, **more)


def _partial_beside_people(view: View, labelled: int, exposure: Floats, spread: float) -> Association | None:
    """The same of the judge less a person, given what the other people say; None as for pairs."""
    people = view.peers.people
    row, at = _beside_people(view, labelled, ~np.isnan(view.number) & ~np.isnan(exposure))
    apart = (view.number[row] - people.number[at]) / spread
    known = np.flatnonzero(~np.isnan(apart) & ~np.isnan(people.target_number[at]))
    if not len(known):
        return None
    strata = strata_of(people.target_number[at][known])
    return associate(apart[known], exposure[row][known], view.cluster[row][known], strata)


def _size(value: float, graded: bool) -> str:
    return f"{100 * value:+.1f} % of the scale" if graded else f"{100 * value:+.1f} points"


def strata_of(values: Floats) -> Indices:
    """[n] groups of equal values, or at most :data:`MOST_STRATA` of about equal count."""
    present, place = np.unique(values, return_inverse=True)
    if len(present) <= MOST_STRATA:
        return np.asarray(place.ravel(), dtype=np.intp)
    cuts = np.unique(np.quantile(values, np.linspace(0, 1, MOST_STRATA + 1)[1:-1]))
    return np.searchsorted(cuts, values)


def _only(values: Sequence[T], value: T) -> int:
    """The place of a value that is there once; else NOTHING."""
    return values.index(value) if values.count(value) == 1 else NOTHING


def _bare(name: str) -> str:
    return name.strip().casefold().rpartition("/")[2]
