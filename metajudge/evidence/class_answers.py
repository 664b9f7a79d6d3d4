"""All verdicts of an input as arrays of answers: which of a few classes each verdict names, on which item, by whom."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from metajudge.evidence.grouping import Interned, Key
from metajudge.evidence.recorded import Recorded
from metajudge.evidence.rules import Rules
from metajudge.stats.arrays import Bools, Indices, Ints
from metajudge.types import AnyVerdict, Category, Grade, Right, kind_of
from metajudge.types.label import passing

Subject: TypeAlias = tuple[str, tuple[str, ...]]
"""What is judged: an item's id with the responses that are compared (sorted), or the one that is graded."""

Group: TypeAlias = tuple[str, int]
"""``choice`` and the number of responses, ``category`` or ``grade``: answers of one group have the same classes."""

MOST_CLASSES = 12
"""Grades or categories with more different values are left out."""

DECIMALS = 9


@dataclass(frozen=True, slots=True, eq=False)
class ClassAnswers:
    """The answers of one group.

    For a choice the classes are the responses, and places are positions in the order shown: a judge that prefers what
    it sees first can be told from one that prefers the better response. For categories and grades class and place are
    the same.

    Attributes:
        subjects: [items] what is judged.
        judges: [judges] names, sorted.
        row: [n] the record of each answer, by item and then in the order of the records.
        item, judge: [n] of each answer.
        said: [n] the place that the judge named; ``places`` where it named no single one.
        place: [n, C] the place at which each class stood.
    """

    group: Group
    subjects: tuple[Subject, ...]
    judges: tuple[str, ...]
    row: Indices
    item: Indices
    judge: Indices
    said: Indices
    place: Indices
    places: int

    @property
    def hits(self) -> Bools:
        """[n, C] whether the judge named the class."""
        return np.asarray(self.said[:, None] == self.place)


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


def collect_class_answers(recorded: Recorded, items: Sequence[str], rules: Rules) -> list[ClassAnswers]:
    """The answers of every group, in the order of the groups' names; verdicts that name no class count as such.

    Left out are verdicts without classes: grades that are right within a tolerance, rankings that are right as a
    whole, more than :data:`MOST_CLASSES` different values.
    """
    by_item = np.argsort(recorded.item, kind="stable")
    rows = by_item[recorded.verdict[by_item] >= 0]
    key = Key.of(recorded.verdict[rows], len(recorded.verdicts)).then(recorded.order[rows], len(recorded.orders))
    place, first = key.distinct()
    pairs = zip(recorded.verdict[rows[first]].tolist(), recorded.order[rows[first]].tolist(), strict=True)
    answers = [_answer(recorded.orders[order], recorded.verdicts[verdict], rules) for verdict, order in pairs]
    made = []
    for group in sorted({one.group for one in answers if one is not None}):
        chosen = np.flatnonzero([one is not None and one.group == group for one in answers])
        number = np.full(len(answers), -1, dtype=np.int64)
        number[chosen] = np.arange(len(chosen))
        mine = number[place]
        theirs = [one for one in answers if one is not None and one.group == group]
        made.append(_arrays(recorded, items, group, rows[mine >= 0], mine[mine >= 0], theirs))
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


def _arrays(
    recorded: Recorded, items: Sequence[str], group: Group, rows: Ints, which: Ints, answers: Sequence[_Answer]
) -> ClassAnswers | None:
    """The arrays of one group.

    Args:
        rows: the group's records, by item.
        which: what each says: its place in ``answers``.
    """
    choice = group[0] == "choice"
    values = () if choice else tuple(sorted({one.named for one in answers}, key=_sortable))
    if not choice and not 2 <= len(values) <= MOST_CLASSES:
        return None
    places = group[1] if choice else len(values)
    if choice:
        said = [places if one.named is None else one.shown.index(str(one.named)) for one in answers]
        place = np.array([[one.shown.index(name) for name in one.about] for one in answers], dtype=np.intp)[which]
    else:
        said = [values.index(one.named) for one in answers]
        place = np.broadcast_to(np.arange(places, dtype=np.intp), (len(rows), places))
    known = Interned[tuple[str, ...]]()
    about = np.array([known.code(one.about) for one in answers], dtype=np.int64)[which]
    tables = known.values
    item, first = _by_first(Key.of(recorded.item[rows], recorded.items).then(about, len(known.values)))
    judge, named = Key.of(recorded.names[recorded.judge[rows]], len(recorded.judges)).distinct()
    numbers, abouts = recorded.item[rows[first]].tolist(), [tables[code] for code in about[first].tolist()]
    return ClassAnswers(
        group=group,
        subjects=tuple((items[number], responses) for number, responses in zip(numbers, abouts, strict=True)),
        judges=tuple(recorded.judges[code] for code in recorded.judge[rows[named]].tolist()),
        row=rows,
        item=item,
        judge=judge,
        said=np.array(said, dtype=np.intp)[which],
        place=place,
        places=places,
    )


def _by_first(key: Key) -> tuple[Ints, Ints]:
    """[n] numbers of the different keys in the order in which they first occur, and [keys] where."""
    place, first = key.distinct()
    order = np.argsort(first)
    number = np.empty(len(first), dtype=np.int64)
    number[order] = np.arange(len(first))
    return number[place], first[order]


def _sortable(value: Hashable | None) -> tuple[str, float, str]:
    number = float(value) if isinstance(value, float) else 0.0
    return type(value).__name__, number, str(value)
