"""All verdicts of an input as arrays of answers: which of a few classes each verdict names, on which item, by whom."""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from metajudge.evidence.comparison import RecordedVerdict
from metajudge.evidence.rules import Rules
from metajudge.stats.arrays import Bools, Indices
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
        group: what the answers are.
        subjects: [items] what is judged.
        judges: [judges] names, sorted.
        classes: [items] the classes of each subject, by index.
        item, judge: [n] of each answer.
        said: [n] the place that the judge named; ``places`` where it named no single one.
        place: [n, C] the place at which each class stood.
        places: number of places.
    """

    group: Group
    subjects: tuple[Subject, ...]
    judges: tuple[str, ...]
    classes: tuple[tuple[Hashable, ...], ...]
    item: Indices
    judge: Indices
    said: Indices
    place: Indices
    places: int

    @property
    def hits(self) -> Bools:
        """[n, C] whether the judge named the class."""
        return np.asarray(self.said[:, None] == self.place)

    @property
    def exchangeable(self) -> bool:
        """Whether the classes have no meaning of their own, as two responses have none."""
        return self.group[0] == "choice"


@dataclass(frozen=True, slots=True)
class _Answer:
    subject: Subject
    judge: str
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


def subject_of(item: str, order: tuple[str, ...], verdict: AnyVerdict) -> Subject:
    """What a verdict is about."""
    return item, tuple(sorted(verdict.ids)) if verdict.ids else order


def collect_class_answers(records: Iterable[tuple[str, list[RecordedVerdict]]], rules: Rules) -> list[ClassAnswers]:
    """The answers of every group, in the order of the groups' names; verdicts that name no class count as such.

    Left out are verdicts without classes: grades that are right within a tolerance, rankings that are right as a
    whole, more than :data:`MOST_CLASSES` different values.
    """
    groups: defaultdict[Group, list[_Answer]] = defaultdict(list)
    for item, verdicts in records:
        for one in verdicts:
            if one.verdict is not None:
                found = _answer(item, one, one.verdict, rules)
                if found is not None:
                    groups[found[0]].append(found[1])
    made = (_arrays(group, answers) for group, answers in sorted(groups.items()))
    return [one for one in made if one is not None]


def _answer(item: str, one: RecordedVerdict, verdict: AnyVerdict, rules: Rules) -> tuple[Group, _Answer] | None:
    kind = kind_of(verdict)
    rule = rules.of(kind)
    subject = subject_of(item, one.order, verdict)
    if verdict.ids:
        if kind == "ranking" and rule.name != "top1":
            return None
        shown = tuple(name for name in one.order if name in verdict.ids)
        return ("choice", len(shown)), _Answer(subject, one.judge, verdict.winner, shown)
    named = named_class(verdict, rule)
    return None if named is None else ((kind, 0), _Answer(subject, one.judge, named, ()))


def _arrays(group: Group, answers: list[_Answer]) -> ClassAnswers | None:
    choice = group[0] == "choice"
    values = () if choice else tuple(sorted({one.named for one in answers}, key=_sortable))
    if not choice and not 2 <= len(values) <= MOST_CLASSES:
        return None
    subjects = {subject: at for at, subject in enumerate(dict.fromkeys(one.subject for one in answers))}
    judges = {judge: at for at, judge in enumerate(sorted({one.judge for one in answers}))}
    places = group[1] if choice else len(values)
    codes = {value: at for at, value in enumerate(values)}
    if choice:
        said = [places if one.named is None else one.shown.index(str(one.named)) for one in answers]
        place = np.array([[one.shown.index(name) for name in one.subject[1]] for one in answers], dtype=np.intp)
    else:
        said = [codes[one.named] for one in answers]
        place = np.broadcast_to(np.arange(places, dtype=np.intp), (len(answers), places))
    return ClassAnswers(
        group=group,
        subjects=tuple(subjects),
        judges=tuple(judges),
        classes=tuple(subject[1] if choice else values for subject in subjects),
        item=np.array([subjects[one.subject] for one in answers], dtype=np.intp),
        judge=np.array([judges[one.judge] for one in answers], dtype=np.intp),
        said=np.array(said, dtype=np.intp),
        place=place,
        places=places,
    )


def _sortable(value: Hashable | None) -> tuple[str, float, str]:
    number = float(value) if isinstance(value, float) else 0.0
    return type(value).__name__, number, str(value)
