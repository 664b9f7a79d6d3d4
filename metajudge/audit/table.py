"""The verdicts of one kind: what was answered, what people say, what is right by the declared rule."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np

from metajudge.audit.gather import Gathered
from metajudge.evidence.grouping import Integers, Key, compared
from metajudge.evidence.verdicts import NO_VERDICT, Verdicts
from metajudge.stats.arrays import Bools, Floats, Indices, Ints, coded
from metajudge.types import Item, Label
from metajudge.types.grade_scales import GradeScales
from metajudge.types.label import majority, passing
from metajudge.types.right import DECIMALS, Right
from metajudge.types.verdict import VERDICT_KINDS, AnyVerdict, Category, Grade, Pairwise, Ranking, VerdictKind

NOTHING = NO_VERDICT
"""The code of "no answer known"; it is never counted as one."""

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
Ids: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coding:
    """How verdicts and labels of a kind become answers and numbers.

    Attributes:
        code: index in ``classes`` of a verdict or label on responses with these ids; None if it is not one of them.
        number: the grade, or 1 and 0 for pass and fail; None for other kinds.
        classes: names of the answers: the preferred response by its place in the item, the side of the pass mark, the
            grade or the category; those with an order from worst to best.
        spread: of the numbers: 1 for pass and fail, the range of the scale for grades; None without numbers.
        number_name: what the mean of the numbers is.
    """

    code: Callable[[AnyVerdict, Ids], float | None]
    number: Callable[[AnyVerdict, Ids], float | None]
    classes: Ids
    spread: float | None = None
    number_name: str = ""


@dataclass(frozen=True, eq=False)
class Table:
    """Verdicts of one kind.

    n verdicts on T things; a thing is one response, a pair, or the responses of a ranking, in whatever order shown.

    Attributes:
        kind: of the verdicts.
        right: what counts as right.
        right_default: whether that is the default.
        source: everything that was read.
        rows: [n] places of the verdicts in it.
        facts: the same verdicts.
        thing: [n] numbers.
        first: [T] the first verdict on each.
        shape, shapes: [T] place of the ids of the responses, in the order of the item, in a table of them.
        coding: makes answers and numbers of verdicts.
        answer, number: [n] answers and numbers; :data:`NOTHING` and NaN without.
        correct: [n] 1, 0 or NaN by the label.
        label, label_number: [T] of what people say, likewise.
        scales: of grades; verdicts of a judge whose grades are not on people's scale are not compared with labels.
    """

    kind: VerdictKind
    right: Right
    right_default: bool
    source: Gathered
    rows: Indices
    facts: Verdicts
    thing: Ints
    first: Ints
    shape: Ints
    shapes: Sequence[Ids]
    coding: Coding
    answer: Indices
    number: Floats
    correct: Floats
    label: Indices
    label_number: Floats
    scales: GradeScales

    @property
    def prefers(self) -> bool:
        """Whether an answer is a preferred response."""
        return self.kind in ("pairwise", "ranking")

    @property
    def tie(self) -> int:
        """The answer that is a tie; :data:`NOTHING` for kinds without ties."""
        return len(self.coding.classes) - 1 if self.prefers else NOTHING

    @property
    def binary(self) -> bool:
        """Whether every verdict is one of two sides."""
        return self.coding.spread == 1.0 and self.coding.number_name != "mean grade"

    @property
    def numeric(self) -> bool:
        """Whether verdicts are right or wrong by their numbers."""
        return self.kind == "grade" and self.right.name != "side"

    @cached_property
    def scale(self) -> Indices:
        """[judges] number of the scale of each judge's grades; 0 for those without."""
        groups = self.scales.groups()
        return np.array([groups.get(name, 0) for name in self.facts.judges], dtype=np.intp)

    @cached_property
    def unlike(self) -> Bools:
        """[judges] whether the judge's grades are on another scale than people's."""
        names = self.scales.unlike_people()
        return np.array([name in names for name in self.facts.judges], dtype=np.bool_)

    @property
    def item(self) -> Integers:
        """[T] items."""
        return self.facts.item[self.first]

    @property
    def question(self) -> Ints:
        """[T] questions."""
        return self.facts.question[self.item]

    @property
    def asked(self) -> Indices:
        """[n, 6] what was asked of whom: judge, thing, order, version, prompt and instruction."""
        source, rows = self.source, self.rows
        names = (one.codes[rows] for one in (source.version, source.prompt, source.instruction))
        return np.column_stack((self.facts.judge, self.thing, self.facts.order, *names))

    def each(self, of: Callable[[Item, str], V]) -> list[tuple[V, ...]]:
        """[T] what ``of`` gives for each response of a thing."""
        items = [self.source.records[at].item for at in self.rows[self.first].tolist()]
        return [tuple(of(one, name) for name in self.shapes[at]) for one, at in zip(items, self.shape, strict=True)]

    @cached_property
    def models(self) -> list[tuple[str | None, ...]]:
        """[T] the model of each response, None where it is not known."""
        return self.each(lambda item, name: (item.models or {}).get(name))

    @cached_property
    def left_out(self) -> Mapping[int, list[tuple[Label, AnyVerdict]]]:
        """Item with several people -> each whose others are decided, and what these say together."""
        found = {}
        for item in np.unique(self.item).tolist():
            people = self.source.people[item]
            if len(people) > 1:
                others = [
                    majority([one.value for one in (*people[:at], *people[at + 1 :])]) for at in range(len(people))
                ]
                found[item] = [(mine, one) for mine, one in zip(people, others, strict=True) if one is not None]
        return found

    def without_labels(self) -> "Table":
        """The same, as if nothing were labelled."""
        nothing, unknown = np.full_like(self.label, NOTHING), np.full_like(self.label_number, np.nan)
        return replace(self, label=nothing, label_number=unknown)

    def agrees(self, answer: Indices, number: Floats, target: Indices, target_number: Floats) -> Floats:
        """1 where an answer is right by another one, 0 where it is wrong, NaN where either is unknown.

        Args:
            number, target_number: of the two as numbers, by which grades are compared; all of one shape.
        """
        if self.numeric:
            margin = (self.right.value or 0.0) if self.right.name == "within" else 0.0
            apart = np.abs(number - target_number) - margin
            return np.where(np.isnan(apart), np.nan, (np.round(apart, DECIMALS) <= 0).astype(np.float64))
        known = (answer != NOTHING) & (target != NOTHING)
        return np.where(known, (answer == target).astype(np.float64), np.nan)


def build_table(source: Gathered, kind: VerdictKind, right: Right | None = None) -> Table:
    """Codes verdicts and labels of one kind.

    Args:
        source: what was read; must hold a verdict of the kind.
        kind: which verdicts.
        right: what counts as right; None, or a rule that does not apply to the kind: the default.
    """
    rows = np.flatnonzero(source.heard.kind == VERDICT_KINDS.index(kind))
    facts = source.heard.select(rows)
    key = Key.of(facts.item, len(facts.items)).then(facts.shown[facts.order], len(facts.orders))
    thing, first = key.by_first()
    asked = [source.records[at] for at in rows[first].tolist()]
    shapes, shape = coded([tuple(name for name in one.item.responses if name in one.order) for one in asked])
    rules = facts.rules(right)
    truth = facts.truth[first]
    every = [facts.verdicts[code] for code in np.unique(facts.verdict)]
    every += [facts.truths[code] for code in np.unique(truth[truth >= 0])]
    coding = _CODING[kind](facts, shapes, rules.of(kind), every)
    label = _answers(_looked_up(truth, shape, facts.truths, shapes, coding.code))
    known = np.flatnonzero(label[thing] != NOTHING)  # a label may be about other responses
    correct = np.full(len(rows), np.nan)
    correct[known] = facts.agree(rules.of(kind), known, facts.truth[known], facts.truths)
    found = Table(
        kind=kind,
        right=rules.of(kind),
        right_default=right is None or not right.applies(kind),
        source=source,
        rows=rows,
        facts=facts,
        thing=thing,
        first=first,
        shape=shape,
        shapes=shapes,
        coding=coding,
        answer=_answers(_looked_up(facts.verdict, shape[thing], facts.verdicts, shapes, coding.code)),
        number=_looked_up(facts.verdict, shape[thing], facts.verdicts, shapes, coding.number),
        correct=correct,
        label=label,
        label_number=_looked_up(truth, shape, facts.truths, shapes, coding.number),
        scales=rules.scales,
    )
    correct[found.unlike[facts.judge]] = np.nan
    return found


def _looked_up(
    own: Integers, other: Integers, owns: Sequence[T], others: Sequence[K], of: Callable[[T, K], float | None]
) -> Floats:
    """[n] what ``of`` gives for two codes; NaN where it gives None or a code is missing."""
    found = np.full(len(own), np.nan)
    known = np.flatnonzero((own >= 0) & (other >= 0))
    found[known] = compared(own[known], other[known], owns, others, of)
    return found


def _answers(found: Floats) -> Indices:
    return np.where(np.isnan(found), NOTHING, found).astype(np.intp)


def _preferred(facts: Verdicts, shapes: Sequence[Ids], rule: Right, every: list[AnyVerdict]) -> Coding:
    """Pairs and rankings: the preferred response by its place in the item, or none."""
    tie = max(map(len, shapes))
    names = shapes[0] if len(shapes) == 1 else tuple(f"response {place + 1}" for place in range(tie))

    def code(value: AnyVerdict, ids: Ids) -> int | None:
        if not isinstance(value, Pairwise | Ranking):
            return None
        if len(ids) == 2:
            support = value.support(ids[0], ids[1])
            return None if support is None else tie if support == 0 else 0 if support > 0 else 1
        if value.winner is None:
            return tie
        return ids.index(value.winner) if value.winner in ids else None

    return Coding(code, lambda value, ids: None, (*names, "tie"))


def _graded(facts: Verdicts, shapes: Sequence[Ids], rule: Right, every: list[AnyVerdict]) -> Coding:
    if rule.name == "side":
        return _sided(rule.value or 0.0)
    values = sorted({round(one.value, DECIMALS) for one in every if isinstance(one, Grade)})
    place = {value: at for at, value in enumerate(values)}
    scales = {one.scale for one in facts.items if one.scale and not isinstance(one.scale[0], str)}
    bounds = [float(end) for one in scales for end in one]
    low, high = (min(bounds), max(bounds)) if bounds else (values[0], values[-1])

    def code(value: AnyVerdict, ids: Ids) -> int | None:
        return place.get(round(value.value, DECIMALS)) if isinstance(value, Grade) else None

    def number(value: AnyVerdict, ids: Ids) -> float | None:
        return value.value if isinstance(value, Grade) else None

    return Coding(code, number, tuple(f"{value:g}" for value in values), (high - low) or None, "mean grade")


def _sided(mark: float) -> Coding:
    def side(value: AnyVerdict, ids: Ids) -> bool | None:
        return round(value.value - mark, DECIMALS) >= 0 if isinstance(value, Grade) else passing(value)

    return Coding(side, side, ("fail", "pass"), 1.0, "share that passes")


def _categorised(facts: Verdicts, shapes: Sequence[Ids], rule: Right, every: list[AnyVerdict]) -> Coding:
    named = [one for one in every if isinstance(one, Category)]
    sides = {_fold(one): passing(one) for one in named}
    if set(sides.values()) <= {True, False}:  # words that pass or fail are two answers, named as the verdicts name them
        first = {passing(one): str(one) for one in reversed(named)}
        sides_named = first.get(False, "fail"), first.get(True, "pass")
        return replace(_sided(0.0), classes=sides_named, number_name=f"share that is called {sides_named[1]}")
    scales = {one.scale for one in facts.items if one.scale and isinstance(one.scale[0], str)}
    order = [str(one).casefold() for one in next(iter(scales))] if len(scales) == 1 else []
    ordered = bool(order) and set(sides) <= set(order)
    names = order if ordered else sorted(sides)
    place = {name: at for at, name in enumerate(names)}
    spelled = {_fold(one): str(one) for one in reversed(named)}

    def code(value: AnyVerdict, ids: Ids) -> int | None:
        return place.get(_fold(value)) if isinstance(value, Category) else None

    classes = tuple(spelled.get(name, name) for name in names)
    if not ordered and len(names) != 2:
        return Coding(code, lambda value, ids: None, classes)
    meaning = f"share that is called {classes[1]}" if len(names) == 2 else "mean place on the scale"
    return Coding(code, code, classes, float(len(names) - 1), meaning)


def _fold(value: AnyVerdict) -> str:
    return str(value).casefold()


_CODING = {"pairwise": _preferred, "ranking": _preferred, "grade": _graded, "category": _categorised}
