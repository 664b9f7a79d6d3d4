"""Judgments with planted biases, from a seed: what an audit must find, and judges in which it must find nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types import Item, Judgment, Label
from metajudge.types.verdict import AnyVerdict, Category, Grade, Pairwise

SimulatedKind: TypeAlias = Literal["pairwise", "category", "grade"]

MODELS = ("osprey-8b", "kestrel-8b", "heron-8b", "merlin-8b", "plover-8b")
"""Writers of the responses, each of another family."""

CATEGORIES = ("knowledge", "reasoning", "writing")
START = datetime(2026, 1, 1, tzinfo=UTC)
NOISE = 0.05
"""The chance that a second look at the same pair gives the other answer."""

DIFFICULTY = 0.5
"""Standard deviation of the questions' difficulty in log-odds: it makes the errors of all judges alike."""


@dataclass(frozen=True, slots=True)
class SimulatedJudge:
    """A judge and what is planted in it; every bias is a chance, in [0, 1], that it alone decides a verdict.

    Attributes:
        accuracy: chance of a right verdict without bias, on an item of mean difficulty.
        position: the response shown first wins.
        length: the longer response wins; a single response passes (or gets the best grade) where it is longer than
            most, else fails.
        own_family: a response of its own family wins, or passes.
        lenient: a single response passes.
        drift: loss of accuracy from the first verdict to the last.
        copies: another judge whose answers are repeated, 19 of 20.
    """

    accuracy: float = 0.8
    position: float = 0.0
    length: float = 0.0
    own_family: float = 0.0
    lenient: float = 0.0
    drift: float = 0.0
    copies: str | None = None


UNBIASED: Mapping[str, SimulatedJudge] = {
    name: SimulatedJudge() for name in ("osprey-70b", "kestrel-32b", "heron-70b", "merlin-70b", "plover-2")
}
"""Five judges that are equally good and have no bias."""


def simulate(
    judges: Mapping[str, SimulatedJudge],
    *,
    items: int,
    seed: int,
    kind: SimulatedKind = "pairwise",
    orders: Literal["both", "one"] = "both",
    labelled: float = 1.0,
    annotators: int = 0,
    person: float = 0.9,
    per_question: int = 1,
) -> Iterator[Judgment]:
    """Judgments of all judges on all items, in the order of their times.

    Args:
        judges: name -> what is planted.
        items: number of items.
        seed: of all draws; the same one gives the same judgments.
        kind: of the verdicts: pairs, ``pass``/``fail``, or grades from 1 to 5.
        orders: of pairs: each pair in both orders, or in one drawn at random.
        labelled: share of items with a label, the first ones.
        annotators: people for each labelled item; 0: the truth itself is the label.
        person: chance that a person is right.
        per_question: items that share a question.

    Raises:
        InputError: no items, or a judge that copies one that does not come before it.
    """
    if items < 1 or per_question < 1:
        raise InputError(f"{items} items, {per_question} for each question: give at least one of both")
    world = _World(items, seed, kind, per_question)
    answers: dict[str, Bools] = {}
    for name, judge in judges.items():
        if judge.copies is not None and judge.copies not in answers:
            raise InputError(f"{name} copies {judge.copies!r}, which must come before it")
        answers[name] = world.answers(name, judge, answers)
    made = [world.item(at, at < labelled * items, annotators, person) for at in range(items)]
    places = (0, 1) if kind == "pairwise" and orders == "both" else (None,)
    for at in range(items):
        for name, judge in judges.items():
            for place in places:
                yield world.judgment(at, made[at], name, judge, bool(answers[name][at]), place)


class _World:
    """All draws of one simulation.

    The truth of an item is True where the first response is better, or where the single response is good.
    """

    def __init__(self, items: int, seed: int, kind: SimulatedKind, per_question: int) -> None:
        self.rng = np.random.default_rng([seed, 23])
        self.kind = kind
        self.truth: Bools = self.rng.random(items) < 0.5
        questions = -(-items // per_question)
        self.difficulty: Floats = np.repeat(self.rng.normal(0, DIFFICULTY, questions), per_question)[:items]
        self.per_question = per_question
        self.lengths: Indices = self.rng.integers(40, 400, (items, 2))
        first = self.rng.integers(0, len(MODELS), items)
        self.models: Indices = np.column_stack(
            (first, (first + self.rng.integers(1, len(MODELS), items)) % len(MODELS))
        )
        self.items = items

    def answers(self, name: str, judge: SimulatedJudge, before: Mapping[str, Bools]) -> Bools:
        """[items] what a judge thinks, before the place of a response or a second look changes it."""
        share = np.arange(self.items) / max(1, self.items - 1)
        logit = np.log(judge.accuracy / (1 - judge.accuracy)) if judge.accuracy < 1 else 20.0
        chance = 1 / (1 + np.exp(-(logit - self.difficulty))) - judge.drift * (share - 0.5)
        right = self.rng.random(self.items) < chance
        answer = np.where(right, self.truth, ~self.truth)
        if judge.copies is not None:
            answer = np.where(self.rng.random(self.items) < 0.95, before[judge.copies], answer)
        longer = self.lengths[:, 0] > (self.lengths[:, 1] if self.kind == "pairwise" else 220)
        answer = np.where(self.rng.random(self.items) < judge.length, longer, answer)
        own = np.array([model.partition("-")[0] == name.partition("-")[0] for model in MODELS])[self.models]
        concerned = own.any(axis=1) if self.kind == "pairwise" else own[:, 0]
        answer = np.where(concerned & (self.rng.random(self.items) < judge.own_family), own[:, 0], answer)
        if self.kind != "pairwise":
            answer = answer | (self.rng.random(self.items) < judge.lenient)
        return np.asarray(answer, dtype=np.bool_)

    def item(self, at: int, labelled: bool, annotators: int, person: float) -> Item:
        ids = ("A", "B") if self.kind == "pairwise" else ("A",)
        truth = bool(self.truth[at])
        people: tuple[Label, ...] = ()
        if labelled and annotators:
            right = self.rng.random(annotators) < person
            people = tuple(
                Label(value=self.verdict(truth if ok else not truth), annotator=f"person-{number + 1}")
                for number, ok in enumerate(right)
            )
        return Item(
            id=f"item-{at:05d}",
            question=f"Question {at // self.per_question}",
            responses={name: ("word " * 80)[: self.lengths[at, place]] for place, name in enumerate(ids)},
            category=CATEGORIES[at % len(CATEGORIES)],
            label=self.verdict(truth) if labelled and not annotators else None,
            labels=people,
            models={name: MODELS[self.models[at, place]] for place, name in enumerate(ids)},
        )

    def verdict(self, answer: bool) -> AnyVerdict:
        if self.kind == "pairwise":
            return Pairwise("A", "B", 1) if answer else Pairwise("B", "A", 1)
        if self.kind == "category":
            return Category("pass" if answer else "fail")
        low = 4 if answer else 1
        return Grade(float(low + self.rng.integers(0, 2)))

    def judgment(
        self, at: int, item: Item, name: str, judge: SimulatedJudge, answer: bool, place: int | None
    ) -> Judgment:
        order: tuple[str, ...] = tuple(item.responses)
        if self.kind == "pairwise":
            first = int(self.rng.integers(0, 2)) if place is None else place
            order = ("A", "B") if first == 0 else ("B", "A")
            if self.rng.random() < NOISE:
                answer = not answer
            if self.rng.random() < judge.position:
                answer = first == 0
        return Judgment(
            id=f"{item.id}/{name}/{''.join(order)}",
            item=item,
            judge=name,
            verdict=self.verdict(answer),
            order=order,
            meta={"time": (START + timedelta(minutes=at)).isoformat()},
        )
