"""How often judges that follow one another are found, and how often judges that do not: made judges with known truth.

A judge is right with a probability of its own, moved on the log-odds scale by the question's difficulty, which all
judges share: a normal number with a standard deviation of ``spread``. Every judge judges each pair in both orders, and
takes the place shown first with a probability of its own, whatever is there. Given the question judges are independent,
but for the follower: with probability ``follows`` it gives the other's verdicts on a question, else its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metajudge.evidence.dependence import Dependence, dependence_among
from metajudge.evidence.recorded import Recorded
from metajudge.evidence.rules import Rules
from metajudge.stats.arrays import Ints
from metajudge.stats.intervals import wilson
from metajudge.types import Pairwise

QUESTIONS = (50, 100, 200, 400, 1000)
FOLLOWS = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SPREADS = (0.0, 1.0, 2.0)
JUDGES = 5
RIGHT = (0.6, 0.9)
"""Judges' probabilities on a question of no difficulty, drawn evenly."""
FIRST = 0.15
"""Most that a judge answers by place."""


@dataclass(frozen=True, slots=True)
class Power:
    """One cell: shares in [0, 1] with Wilson's 95 % intervals over independent trials.

    Attributes:
        judges, questions, follows, spread: what was made.
        trials: of them.
        found: trials in which the pair was found.
        false: trials in which any other pair was.
        exact: trials in which the pair was found as copies.
    """

    judges: int
    questions: int
    follows: float
    spread: float
    trials: int
    found: tuple[float, float, float]
    false: tuple[float, float, float]
    exact: tuple[float, float, float]


def made(rng: np.random.Generator, judges: int, questions: int, follows: float, spread: float) -> Ints:
    """[questions, orders, judges] 1 where the first response of the item is preferred, which is the better one."""
    worth = np.log(1 / (1 / rng.uniform(*RIGHT, judges) - 1))
    hard = rng.normal(0.0, spread, questions) if spread else np.zeros(questions)
    chance = 1 / (1 + np.exp(-(worth + hard[:, None])))
    right = rng.random((questions, judges)) < chance
    # A verdict is mostly the same in the other order; else it is drawn again.
    again = rng.random((questions, judges)) < chance
    other = np.where(rng.random((questions, judges)) < 0.7, right, again)
    said = np.stack([right, other], axis=1)
    by_place = rng.random(said.shape) < rng.uniform(0.0, FIRST, judges)
    first = np.array([True, False])[None, :, None]
    said = np.where(by_place, first, said)
    copied = rng.random(questions) < follows
    said[copied, :, 1] = said[copied, :, 0]
    return said.astype(np.int64)


def looked_at(said: Ints) -> Dependence:
    """What is found of the judges of made verdicts."""
    questions, _orders, judges = said.shape
    question, order, judge = (one.ravel() for one in np.indices(said.shape))
    verdicts = [Pairwise("B", "A", 1), Pairwise("A", "B", 1)]
    recorded = Recorded(
        item=question,
        judge=judge,
        judges=[f"judge {number}" for number in range(judges)],
        order=order,
        orders=[("A", "B"), ("B", "A")],
        verdict=said.ravel(),
        verdicts=verdicts,
        models={},
    )
    rules = Rules()
    for verdict in verdicts:
        rules.add(verdict, None)
    return dependence_among(recorded, np.arange(questions), np.zeros(len(question), dtype=np.int64), rules)


def power(judges: int, questions: int, follows: float, spread: float, trials: int, seed: int) -> Power:
    """How often a pair is found, over seeded trials."""
    pair, hits, others, exact = ("judge 0", "judge 1"), 0, 0, 0
    for trial in range(trials):
        rng = np.random.default_rng([seed, judges, questions, round(100 * follows), round(10 * spread), trial])
        found = looked_at(made(rng, judges, questions, follows, spread))
        named = found.found("copy") | found.found("follower")
        hits += pair in named
        exact += pair in found.found("copy")
        others += bool(named - {pair})
    shares = [wilson(count, trials) for count in (hits, others, exact)]
    triples = [(one.estimate, one.low, one.high) for one in shares]
    return Power(judges, questions, follows, spread, trials, *triples)


def grid(trials: int, seed: int) -> Iterator[Power]:
    """Every number of questions, probability and difficulty for five judges; four and eight at 400 questions."""
    for spread in SPREADS:
        for questions in QUESTIONS:
            for follows in FOLLOWS:
                yield power(JUDGES, questions, follows, spread, trials, seed)
    for judges in (4, 8):
        for follows in FOLLOWS:
            yield power(judges, 400, follows, 1.0, trials, seed)
