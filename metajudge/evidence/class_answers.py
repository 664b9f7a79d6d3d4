"""Which of a few classes each judge names on each item: what the dependence of judges is measured on."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from metajudge.evidence.grouping import Key
from metajudge.evidence.rules import Rules
from metajudge.evidence.verdicts import Verdicts
from metajudge.stats.arrays import Floats, Indices, Ints, coded
from metajudge.types import AnyVerdict, Category, Grade, Right, kind_of
from metajudge.types.label import passing

Group: TypeAlias = tuple[str, int]
"""``choice`` and the number of responses, ``category`` or ``grade``: answers of one group have the same classes."""

MOST_CLASSES = 12
"""Grades or categories with more different values are left out."""

DECIMALS = 9


LONG_TEXT: Final = 20
"""Words from which the length of a rationale tells one from another."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The answers of one group by cell (a thing in one order) and judge.

    For a choice the classes are the responses; what a judge answers at each place of the order shown is known, so that
    one that prefers what it sees first can be told from one that prefers the better response.

    Attributes:
        judges: [J] names, sorted.
        answer: [cells, J, classes + 1] what was answered, the last one for no single class; repeats are averaged.
        centred: the same less what the judge answers at this place whatever the item.
        there: [cells, J] 1 where there is an answer.
        words: [cells, J] of the rationale; 0 where it is short.
        question: [cells] numbers from 0 without gaps.
    """

    group: Group
    judges: tuple[str, ...]
    answer: Floats
    centred: Floats
    there: Floats
    words: Ints
    question: Indices


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a verdict says: of which group, about which responses, the class it names, and what was shown to choose."""

    group: Group
    about: tuple[str, ...]
    named: Hashable | None
    shown: tuple[str, ...]


def named_class(verdict: AnyVerdict, rule: Right) -> Hashable | None:
    """The class that a verdict names: a response's id, a category, a side or a grade; None where it names none."""
    match verdict:
        case Grade():
            return _named_grade(verdict.value, rule)
        case Category():
            side = passing(verdict)
            return side if side is not None or rule.name == "side" else str(verdict).casefold()
    return verdict.winner


def _named_grade(value: float, rule: Right) -> Hashable | None:
    if rule.name == "side":
        return round(value - (rule.value or 0.0), DECIMALS) >= 0
    return round(value, DECIMALS) if rule.name == "equal" else None


def cells_of(facts: Verdicts, rules: Rules) -> list[Cells]:
    """The answers of every group, in the order of the groups' names; verdicts that name no class count as such.

    Left out are verdicts without classes: grades that are right within a tolerance, rankings that are right as a
    whole, more than :data:`MOST_CLASSES` different values.
    """
    by_item = np.argsort(facts.item, kind="stable")
    rows = by_item[facts.verdict[by_item] >= 0]
    key = Key.of(facts.verdict[rows], len(facts.verdicts)).then(facts.order[rows], len(facts.orders))
    place, first = key.distinct()
    pairs = zip(facts.verdict[rows[first]].tolist(), facts.order[rows[first]].tolist(), strict=True)
    answers = [_answer(facts.orders[order], facts.verdicts[verdict], rules) for verdict, order in pairs]
    made = []
    for group in sorted({one.group for one in answers if one is not None}):
        theirs = [one if one is not None and one.group == group else None for one in answers]
        number = np.cumsum([one is not None for one in theirs]) - 1
        mine = np.array([one is not None for one in theirs])[place]
        given = [one for one in theirs if one is not None]
        made.append(_cells(facts, group, rows[mine], number[place[mine]], given))
    return [one for one in made if one is not None]


def _answer(order: tuple[str, ...], verdict: AnyVerdict, rules: Rules) -> _Answer | None:
    kind = kind_of(verdict)
    rule = rules.of(kind)
    about = tuple(sorted(verdict.ids)) if verdict.ids else order
    if verdict.ids:
        if kind == "ranking" and rule.name != "top1":
            return None
        shown = tuple(name for name in order if name in verdict.ids)
        return _Answer(("choice", len(shown)), about, verdict.winner, shown)
    named = named_class(verdict, rule)
    return None if named is None else _Answer((kind, 0), about, named, ())


def _cells(facts: Verdicts, group: Group, rows: Ints, which: Ints, answers: Sequence[_Answer]) -> Cells | None:
    """The cells of one group.

    Args:
        rows: the group's records, by item.
        which: what each says: its place in ``answers``.
    """
    choice = group[0] == "choice"
    values = () if choice else tuple(sorted({one.named for one in answers}, key=_sortable))
    if not choice and not 2 <= len(values) <= MOST_CLASSES:
        return None
    classes = group[1] if choice else len(values)
    if choice:
        said = [classes if one.named is None else one.shown.index(str(one.named)) for one in answers]
        shown = [[one.shown.index(name) for name in one.about] for one in answers]
    else:
        said = [values.index(one.named) for one in answers]
        shown = [list(range(classes))] * len(answers)
    # [n] the place that each judge named, and [n, classes + 1] the place of each class, the last one for none.
    named = np.array(said, dtype=np.intp)[which]
    places = np.column_stack([np.array(shown, dtype=np.intp)[which], np.full(len(rows), classes)])
    about = coded([one.about for one in answers])[1][which]
    item, firsts = Key.of(facts.item[rows], len(facts.items)).then(about, len(answers)).by_first()
    judge, of_judge = Key.of(facts.names[facts.judge[rows]], len(facts.judges)).distinct()
    cell, first = Key.of(item, len(firsts)).then(facts.order[rows], len(facts.orders)).distinct()
    shape = (len(first), len(of_judge))
    flat, size = cell * shape[1] + judge, shape[0] * shape[1]
    usual = np.bincount(judge * (classes + 1) + named, minlength=shape[1] * (classes + 1)).reshape(shape[1], -1)
    shares = usual / np.maximum(1, usual.sum(axis=1, keepdims=True))
    given = (named[:, None] == places).astype(np.float64)
    count = np.bincount(flat, minlength=size)

    def means(values: Floats) -> Floats:
        columns = [np.bincount(flat, column, size) / np.maximum(count, 1) for column in values.T]
        return np.stack(columns, axis=1).reshape(*shape, classes + 1)

    words = facts.words[rows].astype(np.int64)
    length = np.zeros(size, dtype=np.int64)
    length[flat[::-1]] = np.where(words >= LONG_TEXT, words, 0)[::-1]  # of repeats the first one
    return Cells(
        group=group,
        judges=tuple(facts.judges[code] for code in facts.judge[rows[of_judge]].tolist()),
        answer=means(given),
        centred=means(given - np.take_along_axis(shares[judge], places, axis=1)),
        there=(count > 0).astype(np.float64).reshape(shape),
        words=length.reshape(shape),
        question=np.unique(facts.by_cluster[rows[first]], return_inverse=True)[1].ravel(),
    )


def _sortable(value: Hashable | None) -> tuple[str, float, str]:
    number = float(value) if isinstance(value, float) else 0.0
    return type(value).__name__, number, str(value)
