"""All verdicts on items as one set of arrays, for rankings, grades and categories: who agrees with which answer.

Every different verdict on an item is an *option*. Each record is compared with each option of its item by the declared
rule of what is right, so that agreement means the same between judges as between a judge and a label.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from metajudge.evidence.grouping import Integers, Key, joined
from metajudge.evidence.verdicts import Verdicts
from metajudge.stats.arrays import Floats, Indices, Ints
from metajudge.types import AnyVerdict, Category, Grade, Ranking, Right, VerdictKind, kind_of
from metajudge.types.label import passing

MOST_SIDES = 12
"""So many different answers are sides of their own; further ones share a side."""

OTHER_SIDE = "other"


@dataclass(frozen=True)
class Answers:
    """Records and the options they are compared with.

    Attributes:
        table: the records, by item, judge, order and verdict; its items are sorted by id, its judges by name.
        models: the model behind each judge.
        sides: names of the answers, such as a category or the place of the response chosen; sorted.
        option: [records] the record's own option, -1 where it is none.
        side: [records] index in ``sides``.
        option_item: [options] the item of each.
        compared_record: [comparisons].
        compared_option: [comparisons].
        agrees: [comparisons] 0 or 1.
        rival_of: [rivalries] an option, ascending.
        rival: [rivalries] another option of its item that does not agree with it.
    """

    table: Verdicts
    models: tuple[str, ...]
    sides: tuple[str, ...]
    option: Indices
    side: Indices
    option_item: Indices
    compared_record: Indices
    compared_option: Indices
    agrees: Floats
    rival_of: Indices
    rival: Indices

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

    @cached_property
    def counts(self) -> Floats:
        """[options, judges] how many records are comparable."""
        found = np.zeros((self.options, len(self.table.judges)))
        np.add.at(found, (self.compared_option, self.table.judge[self.compared_record]), 1.0)
        return found

    @cached_property
    def agreeing(self) -> Floats:
        """[options, judges] how many records agree."""
        found = np.zeros((self.options, len(self.table.judges)))
        np.add.at(found, (self.compared_option, self.table.judge[self.compared_record]), self.agrees)
        return found

    @cached_property
    def share(self) -> Floats:
        """[options, judges] the share of the comparable records that agree, 0 where there are none."""
        return np.asarray(self.agreeing / np.maximum(self.counts, 1))

    @property
    def signed(self) -> Floats:
        """[options, judges] the same from -1 to 1, 0 where there are none."""
        return np.where(self.counts > 0, 2 * self.share - 1, 0.0)


def is_row(verdict: AnyVerdict | None, kind: VerdictKind, rule: Right) -> bool:
    """Whether a verdict is decided: of the kind, and with a single first place where the rule or a pair needs one."""
    if verdict is None or kind_of(verdict) != kind:
        return False
    needs_winner = kind == "pairwise" or (kind == "ranking" and rule.name == "top1")
    return verdict.winner is not None if needs_winner else True


def answers_of(facts: Verdicts, kind: VerdictKind, rule: Right) -> tuple[Answers, Indices]:
    """The arrays of all records, and [n] the place of each judgment among these.

    Items come by their id and their records by judge, order and verdict, whatever the order of the input.

    Args:
        facts: of all records; each item id has one content.
    """
    judges, judge = judge_places(facts)
    present = np.unique(facts.item)
    by_id = present[sorted(range(len(present)), key=lambda at: facts.items[int(present[at])].id)]
    rank = np.full(len(facts.items), -1, dtype=np.intp)
    rank[by_id] = np.arange(len(by_id))
    order_rank = _ranks(facts.orders)[facts.order]
    rows = np.lexsort((_ranks([*map(repr, facts.verdicts), ""])[facts.verdict], order_rank, judge, rank[facts.item]))
    item, judge, verdict, order = rank[facts.item[rows]], judge[rows], facts.verdict[rows], facts.order[rows]
    # Grades of judges on two scales are not compared.
    groups = facts.rules(rule).scales.groups() if kind == "grade" else {}
    scale = np.array([groups.get(name, 0) for name in judges], dtype=np.int64)[judge]
    scale[~np.array([*(isinstance(one, Grade) for one in facts.verdicts), False])[verdict]] = 0
    given = np.flatnonzero(verdict >= 0)
    key = Key.of(item[given], len(by_id)).then(verdict[given], len(facts.verdicts))
    said, firsts = key.then(scale[given], int(scale.max(initial=0)) + 1).by_first()
    chosen = np.array([is_row(one, kind, rule) for one in facts.verdicts], dtype=bool)[verdict[given[firsts]]]
    options = given[firsts[chosen]]  # a record that makes each option
    option = np.full(len(rows), -1, dtype=np.intp)
    option[given] = np.where(chosen, np.cumsum(chosen) - 1, -1)[said]
    comparing = _Comparing(facts, rule, rows, item, scale, options)
    record, of, agrees = comparing.with_options(given)
    one, rival, agreeing = comparing.with_options(options)
    names, side = _sides(facts, kind, rule, verdict, order)
    answers = Answers(
        table=replace(
            facts.select(rows),
            item=item.astype(np.int32),
            items=[facts.items[code] for code in by_id.tolist()],
            judge=judge.astype(np.int32),
            judges=judges,
        ),
        models=tuple(map(models_of(facts).__getitem__, judges)),
        sides=names,
        option=option,
        side=side,
        option_item=item[options],
        compared_record=record,
        compared_option=of,
        agrees=agrees,
        rival_of=option[one[agreeing == 0]],
        rival=rival[agreeing == 0],
    )
    places = np.empty(len(rows), dtype=np.intp)
    places[rows] = np.arange(len(rows))
    return answers, places


def judge_places(facts: Verdicts) -> tuple[tuple[str, ...], Indices]:
    """The judges with records, sorted by name, and for each record the place of its judge among them."""
    names = facts.names[facts.judge]
    codes, first = np.unique(names, return_index=True)
    return tuple(facts.judges[code] for code in facts.judge[first].tolist()), np.searchsorted(codes, names)


def models_of(facts: Verdicts) -> dict[str, str]:
    """Judge -> the model behind it: what its first record states, else the judge itself."""
    codes, first = np.unique(facts.judge, return_index=True)
    models = facts.model[first].tolist()
    return {
        facts.judges[code]: facts.judges[code] if model < 0 else facts.models[model]
        for code, model in zip(codes.tolist(), models, strict=True)
    }


def _ranks(values: Sequence[Any]) -> Ints:
    """[values] the place of each among the different ones, sorted."""
    place = {value: at for at, value in enumerate(sorted(set(values)))}
    return np.array([place[value] for value in values], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Comparing:
    """Records by item, and those of them that make options."""

    facts: Verdicts
    rule: Right
    rows: Ints
    item: Ints
    scale: Ints
    options: Ints

    def with_options(self, records: Ints) -> tuple[Indices, Indices, Floats]:
        """Some records beside the options of their items, by record: both, and whether the record is right by it."""
        parts = [(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0))]
        bound, verdict = int(self.item.max(initial=-1)) + 1, self.facts.verdict[self.rows]
        for part, of, option in joined(self.item[records], self.item[self.options], bound):
            record = records[part][of]
            same = self.scale[record] == self.scale[self.options[option]]
            record, option = record[same], option[same]
            other = verdict[self.options[option]]
            agrees = self.facts.agree(self.rule, self.rows[record], other, self.facts.verdicts)
            known = ~np.isnan(agrees)
            parts.append((record[known], option[known], agrees[known]))
        record, option, agrees = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return record, option, agrees


def _sides(
    facts: Verdicts, kind: VerdictKind, rule: Right, verdict: Integers, order: Integers
) -> tuple[tuple[str, ...], Indices]:
    """The names of the answers that are kept, and that of each record."""

    def side(code: int, shown: int) -> str:
        said = facts.verdict_of(code)
        # Passing is the same answer by a grade and by a category; other answers of another kind are none here.
        return side_of(
            said if said and (rule.name == "side" or kind_of(said) == kind) else None, facts.orders[shown], rule
        )

    place, first = Key.of(verdict + 1, len(facts.verdicts) + 1).then(order, len(facts.orders)).distinct()
    said = [side(*at) for at in zip(verdict[first].tolist(), order[first].tolist(), strict=True)]
    counts = Counter[str]()
    for name, count in zip(said, np.bincount(place).tolist(), strict=True):
        counts[name] += count
    # The most frequent ones are kept, ties by name.
    frequent = sorted(counts, key=lambda name: (-counts[name], name))
    kept = set(frequent) if len(frequent) <= MOST_SIDES else set(frequent[: MOST_SIDES - 1])
    names = sorted(kept | ({OTHER_SIDE} if len(kept) < len(frequent) else set()))
    codes = [names.index(name if name in kept else OTHER_SIDE) for name in said]
    return tuple(names), np.array(codes, dtype=np.intp)[place]


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
