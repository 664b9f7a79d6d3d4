"""The verdicts of one kind as arrays: what was answered, what people say, what is right by the declared rule."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from metajudge.audit.gather import Gathered
from metajudge.evidence.rules import scales_of
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types.grade_scales import GradeScales
from metajudge.types.label import passing
from metajudge.types.right import DECIMALS, Right, default_right, is_right
from metajudge.types.verdict import AnyVerdict, Category, Grade, Pairwise, Ranking, VerdictKind, kind_of

NOTHING = -1
"""The code of "no answer known"; it is never counted as one."""


@dataclass(frozen=True, slots=True)
class Table:
    """Verdicts of one kind.

    n verdicts on T things; a thing is one response, a pair, or the responses of a ranking.

    Attributes:
        kind: of the verdicts.
        right: what counts as right.
        right_default: whether that is the default.
        source: names and texts.
        judge, thing, order, version, prompt, instruction: [n] numbers.
        time: [n] seconds since 1970; NaN without.
        raw: [n] numbers of verdicts in ``source.verdicts``.
        answer: [n] numbers in ``classes``: the preferred response by its place in the item, the side of the pass mark,
            the grade or the category.
        number: [n] the grade, or 1 and 0 for pass and fail; NaN for other kinds.
        correct: [n] 1, 0 or NaN by the label.
        item, question: [T] numbers.
        label: [T] number in ``classes``; :data:`NOTHING` without.
        label_number: [T] as ``number``.
        classes: names of the answers.
        ordered: whether ``classes`` run from worst to best.
        spread: of the numbers: 1 for pass and fail, the range of the scale for grades; None without numbers.
        number_name: what the mean of ``number`` is.
        coding: makes answers and numbers of verdicts.
        scales: of grades; verdicts of a judge whose grades are not on people's scale are not compared with labels.
    """

    kind: VerdictKind
    right: Right
    right_default: bool
    source: Gathered
    judge: Indices
    thing: Indices
    order: Indices
    version: Indices
    prompt: Indices
    instruction: Indices
    time: Floats
    raw: Indices
    answer: Indices
    number: Floats
    correct: Floats
    item: Indices
    question: Indices
    label: Indices
    label_number: Floats
    classes: tuple[str, ...]
    ordered: bool
    spread: float | None
    number_name: str
    coding: "Coding"
    scales: GradeScales

    @property
    def scale(self) -> Indices:
        """[judges] number of the scale of each judge's grades; 0 for those without."""
        groups = self.scales.groups()
        return np.array([groups.get(name, 0) for name in self.source.judges.values], dtype=np.intp)

    @property
    def unlike(self) -> Bools:
        """[judges] whether the judge's grades are on another scale than people's."""
        names = self.scales.unlike_people()
        return np.array([name in names for name in self.source.judges.values], dtype=np.bool_)

    def without_labels(self) -> "Table":
        """The same, as if nothing were labelled."""
        nothing, unknown = np.full_like(self.label, NOTHING), np.full_like(self.label_number, np.nan)
        return replace(self, label=nothing, label_number=unknown)

    @property
    def cluster(self) -> Indices:
        """[n] the question of each verdict."""
        return self.question[self.thing]

    @property
    def binary(self) -> bool:
        """Whether every verdict is one of two sides."""
        return self.spread == 1.0 and self.number_name != "mean grade"

    def right_by(self, rows: Indices, reference: Indices, numbers: Floats) -> Floats:
        """[rows] 1 where a verdict is right by a reference other than the label, 0 where wrong, NaN where unknown.

        Args:
            rows: which verdicts.
            reference: [rows] numbers in ``classes``; :data:`NOTHING` where unknown.
            numbers: [rows] the reference as a number; used for grades.
        """
        if self.kind == "grade" and self.right.name != "side":
            margin = self.right.value or 0.0 if self.right.name == "within" else 0.0
            apart = np.abs(self.number[rows] - numbers) - margin
            return np.where(np.isnan(numbers), np.nan, (np.round(apart, DECIMALS) <= 0).astype(np.float64))
        known = (reference != NOTHING) & (self.answer[rows] != NOTHING)
        return np.where(known, (self.answer[rows] == reference).astype(np.float64), np.nan)


def build_table(source: Gathered, kind: VerdictKind, right: Right | None = None) -> Table:
    """Codes verdicts and labels of one kind.

    Args:
        source: what was read; must hold a verdict of the kind.
        kind: which verdicts.
        right: what counts as right; None, or a rule that does not apply to the kind: the default.
    """
    rows, things = source.rows[kind], source.things[kind]
    raw = np.array(rows.verdict, dtype=np.intp)
    thing = np.array(rows.thing, dtype=np.intp)
    item = np.array([one.item for one in things], dtype=np.intp)
    truths = _truths(source, item)
    given = [source.verdicts.values[code] for code in np.unique(raw)]
    labels = [one for one in set(truths) if one is not None]
    chosen = right if right is not None and right.applies(kind) else None
    rule = chosen or default_right(kind, given, [one for one in labels if kind_of(one) in ("grade", "category", kind)])
    coding = _CODING[kind](source, kind, rule, given, labels)
    shapes: dict[tuple[str, ...], int] = {}
    shape = np.array([shapes.setdefault(one.ids, len(shapes)) for one in things], dtype=np.intp)
    names = list(shapes)
    truth_codes, truth_values = _coded(truths)
    answer, number = _applied(coding, source.verdicts.values, raw, shape[thing], names)
    label, label_number = _applied(coding, truth_values, truth_codes, shape, names)
    correct = _correct(source, raw, truth_codes[thing], truth_values, rule)
    correct[label[thing] == NOTHING] = np.nan  # a label about other responses
    judge = np.array(rows.judge, dtype=np.intp)
    declared = [bool(one.scale) for one in source.items]
    columns = judge, raw, truth_codes[thing]
    scales = scales_of(source.judges.values, source.verdicts.values, truth_values, columns, item[thing], declared)
    found = Table(
        kind=kind,
        right=rule,
        right_default=chosen is None,
        source=source,
        judge=judge,
        thing=thing,
        order=np.array(rows.order, dtype=np.intp),
        version=np.array(rows.version, dtype=np.intp),
        prompt=np.array(rows.prompt, dtype=np.intp),
        instruction=np.array(rows.instruction, dtype=np.intp),
        time=np.array(rows.time, dtype=np.float64),
        raw=raw,
        answer=answer,
        number=number,
        correct=correct,
        item=item,
        question=np.array([source.items[at].question for at in item], dtype=np.intp),
        label=label,
        label_number=label_number,
        classes=coding.classes,
        ordered=coding.ordered,
        spread=coding.spread,
        number_name=coding.number_name,
        coding=coding,
        scales=scales,
    )
    correct[found.unlike[judge]] = np.nan
    return found


@dataclass(frozen=True, slots=True)
class Coding:
    """How verdicts and labels of a kind become answers and numbers; attributes as in :class:`Table`."""

    code: Callable[[AnyVerdict, tuple[str, ...]], int]
    number: Callable[[AnyVerdict], float]
    classes: tuple[str, ...]
    ordered: bool
    spread: float | None
    number_name: str


def _truths(source: Gathered, item: Indices) -> list[AnyVerdict | None]:
    known = {int(at): source.items[at].truth() for at in np.unique(item)}
    return [known[int(at)] for at in item]


def _coded(truths: list[AnyVerdict | None]) -> tuple[Indices, list[AnyVerdict]]:
    codes: dict[AnyVerdict, int] = {}
    found = [NOTHING if one is None else codes.setdefault(one, len(codes)) for one in truths]
    return np.array(found, dtype=np.intp), list(codes)


def _applied(
    coding: Coding, values: list[AnyVerdict], codes: Indices, shape: Indices, names: list[tuple[str, ...]]
) -> tuple[Indices, Floats]:
    """Answers and numbers; every different (verdict, ids) is coded once."""
    answers, numbers = np.full(len(codes), NOTHING, dtype=np.intp), np.full(len(codes), np.nan)
    known = np.flatnonzero(codes != NOTHING)
    if not len(known):
        return answers, numbers
    pairs, place = np.unique(codes[known] * len(names) + shape[known], return_inverse=True)
    both = [(values[pair // len(names)], names[pair % len(names)]) for pair in pairs]
    answers[known] = np.array([coding.code(value, ids) for value, ids in both], dtype=np.intp)[place.ravel()]
    numbers[known] = np.array([coding.number(value) for value, _ in both])[place.ravel()]
    return answers, numbers


def _correct(source: Gathered, raw: Indices, truth: Indices, truths: list[AnyVerdict], rule: Right) -> Floats:
    found = np.full(len(raw), np.nan)
    known = np.flatnonzero(truth != NOTHING)
    if not len(known):
        return found
    pairs, place = np.unique(raw[known] * len(truths) + truth[known], return_inverse=True)
    values = [is_right(source.verdicts.values[p // len(truths)], truths[p % len(truths)], rule) for p in pairs]
    found[known] = np.array([np.nan if one is None else float(one) for one in values])[place.ravel()]
    return found


def _no_number(_: AnyVerdict) -> float:
    return float("nan")


def _preferred(
    source: Gathered, kind: VerdictKind, rule: Right, given: list[AnyVerdict], labels: list[AnyVerdict]
) -> Coding:
    """Pairs and rankings: the preferred response by its place in the item, or none."""
    shapes = {one.ids for one in source.things[kind]}
    most = max(map(len, shapes))
    names = next(iter(shapes)) if len(shapes) == 1 else tuple(f"response {place + 1}" for place in range(most))
    tie = most

    def code(value: AnyVerdict, ids: tuple[str, ...]) -> int:
        if not isinstance(value, Pairwise | Ranking):
            return NOTHING
        if len(ids) == 2:
            support = value.support(ids[0], ids[1])
            return NOTHING if support is None else tie if support == 0 else 0 if support > 0 else 1
        if value.winner is None:
            return tie
        return ids.index(value.winner) if value.winner in ids else NOTHING

    return Coding(code, _no_number, (*names, "tie"), False, None, "")


def _graded(
    source: Gathered, kind: VerdictKind, rule: Right, given: list[AnyVerdict], labels: list[AnyVerdict]
) -> Coding:
    if rule.name == "side":
        return _sided(rule.value or 0.0)
    every = [one.value for one in (*given, *labels) if isinstance(one, Grade)]
    values = sorted({round(value, DECIMALS) for value in every})
    place = {value: at for at, value in enumerate(values)}
    scales = {one.scale for one in source.items if one.scale and not isinstance(one.scale[0], str)}
    bounds = [float(end) for one in scales for end in one]
    low, high = (min(bounds), max(bounds)) if bounds else (values[0], values[-1])

    def code(value: AnyVerdict, ids: tuple[str, ...]) -> int:
        return place.get(round(value.value, DECIMALS), NOTHING) if isinstance(value, Grade) else NOTHING

    def number(value: AnyVerdict) -> float:
        return value.value if isinstance(value, Grade) else float("nan")

    classes = tuple(f"{value:g}" for value in values)
    return Coding(code, number, classes, True, (high - low) or None, "mean grade")


def _sided(mark: float) -> Coding:
    def side(value: AnyVerdict) -> bool | None:
        return round(value.value - mark, DECIMALS) >= 0 if isinstance(value, Grade) else passing(value)

    def code(value: AnyVerdict, ids: tuple[str, ...]) -> int:
        found = side(value)
        return NOTHING if found is None else int(found)

    def number(value: AnyVerdict) -> float:
        found = side(value)
        return float("nan") if found is None else float(found)

    return Coding(code, number, ("fail", "pass"), True, 1.0, "share that passes")


def _categorised(
    source: Gathered, kind: VerdictKind, rule: Right, given: list[AnyVerdict], labels: list[AnyVerdict]
) -> Coding:
    every = [one for one in (*given, *labels) if isinstance(one, Category)]
    sides = {_fold(one): passing(one) for one in every}
    if set(sides.values()) <= {True, False}:
        return _named_sides(every)
    scales = {one.scale for one in source.items if one.scale and isinstance(one.scale[0], str)}
    scale = next(iter(scales)) if len(scales) == 1 else ()
    order = [str(one).casefold() for one in scale]
    ordered = bool(order) and set(sides) <= set(order)
    names = order if ordered else sorted(sides)
    place = {name: at for at, name in enumerate(names)}
    spelled = {_fold(one): str(one) for one in reversed(every)}
    numbers = ordered or len(names) == 2

    def code(value: AnyVerdict, ids: tuple[str, ...]) -> int:
        return place.get(_fold(value), NOTHING) if isinstance(value, Category) else NOTHING

    def number(value: AnyVerdict) -> float:
        return float(place.get(_fold(value), np.nan)) if numbers and isinstance(value, Category) else float("nan")

    classes = tuple(spelled.get(name, name) for name in names)
    meaning = f"share that is called {classes[1]}" if len(names) == 2 else "mean place on the scale" if ordered else ""
    return Coding(code, number, classes, ordered, float(len(names) - 1) if numbers else None, meaning)


def _named_sides(every: list[Category]) -> Coding:
    """Words that pass or fail are two answers, named as the verdicts name them."""
    coding = _sided(0.0)
    first = {passing(one): str(one) for one in reversed(every)}
    classes = (first.get(False, "fail"), first.get(True, "pass"))
    meaning = f"share that is called {classes[1]}"
    return Coding(coding.code, coding.number, classes, True, 1.0, meaning)


def _fold(value: AnyVerdict) -> str:
    return str(value).casefold()


_CODING = {"pairwise": _preferred, "ranking": _preferred, "grade": _graded, "category": _categorised}
