"""Judgments with planted biases, from a seed: what an audit must find, and judges in which it must find nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from metajudge.types import Item, Judgment, Label
from metajudge.types.verdict import AnyVerdict, Category, Pairwise

MODELS = ("osprey-8b", "kestrel-8b", "heron-8b", "merlin-8b", "plover-8b")
"""Writers of the responses, each of another family."""
START = datetime(2026, 1, 1, tzinfo=UTC)
NOISE = 0.05
"""The chance that a second look at the same pair gives the other answer."""
DIFFICULTY = 0.5
"""Standard deviation of the questions' difficulty in log-odds: it makes the errors of all judges alike."""
PERSON = 0.9
"""The chance that a person is right."""


@dataclass(frozen=True, slots=True)
class SimulatedJudge:
    """``accuracy`` on an item of mean difficulty; ``position``: the chance that what is shown first wins; ``copies``: a
    judge before it whose answers are repeated, 19 of 20."""

    accuracy: float = 0.8
    position: float = 0.0
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
    pairs: bool = True,
    labelled: bool = True,
    annotators: int = 0,
) -> Iterator[Judgment]:
    """Judgments of all judges on all items in the order of their times, pairs in both orders.

    ``annotators``: people for each labelled item; 0: the truth itself is the label.
    """
    rng = np.random.default_rng([seed, 23])
    truth = rng.random(items) < 0.5
    difficulty = rng.normal(0, DIFFICULTY, items)
    writers = np.array([rng.permutation(len(MODELS))[:2] for _ in range(items)])
    answers: dict[str, np.ndarray] = {}
    for name, judge in judges.items():
        chance = 1 / (1 + np.exp(-(np.log(judge.accuracy / (1 - judge.accuracy)) - difficulty)))
        answers[name] = np.where(rng.random(items) < chance, truth, ~truth)
        if judge.copies is not None:
            answers[name] = np.where(rng.random(items) < 0.95, answers[judge.copies], answers[name])
    for at in range(items):
        said = [bool(truth[at]) == bool(right) for right in rng.random(annotators) < PERSON]
        item = Item(
            id=f"item-{at:05d}",
            question=f"Question {at}",
            responses={name: ("word " * 80)[: rng.integers(40, 400)] for name in ("AB" if pairs else "A")},
            label=_verdict(truth[at], pairs) if labelled and not annotators else None,
            labels=tuple(Label(value=_verdict(one, pairs), annotator=f"person-{n}") for n, one in enumerate(said)),
            models=dict(zip("AB" if pairs else "A", (MODELS[one] for one in writers[at]), strict=False)),
        )
        for name, judge in judges.items():
            for order in ("AB", "BA") if pairs else ("A",):
                answer = answers[name][at]
                if pairs:
                    answer = answer != (rng.random() < NOISE)
                    answer = order == "AB" if rng.random() < judge.position else answer
                yield Judgment(
                    id=f"{item.id}/{name}/{order}",
                    item=item,
                    judge=name,
                    verdict=_verdict(answer, pairs),
                    order=tuple(order),
                    meta={"time": (START + timedelta(minutes=at)).isoformat()},
                )


def _verdict(answer: bool, pairs: bool) -> AnyVerdict:
    """``answer``: the first response is better, or the single one is good."""
    if pairs:
        return Pairwise("A", "B", 1) if answer else Pairwise("B", "A", 1)
    return Category("pass" if answer else "fail")
