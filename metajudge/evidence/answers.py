"""All verdicts on items as one set of arrays, for rankings, grades and categories: who agrees with which answer.

Every different verdict on an item is an *option*. Each record is compared with each option of its item by the declared
rule of what is right, so that agreement means the same between judges as between a judge and a label.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types import AnyVerdict, Category, Grade, Ranking, Right, VerdictKind, is_right, kind_of
from metajudge.types.judgment import Scale
from metajudge.types.label import passing

MOST_SIDES = 12
"""So many different answers are sides of their own; further ones share a side."""

OTHER_SIDE = "other"


@dataclass(frozen=True, slots=True)
class Seen:
    """What evidence keeps of a judgment: no texts."""

    judge: str
    order: tuple[str, ...]
    verdict: AnyVerdict | None


@dataclass(frozen=True, slots=True)
class SeenItem:
    """What evidence keeps of an item.

    Attributes:
        question: digest of the question.
        scale: the lowest and highest grade, or the categories from worst to best.
    """

    records: Sequence[Seen]
    question: str
    scale: Scale | None = None


@dataclass(frozen=True)
class Answers:
    """Records and the options they are compared with.

    Attributes:
        judges: names, sorted.
        sides: names of the answers, such as a category or the place of the response chosen; sorted.
        item: [records].
        judge: [records].
        order: [records] number of the order shown.
        option: [records] the record's own option, -1 where it is none.
        side: [records] index in ``sides``.
        number: [records] the verdict as a number, NaN where it is none.
        question: [items] number of the question.
        option_item: [options] the item of each.
        compared_record: [comparisons].
        compared_option: [comparisons].
        agrees: [comparisons] 0 or 1.
        rival_of: [rivalries] an option, ascending.
        rival: [rivalries] another option of its item that does not agree with it.
        chance: [sides] how often an answer would agree with the most frequent one by chance.
    """

    judges: tuple[str, ...]
    kin: tuple[str, ...]
    models: tuple[str, ...]
    sides: tuple[str, ...]
    item: Indices
    judge: Indices
    order: Indices
    option: Indices
    side: Indices
    number: Floats
    question: Indices
    option_item: Indices
    compared_record: Indices
    compared_option: Indices
    agrees: Floats
    rival_of: Indices
    rival: Indices
    chance: Floats

    @property
    def options(self) -> int:
        return len(self.option_item)

    def strongest_rival(self, values: Floats) -> Floats:
        """[options, ...] the largest value among an option's rivals; 0 where it has none."""
        found = np.zeros(values.shape)
        if len(self.rival_of):
            starts = np.flatnonzero(np.r_[True, np.diff(self.rival_of) > 0])
            found[self.rival_of[starts]] = np.maximum.reduceat(values[self.rival], starts, axis=0)
        return found

    def totals(self, of_record: Floats) -> Floats:
        """[options, judges] sums of a value of the records over the comparisons that agree."""
        found = np.zeros((self.options, len(self.judges)))
        where = (self.compared_option, self.judge[self.compared_record])
        np.add.at(found, where, of_record[self.compared_record] * self.agrees)
        return found

    def counts(self) -> Floats:
        """[options, judges] how many records are comparable."""
        found = np.zeros((self.options, len(self.judges)))
        np.add.at(found, (self.compared_option, self.judge[self.compared_record]), 1.0)
        return found


@dataclass(frozen=True, slots=True)
class AnswerRows:
    """Where the judgments to describe stand among the records: [n]."""

    record: Indices

    def __len__(self) -> int:
        return len(self.record)

    def select(self, chosen: Indices | Bools) -> "AnswerRows":
        return AnswerRows(self.record[chosen])


def is_row(verdict: AnyVerdict | None, kind: VerdictKind, rule: Right) -> bool:
    """Whether a verdict is decided: of the kind, and with a single first place where the rule or a pair needs one."""
    if verdict is None or kind_of(verdict) != kind:
        return False
    needs_winner = kind == "pairwise" or (kind == "ranking" and rule.name == "top1")
    return verdict.winner is not None if needs_winner else True


def answers_of(
    items: Mapping[str, SeenItem],
    kind: VerdictKind,
    rule: Right,
    *,
    models: Mapping[str, str],
    kin: Callable[[str], str],
    scales: Mapping[str, int] | None = None,
) -> tuple[Answers, dict[str, Indices]]:
    """The arrays of all records, and the record number of each item's records in the order in which they came.

    Args:
        scales: judge -> number of the scale of its grades; None where all are on one.
    """
    judges = sorted({seen.judge for one in items.values() for seen in one.records})
    building = _Building(kind, rule, {name: at for at, name in enumerate(judges)}, scales or {})
    places = {name: building.add(items[name]) for name in sorted(items)}
    names, sides = _side_names(building.sides)
    side, number = _indices([sides[name] for name in building.sides]), np.array(building.number, dtype=np.float64)
    option = _indices(building.option)
    answers = Answers(
        judges=tuple(judges),
        kin=tuple(kin(name) for name in judges),
        models=tuple(models.get(name, name) for name in judges),
        sides=names,
        item=_indices(building.item),
        judge=_indices(building.judge),
        order=_indices(building.order),
        option=option,
        side=side,
        number=number,
        question=_indices(building.question),
        option_item=_indices(building.option_item),
        compared_record=_joined(building.compared_record),
        compared_option=_joined(building.compared_option),
        agrees=np.concatenate(building.agrees) if building.agrees else np.zeros(0),
        rival_of=_joined(building.rival_of),
        rival=_joined(building.rival),
        chance=_chance(kind, rule, names, building, side, option, number),
    )
    return answers, places


class _Building:
    """Lists that grow by one item at a time."""

    def __init__(self, kind: VerdictKind, rule: Right, judges: Mapping[str, int], scales: Mapping[str, int]) -> None:
        self.kind, self.rule, self.judges, self.scales = kind, rule, judges, scales
        self.item: list[int] = []
        self.judge: list[int] = []
        self.order: list[int] = []
        self.option: list[int] = []
        self.sides: list[str] = []
        self.number: list[float] = []
        self.question: list[int] = []
        self.option_item: list[int] = []
        self.compared_record: list[Indices] = []
        self.compared_option: list[Indices] = []
        self.agrees: list[Floats] = []
        self.rival_of: list[Indices] = []
        self.rival: list[Indices] = []
        self.responses: list[int] = []
        self._orders: dict[tuple[str, ...], int] = {}
        self._questions: dict[str, int] = {}
        self._known: dict[tuple[AnyVerdict, AnyVerdict], bool | None] = {}

    def add(self, item: SeenItem) -> Indices:
        """Adds an item's records in an order that does not depend on the input's; returns where each stands."""
        number = len(self.question)
        self.question.append(self._questions.setdefault(item.question, len(self._questions)))
        order = sorted(range(len(item.records)), key=lambda at: _sort_key(item.records[at]))
        first = len(self.item)
        verdicts: dict[tuple[AnyVerdict, int], int] = {}
        codes = []
        for at in order:
            seen = item.records[at]
            self.item.append(number)
            self.judge.append(self.judges[seen.judge])
            self.order.append(self._orders.setdefault(seen.order, len(self._orders)))
            own = seen.verdict if seen.verdict is not None and kind_of(seen.verdict) == self.kind else None
            # Passing is the same answer by a grade and by a category; other answers of another kind are none here.
            self.sides.append(side_of(seen.verdict if self.rule.name == "side" else own, seen.order, self.rule))
            self.number.append(number_of(own, item.scale))
            scale = self.scales.get(seen.judge, 0) if isinstance(seen.verdict, Grade) else 0
            codes.append(-1 if seen.verdict is None else verdicts.setdefault((seen.verdict, scale), len(verdicts)))
        self._compare(number, first, np.array(codes, dtype=np.intp), list(verdicts), item)
        places = np.empty(len(order), dtype=np.intp)
        places[order] = first + np.arange(len(order))
        return places

    def _compare(
        self, item: int, first: int, codes: Indices, given: list[tuple[AnyVerdict, int]], seen: SeenItem
    ) -> None:
        verdicts, scales = [verdict for verdict, _ in given], np.array([scale for _, scale in given])
        options = [at for at, verdict in enumerate(verdicts) if is_row(verdict, self.kind, self.rule)]
        start = len(self.option_item)
        place = {code: start + at for at, code in enumerate(options)}
        self.option += [place.get(int(code), -1) for code in codes]
        if not options:
            return
        self.option_item += [item] * len(options)
        self.responses.append(len(seen.records[0].order))
        matrix = self._agreement(verdicts, [verdicts[at] for at in options])
        matrix[np.not_equal.outer(scales, scales[options])] = np.nan
        known = np.flatnonzero(codes >= 0)
        of_records = matrix[codes[known]]
        record, option = np.nonzero(np.isfinite(of_records))
        self.compared_record.append(first + known[record])
        self.compared_option.append(start + option)
        self.agrees.append(of_records[record, option])
        one, other = np.nonzero(matrix[options] == 0)
        self.rival_of.append(start + one)
        self.rival.append(start + other)

    def _agreement(self, verdicts: Sequence[AnyVerdict], options: Sequence[AnyVerdict]) -> Floats:
        """[verdicts, options] 1 where a verdict is right by an option, 0 where not, NaN where incomparable."""
        grades = [one.value for one in verdicts if isinstance(one, Grade)]
        if len(grades) == len(verdicts) and self.rule.name in ("equal", "within"):
            apart = np.abs(np.subtract.outer(grades, [one.value for one in options if isinstance(one, Grade)]))
            return np.asarray(np.round(apart - (self.rule.value or 0.0), 9) <= 0, dtype=np.float64)
        found = np.full((len(verdicts), len(options)), np.nan)
        for at, verdict in enumerate(verdicts):
            for place, option in enumerate(options):
                agrees = self._right(verdict, option)
                if agrees is not None:
                    found[at, place] = agrees
        return found

    def _right(self, verdict: AnyVerdict, option: AnyVerdict) -> bool | None:
        key = (verdict, option)
        if key not in self._known:
            self._known[key] = is_right(verdict, option, self.rule)
        return self._known[key]


def side_of(verdict: AnyVerdict | None, order: Sequence[str], rule: Right) -> str:
    """The answer as a name: a category, a grade, the place of a ranking's winner in the order shown, pass or fail."""
    match verdict:
        case None:
            return ""
        case Grade(value) if rule.name == "side":
            return "pass" if round(value - (rule.value or 0.0), 9) >= 0 else "fail"
        case Grade(value):
            return f"{value:g}"
        case Category():
            passes = passing(verdict)
            return str(verdict).casefold() if passes is None else "pass" if passes else "fail"
        case Ranking() if verdict.winner is not None and verdict.winner in order:
            return f"place {order.index(verdict.winner) + 1}"
    return ""


def number_of(verdict: AnyVerdict | None, scale: Scale | None) -> float:
    """A grade's value, a category's place on its scale or 1 for a pass and 0 for a fail; else NaN."""
    if isinstance(verdict, Grade):
        return verdict.value
    if not isinstance(verdict, Category):
        return float("nan")
    if scale and verdict.value in scale:
        return float(list(scale).index(verdict.value)) / (len(scale) - 1)
    passes = passing(verdict)
    return float("nan") if passes is None else float(passes)


def _side_names(every: Sequence[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    """The sides that are kept, and the index of every name; the most frequent ones are kept, ties by name."""
    counts = Counter(every)
    frequent = sorted(counts, key=lambda name: (-counts[name], name))
    kept = set(frequent) if len(frequent) <= MOST_SIDES else set(frequent[: MOST_SIDES - 1])
    names = sorted(kept | ({OTHER_SIDE} if len(kept) < len(frequent) else set()))
    return tuple(names), {name: names.index(name if name in kept else OTHER_SIDE) for name in counts}


def _chance(
    kind: VerdictKind,
    rule: Right,
    names: Sequence[str],
    made: _Building,
    side: Indices,
    option: Indices,
    number: Floats,
) -> Floats:
    """[sides] the probability that an answer agrees with another item's; for rankings, 1 over the responses."""
    if kind == "ranking":
        return np.full(len(names), 1 / max(2.0, float(np.mean(made.responses)) if made.responses else 2.0))
    if kind == "grade" and rule.name in ("equal", "within"):
        values, reach = np.sort(number[np.isfinite(number)]), (rule.value or 0.0) + 1e-9
        overall = float(np.mean(_near(values, values, reach))) if len(values) else 0.5
        return np.array([overall if name in ("", OTHER_SIDE) else _near(values, float(name), reach) for name in names])
    given = np.bincount(side[option >= 0], minlength=len(names)).astype(np.float64)
    return np.asarray((given + 1) / (given.sum() + len(names)))


def _near(values: Floats, centre: Floats | float, reach: float) -> Floats:
    """The share of sorted values that lie within reach of each centre."""
    above = np.searchsorted(values, centre + reach, side="right")
    return np.asarray((above - np.searchsorted(values, centre - reach)) / max(len(values), 1))


def _sort_key(seen: Seen) -> tuple[str, tuple[str, ...], str]:
    return seen.judge, seen.order, "" if seen.verdict is None else repr(seen.verdict)


def _indices(values: Sequence[int]) -> Indices:
    return np.array(values, dtype=np.intp)


def _joined(parts: Iterable[Indices]) -> Indices:
    every = list(parts)
    return np.concatenate(every).astype(np.intp) if every else np.zeros(0, dtype=np.intp)
